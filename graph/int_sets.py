"""Compact sets of ints for tables of many small sets.

None or one number of a table is a tuple; up to MAX_FEW ints are FewNumbers, and more are a NumberSet. A `set` takes 216
bytes for one member and 40 to 100 for each of many; a tuple takes 56 bytes and 8 a member, FewNumbers 24 and 4, a
NumberSet 5 to 6 a member. All are iterated, counted and tested alike; only the functions here change them. Invariant:
few are ascending and at most MAX_FEW; a NumberSet has more than MAX_FEW // 2 members. So has a PatchedSet, which takes
the place of a NumberSet in forks of a view. Sets with a member outside of 0 to 2**32 - 2, which no number of a table
is, are a tuple or a `set`.

A number of a table occurs in many others, and most sets have one member. So `shared_int` keeps one int and one tuple
for each number that tables allocate, in all graphs of the process, and sets of this one member are that tuple. Numbers
are reused, so these are as many as the largest graph had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from graphtide.graph._int_sets import FewNumbers, NumberSet

MAX_FEW = 16
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


IntSet = tuple[int, ...] | FewNumbers | NumberSet | PatchedSet | set[int]
FEW_TYPES = (tuple, FewNumbers)
"""The types of sets that do not change."""
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
    """Return the set with a member; one of many is changed in place. Cost: at most MAX_FEW, of many O(1) amortised."""
    if isinstance(members, FEW_TYPES):
        if not members:
            return (0 <= member < len(_singles) and _singles[member]) or _few((member,))
        if member in members:
            return members
        return _many((*members, member)) if len(members) == MAX_FEW else _few((*members, member))
    try:
        members.add(member)
    except OverflowError:
        return {*members, member}
    return members


def excluding(members: IntSet, member: int) -> IntSet:
    """Return the set without a member; one of many is changed in place. Cost: at most MAX_FEW."""
    if isinstance(members, FEW_TYPES):
        return _few(tuple([other for other in members if other != member])) if member in members else members
    members.discard(member)
    return members if len(members) > MAX_FEW // 2 else _few(tuple(members))


def common(first: IntSet, second: IntSet) -> set[int]:
    """Return the members of both sets. Cost: the smaller set."""
    if len(first) > len(second):
        first, second = second, first
    return {member for member in first if member in second}


def int_set(members: Iterable[int]) -> IntSet:
    """Return the set of these members."""
    found = set(members)
    return _many(found) if len(found) > MAX_FEW else _few(tuple(found))


def _few(members: tuple[int, ...]) -> tuple[int, ...] | FewNumbers:
    if not members:
        return EMPTY
    if len(members) == 1 and 0 <= members[0] < len(_singles) and (shared := _singles[members[0]]):
        return shared
    try:
        return FewNumbers(members)
    except OverflowError:
        return tuple(sorted(members))


def _many(members: Collection[int]) -> NumberSet | set[int]:
    found = NumberSet()
    try:
        for member in members:
            found.add(member)
    except OverflowError:
        return set(members)
    return found
