"""Compact sets of ints for tables of many small sets: a sorted tuple while small, a `set` above.

A `set` takes 216 bytes for one member, a tuple 48. Both are iterated, counted and tested alike; only the functions here
change them. Invariant: a tuple is ascending and has at most MAX_TUPLE members; a `set` has more than MAX_TUPLE // 2.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

MAX_TUPLE = 16

IntSet = tuple[int, ...] | set[int]
EMPTY: tuple[int, ...] = ()


def including(held: IntSet, member: int) -> IntSet:
    """Return the set with a member; a `set` is changed in place. Cost: at most MAX_TUPLE."""
    if isinstance(held, set):
        held.add(member)
        return held
    if not held:
        return (member,)
    place = bisect_left(held, member)
    if place < len(held) and held[place] == member:
        return held
    if len(held) == MAX_TUPLE:
        return {*held, member}
    return (*held[:place], member, *held[place:])


def excluding(held: IntSet, member: int) -> IntSet:
    """Return the set without a member, if it was one; a `set` is changed in place. Cost: at most MAX_TUPLE."""
    if isinstance(held, set):
        held.discard(member)
        return held if len(held) > MAX_TUPLE // 2 else tuple(sorted(held))
    return tuple(second for second in held if second != member) if member in held else held


def common(first: IntSet, second: IntSet) -> set[int]:
    """Return the members of both sets. Cost: the smaller set, or MAX_TUPLE."""
    if len(first) > len(second):
        first, second = second, first
    return set(first).intersection(second)


def int_set(members: Iterable[int]) -> IntSet:
    """Return the set of these members."""
    found = set(members)
    return found if len(found) > MAX_TUPLE else tuple(sorted(found))
