"""HnswIndex beyond the contract: promotion, rebuilds beside use, determinism, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph.algorithms.yield_points import yielding
from graphtide.graph.rwlock import ReadersWriterLock
from graphtide.graph.vector_index import PADDING, ExactIndex, Ids, Rows, Vectors, check_rows, unit_rows
from graphtide.graph.vector_sum import bytes_of, vector_of
from graphtide.infra.hnsw import HnswIndex, HnswParameters
from graphtide.infra.hnsw import index as subject
from graphtide.infra.hnsw.exact import ExactGeneration
from graphtide.infra.hnsw.generation import HnswGeneration, Row
from graphtide.infra.hnsw.rebuild import Rebuild
from graphtide.streams.scheduling.precedence import QUESTIONS

DIMENSIONS = 16
SMALL = HnswParameters(exact_below=100, dead_share=0.3)


def rows_of(seed: int, count: int) -> Vectors:
    """Random vectors."""
    return np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)


@pytest.fixture
def index() -> Iterator[HnswIndex]:
    """Return an empty index that becomes a graph above 100 vectors."""
    made = HnswIndex(DIMENSIONS, SMALL)
    yield made
    made.close()


def test_index_becomes_a_graph_when_it_grows_and_brute_force_when_it_shrinks(index: HnswIndex) -> None:
    """The kind follows the size by itself, with a gap in between so that it does not oscillate."""
    rows = rows_of(1, 300)
    index.add(np.arange(100), rows[:100])
    index.settle()
    assert index.statistics().kind == "exact"
    index.add(np.arange(100, 300), rows[100:])
    index.settle()
    assert (index.statistics().kind, index.statistics().rebuilds) == ("hnsw", 1)
    index.remove(np.arange(40, 300))
    index.settle()
    statistics = index.statistics()
    assert (statistics.kind, statistics.live, statistics.tombstones) == ("exact", 40, 0)
    assert np.array_equal(index.vectors(np.arange(40)), unit_rows(rows[:40], DIMENSIONS))


def test_index_is_rebuilt_when_too_much_of_it_is_dead(index: HnswIndex) -> None:
    """Replacing vectors leaves tombstones up to the dead share, and a rebuild removes them."""
    index.add(np.arange(400), rows_of(2, 400))
    index.settle()
    before = index.statistics()
    index.add(np.arange(150), rows_of(3, 150))
    index.settle()
    assert index.statistics().tombstones == 150
    assert index.statistics().rebuilds == before.rebuilds
    index.add(np.arange(150, 200), rows_of(4, 50))
    index.settle()
    assert index.statistics().rebuilds == before.rebuilds + 1
    assert index.statistics().tombstones <= 200 - 0.3 * 400
    assert index.statistics().live == 400


@pytest.mark.parametrize("many", [False, True])
def test_rows_that_an_index_refers_to_are_not_read_again(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each stage of it; new rows beside them are checked, an invalid one is named by its place and changes nothing,
    and of two rows of one id the last counts.
    """
    index = HnswIndex(DIMENSIONS, HnswParameters(exact_below=1_000 if not many else 20))
    rows = [vector_of(row.astype(np.float16).tobytes()) for row in rows_of(8, 60)]
    index.add(np.arange(40), rows[:40])
    index.settle()
    read: list[int] = []

    def checked(block: Rows, dimensions: int, first: int = 0) -> None:
        read.append(len(block))
        check_rows(block, dimensions, first)

    monkeypatch.setattr(subject, "check_rows", checked)
    index.add(np.arange(40), rows[:40])
    index.add(np.arange(40), [vector_of(bytes_of(row)) for row in rows[:40]])
    assert read == [] and index.statistics().tombstones == 0
    with pytest.raises(ValueError, match="row 3 is zero"):
        index.add(np.array([0, 1, 50, 51, 2]), [rows[0], rows[1], rows[50], np.zeros(DIMENSIONS, np.float16), rows[2]])
    assert 50 not in index
    index.add(np.array([0, 3, 3, 41]), [rows[0], rows[45], rows[3], rows[41]])
    assert len(index) == 41 and np.array_equal(index.vectors(np.array([3])), unit_rows([rows[3]], DIMENSIONS))
    index.add(np.array([3, 3]), [rows[3], rows[46]])
    assert np.array_equal(index.vectors(np.array([3])), unit_rows([rows[46]], DIMENSIONS))
    index.close()


