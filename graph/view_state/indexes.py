"""The vector indexes of a live view, and their synchronisation with its rows.

Invariant: after `sync`, an index holds exactly the rows that have a vector, under that vector.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import GraphDelta, Vector
from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.vector_store import VectorBytes
from graphtide.graph.vector_sum import bytes_of, vector_of

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


class HasVector(Protocol):
    """A row of a view's table, with the bytes of its vector."""

    vector_bytes: VectorBytes


def refer_to_loaded(index: VectorIndex, rows: Mapping[int, HasVector]) -> None:
    """Replace the vectors of rows by the equal ones that a loaded index holds, so that each is held once.

    Cost: all vectors.
    """
    if not isinstance(index, HoldsRows):
        return
    for row, loaded in zip(rows.values(), float16_rows(index, rows), strict=True):
        if loaded is not None and loaded.tobytes() == row.vector_bytes:
            row.vector_bytes = bytes_of(loaded)


def float16_rows(index: HoldsRows, ids: Iterable[int]) -> Iterator[Vector | None]:
    """Yield the row of each id, None where it is not live or has unit length in float32."""
    remaining = iter(ids)
    while portion := tuple(islice(remaining, PORTION_ROWS)):
        for row in index.rows(portion):
            yield row.astype(np.float16, copy=False) if row is not None and row.dtype == np.float16 else None


def with_loaded_vectors(
    snapshot: GraphDelta, statements: Mapping[int, HasVector], entities: Mapping[int, HasVector]
) -> GraphDelta:
    """Return a snapshot whose statements and entities refer to the equal vectors of a view's tables.

    A write model that is restored from it then holds few vectors of its own. Call under the view's read lock. Cost:
    the rows of the snapshot.
    """
    stated = tuple(
        replace(row, vector=_loaded_vector(statements, row.statement, row.vector)) for row in snapshot.statements
    )
    named = tuple(replace(row, vector=_loaded_vector(entities, row.node, row.vector)) for row in snapshot.entities)
    return replace(snapshot, statements=stated, entities=named)


def _loaded_vector(rows: Mapping[int, HasVector], number: int, vector: Vector) -> Vector:
    row = rows.get(number)
    return vector if row is None or row.vector_bytes != vector.tobytes() else vector_of(row.vector_bytes)


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
