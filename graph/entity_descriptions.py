"""What the live documents say an entity is: their descriptions of it put together, under a bound of tokens.

Up to the bound each sentence is one of a document's descriptions, as extraction gave it. Beyond it, the summary that a
model wrote of them stands in, where there is one that holds (`graph/reports/entity_summaries.py`), else what fits.
Invariant: what is
put together is a function of the live descriptions and of how often each is given, whatever order they came in; when a
document goes, what only it said of the entity goes with it, and so does a summary that rests on it.

After GraphRAG's summaries of elements, which a language model writes. Deviations: none is asked where the descriptions
fit; and each sentence of a summary names the descriptions that it rests on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest

from graphtide.graph.reports.cache import ReportFinding, ReportRow
from graphtide.graph.reports.entity_summaries import ENTITY, storage_id, summary_key
from graphtide.graph.reports.fingerprint import fingerprint_of
from graphtide.graph.token_count import count_tokens
from graphtide.graph.view import LiveView

MAX_TOKENS = 500
MAX_READ = 1_000
"""Passages that are looked at, of an entity that stands in more: the first by name."""
SHOWN_TOKENS = 3_000
"""Of descriptions that a model is shown."""
CITED = 3
"""Chunks by which a description is cited, when more of them give it."""
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])\s+")
_MARKS = ".!?\u2026\u3002\uff01\uff1f"


@dataclass(frozen=True, slots=True)
class Description:
    """One thing that is said of an entity, how often, and some of the chunks that say it, the first by name."""

    text: str
    count: int
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """The input of an entity summary: an entity whose descriptions exceed the token limit. `summary_key` names it.

    `descriptions` are bounded, the most frequent ones, in the order of their texts; `fingerprint` is of all of them.
    """

    entity: str
    called: str
    name: str
    type: str
    descriptions: tuple[Description, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class DescribedSentence:
    """A sentence of a summary, and which of a profile's descriptions it rests on, by place."""

    text: str
    of: tuple[int, ...]


def describe(view: LiveView, node: int, most_tokens: int = MAX_TOKENS) -> str:
    """What is said of the entity, the most frequent first, equal ones by text; cut where a sentence ends.

    A summary that holds is taken first. Empty where no document describes it. Call under `view.lock.read()`. Cost: its
    passages, and what MOST_READ of them mention.
    """
    held = view.summaries.summary(view, node)
    if held is not None and count_tokens(held.summary) <= most_tokens:
        return held.summary
    given = {text: one.count for text, one in _given(view, node).items()}
    return merge_descriptions(Counter(given), most_tokens)


def profile(view: LiveView, node: int) -> EntityProfile | None:
    """What a summary is written from; None where the descriptions fit together. As `describe` for lock and cost."""
    given = _given(view, node)
    counts = Counter({text: one.count for text, one in given.items()})
    if not given or not _joined(counts, MAX_TOKENS)[1]:
        return None
    shown = sorted(_telling(counts), key=lambda text: (text.casefold(), text))
    descriptions = tuple(
        Description(text, counts[text], tuple(view.chunks[number].chunk_id for number in given[text].chunks[:CITED]))
        for text in shown
    )
    entity, fingerprint = view.entities[node], fingerprint_of(counts).encode()
    return EntityProfile(entity.id, summary_key(view, node), entity.name, entity.type, descriptions, fingerprint)


def extractive_summary(said: EntityProfile) -> tuple[DescribedSentence, ...]:
    """The summary that quotes: the most frequent descriptions, as many as fit."""
    order = sorted(range(len(said.descriptions)), key=lambda at: (-said.descriptions[at].count, at))
    taken, left = [], MAX_TOKENS
    for at in order:
        text = _ended(said.descriptions[at].text)
        left -= count_tokens(text)
        if left < 0:
            break
        taken.append(DescribedSentence(text, (at,)))
    return tuple(taken) or (DescribedSentence(_first_words(said.descriptions[order[0]].text, MAX_TOKENS), (order[0],)),)


def summary_row(said: EntityProfile, sentences: Iterable[DescribedSentence], version: int) -> ReportRow:
    """A summary as it is kept: each sentence with the chunks of the descriptions that it rests on."""
    findings = []
    for one in sentences:
        chunks = dict.fromkeys(chunk for at in one.of for chunk in said.descriptions[at].chunks)
        findings.append(ReportFinding(one.text, tuple(chunks)))
    sources = tuple(dict.fromkeys(chunk for one in findings for chunk in one.chunks))
    text = " ".join(one.text for one in findings)
    key = (storage_id(said.entity), ENTITY, said.fingerprint, version)
    return ReportRow(*key, said.called, text, sources, tuple(findings))


def merge_descriptions(given: Counter[str], most_tokens: int = MAX_TOKENS) -> str:
    """Descriptions with how often each is given, as one text. What is contained in one before it is left out.

    The first sentence alone, if it is above the bound, is cut where a word ends.
    """
    return _joined(given, most_tokens)[0]


def _joined(given: Counter[str], most_tokens: int) -> tuple[str, bool]:
    """The text, and whether anything did not fit."""
    said: list[str] = []
    left, cut = most_tokens, False
    for text, _ in sorted(given.items(), key=lambda pair: (-pair[1], pair[0])):
        if any(text.casefold() in one.casefold() for one in said):
            continue
        taken = list(_fitting(text, left))
        if taken:
            said.append(" ".join(taken))
            left -= sum(map(count_tokens, taken))
        cut = not taken or said[-1] != _ended(text)
        if cut:
            break
    if not said and given:
        said = [_first_words(min(given, key=lambda text: (-given[text], text)), most_tokens)]
    return " ".join(said), cut


def _telling(counts: Counter[str]) -> list[str]:
    """The most frequent descriptions, as many as a model is shown; what is contained in one before it is left out."""
    shown: list[str] = []
    left = SHOWN_TOKENS
    for text, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if any(text.casefold() in one.casefold() for one in shown):
            continue
        left -= count_tokens(text)
        if left < 0 and shown:
            break
        shown.append(text)
    return shown


def sentences(text: str) -> list[str]:
    """The text's sentences, white space folded, as far as marks and white space tell."""
    return [one for one in _SENTENCE_END.split(" ".join(text.split())) if one]


@dataclass(slots=True)
class _Given:
    """How often a description is given, and the chunks that give it, by name."""

    count: int = 0
    chunks: list[int] = field(default_factory=list)


def _given(view: LiveView, node: int) -> dict[str, _Given]:
    entity = view.entities[node]
    given: defaultdict[str, _Given] = defaultdict(_Given)
    for chunk in nsmallest(MAX_READ, entity.chunks, key=lambda number: view.chunks[number].chunk_id):
        for mention in view.chunks[chunk].mentions:
            if view.labels[mention.label].node == node and mention.description.strip():
                one = given[" ".join(mention.description.split())]
                one.count += mention.count
                if one.chunks[-1:] != [chunk]:
                    one.chunks.append(chunk)
    return given


def _fitting(text: str, most_tokens: int) -> Iterator[str]:
    for sentence in sentences(_ended(text)):
        most_tokens -= count_tokens(sentence)
        if most_tokens < 0:
            return
        yield sentence


def _ended(text: str) -> str:
    return text if text[-1] in _MARKS else f"{text}."


def _first_words(text: str, most_tokens: int) -> str:
    words = text.split()
    while words and count_tokens(" ".join(words)) >= most_tokens:
        words = words[: min(len(words) - 1, len(words) * 9 // 10)]
    return " ".join([*words, "\u2026"]) if words else ""
