"""The HNSW kernel: vectors by reference, in the form in which a view's tables hold them, and hnswlib's own results."""

from __future__ import annotations

import gc
import random
import sys
from dataclasses import replace
from pathlib import Path

import hnswlib
import numpy as np
import pytest

from graphtide.graph._hnsw import Kernel, code_distances, distance
from graphtide.graph._vectors import StoredBytes
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.stored_rows import ViewVectors
from graphtide.graph.records import DocumentChange
from graphtide.graph.vector_index import ExactIndex, Vectors, unit_rows
from graphtide.graph.vector_store import stored
from graphtide.graph.vector_sum import bytes_of, vector_of
from graphtide.graph.view import IndexVersions, LiveView, VectorIndexes
from graphtide.infra.hnsw import HnswIndex, HnswParameters
from graphtide.infra.hnsw.generation import HnswGeneration
from graphtide.streams.follow.delta_codec import decode, encode
from tests.support.extractions import random_extraction

DIMENSIONS = 27
GRAPH = HnswParameters(exact_below=0)


def halves(seed: int, count: int, dimensions: int = DIMENSIONS) -> list[np.ndarray[tuple[int], np.dtype[np.float16]]]:
    """Vectors of very different lengths, with coordinates that are zero or below the normal numbers of float16."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, dimensions)) * rng.choice([1e-3, 1.0, 50.0], size=(count, 1))
    rows[rng.random(rows.shape) < 0.1] = 0
    rows[rng.random(rows.shape) < 0.05] = 3e-7
    rows[:, 0] += 0.01
    return list(rows.astype(np.float16))


@pytest.mark.parametrize("dimensions", [1, 7, 8, 31, 32, 33, 384])
@pytest.mark.parametrize("plain", [False, True])
def test_distance_is_that_of_the_unit_vectors_in_every_form(dimensions: int, plain: bool) -> None:
    """float16 of any length, float32 of unit length, and both mixed; with the machine's instructions and without."""
    rows = halves(1, 12, dimensions)
    units = unit_rows(rows, dimensions)
    exact = 1 - units.astype(np.float64) @ units.astype(np.float64).T
    for a in range(12):
        for b in range(12):
            found = [
                distance(rows[a], rows[b], plain),
                distance(units[a], rows[b], plain),
                distance(rows[a], units[b], plain),
                distance(units[a], units[b], plain),
            ]
            assert np.allclose(found, exact[a, b], rtol=0, atol=1e-6), (a, b, found)


