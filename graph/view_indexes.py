"""The vector indexes of a live view, and their synchronisation with its rows.

Invariant: after `sync`, an index holds exactly the rows that have a vector, under that vector.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphtide.graph.records import Vector
from graphtide.graph.vector_index import VectorIndex


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


def stale(index: VectorIndex, live: Container[int]) -> list[int]:
    """Return the ids in a loaded index whose rows no longer exist."""
    return [number for number in index.live_ids().tolist() if number not in live]


def sync(index: VectorIndex, gone: Sequence[int], rows: Iterable[tuple[int, Vector, int]], held: int) -> None:
    """Remove deleted rows, add rows new or newer than the index. A row without a vector is not in the index."""
    dead = list(gone)
    ids: list[int] = []
    vectors: list[Vector] = []
    for number, vector, version in rows:
        if vector.size and version > held:
            ids.append(number)
            vectors.append(vector)
        elif not vector.size:
            dead.append(number)
    if dead:
        index.remove(np.array(dead, np.int64))
    if ids:
        index.add(np.array(ids, np.int64), vectors)
