"""The exact stage of an HNSW index after a large addition: brute force over rows, without copies of their vectors.

A search compares the query with every row roughly, in compiled code that reads float16, and then exactly with those
that may be among the nearest, as unit vectors made for it. Invariant: its results equal those of an `ExactGeneration`
to the bit. It holds some 40 bytes a vector beside the row, that one four bytes a coordinate more; a search of ten among
20,000 takes half the time, and one among 1,000 twice (0.1 ms). A rebuild passes the rows on to the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._hnsw import RowTable
from graphtide.graph.vector_index import (
    PADDING,
    QUERY_BLOCK,
    Ids,
    IndexStatistics,
    SearchResult,
    Vectors,
    best_of,
    checked_ids,
    checked_queries,
    near_best,
    similarities,
    stacked,
)
from graphtide.infra.hnsw.generation import SCAN_BLOCK, Row, is_same_row, unit_vectors
from graphtide.infra.hnsw.label_table import NO_LABEL, LabelTable

ROUNDINGS = 8
"""Roundings of a rough comparison beyond those of its sum: of the scale, the product with it, and two subtractions."""
BYTES_BESIDE = 12
"""Bytes of the tables of places and owners, per place."""


class BulkGeneration:
    """Rows by id, in places that are reused."""

    def __init__(self, dimensions: int) -> None:
        """Create an empty generation of vectors of the given length, at least 1."""
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, got {dimensions}")
        self.dimensions = dimensions
        self._table = RowTable(dimensions)
        self._places = LabelTable()
        self._owner: Ids = np.full(16, PADDING, dtype=np.int64)
        self._free: list[int] = []

    def __len__(self) -> int:
        """Return the number of live ids."""
        return len(self._places)

    def __contains__(self, id_: object) -> bool:
        """Return whether the id is live."""
        return id_ in self._places

    def put(self, keys: list[int], rows: Vectors | Sequence[Row]) -> None:
        """Insert or replace distinct ids. The rows are kept, not copied."""
        for key, row in zip(keys, rows, strict=True):
            place = self._places.get(key)
            if place == NO_LABEL:
                place = self._free.pop() if self._free else len(self._table)
                self._places.set(key, place)
                self._own(place, key)
            self._table.set(place, row)

    def remove(self, ids: Ids) -> None:
        """Remove the ids, see VectorIndex.remove."""
        for key in checked_ids(ids):
            place = self._places.pop(key)
            if place != NO_LABEL:
                self._owner[place] = PADDING
                self._table.clear(place)
                self._free.append(place)

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """Return the k most similar of each query, exactly, see VectorIndex.search."""
        unit = checked_queries(queries, k, self.dimensions)
        eligible = self._eligible(allowed)
        error = (self.dimensions + ROUNDINGS) * float(np.finfo(np.float32).eps)
        found: list[tuple[Ids, Vectors]] = []
        for start in range(0, len(unit), QUERY_BLOCK):
            block = unit[start : start + QUERY_BLOCK]
            for query, rough in zip(block, self._table.scan(block), strict=True):
                places = near_best(rough, eligible, k, error)
                found.append(best_of(self._owner[places], self._similarities(query, places), k))
        return stacked(found, k)

    def vectors(self, ids: Ids) -> Vectors:
        """Return the unit vectors, (n, d). Raises KeyError for an id that is not live."""
        return unit_vectors(self.rows(checked_ids(ids)), self.dimensions)

    def rows(self, keys: Sequence[int]) -> list[Row]:
        """Return the rows of the ids as they were put. Raises KeyError for an id that is not live."""
        return [self._table.row(self._places.of(key)) for key in keys]

    def refers_to(self, key: int, row: Row) -> bool:
        """Return whether the id is live, and its row this one, or one over the same bytes. The rows are not read."""
        place = self._places.get(key)
        return place != NO_LABEL and is_same_row(self._table.row(place), row)

    def live_ids(self) -> Ids:
        """Return all live ids, ascending."""
        return np.array(sorted(self._places), dtype=np.int64)

    def statistics(self) -> IndexStatistics:
        """Return counts and memory, without the rows, which their owners count. Free places are no tombstones."""
        size_bytes = self._table.memory_bytes() + BYTES_BESIDE * len(self._table)
        return IndexStatistics(len(self._places), 0, size_bytes, "exact", 0)

    def _own(self, place: int, key: int) -> None:
        if place == len(self._owner):
            self._owner = np.concatenate([self._owner, np.full_like(self._owner, PADDING)])
        self._owner[place] = key

    def _eligible(self, allowed: Callable[[int], bool] | None) -> NDArray[np.intp]:
        owners = self._owner[: len(self._table)]
        if allowed is None:
            return np.flatnonzero(owners != PADDING)
        return np.array([place for place, id_ in enumerate(owners.tolist()) if id_ >= 0 and allowed(id_)], np.intp)

    def _similarities(self, query: Vectors, places: NDArray[np.intp]) -> Vectors:
        scores = np.zeros(len(places), dtype=np.float32)
        for start in range(0, len(places), SCAN_BLOCK):
            block = slice(start, start + SCAN_BLOCK)
            rows = [self._table.row(place) for place in places[block].tolist()]
            scores[block] = similarities(query, unit_vectors(rows, self.dimensions))
        return scores
