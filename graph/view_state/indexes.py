"""The vector indexes of a live view, and their synchronisation with its rows.

Invariant: after `sync`, an index holds exactly the rows that have a vector, under that vector.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import GraphDelta, Vector
from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.vector_store import VectorBytes
from graphtide.graph.vector_sum import bytes_of

PORTION_ROWS = 1_024
"""Rows that are read from an index at a time: it does not change meanwhile."""


@dataclass(frozen=True, slots=True)
class VectorIndexes:
    """The vector indexes of a view, by the numbers of its tables: passages, entities, statements."""

    chunks: VectorIndex
    entities: VectorIndex
    statements: VectorIndex


@dataclass(frozen=True, slots=True)
class IndexVersions:
    """The version up to which each index holds its vectors already (0: none), when a view is filled from a snapshot."""

    chunks: int = 0
    entities: int = 0
    statements: int = 0


@runtime_checkable
class HoldsRows(Protocol):
    """An index that refers to rows, those that it was given or those that it loaded."""

    def rows(self, ids: Sequence[int]) -> Sequence[Vector | NDArray[np.float32] | None]:
        """Return the row of each id, None for an id that is not live; rows are never written to."""
        ...


class LoadedVectors:
    """The vectors of one loaded index: a row refers to the equal one, so that each is held once."""

    def __init__(self, index: VectorIndex | None = None, ids: Sequence[int] = ()) -> None:
        """Read those of the ids; none without an index. Cost: their number."""
        rows: Iterable[Vector | None] = float16_rows(index, ids) if isinstance(index, HoldsRows) else ()
        self._rows = dict[int, VectorBytes]()
        for number, row in zip(ids, rows, strict=False):
            if row is not None:
                self._rows[number] = bytes_of(row)

    def bytes_for(self, number: int, vector: Vector) -> VectorBytes:
        """Return the bytes of a row's vector to hold: those of the index if they are equal."""
        known = self._rows.get(number)
        return known if known is not None and known == vector.tobytes() else bytes_of(vector)


@dataclass(frozen=True, slots=True)
class LoadedIndexes:
    """The vectors of the loaded indexes of a view; none by default."""

    chunks: LoadedVectors = field(default_factory=LoadedVectors)
    entities: LoadedVectors = field(default_factory=LoadedVectors)
    statements: LoadedVectors = field(default_factory=LoadedVectors)

    @classmethod
    def of(cls, indexes: VectorIndexes, snapshot: GraphDelta) -> LoadedIndexes:
        """Return those of the rows of a snapshot."""
        return cls(
            LoadedVectors(indexes.chunks, [row.chunk for row in snapshot.chunks]),
            LoadedVectors(indexes.entities, [row.node for row in snapshot.entities]),
            LoadedVectors(indexes.statements, [row.statement for row in snapshot.statements]),
        )


NOTHING_LOADED = LoadedIndexes()
"""The indexes of a view that was not restored: a row keeps its own vector."""


def float16_rows(index: HoldsRows, ids: Iterable[int]) -> Iterator[Vector | None]:
    """Yield the row of each id, None where it is not live or has unit length in float32."""
    remaining = iter(ids)
    while portion := tuple(islice(remaining, PORTION_ROWS)):
        for row in index.rows(portion):
            yield row.astype(np.float16, copy=False) if row is not None and row.dtype == np.float16 else None


def stale(index: VectorIndex, live: Container[int]) -> list[int]:
    """Return the ids in a loaded index whose rows no longer exist."""
    return [number for number in index.live_ids().tolist() if number not in live]


def sync(
    index: VectorIndex, gone: Sequence[int], rows: Iterable[tuple[int, Vector, int]], indexed_version: int
) -> None:
    """Remove deleted rows, add rows new or newer than the index. A row without a vector is not in the index."""
    dead = list(gone)
    ids: list[int] = []
    vectors: list[Vector] = []
    for number, vector, version in rows:
        if vector.size and version > indexed_version:
            ids.append(number)
            vectors.append(vector)
        elif not vector.size:
            dead.append(number)
    if dead:
        index.remove(np.array(dead, np.int64))
    if ids:
        index.add(np.array(ids, np.int64), vectors)