@pytest.mark.parametrize("seed", [19, 33, 47])
def test_a_vector_comes_again_after_all_copies_of_it_were_removed(seed: int) -> None:
    """Copies link to each other alone: once they are dead, a search for a place for the vector meets no live label."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    graph = HnswGeneration(32, HnswParameters(links=4, build_width=10, search_width=10), 100)
    count = int(rng.integers(300, 900))
    graph.put(list(range(count)), list(rng.normal(size=(count, 32)).astype(np.float16)))
    for turn in range(6):
        vector = rng.normal(size=32).astype(np.float16)
        copies = range(10_000, 10_000 + int(rng.integers(50, 250)))
        graph.put(list(copies), [vector.copy() for _ in copies])
        graph.remove(np.array(copies))
        graph.put([20_000 + turn], [vector])
        found = graph.search(vector.astype(np.float32)[None], 1)
        assert found.ids.tolist() == [[20_000 + turn]]


def test_search_finds_everything_when_tombstones_cut_the_graph() -> None:
    """With nearly all labels dead and no rebuild, a search still returns k: labels beyond the links are scanned."""
    index = HnswIndex(
        DIMENSIONS, HnswParameters(links=2, build_width=2, search_width=2, exact_below=0, dead_share=0.999)
    )
    rows = rows_of(5, 600)
    index.add(np.arange(600), rows)
    index.settle()
    index.remove(np.arange(60, 600))
    found = index.search(rows_of(6, 30), 20)
    assert index.statistics().tombstones >= 500
    assert (found.ids != PADDING).all()
    assert all(len(set(row)) == 20 for row in found.ids.tolist())
    index.close()


@pytest.mark.parametrize("seed", range(6))
def test_rebuild_ends_in_one_graph_whatever_its_timing(seed: int, tmp_path: Path) -> None:
    """However reads and changes interleave, the new generation is the ordered state, then the changes in order."""
    print(f"seed {seed}")
    changes = [
        (sorted(np.random.default_rng(step).choice(140, size=5, replace=False).tolist()), step % 3 != 0)
        for step in range(40)
    ]
    digests = set()
    for timing in range(3):
        rng = np.random.default_rng(100 * seed + timing)
        generation = ExactGeneration(DIMENSIONS)
        generation.put(list(range(120)), unit_rows(rows_of(seed, 120), DIMENSIONS))
        digests.add(_rebuilt(generation, changes, rng, tmp_path / f"{timing}"))
    assert len(digests) == 1


def _rebuilt(
    generation: ExactGeneration, changes: list[tuple[list[int], bool]], rng: np.random.Generator, file: Path
) -> tuple[bytes, bytes]:
    rebuild, fresh = Rebuild(generation.live_ids()), HnswGeneration(DIMENSIONS, SMALL, 512)
    waiting = list(enumerate(changes))
    reading = True
    while reading or waiting:
        if waiting and rng.random() < 0.5:
            step, (keys, upsert) = waiting.pop(0)
            rows = list(unit_rows(rows_of(1000 + step, len(keys)), DIMENSIONS)) if upsert else None
            rebuild.note(generation, keys, rows)
            if rows is None:
                generation.remove(np.array(keys))
            else:
                generation.put(keys, rows)
        elif reading:
            keys, read = rebuild.read(generation, int(rng.integers(1, 30)))
            reading = bool(keys)
            fresh.put(keys, read)
    while taken := rebuild.take(int(rng.integers(1, 20))):
        for keys, changed in taken:
            if changed is None:
                fresh.remove(np.array(keys))
            else:
                fresh.put(keys, changed)
    assert np.array_equal(fresh.live_ids(), generation.live_ids())
    assert np.array_equal(fresh.vectors(generation.live_ids()), generation.vectors(generation.live_ids()))
    fresh.write(str(file))
    return file.read_bytes(), fresh.owner().tobytes()


def test_equal_calls_give_equal_graphs(tmp_path: Path) -> None:
    """Two indexes with the same calls are equal to the last byte: content-addressed snapshot files have the
    same names.
    """
    names = []
    for run in ("one", "two"):
        index = HnswIndex(DIMENSIONS, SMALL)
        for step in range(30):
            index.add(np.arange(20) + 11 * step, rows_of(step, 20))
            index.remove(np.arange(6) + 9 * step)
            index.settle()
        index.save(tmp_path / run, 1)
        names.append(sorted(file.name for file in (tmp_path / run).iterdir()))
        assert index.statistics().kind == "hnsw"
        index.close()
    assert names[0] == names[1]


def test_failed_rebuild_is_reported_once_and_tried_again(index: HnswIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the background reaches the next writer before its change, and the index stays usable."""
    put: Callable[[HnswGeneration, list[int], Sequence[Row]], None] = HnswGeneration.put

    def exhausted(_generation: HnswGeneration, _keys: list[int], _rows: Sequence[Row]) -> None:
        raise MemoryError("no memory for another generation")

    monkeypatch.setattr(HnswGeneration, "put", exhausted)
    index.add(np.arange(120), rows_of(7, 120))
    with pytest.raises(MemoryError, match="another generation"):
        index.settle()
    monkeypatch.setattr(HnswGeneration, "put", put)
    with pytest.raises(MemoryError, match="another generation"):
        index.add(np.array([500]), rows_of(8, 1))
    assert 500 not in index
    index.add(np.array([500]), rows_of(8, 1))
    index.settle()
    assert (index.statistics().kind, len(index)) == ("hnsw", 121)