@pytest.mark.parametrize("dimensions", [2, 127, 128, 129, 192, 255, 256, 384, 1_000])
def test_codes_keep_the_distances_of_the_vectors(dimensions: int) -> None:
    """Distances of neighbours, opposites and any others, by whole numbers that no instructions change, with codes of
    four bits, and of eight where one coordinate dominates, mixed.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, dimensions))
    rows[10:20] = rows[:10] + rng.normal(size=(10, dimensions)) * 0.3
    rows[20] = -rows[0]
    rows[24:, 1] = 40 * np.sqrt(dimensions)
    halves_, units = list(rows.astype(np.float16)), unit_rows(rows.astype(np.float32), dimensions)
    exact = 1 - units.astype(np.float64) @ units.astype(np.float64).T
    errors = []
    for a in range(30):
        for b in range(30):
            found = code_distances(halves_[a], units[b], False)
            assert found == code_distances(halves_[a], units[b], True)
            errors.append(np.array(found) - exact[a, b])
    deviations = np.sqrt(np.square(errors).mean(axis=0))
    narrow = dimensions >= 128
    assert deviations[0] < (0.25 / np.sqrt(dimensions) if narrow else 0.005)
    assert deviations[1] < (0.35 / np.sqrt(dimensions) if narrow else 0.005)
    assert np.abs(errors).max() < (1.5 / np.sqrt(dimensions) if narrow else 0.02)


def test_index_refers_to_the_rows_it_is_given() -> None:
    """The exact stage, the graph that a rebuild makes from it, and rows added later: no copies of float16 rows."""
    rows, index = halves(2, 400), HnswIndex(DIMENSIONS, HnswParameters(exact_below=200))
    counts = [sys.getrefcount(row) for row in rows]
    index.add(np.arange(150), rows[:150])
    index.add(np.arange(150, 400), rows[150:])
    index.settle()
    current = index._current
    assert isinstance(current, HnswGeneration)
    assert all(stored is row for stored, row in zip(current.rows(range(400)), rows, strict=True))
    assert np.array_equal(index.vectors(np.arange(400)), unit_rows(rows, DIMENSIONS))
    index.close()
    del index, current
    gc.collect()
    assert [sys.getrefcount(row) for row in rows] == counts


@pytest.mark.usefixtures("vector_form")
def test_graph_holds_the_bytes_that_a_row_is_an_array_over() -> None:
    """The array itself is freed; the row that the graph returns is an array over the same bytes. A part of bytes, and
    bytes of an array that is no row, are not taken for a row.
    """
    vectors = [bytes_of(row) for row in halves(10, 20)]
    counts = [sys.getrefcount(data) for data in vectors]
    kernel = Kernel(DIMENSIONS, 40, 4, 8, 1)
    kernel.add([vector_of(data) for data in vectors])
    assert [sys.getrefcount(data) for data in vectors] == [count + 1 for count in counts]
    rows = [kernel.row(label) for label in range(20)]
    assert all(bytes_of(row) is data and row.tobytes() == data for row, data in zip(rows, vectors, strict=True))
    assert not any(row.flags.writeable for row in rows) and {row.dtype for row in rows} == {np.dtype(np.float16)}
    part = vector_of(stored(bytes(vectors[0]) + bytes(vectors[1])))[DIMENSIONS:]
    unit = np.frombuffer(unit_rows(halves(10, 20), DIMENSIONS)[2].tobytes(), np.float32)
    kernel.add([part, unit])
    assert kernel.row(20) is part and kernel.row(21).dtype == np.float32 and np.array_equal(kernel.row(21), unit)
    query = unit_rows(halves(10, 20), DIMENSIONS)[2]
    assert {2, 21} <= set(kernel.search(query, 3)[0].tolist())
    del kernel, rows
    gc.collect()
    assert [sys.getrefcount(data) for data in vectors] == counts


@pytest.mark.parametrize("form", ["half", "unit"])
def test_search_returns_the_distances_of_the_vectors_nearest_first(form: str) -> None:
    """The graph compares codes of 8 bits; what it finds is compared by the vectors, also after a load."""
    rows = halves(11, 600, 64)
    rows += [np.array([60, *[0.001 * (at + 1)] * 63], np.float16) for at in range(20)]  # codes of one step in 60
    units = unit_rows(rows, 64)
    kernel = Kernel(64, len(rows), 16, 80, 20)
    kernel.add(list(units) if form == "unit" else list(rows))
    kernel.width = 128
    for query in units[::40]:
        labels, distances = kernel.search(query, 12)
        exact = 1 - units[labels].astype(np.float64) @ query.astype(np.float64)
        assert np.allclose(distances, exact, rtol=0, atol=1e-6)
        assert len(labels) == 12 and list(distances) == sorted(distances) and distances[0] < 1e-6


def test_zero_rows_and_single_coordinates_have_codes() -> None:
    """A vector of zeros is at the distance 1 of every other, one of a single coordinate at that of its sign."""
    rows = [np.array(row, np.float32) for row in ([0.0], [1.0], [-1.0])]
    kernel = Kernel(1, 3, 4, 8, 1)
    kernel.add([*rows])
    labels, distances = kernel.search(rows[1], 3)
    assert labels.tolist() == [1, 0, 2] and distances.tolist() == [0, 1, 2]


def test_equal_vectors_cost_no_index_work_in_either_form() -> None:
    """The same bits, a copy of them, and the unit vector of float32 are one vector."""
    rows, index = halves(3, 50), HnswIndex(DIMENSIONS, GRAPH)
    index.add(np.arange(50), rows)
    index.settle()
    index.add(np.arange(50), [row.copy() for row in rows])
    index.add(np.arange(50), unit_rows(rows, DIMENSIONS))
    assert index.statistics().tombstones == 0
    index.add(np.arange(50), halves(4, 50))
    assert index.statistics().tombstones + index.statistics().rebuilds > 0
    index.close()


@pytest.mark.usefixtures("vector_form")
def test_saved_index_has_the_vectors_and_results_of_the_live_one(tmp_path: Path) -> None:
    """A snapshot holds rows of both forms and the links, tombstones included."""
    rows, index = halves(5, 300), HnswIndex(DIMENSIONS, GRAPH)
    index.add(np.arange(200), rows[:200])
    index.settle()
    index.add(np.arange(200, 300), unit_rows(rows[200:], DIMENSIONS))
    index.remove(np.arange(0, 300, 7))
    index.settle()
    index.save(tmp_path, 4)
    again = HnswIndex.load(tmp_path, DIMENSIONS, 4, GRAPH)
    live = index.live_ids()
    assert np.array_equal(again.live_ids(), live)
    assert np.array_equal(again.vectors(live), index.vectors(live))
    queries = unit_rows(halves(6, 20), DIMENSIONS)
    one, other = index.search(queries, 9), again.search(queries, 9)
    assert np.array_equal(one.ids, other.ids) and np.array_equal(one.similarities, other.similarities)
    for each in (index, again):
        each.close()


def test_graph_finds_what_hnswlib_finds() -> None:
    """The changes to hnswlib's code change no decision: nearly the same neighbours (sums are rounded differently)."""
    rows = halves(7, 3_000, 96)
    units = unit_rows(rows, 96)
    original = hnswlib.Index(space="ip", dim=96)
    original.init_index(max_elements=3_000, M=16, ef_construction=80, random_seed=20)
    original.add_items(units, np.arange(3_000), num_threads=1)
    original.set_ef(128)
    kernel = Kernel(96, 3_000, 16, 80, 20)
    kernel.add(list(rows))
    kernel.width = 128
    exact = ExactIndex(96)
    exact.add(np.arange(3_000), units)
    queries: Vectors = unit_rows(halves(8, 100, 96), 96)
    truth = exact.search(queries, 10).ids
    theirs = [set(original.knn_query(query, k=10, num_threads=1)[0][0].tolist()) for query in queries]
    ours = [set(kernel.search(query, 10)[0].tolist()) for query in queries]
    assert sum(len(a & b) for a, b in zip(ours, theirs, strict=True)) >= 985
    recall = [
        sum(len(set(row) & got) for row, got in zip(truth.tolist(), found, strict=True)) for found in (ours, theirs)
    ]
    assert recall[0] >= recall[1] - 5


