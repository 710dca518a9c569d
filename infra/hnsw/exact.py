"""The exact stage of an HNSW index: brute force over unit vectors, beside the rows that they were computed from.

A rebuild passes these rows on to the graph, which refers to them instead of holding copies.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.graph.vector_index import ExactIndex, Ids, Vectors, checked_ids
from graphtide.infra.hnsw.generation import Row, is_same_row, unit_vectors


class ExactGeneration(ExactIndex):
    """Vectors by id in one matrix, and their rows."""

    def __init__(self, dimensions: int) -> None:
        """Create an empty generation."""
        super().__init__(dimensions)
        self._rows: dict[int, Row] = {}

    def put(self, keys: list[int], rows: Vectors | Sequence[Row]) -> None:
        """Insert or replace distinct ids. The rows are kept, not copied."""
        originals: list[Row] = list(rows)
        super().put(keys, unit_vectors(originals, self.dimensions))
        self._rows.update(zip(keys, originals, strict=True))

    def remove(self, ids: Ids) -> None:
        """Remove the ids, see VectorIndex.remove."""
        super().remove(ids)
        for key in checked_ids(ids):
            self._rows.pop(key, None)

    def rows(self, keys: Sequence[int]) -> list[Row]:
        """Return the rows of the ids as they were put. Raises KeyError for an id that is not live."""
        return [self._rows[key] for key in keys]

    def refers_to(self, key: int, row: Row) -> bool:
        """Return whether the id is live, and its row this one, or one over the same bytes."""
        present = self._rows.get(key)
        return present is not None and is_same_row(present, row)
