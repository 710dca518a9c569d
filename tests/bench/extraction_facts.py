"""The share of a text's facts that an extraction holds, for the extraction bench.

A fact is a sentence. It is held when all its key words occur in one relation, or in two relations that share an
entity. Words are compared by their stems; stop words and auxiliaries are no key words. A relation's words are those of
its subject, predicate, object and dates. Its description and evidence do not count: they may quote the text.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from graphtide.streams.model_ports import ExtractedRelation, ExtractionResult
from tests.support.bench_data import STOP_WORDS, bench_data

_SMALL_WORDS = (
    "has have had can could may might will would shall should must do does not also such some any all more most many "
    "other into through as up out over than then there these those about between due while they them both each"
)
_SMALL = frozenset(_SMALL_WORDS.split())
_ENDINGS = (
    "ations", "ation", "ments", "ment", "ness", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "ed", "es",
    "ly", "al", "s", "e", "y",
)  # fmt: skip
_MIN_STEM = 3


@dataclass(frozen=True, slots=True)
class Essay:
    """A text with the facts that a good extraction holds."""

    topic: str
    text: str
    facts: tuple[str, ...]


def essays() -> list[Essay]:
    """Return the essays of bench/extraction in file order."""
    lines = (bench_data() / "extraction" / "essays.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [Essay(row["topic"], row["text"], tuple(row["facts"])) for row in rows]


def stem(word: str) -> str:
    """Return the word without one ending; the same for both sides, so it need not be a word."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)]
    return word


def key_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    words = re.findall(r"[^\W_]+", text.lower())
    return frozenset(stem(word) for word in words if word not in STOP_WORDS and word not in _SMALL and len(word) > 1)


def relation_words(relation: ExtractedRelation) -> str:
    """Return the text of a relation that counts."""
    dates = f"{relation.valid_from or ''} {relation.valid_to or ''}"
    return f"{relation.subject} {relation.predicate} {relation.object} {dates}"


@dataclass(frozen=True, slots=True)
class FactScore:
    """`found`: facts whose key words are all found. `covered`: the best share of key words found, summed over facts."""

    facts: int = 0
    found: int = 0
    covered: float = 0.0

    def __add__(self, other: FactScore) -> FactScore:
        return FactScore(self.facts + other.facts, self.found + other.found, self.covered + other.covered)


def score(found: ExtractionResult, facts: Iterable[str]) -> FactScore:
    """Score an extraction against facts. Cost: facts times the pairs of relations that share an entity."""
    relations = [(relation, key_words(relation_words(relation))) for relation in found.relations]
    total = FactScore()
    for fact in facts:
        best = _best(relations, key_words(fact))
        total += FactScore(1, int(best == 1.0), best)
    return total


def _best(relations: list[tuple[ExtractedRelation, frozenset[str]]], wanted: frozenset[str]) -> float:
    """Return the largest share of the wanted words in one relation or in two that share an entity."""
    by_entity: dict[str, set[frozenset[str]]] = defaultdict(set)
    for relation, words in relations:
        if common := words & wanted:
            by_entity[relation.subject.casefold()].add(common)
            by_entity[relation.object.casefold()].add(common)
    best = 0
    for masks in by_entity.values():
        for one in masks:
            best = max(best, *(len(one | other) for other in masks))
    return best / len(wanted) if wanted else 1.0
