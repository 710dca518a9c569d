"""The sums of the communities' contents, as columns: one row of each for a community.

A row has the number of entities, the sum of their digests, a count sketch of these, and the community to whose sums
this content is added. Invariant: a community with fewer than two entities has no sketch, because the digest of the one
entity gives it; most communities are such. Memory: some 110 bytes a community, and a sketch 144.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from operator import add, sub

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.int_sets import shared_int

Sketch = NDArray[np.int32]
BUCKETS = 64
_MASK = (1 << 64) - 1
_SLACK = 64


class CommunitySums:
    """The columns; see the module. Communities are positive ids, items 64-bit digests of entities."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._free: list[int] = []
        self._entities = array("i")
        self._digests = array("Q")
        self._parents = array("q")
        self._sketches: list[array[int] | None] = []
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
        counts = self._sketches[row] or self._counts(row)
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
            sketch = self._sketches[row]
            if sketch is None:
                sketch = self._sketches[row] = self._counts(row)
            try:
                sketch[item % BUCKETS] += times if item & BUCKETS else -times
            except OverflowError:
                sketch = self._sketches[row] = array("i", sketch)
                sketch[item % BUCKETS] += times if item & BUCKETS else -times
        self._entities[row] = entities
        self._digests[row] = (self._digests[row] + times * item) & _MASK

    def _add_sums(self, row: int, other: int, times: int) -> None:
        entities = self._entities[row] + times * self._entities[other]
        if entities < 2:
            self._sketches[row] = None
        else:
            own, added = self._sketches[row] or self._counts(row), self._sketches[other] or self._counts(other)
            self._sketches[row] = _narrow(map(add if times > 0 else sub, own, added))
        self._entities[row] = entities
        self._digests[row] = (self._digests[row] + times * self._digests[other]) & _MASK

    def _counts(self, row: int) -> array[int]:
        """Return the sketch of a community of at most one entity."""
        counts = array("b", bytes(BUCKETS))
        if self._entities[row]:
            item = self._digests[row]
            counts[item % BUCKETS] = 1 if item & BUCKETS else -1
        return counts

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


def _narrow(counts: Iterable[int]) -> array[int]:
    """Return counts with one byte each, or four where one needs more."""
    values = list(counts)
    return array("b" if max(values) < 128 and min(values) >= -128 else "i", values)
