"""Places in a text: prepositions of place, what is somewhere, addresses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.values.dates import MONTH_NUMBERS, is_time
from graphtide.infra.models.local.answers.words import Word, is_number, word_set, words_of

_PREPOSITIONS = word_set(
    "in at on under below beneath behind beside above near inside outside opposite between to from into by underside "
    "across off"
)
_WHERE = word_set("in at on under below beneath behind beside above near inside outside opposite")
_STANDING = word_set(
    "is are was were be hangs hang lies lie stands kept stored stays stay located found printed sit sits lives live "
    "goes go put moved hidden installed mounted built born meets meet held works work"
)
_STREETS = word_set("street road lane avenue square quay")
_NEAR_WORDS = 4


def has_place(text: str) -> bool:
    """Return whether the text has a preposition of place that no date or number follows."""
    words = words_of(text)
    return any(
        word.text.lower() in _PREPOSITIONS
        and not (at + 1 < len(words) and (is_number(words[at + 1]) or is_time(words[at + 1])))
        and not _is_condition([other.text.lower() for other in words[at : at + 3]])
        for at, word in enumerate(words)
    )


def stands_somewhere(text: str) -> bool:
    """Return whether the text says where something is: a verb of being, then a preposition of place."""
    words = [word.text.lower() for word in words_of(text)]
    for at, word in enumerate(words):
        if word in _STANDING and not _WHERE.isdisjoint(words[at + 1 : at + 2 + _NEAR_WORDS]):
            return not _is_condition(words[at + 1 : at + 4])
    return False


def _is_condition(words: Sequence[str]) -> bool:
    """Return whether words are "on leave" or "on parental leave", which is no place."""
    return words[:1] == ["on"] and not _CONDITIONS.isdisjoint(words[1:])


_CONDITIONS = frozenset({"leave", "holiday", "vacation", "call", "duty", "strike", "sale", "hold", "time"})


def has_address(text: str) -> bool:
    """Return whether the text has a street, a name with a house number, or an e-mail address."""
    if "@" in text:
        return True
    words = words_of(text)
    if any(word.text.lower() in _STREETS for word in words):
        return True
    return any(
        first.capital and len(first.text) > 3 and first.text.lower() not in MONTH_NUMBERS and _is_house(second)
        for first, second in pairwise(words)
    )


def _is_house(word: Word) -> bool:
    digits = word.text.rstrip("abcdefgh")
    return digits.isdigit() and 1 <= len(digits) <= 3
