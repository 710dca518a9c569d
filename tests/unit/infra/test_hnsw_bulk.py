"""The exact stage after a large addition: no copies of vectors, and the results of the other exact stage to the bit."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph.vector_sum import bytes_of, vector_of
from graphtide.infra.hnsw import HnswIndex, HnswParameters
from graphtide.infra.hnsw import index as hnsw_index
from graphtide.infra.hnsw.bulk import BulkGeneration
from graphtide.infra.hnsw.exact import ExactGeneration
from graphtide.infra.hnsw.generation import HnswGeneration, Row
from graphtide.infra.hnsw.snapshot import Snapshot

BYTES_BESIDE_A_ROW = 80
"""At most, with tables that have just grown."""


def rows_of(seed: int, count: int, dimensions: int) -> list[Row]:
    """Rows of very different lengths, of which some are equal and every fifth is a float32 unit vector."""
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=(count, dimensions)) * rng.choice([1e-3, 1.0, 50.0], size=(count, 1))
    wide[:, 0] += 0.01
    wide[count // 2 : count // 2 + count // 4] = wide[: count // 4]
    rows: list[Row] = [vector_of(bytes_of(row)) for row in wide.astype(np.float16)]
    for at in range(0, count, 5):
        rows[at] = (wide[at] / np.linalg.norm(wide[at])).astype(np.float32)
    return rows


@pytest.mark.usefixtures("vector_form")
@pytest.mark.parametrize("dimensions", [1, 3, 27, 256, 384])
@pytest.mark.parametrize("seed", range(3))
def test_results_equal_those_of_the_copies_to_the_bit(seed: int, dimensions: int) -> None:
    """With equal vectors, removed and replaced rows, a filter, few and many queries; a query of a row ties with it."""
    print(f"seed {seed}")
    rng, rows = np.random.default_rng(seed), rows_of(seed, 300, dimensions)
    copies, bulk = ExactGeneration(dimensions), BulkGeneration(dimensions)
    for generation in (copies, bulk):
        generation.put(list(range(200)), rows[:200])
        generation.remove(np.arange(0, 200, 7))
        generation.put([3, 5, *range(1000, 1100)], [rows[7], rows[5], *rows[200:]])
    queries = rng.normal(size=(70, dimensions)).astype(np.float32)
    queries[:8] = copies.vectors(copies.live_ids()[:8])
    for k in (1, 10, 250, 400):
        for allowed in (None, lambda id_: id_ % 3 == 0):
            expected, found = (each.search(queries, k, allowed=allowed) for each in (copies, bulk))
            assert found.ids.tobytes() == expected.ids.tobytes()
            assert found.similarities.tobytes() == expected.similarities.tobytes()
    assert np.array_equal(bulk.live_ids(), copies.live_ids())
    assert bulk.vectors(bulk.live_ids()).tobytes() == copies.vectors(copies.live_ids()).tobytes()
    assert len(bulk) == len(copies)
    assert 3 in bulk
    assert 7 not in bulk


@pytest.mark.usefixtures("vector_form")
def test_large_addition_copies_no_vectors_until_its_graph_is_built() -> None:
    """Also where the index had vectors before, in an exact stage or in a graph."""
    dimensions, rows = 256, [row.astype(np.float16) for row in rows_of(4, 1_000, 256)]
    index, blocked = HnswIndex(dimensions, HnswParameters(exact_below=50)), threading.Event()
    index.add(np.arange(40), rows[:40])
    assert isinstance(index._current, ExactGeneration)
    index._worker.submit(blocked.wait)
    index.add(np.arange(40, 300), rows[40:300])
    assert isinstance(index._current, BulkGeneration)
    assert index.statistics().size_bytes < BYTES_BESIDE_A_ROW * 300
    assert index.search(rows[3].astype(np.float32)[None], 1).ids.tolist() == [[3]]
    blocked.set()
    index.settle()
    assert isinstance(index._current, HnswGeneration)
    blocked.clear()
    index._worker.submit(blocked.wait)
    index.add(np.arange(300, 1_000), rows[300:])
    assert index.statistics().size_bytes < BYTES_BESIDE_A_ROW * 1_000
    blocked.set()
    index.settle()
    index.close()


def test_removed_and_replaced_rows_are_freed() -> None:
    """A place that is free refers to no row."""
    rows, generation = [row.astype(np.float16) for row in rows_of(5, 4, 8)], BulkGeneration(8)
    generation.put([0, 1], rows[:2])
    generation.put([0], [rows[2]])
    generation.remove(np.array([1, 99]))
    with pytest.raises(KeyError):
        generation.rows([1])
    generation.put([7], [rows[3]])
    assert generation.rows([7])[0] is rows[3]
    assert generation.statistics().size_bytes == generation._table.memory_bytes() + 12 * 2


def test_snapshot_of_a_large_exact_stage_is_read_without_copies(tmp_path: Path) -> None:
    """A service that ends before the graph is built saves it; the vectors keep their bits."""
    parameters, generation = HnswParameters(exact_below=50), BulkGeneration(8)
    generation.put(list(range(1_500)), [row.astype(np.float16) for row in rows_of(6, 1_500, 8)])
    snapshot = Snapshot(tmp_path, 8, parameters)
    snapshot.publish(snapshot.write(generation), 3)
    restored = snapshot.read(3)
    assert isinstance(restored, BulkGeneration)
    assert restored.vectors(restored.live_ids()).tobytes() == generation.vectors(generation.live_ids()).tobytes()


def test_empty_and_impossible_dimensions() -> None:
    """An empty generation finds nothing; vectors without coordinates are refused."""
    assert BulkGeneration(2).search(np.ones((1, 2), np.float32), 3).ids.tolist() == [[-1, -1, -1]]
    with pytest.raises(ValueError, match="at least 1"):
        BulkGeneration(0)


@pytest.mark.parametrize("large", [True, False])
def test_memory_is_returned_when_the_graph_of_a_large_addition_is_built(
    large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, after the addition that is large; not after a rebuild for tombstones."""
    calls = list[str]()
    monkeypatch.setattr(hnsw_index, "release", lambda: calls.append("pages"))
    monkeypatch.setattr(hnsw_index, "return_free_memory", lambda: calls.append("heap"))
    monkeypatch.setattr(hnsw_index, "RELEASING_ROWS", 100 if large else 101)
    index = HnswIndex(8, HnswParameters(exact_below=50))
    index.add(np.arange(100), [row.astype(np.float16) for row in rows_of(7, 100, 8)])
    index.settle()
    assert calls == ["pages", "heap"] * large
    index.remove(np.arange(45))
    index.settle()
    assert index.statistics().rebuilds == 2
    assert calls == ["pages", "heap"] * large
    index.close()
