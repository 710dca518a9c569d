"""Exact indexes of a live view: all its vectors, for questions and evaluations that must not depend on an approximate
search.

They are built when they are first needed, and kept current from then on: a graph without exact questions has none.
Invariant: a built index holds exactly the rows of its table that have a vector, under that vector.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from graphtide.graph.records import GraphDelta, Vector
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view_state.indexes import IndexVersions, VectorIndexes, sync

KEPT = IndexVersions(-1, -1, -1)
"""No stored version: every row of a delta is newer."""


class _Embedded(Protocol):
    @property
    def vector(self) -> Vector: ...


class ExactIndexes:
    """The exact indexes of one view. Readers of the view call `build`, in any thread; its writer calls `follow`."""

    def __init__(self) -> None:
        self._built: VectorIndexes | None = None
        self._building = threading.Lock()

    @property
    def exist(self) -> bool:
        """Return True once they are built."""
        return self._built is not None

    def build(
        self, chunks: Mapping[int, _Embedded], entities: Mapping[int, _Embedded], statements: Mapping[int, _Embedded]
    ) -> VectorIndexes:
        """Return the indexes of the tables. Call under `view.lock.read()`. Cost of the first call: the vectors."""
        with self._building:
            if self._built is None:
                self._built = VectorIndexes(*map(_index, (chunks, entities, statements)))
            return self._built

    def follow(self, delta: GraphDelta) -> None:
        """Apply a delta that the view applies. Call under `view.lock.write()`. Costs nothing before `build`."""
        built, gone = self._built, delta.gone
        if built is None:
            return
        if delta.snapshot or _misfits(built, delta):
            self._built = None
            return
        sync(built.chunks, gone.chunks, ((row.chunk, row.vector, 0) for row in delta.chunks), KEPT.chunks)
        sync(built.entities, gone.entities, ((row.node, row.vector, 0) for row in delta.entities), KEPT.entities)
        rows = ((row.statement, row.vector, 0) for row in delta.statements)
        sync(built.statements, gone.statements, rows, KEPT.statements)


def _index(table: Mapping[int, _Embedded]) -> ExactIndex:
    pairs = [(number, row.vector) for number, row in table.items() if row.vector.size]
    index = ExactIndex(pairs[0][1].size if pairs else 1)
    if pairs:
        numbers, vectors = zip(*pairs, strict=True)
        index.add(np.array(numbers, np.int64), np.stack(vectors).astype(np.float32))
    return index


def _misfits(built: VectorIndexes, delta: GraphDelta) -> bool:
    """Return True when an index was built for vectors of another length: its table had none."""
    tables = (built.chunks, delta.chunks), (built.entities, delta.entities), (built.statements, delta.statements)
    return any(row.vector.size not in (0, index.dimensions) for index, rows in tables for row in rows)
