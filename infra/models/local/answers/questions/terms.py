"""The terms of a question: its content words, each with its kind and the words that it accepts instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.models.local.answers.questions.lexicon import IMPLIED, SENTENCE_END, TITLES
from graphtide.infra.models.local.answers.questions.types import Term, TermKind
from graphtide.infra.models.local.answers.thesaurus import WEAK, opposites_of, synonyms_of
from graphtide.infra.models.local.answers.words import (
    NUMBER_WORDS,
    PHRASAL_VERBS,
    STOP_WORDS,
    Word,
    key_of,
    words_of,
)

_HYPHENATED = re.compile(r"[a-zA-Z]{2,20}-[a-zA-Z]{2,20}")


def date_keys(words: Sequence[Word]) -> frozenset[str]:
    """Return the keys of months, and of the numbers beside them."""
    months = {at for at, word in enumerate(words) if word.capital and word.text.lower() in MONTHS}
    days = {near for at in months for near in (at - 1, at + 1, at + 2) if 0 <= near < len(words) and words[near].coded}
    return frozenset(words[at].key for at in months | days)


def terms_of(
    words: Sequence[Word],
    text: str,
    focus: frozenset[str],
    measures: frozenset[str],
    weak: frozenset[str],
    either_way: bool,
) -> list[Term]:
    implied = frozenset().union(*(IMPLIED.get(kind, frozenset()) for kind in measures)) if measures else frozenset()
    starts = {0, *(match.end() + 1 for match in SENTENCE_END.finditer(text))}
    either = _either(text)
    terms: dict[str, Term] = {}
    plain = _phrasal(words)
    for word in words:
        if word.start in plain:
            if key := plain[word.start]:
                kind = TermKind.WEAK if key in WEAK else TermKind.WORD
                terms[key] = Term(word.text, key, kind, synonyms_of(key), word.start)
            continue
        is_label = word.text == "A" and word.start not in starts  # "room A", not the article
        if (word.text.lower() in STOP_WORDS and not is_label) or word.key in terms:
            continue
        kind = TermKind.WEAK if word.key in weak else _term_kind(word, focus, implied, starts)
        same = either - {word.key} if word.key in either else frozenset()
        synonyms = synonyms_of(word.text) | (opposites_of(word.text) if either_way else frozenset())
        if _HYPHENATED.fullmatch(word.text):
            synonyms |= {key_of(word.text.replace("-", ""))}  # "call-outs", and callouts.csv
        terms[word.key] = Term(word.text, word.key, kind, synonyms, word.start, same)
    return _most_specific(list(terms.values()))


def _most_specific(terms: list[Term]) -> list[Term]:
    """Return at most `MAX_TERMS` terms in their order: names and codes first, then words that carry meaning."""
    if len(terms) <= MAX_TERMS:
        return terms
    kept = sorted(range(len(terms)), key=lambda at: (not terms[at].hard, terms[at].weak, at))[:MAX_TERMS]
    return [terms[at] for at in sorted(kept)]


MAX_TERMS = 40
"""Terms by which units are scored, as each takes time for each unit: a longer question is a text."""


def adjacent_pairs(words: Sequence[Word], text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys of adjacent content words."""
    found = []
    for first, second in pairwise(words):
        between = text[first.start + len(first.text) : second.start]
        if between == " " and not {first.text.lower(), second.text.lower()} & STOP_WORDS:
            found.append((first.key, second.key))
    return tuple(found)


def _phrasal(words: Sequence[Word]) -> dict[int, str]:
    """Return the plain verb's key for the start of each phrasal verb, and "" for that of its particle."""
    found: dict[int, str] = {}
    for verb, particle in pairwise(words):
        if key := PHRASAL_VERBS.get((verb.key, particle.text), ""):
            found |= {verb.start: key, particle.start: ""}
    return found


def _either(text: str) -> frozenset[str]:
    """Return the keys of two words in lower case joined by "or": either is enough."""
    words = words_of(text)
    for at in range(1, len(words) - 1):
        if words[at].text == "or" and words[at - 1].text.islower() and words[at + 1].text.islower():
            return frozenset({words[at - 1].key, words[at + 1].key})
    return frozenset()


def _term_kind(word: Word, focus: frozenset[str], implied: frozenset[str], starts: set[int]) -> TermKind:  # noqa: PLR0911 -- one return for each kind
    lower = word.text.lower()
    if word.coded:
        return TermKind.CODE
    if lower in TITLES:
        return TermKind.WEAK
    if word.capital and word.start not in starts and lower not in MONTHS:
        return TermKind.NAME
    if word.key in implied:
        return TermKind.IMPLIED
    if word.key in WEAK:
        return TermKind.WEAK
    if word.key in focus:
        return TermKind.FOCUS
    if lower in NUMBER_WORDS:
        return TermKind.IMPLIED
    return TermKind.WORD
