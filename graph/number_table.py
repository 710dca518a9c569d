"""Tables of rows by number, for numbers that are reused: labels, statements, entities.

A `dict` takes 36 to 72 bytes an entry, this table 8 to 9, for all numbers up to the largest live one; a lookup costs
the same. Entries are iterated in ascending order.

An index finds the rows of a table by their keys, which the rows hold themselves: it stores 32 bits of hash and a number
for each, 9 to 12 bytes, where a `dict` takes 36 to 72 and its key tuples 56 or more. Counts by pair of numbers take 18
to 23 bytes, where a `dict` with its tuples takes some 100.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from graphtide.graph._tables import Index, Pairs, Table
from graphtide.graph.int_sets import IntSet, int_set

T = TypeVar("T")
Key = TypeVar("Key")

BLOCK = 1_024
"""Entries of which an iteration makes Python objects at a time."""


class NumberTable(Table[T], MutableMapping[int, T]):
    """A mapping from numbers, 0 to 2**32 - 1, to rows.

    A lookup of any other int finds nothing; its assignment raises OverflowError. One thread changes the table; a lookup
    by another one during a change is safe.
    """

    __slots__ = ()

    def __init__(self, rows: Iterable[tuple[int, T]] = ()) -> None:
        """Create a table of these rows."""
        for number, row in rows:
            self[number] = row

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers in ascending order. Cost: the largest number."""
        return (number for number in range(self.bound()) if number in self)


class KeyIndex(Index[Key, T], MutableMapping[Key, int]):
    """A mapping from the keys of a table's rows to their numbers, 0 to 2**32 - 2.

    `KeyIndex(rows, "id")` has as key of a row its attribute `id`, `KeyIndex(rows, "name", "type")` a tuple of two, up
    to three. `row` returns the row of a key, `find` the row or None. A lookup costs what that of a `dict` costs. Its
    int is a new object, where that of a row's own attribute may be shared. An attribute is a string or an int.

    Invariant: while a key is in the index, the row of its number is in the table and has that key, so a row is
    inserted before its key, and its key removed before the row. An assignment of a number whose row has another key
    raises ValueError.
    """

    __slots__ = ("_key", "_rows")

    def __init__(self, rows: Table[T], *attributes: str) -> None:
        """Create an empty index of rows that have these attributes."""
        self._rows = rows
        self._key: Callable[[Any], Any] = attrgetter(*attributes)

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys in ascending order of their numbers. Cost: the entries, of which a list is made."""
        return (self._key(self._rows[number]) for number in self.numbers())


class Groups(Mapping[Key, IntSet]):
    """The numbers of the rows of each key."""

    __slots__ = ()

    @abstractmethod
    def include(self, key: Key, number: int) -> None:
        """Add a number that the key does not have."""

    @abstractmethod
    def exclude(self, key: Key, number: int) -> None:
        """Remove a number of a key. Raises KeyError if the key has none."""


class KeyGroups(Groups[Key]):
    """A mapping from the keys of a table's rows to the numbers of all rows of that key.

    `KeyGroups(rows, "name")` has as key of a row its attribute `name`. A set that is read is a copy. Cost of a lookup:
    the rows of the key, some 70 ns each; `include` and `exclude` compare numbers alone, 1 ns each.

    Invariant: as of a KeyIndex, a row is inserted before its key, and its key removed before the row.
    """

    __slots__ = ("_count", "_index", "_key", "_rows")

    def __init__(self, rows: Table[T], *attributes: str) -> None:
        """Create an empty mapping of rows that have these attributes."""
        self._rows = rows
        self._key: Callable[[Any], Any] = attrgetter(*attributes)
        self._index: Index[Key, T] = Index(rows, *attributes)
        self._count = 0

    def __getitem__(self, key: Key) -> IntSet:
        if found := self._index.numbers_of(key):
            return int_set(found)
        raise KeyError(key)

    def get(self, key: Key, default: Any = None) -> Any:
        """Return the numbers of the rows of a key, or the default."""
        found = self._index.numbers_of(key)
        return int_set(found) if found else default

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def include(self, key: Key, number: int) -> None:
        """Add the number of a row in the table; see Groups."""
        self._count += key not in self._index
        self._index.add(key, number)

    def exclude(self, key: Key, number: int) -> None:
        """Remove a number of a key, before its row. Raises KeyError if the key does not have it; see Groups."""
        self._index.remove(key, number)
        self._count -= key not in self._index

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, each once. Cost: the entries, of which a list is made."""
        for number in self._index.numbers():
            key: Key = self._key(self._rows[number])
            if self._index.numbers_of(key)[0] == number:
                yield key

    def __len__(self) -> int:
        return self._count


class PairCounts(Pairs, MutableMapping[tuple[int, int], int]):
    """A mapping from pairs of numbers, each 0 to 2**32 - 1, to counts, 1 to 2**63 - 1; other values raise ValueError.

    Cost of a lookup: that of a `dict`. Iteration is in the order of the pairs, and sees the entries of its start. (In
    the order of their hashes, a table made of them would have all of them in a few of its slots while it grows.)
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs in ascending order. Memory: 32 bytes an entry; cost: a sort of them."""
        return (pair for pair, _ in self.items())

    def items(self) -> Iterator[tuple[tuple[int, int], int]]:  # type: ignore[override]
        """Yield the entries by ascending pair. Memory: 32 bytes an entry; cost: a sort of them."""
        rows = np.frombuffer(self.rows(), np.int64).reshape(-1, 3)
        order = np.lexsort((rows[:, 1], rows[:, 0]))
        for start in range(0, len(rows), BLOCK):
            for u, v, count in rows[order[start : start + BLOCK]].tolist():
                yield (u, v), count
