"""Names in units: which words are names of persons, and names of the question that a unit has in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.types import QuestionPlan, TermKind
from graphtide.infra.models.local.answers.units import Unit
from graphtide.infra.models.local.answers.words import (
    NUMBER_WORDS,
    STOP_WORDS,
    Word,
    words_of,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS
from graphtide.infra.models.local.english.lexical.words import CALENDAR, ORGANISATION_CUES, PLACE_CUES, PLACES

SHORT_NAME = 0.75


_ADDRESS_MARKS = frozenset("@/\\")
_NOT_PERSONS = ORGANISATION_CUES | PLACE_CUES | PLACES | CALENDAR


def person_keys(units: Sequence[Unit]) -> frozenset[str]:
    """Return the keys of words that are names of persons, most likely: in capitalised runs without a word of another
    kind of name, and never in lower case.
    """
    capital: set[str] = set()
    lower: set[str] = set()
    for unit in units:
        for word in words_of(unit.text):
            if not word.capital and not word.coded and not _is_address(unit.text, word):
                lower.add(word.key)
        for run in _capitalised(unit.text):
            if not any(word.text.lower() in _NOT_PERSONS for word in run):
                capital.update(word.key for word in run if not _is_common(word.text.lower()))
    return frozenset(capital - lower)


def _is_address(text: str, word: Word) -> bool:
    """Return whether a word is part of an e-mail address or a path, where names are in lower case."""
    end = word.start + len(word.text)
    return text[end : end + 1] in _ADDRESS_MARKS or text[max(0, word.start - 1) : word.start] in _ADDRESS_MARKS


def _is_common(word: str) -> bool:
    return word in STOP_WORDS or word in NUMBER_WORDS or word in VERBS


def _capitalised(text: str) -> Iterator[list[Word]]:
    """Yield the runs of capitalised words that only a blank separates, or the full stop of an initial."""
    run: list[Word] = []
    for word in words_of(text):
        adjacent = bool(run) and text[run[-1].start + len(run[-1].text) : word.start] in (" ", ". ", "")
        if run and not (adjacent and word.capital):
            yield run
            run = []
        if word.capital:
            run.append(word)
    if run:
        yield run


def with_first_names(plan: QuestionPlan, unit: Unit, covers: tuple[float, ...]) -> tuple[float, ...]:
    """Return the shares with those of surnames that the unit leaves out: it has the first name and no other surname."""
    names = {t.key: i for i, t in enumerate(plan.terms) if t.kind is TermKind.NAME}
    found = list(covers)
    for first, last in plan.pairs:
        both = first in names and last in names
        if both and covers[names[last]] < SHORT_NAME <= covers[names[first]] and _is_single(first, unit.whole):
            found[names[last]] = SHORT_NAME
    return tuple(found)


def _is_single(key: str, text: str) -> bool:
    """Return whether a text has a name without a capitalised word beside it."""
    words = words_of(text)
    places = [at for at, word in enumerate(words) if word.key == key and word.capital]
    ends = [word.start + len(word.text) for word in words]
    return any(
        not (at + 1 < len(words) and words[at + 1].capital and text[ends[at] : words[at + 1].start] == " ")
        for at in places
    )


def conflicts(plan: QuestionPlan, unit: Unit) -> int:
    """Return how many names of the question the unit has with another word: "frost sensor" for "rain sensor"."""
    text = unit.whole
    words = [word for word in words_of(text) if word.text.lower() not in STOP_WORDS]
    present = {word.key for word in words} | unit.columns
    count = 0
    for first, second in plan.pairs:
        if (first in present) == (second in present):
            continue
        for left, right in pairwise(words):
            adjacent = text[left.start + len(left.text) : right.start] == " "
            if adjacent and (
                (right.key == second and left.key != first)
                or (left.key == first and left.capital and right.capital and right.key != second)
            ):
                count += 1
                break
    return count


def names_holder(evidence: AnswerEvidence, text: str) -> bool:
    """Return whether a name is close to a word of the question, without punctuation: "Ana is the new treasurer".

    Linear: each word is compared with the last one of the other kind alone, since any earlier one is less close.
    """
    asked = evidence.plan.keys
    ends: dict[bool, int] = {}
    for word in words_of(text):
        is_term = word.key in asked
        if not is_term and not (word.capital and word.key in evidence.names):
            continue
        if (not is_term) in ends and _is_close(text[ends[not is_term] : word.start]):
            return True
        ends[is_term] = max(ends.get(is_term, 0), word.start + len(word.text))
    return False


def _is_close(between: str) -> bool:
    return len(between.split(maxsplit=_CLOSE)) <= _CLOSE and not any(mark in between for mark in ",;:.")


_CLOSE = 4
