"""The sums of the communities' contents, as columns: one row of each for a community.

A row has the number of entities, the sum of their digests, a count sketch of these, and the community to whose sums
this content is added. Invariant: a community with fewer than two entities has no sketch, because the digest of the one
entity gives it; most communities are such. Memory: some 110 bytes a community, and a sketch 48 to 64 of few entities,
else 144.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from operator import add, sub
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.int_sets import shared_int

Sketch = NDArray[np.int32]
BUCKETS = 64
FEW = 31
"""Counts that a sketch lists one by one at most, which takes the memory of 64 bytes at most."""
_SIGN = BUCKETS
_CODE = 2 * BUCKETS - 1
_MASK = (1 << 64) - 1
_SLACK = 64

_Counts: TypeAlias = "bytes | array[int]"
"""A sketch: a byte for each count of 1 or -1, `bucket | _SIGN` for 1, as the digest of an item ends; no bucket has both
signs. Where these are more than FEW, the counts of all buckets.
"""


class CommunitySums:
    """The columns; see the module. Communities are positive ids, items 64-bit digests of entities."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._free: list[int] = []
        self._entities = array("i")
        self._digests = array("Q")
        self._parents = array("q")
        self._sketches: list[_Counts | None] = []
        self._is_changed = bytearray()
        self._changed = array("q")

    def __contains__(self, community: int) -> bool:
        return community in self._rows

    def entities(self, community: int) -> int:
        """Return the number of entities; 0 for an unknown community. O(1)."""
        row = self._rows.get(community)
        return 0 if row is None else self._entities[row]

    def digest(self, community: int) -> int:
        """Return the sum of the digests; 0 for an unknown community. O(1)."""
        row = self._rows.get(community)
        return 0 if row is None else self._digests[row]

    def sketch(self, community: int) -> Sketch:
        """Return the counts of a community (BUCKETS,) int32, as a new array. Raises KeyError for an unknown one."""
        row = self._rows[community]
        counts = _dense(self._counts(row))
        return np.frombuffer(counts, np.int8 if counts.typecode == "b" else np.int32).astype(np.int32)

    def parent(self, community: int) -> int:
        """Return the community to whose sums this one's content is added; 0 for none or an unknown community."""
        row = self._rows.get(community)
        return 0 if row is None else self._parents[row]

    def insert(self, community: int) -> None:
        """Insert an empty community, unless it exists."""
        if community in self._rows:
            return
        if self._free:
            self._rows[community] = self._free.pop()
            return
        self._rows[community] = shared_int(len(self._entities))
        for column in (self._entities, self._digests, self._parents, self._is_changed):
            column.append(0)
        self._sketches.append(None)

    def remove(self, community: int) -> None:
        """Remove a community that no sums refer to; an unknown one is ignored."""
        row = self._rows.pop(community, None)
        if row is None:
            return
        for column in (self._entities, self._digests, self._parents, self._is_changed):
            column[row] = 0
        self._sketches[row] = None
        self._free.append(row)

    def add(self, community: int, item: int, times: int) -> None:
        """Add (1) or subtract (-1) an entity in a community and all of its ancestors."""
        while community:
            row = self._rows[community]
            self._add_item(row, item, times)
            self._note(community, row)
            community = self._parents[row]

    def attach(self, community: int, parent: int) -> None:
        """Move a community's content from the sums of its ancestors to those of `parent`, 0 for none, and of its
        ancestors.
        """
        row = self._rows[community]
        self._add_all(row, self._parents[row], -1)
        self._parents[row] = parent
        self._add_all(row, parent, 1)

    def drain_changed(self) -> set[int]:
        """Return the communities whose sums changed since the last call; without calls, at most all that exist."""
        taken = {community for community in self._changed if self._is_noted(community)}
        self._changed = array("q")
        for community in taken:
            self._is_changed[self._rows[community]] = 0
        return taken

    def _add_all(self, row: int, ancestor: int, times: int) -> None:
        while ancestor:
            above = self._rows[ancestor]
            if self._entities[row] == 1:
                self._add_item(above, self._digests[row], times)
            elif self._entities[row]:
                self._add_sums(above, row, times)
            self._note(ancestor, above)
            ancestor = self._parents[above]

    def _add_item(self, row: int, item: int, times: int) -> None:
        entities = self._entities[row] + times
        if entities < 2:
            self._sketches[row] = None
        else:
            code = item & _CODE
            self._sketches[row] = _with(self._counts(row), code if times > 0 else code ^ _SIGN)
        self._entities[row] = entities
        self._digests[row] = (self._digests[row] + times * item) & _MASK

    def _add_sums(self, row: int, other: int, times: int) -> None:
        entities = self._entities[row] + times * self._entities[other]
        if entities < 2:
            self._sketches[row] = None
        else:
            own, added = self._counts(row), self._counts(other)
            if isinstance(added, bytes):
                for code in added:
                    own = _with(own, code if times > 0 else code ^ _SIGN)
                self._sketches[row] = own
            else:
                self._sketches[row] = _narrow(map(add if times > 0 else sub, _dense(own), added))
        self._entities[row] = entities
        self._digests[row] = (self._digests[row] + times * self._digests[other]) & _MASK

    def _counts(self, row: int) -> _Counts:
        """Return the sketch, also of a community of at most one entity."""
        counts = self._sketches[row]
        if counts is not None:
            return counts
        return bytes((self._digests[row] & _CODE,)) if self._entities[row] else b""

    def _note(self, community: int, row: int) -> None:
        if self._is_changed[row]:
            return
        self._is_changed[row] = 1
        self._changed.append(community)
        if len(self._changed) > 2 * len(self._rows) + _SLACK:  # removed communities, where nothing drains
            self._changed = array("q", {each for each in self._changed if self._is_noted(each)})

    def _is_noted(self, community: int) -> bool:
        row = self._rows.get(community)
        return row is not None and bool(self._is_changed[row])


def _with(sketch: _Counts, code: int) -> _Counts:
    """Return a sketch with one more count. One of all buckets is changed in place, or copied where one needs more."""
    if not isinstance(sketch, bytes):
        return _added(sketch, code)
    place = sketch.find(code ^ _SIGN)
    if place >= 0:
        return sketch[:place] + sketch[place + 1 :]
    return sketch + bytes((code,)) if len(sketch) < FEW else _added(_dense(sketch), code)


def _added(counts: array[int], code: int) -> array[int]:
    change = 1 if code & _SIGN else -1
    try:
        counts[code % BUCKETS] += change
    except OverflowError:
        counts = array("i", counts)
        counts[code % BUCKETS] += change
    return counts


def _dense(sketch: _Counts) -> array[int]:
    """Return the counts of all buckets: those of the sketch, if it has them, else new ones."""
    if not isinstance(sketch, bytes):
        return sketch
    counts = array("b", bytes(BUCKETS))
    for code in sketch:
        counts[code % BUCKETS] += 1 if code & _SIGN else -1
    return counts


def _narrow(counts: Iterable[int]) -> _Counts:
    """Return the smallest form of the counts of all buckets."""
    values = list(counts)
    if sum(map(abs, values)) <= FEW:
        signed = ((bucket | (_SIGN if count > 0 else 0), abs(count)) for bucket, count in enumerate(values))
        return b"".join([bytes((code,)) * times for code, times in signed])
    return array("b" if max(values) < 128 and min(values) >= -128 else "i", values)
