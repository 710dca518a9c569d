"""Tables that hold only what differs from other tables: a fork of a view costs what is changed in it.

A fork reads the tables below through these, and writes only to them. While `Writing.on`, a mutable value that is read
is replaced by a copy of its own, since the code that applies deltas changes values in place.

Invariant: the tables below are never written to, and must not change while the fork is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar, cast

from graphtide.graph.int_sets import EMPTY, FEW_TYPES, IntSet, PatchedSet, excluding, including
from graphtide.graph.number_table import Groups
from graphtide.graph.numbered_ints import NumberedInts

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Mark:
    __slots__ = ()


GONE: Final = _Mark()
UNCHANGED: Final = _Mark()


@dataclass(slots=True)
class Writing:
    """The state of a fork: `on` while a delta is applied to it, and the number of entries that its tables hold."""

    on: bool = False
    entries: int = 0


class Overlay(MutableMapping[Key, Value]):
    """A mapping over another. Cost of a write: O(1), and a copy of a mutable value by `own`."""

    __slots__ = ("_below", "_changed", "_own", "_size", "_writing")

    def __init__(
        self, below: Mapping[Key, Value], writing: Writing, own: Callable[[Value], Value] | None = None
    ) -> None:
        self._below = below
        self._changed: dict[Key, Value | _Mark] = {}
        self._own = own
        self._size = len(below)
        self._writing = writing

    def _put(self, key: Key, value: Value | _Mark) -> None:
        self._writing.entries += key not in self._changed
        self._changed[key] = value

    def __getitem__(self, key: Key) -> Value:
        changed = self._changed.get(key, UNCHANGED)
        if changed is UNCHANGED:
            value = self._below[key]
            if self._own is not None and self._writing.on:
                value = self._own(value)
                self._put(key, value)
            return value
        if changed is GONE:
            raise KeyError(key)
        return cast(Value, changed)

    def get(self, key: Key, default: Value | None = None) -> Value | None:  # type: ignore[override]
        """Return the value of a key, or the default."""
        changed = self._changed.get(key, UNCHANGED)
        if changed is UNCHANGED:
            return self[key] if key in self._below else default
        return default if changed is GONE else cast(Value, changed)

    def __contains__(self, key: object) -> bool:
        changed = self._changed.get(key, UNCHANGED)  # type: ignore[arg-type]
        return key in self._below if changed is UNCHANGED else changed is not GONE

    def __setitem__(self, key: Key, value: Value) -> None:
        self._size += key not in self
        self._put(key, value)

    def __delitem__(self, key: Key) -> None:
        if key not in self:
            raise KeyError(key)
        self._size -= 1
        self._put(key, GONE)

    def __iter__(self) -> Iterator[Key]:
        changed = self._changed
        yield from (key for key in self._below if key not in changed)
        yield from (key for key, value in changed.items() if value is not GONE)

    def __reversed__(self) -> Iterator[Key]:
        """Yield the keys; the order is that of no history."""
        return iter(self)

    def __len__(self) -> int:
        return self._size


class GroupsOverlay(Overlay[Key, IntSet], Groups[Key]):
    """Groups over others. Cost of a change: O(1), amortised."""

    __slots__ = ()

    def __init__(self, below: Mapping[Key, IntSet], writing: Writing) -> None:
        """Create groups that equal those below."""
        super().__init__(below, writing, own_ints)

    def include(self, key: Key, number: int) -> None:
        """See Groups.include."""
        self[key] = including(self.get(key) or EMPTY, number)

    def exclude(self, key: Key, number: int) -> None:
        """See Groups.exclude."""
        left = excluding(self[key], number)
        if left:
            self[key] = left
        else:
            del self[key]


class OverlayInts(NumberedInts):
    """Ints by number over others. Cost of a write: O(1)."""

    __slots__ = ("_below", "_changed", "_writing")

    def __init__(self, below: NumberedInts, writing: Writing) -> None:
        super().__init__()
        self._below = below
        self._changed: dict[int, int] = {}
        self._writing = writing

    def __getitem__(self, number: int) -> int:
        changed = self._changed.get(number)
        return self._below[number] if changed is None else changed

    def __setitem__(self, number: int, value: int) -> None:
        self._writing.entries += number not in self._changed
        self._changed[number] = value

    def items(self) -> Iterator[tuple[int, int]]:
        """See NumberedInts.items."""
        found = {number: value for number, value in self._below.items() if number not in self._changed}
        found |= {number: value for number, value in self._changed.items() if value}
        return iter(sorted(found.items()))


@dataclass(slots=True)
class OverlayColumn(Generic[Value]):
    """A growing list over another one. Cost of a write: O(1), and a copy of a mutable value by `own`."""

    below: Sequence[Value]
    writing: Writing
    own: Callable[[Value], Value] | None = None
    _length: int = -1
    _changed: dict[int, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._length = len(self.below)

    def __getitem__(self, row: int) -> Value:
        if row in self._changed:
            return self._changed[row]
        value = self.below[row]
        if self.own is not None and self.writing.on:
            value = self._changed[row] = self.own(value)
            self.writing.entries += 1
        return value

    def __setitem__(self, row: int, value: Value) -> None:
        self.writing.entries += row not in self._changed
        self._changed[row] = value

    def append(self, value: Value) -> None:
        """Add a row."""
        self._changed[self._length] = value
        self.writing.entries += 1
        self._length += 1

    def __len__(self) -> int:
        return self._length


def own_ints(members: IntSet) -> IntSet:
    """Return a set of ints that may be changed: a large one refers to the old one. O(1)."""
    return members if isinstance(members, FEW_TYPES) else PatchedSet(members)