def test_close_abandons_a_rebuild_and_leaves_the_index_usable() -> None:
    """After close the index still answers, and orders no more rebuilds."""
    index = HnswIndex(DIMENSIONS, SMALL)
    rows = rows_of(9, 3000)
    index.add(np.arange(3000), rows)
    index.close()
    index.add(np.array([4000]), rows[:1])
    assert len(index) == 3001
    assert index.search(rows[77:78], 1).ids.tolist() == [[77]]


@pytest.mark.thorough
def test_index_serves_many_threads_while_it_is_rebuilt(tmp_path: Path) -> None:
    """One writer, two readers and a saver cause no error and no wrong answer for constant vectors, and recall holds."""
    index = HnswIndex(DIMENSIONS, HnswParameters(exact_below=300, dead_share=0.2))
    fixed = rows_of(10, 200)
    index.add(np.arange(200), fixed)
    expected: dict[int, Vectors] = dict(enumerate(fixed))
    done = threading.Event()

    def write() -> None:
        rng = np.random.default_rng(11)
        try:
            for step in range(250):
                ids = 200 + rng.choice(1500, size=20, replace=False)
                rows = rows_of(5000 + step, 20)
                index.add(ids, rows)
                expected.update(zip(ids.tolist(), rows, strict=True))
                gone = 200 + rng.choice(1500, size=12, replace=False)
                index.remove(gone)
                for id_ in gone.tolist():
                    expected.pop(id_, None)
        finally:
            done.set()

    def read(seed: int) -> tuple[int, int]:
        rng, hits, asked = np.random.default_rng(seed), 0, 0
        while not done.is_set() or asked == 0:
            ids: Ids = rng.choice(200, size=8)
            found = index.search(fixed[ids], 5, allowed=(lambda id_: id_ < 200) if asked % 3 == 0 else None)
            assert (found.ids != PADDING).all()
            hits += int((found.ids[:, 0] == ids).sum())
            asked += len(ids)
        return hits, asked

    def save() -> int:
        version = 0
        while not done.is_set() or version == 0:
            version += 1
            index.save(tmp_path / "snapshot", version)
            loaded = HnswIndex.load(tmp_path / "snapshot", DIMENSIONS, version, HnswParameters(exact_below=300))
            assert len(loaded) >= 200
            loaded.close()
        return version

    with ThreadPoolExecutor(4) as threads:
        writer, readers, saver = (
            threads.submit(write),
            [threads.submit(read, seed) for seed in (1, 2)],
            threads.submit(save),
        )
        writer.result()
        counts = [reader.result() for reader in readers]
        assert saver.result() >= 1
    index.settle()
    assert index.statistics().rebuilds >= 3
    assert sum(hits for hits, _ in counts) >= 0.99 * sum(asked for _, asked in counts)
    _assert_equal(index, expected)
    index.close()


