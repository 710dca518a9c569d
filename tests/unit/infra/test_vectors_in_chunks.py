"""Graphs whose vectors are in chunks and in files: the deltas, digests and searches of those in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph._vectors import StoredBytes
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.records import DocumentChange, Extraction
from graphtide.graph.vector_index import unit_rows
from graphtide.graph.vector_store import VectorBytes, keep_in_chunks, spill, stored, vector_memory
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.hnsw import HnswIndex, HnswParameters
from graphtide.streams.follow.delta_codec import decode, encode
from tests.support.extractions import random_extraction

GRAPH = HnswParameters(exact_below=0)
SIZE = 16
MIB = 1 << 20
TABLES = ("chunks", "entities", "statements")


@pytest.fixture(autouse=True)
def bytes_after_each_test() -> Iterator[None]:
    """Leave the form of vectors as it is by default."""
    yield
    keep_in_chunks(False)


def changes(seed: int) -> Iterator[list[DocumentChange]]:
    """Yield batches that add, edit and delete documents."""
    rng, versions = random.Random(seed), dict[str, Extraction]()
    for revision in range(1, 40):
        name = f"d{rng.randrange(14)}"
        new = None if name in versions and rng.random() < 0.3 else random_extraction(rng, name, revision, None)
        yield [DocumentChange(name, versions.pop(name, None), new)]
        if new is not None:
            versions[name] = new


def observed(seed: int, folder: Path | None) -> list[object]:
    """Return what a write model and a follower show after each batch; in chunks, and moved to the folder, if given."""
    keep_in_chunks(folder is not None)
    writer, view = Consolidator("g"), LiveView("g", VectorIndexes(*(HnswIndex(SIZE, GRAPH) for _ in TABLES)))
    queries = unit_rows(np.random.default_rng(seed).standard_normal((4, SIZE)).astype(np.float32), SIZE)
    found: list[object] = []
    others: list[VectorBytes] = []
    moved = 0
    for batch in changes(seed):
        record = encode(writer.apply(batch), sums=True)
        with view.lock.write():
            view.apply(decode(record))
        if folder is not None and len(found) % 40 == 0:  # vectors so far share a chunk with others, which fill it
            others += [stored(bytes([1]) * 2 * SIZE) for _ in range(MIB // (2 * SIZE))]
            moved += spill(folder)
        found += [record, digest(view.rows())]
        for name in TABLES:
            index = getattr(view.indexes, name)
            index.settle()
            hits = index.search(queries, 5)
            found += [hits.ids.tobytes(), hits.similarities.tobytes()]
    if folder is not None:
        assert moved >= 4 * MIB
        for name in TABLES:
            rows = getattr(view, name).values()
            assert all(isinstance(row.vector_bytes, StoredBytes) for row in rows if row.vector_bytes)
    for name in TABLES:
        getattr(view.indexes, name).close()
    return found


@pytest.mark.parametrize("seed", range(3))
def test_deltas_digests_and_searches_are_those_of_vectors_in_memory(seed: int, tmp_path: Path) -> None:
    """To the last bit, after each of forty insertions, edits and deletions."""
    print(f"seed {seed}")
    before = vector_memory().live_bytes
    assert observed(seed, tmp_path) == observed(seed, None)
    assert vector_memory().live_bytes == before