def test_links_take_the_memory_of_those_that_there_are(tmp_path: Path) -> None:
    """A graph that grows from few rows, with pieces of links of every size and dead rows, finds the nearest, as does
    one that is loaded, whose pieces are in another order, also after more rows.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rows, file = halves(seed, 6_000, 8), str(tmp_path / "graph")
    kernel = Kernel(8, 16, 16, 80, 20)
    for start in range(0, 5_000, 16):
        if len(kernel) + 16 > kernel.capacity:
            kernel.resize(kernel.capacity * 9 // 8 + 16)
        kernel.add([*rows[start : min(start + 16, 5_000)]])
        if start % 160 == 0:
            kernel.mark_deleted(start)
    assert kernel.memory_bytes() < 5_000 * 125
    kernel.save(file)
    other = Kernel.load(file, 8, 6_000)
    assert other.memory_bytes() < 5_000 * 125 and other.file_bytes() == kernel.file_bytes()
    kernel.resize(6_000)
    queries = unit_rows(halves(seed + 1, 50, 8), 8)
    for grown in (False, True):
        exact = ExactIndex(8)
        live = np.array([label for label in range(len(kernel)) if label % 160 or label >= 5_000])
        exact.add(live, unit_rows([rows[label] for label in live], 8))
        kernel.width = other.width = 128
        found = [kernel.search(query, 10) for query in queries]
        again = [other.search(query, 10) for query in queries]
        truth = exact.search(queries, 10).ids.tolist()
        assert sum(len(set(one) & set(got[0].tolist())) for one, got in zip(truth, found, strict=True)) >= 470
        if not grown:
            assert all(np.array_equal(a[0], b[0]) for a, b in zip(found, again, strict=True))
            kernel.add([*rows[5_000:]])
            other.add([*rows[5_000:]])


def test_kernel_refuses_rows_it_cannot_refer_to() -> None:
    """Another type, length, shape or layout, and more rows than it has capacity for."""
    kernel = Kernel(4, 2, 4, 8, 1)
    good = np.ones(4, np.float16)
    for bad in (
        np.ones(4),
        np.ones(5, np.float16),
        np.ones((1, 4), np.float16),
        np.ones(8, np.float16)[::2],
        [1.0] * 4,
    ):
        with pytest.raises((TypeError, ValueError)):
            kernel.add([bad])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="full"):
        kernel.add([good] * 3)
    assert len(kernel) == 0
    kernel.add([good, good])
    assert len(kernel) == 2


@pytest.mark.usefixtures("vector_form")
def test_view_and_its_indexes_hold_a_vector_once() -> None:
    """The vectors of passages, entities and statements are those of the rows."""
    rng, writer = random.Random(9), Consolidator("g")
    view = LiveView("g", VectorIndexes(*(HnswIndex(16, GRAPH) for _ in range(3))))
    for number in range(15):
        extraction = random_extraction(rng, f"d{number}", number + 1, None)
        with view.lock.write():
            view.apply(writer.apply([DocumentChange(f"d{number}", None, extraction)]))
    tables = ((view.chunks, view.indexes.chunks), (view.entities, view.indexes.entities))
    for table, index in (*tables, (view.statements, view.indexes.statements)):
        assert isinstance(index, HnswIndex)
        index.settle()
        vectors = {number: row.vector_bytes for number, row in table.items() if row.vector_bytes}
        stored = index._current.rows(list(vectors))
        assert vectors and all(a.tobytes() == b for a, b in zip(stored, vectors.values(), strict=True))
        assert sum(bytes_of(a) is b for a, b in zip(stored, vectors.values(), strict=True)) >= 0.9 * len(stored)
        index.close()


def test_restored_view_and_write_model_refer_to_the_vectors_of_the_loaded_index(
    tmp_path: Path, vector_form: bool
) -> None:
    """After a restart, an index, the view's rows and the sums of the write model hold an equal vector once."""
    rng, writer = random.Random(9), Consolidator("g")
    changes = [DocumentChange(f"d{n}", None, random_extraction(rng, f"d{n}", n + 1)) for n in range(30)]
    rows = replace(writer.apply(changes), snapshot=True, communities=writer.hierarchy())
    size = rows.chunks[0].vector.size
    view = LiveView("g", VectorIndexes(*(HnswIndex(size, GRAPH) for _ in range(3))))
    view.apply(rows)
    names = ("chunks", "entities", "statements")
    for name in names:
        index = getattr(view.indexes, name)
        index.settle()
        index.save(tmp_path / name, 1)
        index.close()
    loaded = VectorIndexes(*(HnswIndex.load(tmp_path / name, size, 1, GRAPH) for name in names))
    again = LiveView("g", loaded)
    again.apply(decode(encode(rows)), indexed=IndexVersions(1, 1, 1))
    tables = {"chunks": again.chunks, "entities": again.entities, "statements": again.statements}
    for name in names:
        index = getattr(loaded, name)
        pairs = [(row.vector_bytes, index.rows([n])[0]) for n, row in tables[name].items() if row.vector_bytes]  # type: ignore[attr-defined]
        assert pairs and all(vector is bytes_of(row) for vector, row in pairs)
        assert all(isinstance(vector, StoredBytes) == vector_form for vector, _ in pairs)
    stored = decode(encode(rows))
    restored = Consolidator.restore(stored, vectors=ViewVectors.of(again))._tables
    sums = [(restored.statements[n].same, row.vector_bytes) for n, row in again.statements.items()]
    equal = [(same, vector) for same, vector in sums if same == vector]
    assert equal and all(same is vector for same, vector in equal)
    for name in names:
        getattr(loaded, name).close()


def test_deleted_rows_stay_deleted_through_a_file(tmp_path: Path) -> None:
    """A loaded graph leaves out what was deleted before it was saved, counts it, and can delete and save further."""
    rows, file = halves(5, 60), str(tmp_path / "graph")
    kernel = Kernel(DIMENSIONS, 60, 4, 40, 1)
    kernel.add(list(rows))
    gone = set(range(0, 60, 3))
    for label in gone:
        kernel.mark_deleted(label)
    for further in (1, 2):
        kernel.save(file)
        kernel = Kernel.load(file, DIMENSIONS, 60)
        kernel.width = 60
        queries = unit_rows(rows, DIMENSIONS)
        assert all(set(kernel.search(query, 60)[0].tolist()) == set(range(60)) - gone for query in queries)
        with pytest.raises(RuntimeError, match="already deleted"):
            kernel.mark_deleted(min(gone))
        kernel.mark_deleted(further)
        gone.add(further)