def _assert_equal(index: HnswIndex, wanted: dict[int, Vectors]) -> None:
    reference = ExactIndex(DIMENSIONS)
    ids = np.array(sorted(wanted), dtype=np.int64)
    reference.add(ids, np.array([wanted[id_] for id_ in ids.tolist()]))
    assert len(index) == len(wanted)
    assert np.array_equal(index.vectors(ids), reference.vectors(ids))
    queries = rows_of(12, 100)
    found, expected = index.search(queries, 10), reference.search(queries, 10)
    assert (found.similarities >= expected.similarities[:, 9:] - 1e-6).mean() >= 0.98


def test_lock_serves_in_order_of_arrival() -> None:
    """A reader that arrives after a waiting writer waits for it, so that readers cannot starve a writer."""
    lock, order = ReadersWriterLock(), list[str]()
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.read():
            entered.set()
            leave.wait(30)
            order.append("first reader")

    def write() -> None:
        with lock.write():
            order.append("writer")

    def read() -> None:
        with lock.read():
            order.append("second reader")

    with ThreadPoolExecutor(3) as threads:
        threads.submit(hold)
        entered.wait(30)
        for task, waiting in ((write, 1), (read, 2)):
            threads.submit(task)
            for _ in range(10_000):
                if lock.waiting < waiting:
                    leave.wait(0.001)
        leave.set()
    assert order == ["first reader", "writer", "second reader"]


@pytest.mark.parametrize("wrong", [{"links": 1}, {"search_width": 0}, {"dead_share": 1.0}, {"exact_below": -1}])
def test_parameters_refuse_values_that_hnswlib_would_misuse(wrong: dict[str, float]) -> None:
    """Invalid values are refused when the value object is made."""
    with pytest.raises(ValueError, match="must"):
        HnswParameters(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 50, 250])
def test_a_caller_that_adds_more_than_the_index_holds_waits_for_no_links(
    index: HnswIndex, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No vector enters a graph in the caller's thread, all are found at once, and the graph follows in the background.

    A view is locked while its index follows a large document.
    """
    rows = rows_of(5, count + 400)
    index.add(np.arange(count), rows[:count])
    index.settle()
    linking: list[int] = []
    put = HnswGeneration.put

    def watched(self: HnswGeneration, keys: list[int], given: Sequence[Row]) -> None:
        linking.append(threading.get_ident())
        put(self, keys, given)

    monkeypatch.setattr(HnswGeneration, "put", watched)
    index.add(np.arange(count, count + 400), rows[count:])
    assert np.array_equal(index.live_ids(), np.arange(count + 400))
    found = index.search(rows[count : count + 1], 1)
    assert found.ids[0, 0] == count
    index.settle()
    assert linking and threading.get_ident() not in linking
    assert (index.statistics().kind, index.statistics().live) == ("hnsw", count + 400)
    assert np.array_equal(index.vectors(np.arange(count + 400)), unit_rows(rows, DIMENSIONS))


def test_building_a_graph_waits_for_questions_between_a_few_vectors(
    index: HnswIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The background thread would compete with them for the processors, and the caller's for the interpreter lock."""
    asked: list[str] = []

    def is_due(graph: str) -> bool:
        asked.append(graph)
        return False

    monkeypatch.setattr(QUESTIONS, "is_due", is_due)
    calls: list[int] = []
    with yielding(lambda: calls.append(1)):
        index.add(np.arange(400), rows_of(6, 400))
    index.settle()
    assert len(calls) >= 400 // 32 and len(asked) >= 400 // 16
