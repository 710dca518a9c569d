"""Cannot-link constraints: conditions under which two labels are never one entity, whatever their vectors.

A constraint overrules every proposed link, and no chain of links may join two labels that a constraint separates.
Passing every constraint is no evidence for sameness.

Invariant: `cannot_link_reason` is symmetric and depends on the two signatures alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphtide.graph.resolution import lexicon as lx
from graphtide.graph.resolution.label_features import Signature


def cannot_link_reason(a: Signature, b: Signature) -> str | None:
    """Return a short reason why the two can never be one entity, or None. Cost: linear in the number of words."""
    return next(_reasons(a, b), None)


def _reasons(a: Signature, b: Signature) -> Iterator[str]:
    if a.is_generic or b.is_generic:
        yield "generic"
    if a.kind and b.kind and a.kind != b.kind:
        yield "type"
    if a.numbers != b.numbers:
        yield "number"
    if a.suffix and b.suffix and a.suffix != b.suffix:
        yield "suffix"
    if is_abbreviation(a) or is_abbreviation(b):
        return  # its letters contain no information about the words of the other
    if a.qualifiers != b.qualifiers and "".join(a.words) != "".join(b.words):
        yield "qualifier"
    if a.is_dated != b.is_dated:
        yield "date"
    if a.tail and b.tail and _regions_differ(a.tail, b.tail):
        yield "region"
    if _exclude(a, b):
        yield "kind"
    if a.is_person and b.is_person and names_differ(a.words, b.words):
        yield "given name"


def is_abbreviation(signature: Signature) -> bool:
    """Return whether the label is a single short word, which may be initials: "bjp", "saam"."""
    return bool(signature.letters)


def names_differ(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Return whether two persons' names share the family name but have given names that cannot be one person's."""
    a, b = without_numbers(a), without_numbers(b)
    if not a or not b or a[-1] != b[-1]:
        return False
    short, long = sorted((a[:-1], b[:-1]), key=len)
    if (len(short) == 1 and is_letter_run(short[0])) or any(is_letter_run(w) for w in long):
        return False
    return not embeds(short, long)


def without_numbers(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that are not numbers."""
    return tuple(w for w in words if not w[0].isdigit())


def is_letter_run(word: str) -> bool:
    """Return whether the word could be initials written together, as in "jrr"."""
    return 2 <= len(word) <= 3


def given_names_agree(x: str, y: str) -> bool:
    """Return whether two given names are equal, one the initial of the other, or one a short form of the other."""
    if x == y or (len(x) == 1 and y.startswith(x)) or (len(y) == 1 and x.startswith(y)):
        return True
    return lx.NICKNAMES.get(x, x) == lx.NICKNAMES.get(y, y)


def embeds(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Return whether each name of the shorter agrees with one of the longer, in order."""
    rest = iter(long)
    return all(any(given_names_agree(x, y) for y in rest) for x in short)


def _regions_differ(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    short, long = sorted((set(a), set(b)), key=len)
    return not short <= long


def _exclude(a: Signature, b: Signature) -> bool:
    left, right = set(a.words + a.tail), set(b.words + b.tail)
    return any((left & group) and (right & group) and (left & group) != (right & group) for group in lx.EXCLUSIVE)
