"""Compact sets of ints for tables of many small sets: a sorted tuple while small, a NumberSet above.

A `set` takes 216 bytes for one member and 40 to 100 for each of many, a tuple 48 and a NumberSet 5 to 6. All are
iterated, counted and tested alike; only the functions here change them. Invariant: a tuple is ascending and has at most
MAX_TUPLE members; a NumberSet has more than MAX_TUPLE // 2. So has a PatchedSet, which takes the place of a NumberSet
in forks of a view, and a `set`, which has members that a NumberSet cannot have: those outside of 0 to 2**32 - 2.

A number of a table occurs in many others, and most sets have one member. So `shared_int` keeps one int and one tuple
for each number that tables allocate, in all graphs of the process, and sets of this one member are that tuple. Numbers
are reused, so these are as many as the largest graph had.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from graphtide.graph._int_sets import NumberSet

MAX_TUPLE = 16
MAX_SHARED = 1 << 22
"""Larger numbers are not shared: the table of tuples takes 8 bytes for each number up to the largest."""


class PatchedSet(Collection[int]):
    """A set of ints that holds only what differs from another set, which must not change while this one is used.

    A fork of a view has such a set for each large one that it changes. Cost of a change: O(1).
    """

    __slots__ = ("_added", "_below", "_removed")

    def __init__(self, below: Collection[int]) -> None:
        self._below = below
        self._added: set[int] = set()
        self._removed: set[int] = set()

    def __contains__(self, member: object) -> bool:
        return member in self._added or (member in self._below and member not in self._removed)

    def __iter__(self) -> Iterator[int]:
        yield from (member for member in self._below if member not in self._removed)
        yield from self._added

    def __len__(self) -> int:
        return len(self._below) + len(self._added) - len(self._removed)

    def add(self, member: int) -> None:
        """Add a member."""
        self._removed.discard(member)
        if member not in self._below:
            self._added.add(member)

    def discard(self, member: int) -> None:
        """Remove a member, if it is one."""
        self._added.discard(member)
        if member in self._below:
            self._removed.add(member)


IntSet = tuple[int, ...] | NumberSet | PatchedSet | set[int]
EMPTY: tuple[int, ...] = ()
_singles: list[tuple[int, ...]] = []


def shared_int(number: int) -> int:
    """Return the number of a row, from 0 up to MAX_SHARED the same object at each call."""
    if 0 <= number < len(_singles) and (known := _singles[number]):
        return known[0]
    if not 0 <= number < MAX_SHARED:
        return number
    # Two threads may enter the same number: one of two equal ints is then not shared.
    if number >= len(_singles):
        _singles.extend([EMPTY] * (number + 1 + number // 8 - len(_singles)))
    _singles[number] = (number,)
    return number


shared_value = lru_cache(maxsize=1_024)(int)
"""Return an int that is no number of a row; the frequent ones, such as weights, are the same object at each call."""


def single(member: int) -> tuple[int, ...]:
    """Return the set of one number; the shared one if the number is shared."""
    return (0 <= member < len(_singles) and _singles[member]) or (member,)


def shared_tuple(members: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers as a tuple, that of `single` for one number."""
    return single(members[0]) if len(members) == 1 else tuple(members)


def including(members: IntSet, member: int) -> IntSet:
    """Return the set with a member; one that is no tuple is changed in place. Cost: at most MAX_TUPLE, amortised."""
    if not isinstance(members, tuple):
        try:
            members.add(member)
        except OverflowError:
            return {*members, member}
        return members
    if not members:
        return single(member)
    place = bisect_left(members, member)
    if place < len(members) and members[place] == member:
        return members
    if len(members) == MAX_TUPLE:
        return _many((*members, member))
    return (*members[:place], member, *members[place:])


def excluding(members: IntSet, member: int) -> IntSet:
    """Return the set without a member; one that is no tuple is changed in place. Cost: at most MAX_TUPLE."""
    if not isinstance(members, tuple):
        members.discard(member)
        return members if len(members) > MAX_TUPLE // 2 else tuple(sorted(members))
    if member not in members:
        return members
    left = tuple(second for second in members if second != member)
    return single(left[0]) if len(left) == 1 else left


def common(first: IntSet, second: IntSet) -> set[int]:
    """Return the members of both sets. Cost: the smaller set, or MAX_TUPLE."""
    if len(first) > len(second):
        first, second = second, first
    return {member for member in first if member in second}


def int_set(members: Iterable[int]) -> IntSet:
    """Return the set of these members."""
    found = set(members)
    return _many(found) if len(found) > MAX_TUPLE else shared_tuple(sorted(found))


def _many(members: Collection[int]) -> NumberSet | set[int]:
    found = NumberSet()
    try:
        for member in members:
            found.add(member)
    except OverflowError:
        return set(members)
    return found
