"""Exact search in the vectors of an earlier version: those of the present view without the changed ones, and these.

Invariant: results equal those of an ExactIndex of all vectors of the version. The first search may build the exact
indexes of the present view, whose cost is all vectors; opening an earlier version does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphtide.graph.vector_index import (
    ExactIndex,
    Ids,
    IndexStatistics,
    Rows,
    SearchResult,
    Vectors,
    best_of,
    checked_ids,
    checked_queries,
    stacked,
)
from graphtide.graph.view_state.exact_indexes import ExactIndexes
from graphtide.graph.view_state.indexes import VectorIndexes
from graphtide.graph.view_state.tables import HasBytes


class PatchedIndex:
    """A VectorIndex over the exact index of the present view. Cost of a change: the changed vectors."""

    def __init__(self, present: Callable[[], ExactIndex], below: Mapping[int, HasBytes]) -> None:
        """`present` returns the index, and `below` is the table of its rows."""
        self._present = present
        self._below = below
        self._changed: set[int] = set()
        self._own: ExactIndex | None = None

    @property
    def dimensions(self) -> int:
        """See VectorIndex.dimensions."""
        return self._own.dimensions if self._own is not None and len(self._own) else self._present().dimensions

    def __len__(self) -> int:
        present = self._present()
        return len(present) - sum(number in present for number in self._changed) + (len(self._own) if self._own else 0)

    def __contains__(self, id_: object) -> bool:
        if id_ in self._changed:
            return self._own is not None and id_ in self._own
        row = self._below.get(id_)  # type: ignore[call-overload]
        return row is not None and bool(row.vector_bytes)

    def add(self, ids: Ids, vectors: Vectors | Rows) -> None:
        """See VectorIndex.add."""
        if not len(ids):
            return
        if self._own is None:
            self._own = ExactIndex(len(vectors[0]))
        self._own.add(ids, np.stack(list(vectors)).astype(np.float32))
        self._changed.update(checked_ids(ids))

    def remove(self, ids: Ids) -> None:
        """See VectorIndex.remove."""
        self._changed.update(checked_ids(ids))
        if self._own is not None:
            self._own.remove(ids)

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """See VectorIndex.search: exact. Cost: all vectors."""
        parts = [index for index in (self._own, self._present()) if index is not None and len(index)]
        if not parts:
            return stacked([best_of(np.empty(0, np.int64), np.empty(0, np.float32), k) for _ in queries], k)
        unit = checked_queries(queries, k, self.dimensions)
        found = [index.search_without(() if index is self._own else self._changed, unit, k, allowed) for index in parts]
        rows = []
        for query in range(len(unit)):
            ids = np.concatenate([part.ids[query] for part in found])
            scores = np.concatenate([part.similarities[query] for part in found])
            rows.append(best_of(ids[ids >= 0], scores[ids >= 0], k))
        return stacked(rows, k)

    def vectors(self, ids: Ids) -> Vectors:
        """See VectorIndex.vectors."""
        rows = []
        for number in checked_ids(ids):
            index = self._own if number in self._changed else self._present()
            if index is None:
                raise KeyError(number)
            rows.append(index.vectors(np.array([number]))[0])
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32)

    def live_ids(self) -> Ids:
        """See VectorIndex.live_ids."""
        unchanged = [number for number in self._present().live_ids().tolist() if number not in self._changed]
        return np.array(sorted(unchanged + (self._own.live_ids().tolist() if self._own else [])), np.int64)

    def statistics(self) -> IndexStatistics:
        """See VectorIndex.statistics; the bytes are those of the changed vectors."""
        size = self._own.statistics().size_bytes if self._own is not None else 0
        return IndexStatistics(len(self), 0, size, "exact", 0)


class EarlierIndexes(ExactIndexes):
    """The exact indexes of an earlier view are its indexes."""

    def __init__(self, indexes: VectorIndexes) -> None:
        super().__init__()
        self._built = indexes

    def follow(self, delta: object) -> None:
        """Do nothing: the view keeps its indexes current."""
