"""The contract of VectorIndex, tested on ExactIndex, on HnswIndex while small, and on HnswIndex as a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from graphtide.graph.vector_index import PADDING, ExactIndex, Ids, VectorIndex, Vectors
from graphtide.infra.hnsw import HnswIndex, HnswParameters

DIMENSIONS = 24
ALWAYS_A_GRAPH = HnswParameters(exact_below=0)


@pytest.fixture(params=["exact", "small", "graph"])
def index(request: pytest.FixtureRequest) -> Iterator[VectorIndex]:
    """Yield an empty index of each kind."""
    if request.param == "exact":
        yield ExactIndex(DIMENSIONS)
        return
    hnsw = HnswIndex(DIMENSIONS, ALWAYS_A_GRAPH if request.param == "graph" else None)
    yield hnsw
    hnsw.close()


def settle(index: VectorIndex) -> None:
    """Let a rebuild finish, so that the following search uses the graph."""
    if isinstance(index, HnswIndex):
        index.settle()


def rows_of(seed: int, count: int) -> Vectors:
    """Return random vectors of very different lengths."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, DIMENSIONS)) * np.exp(rng.normal(size=(count, 1)))
    return rows.astype(np.float32)


def ids_of(*ids: int) -> Ids:
    """Return ids as the index takes them."""
    return np.array(ids, dtype=np.int64)


def cosine_of_best(vectors: dict[int, Vectors], query: Vectors, k: int) -> list[float]:
    """Return the k highest cosines by brute force."""
    norm = np.linalg.norm
    cosines = [float(np.dot(query, row) / (norm(query) * norm(row))) for row in vectors.values()]
    return sorted(cosines, reverse=True)[:k]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_index_agrees_with_brute_force_after_every_change(index: VectorIndex, seed: int) -> None:
    """After a random walk of inserts, replacements and removals the index equals a dictionary, nearest first."""
    print(f"seed {seed}")
    rng, stored, hits, asked = np.random.default_rng(seed), dict[int, Vectors](), 0, 0
    for step in range(60):
        ids = rng.choice(400, size=12, replace=False)
        if rng.random() < 0.65:
            rows = rows_of(1000 * seed + step, len(ids))
            index.add(ids, rows)
            stored.update(zip(ids.tolist(), rows, strict=True))
        else:
            index.remove(ids)
            for id_ in ids.tolist():
                stored.pop(id_, None)
        settle(index)
        assert len(index) == len(stored)
        query = rows_of(step, 1)
        found = index.search(query, 10)
        expected = cosine_of_best(stored, query[0], 10)
        real = found.similarities[0][found.ids[0] != PADDING]
        assert len(set(found.ids[0].tolist()) - {PADDING}) == len(real) == len(expected)
        hits += int((real >= np.array(expected[-1:]) - 1e-5).sum())
        asked += len(expected)
    assert hits >= 0.98 * asked
    assert hits == asked or not isinstance(index, ExactIndex)


def test_search_gives_the_cosine_of_the_ids_it_names(index: VectorIndex) -> None:
    """Each similarity is the cosine of the query and the id beside it, in descending order."""
    rows = rows_of(1, 300)
    index.add(np.arange(300), rows)
    settle(index)
    queries = rows_of(2, 7)
    found = index.search(queries, 5)
    assert found.ids.shape == found.similarities.shape == (7, 5)
    assert found.ids.dtype == np.int64
    assert found.similarities.dtype == np.float32
    for query, ids, scores in zip(queries, found.ids, found.similarities, strict=True):
        unit = rows[ids] / np.linalg.norm(rows[ids], axis=1, keepdims=True)
        assert np.allclose(scores, unit @ (query / np.linalg.norm(query)), atol=1e-6)
        assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("batch", [1, 5])
def test_search_breaks_ties_by_id_whatever_the_slot(index: VectorIndex, batch: int) -> None:
    """Twelve ids that hold one vector are returned in order of id, though inserted in another order among others."""
    same, others = rows_of(3, 1), rows_of(4, 200)
    index.add(np.arange(100, 300), others)
    for id_ in (50, 7, 93, 1, 64, 12, 88, 30, 41, 22, 75, 3):
        index.add(ids_of(id_), same)
        settle(index)
    found = index.search(np.repeat(same, batch, axis=0), 12)
    assert found.ids[-1].tolist() == [1, 3, 7, 12, 22, 30, 41, 50, 64, 75, 88, 93]


def test_search_pads_when_k_exceeds_what_is_held(index: VectorIndex) -> None:
    """With fewer live ids than k: all of them, then -1 with -inf."""
    index.add(ids_of(4, 9, 2), rows_of(5, 3))
    index.remove(ids_of(9))
    settle(index)
    found = index.search(rows_of(6, 2), 5)
    assert sorted(found.ids[0].tolist()) == [-1, -1, -1, 2, 4]
    assert found.ids[1, 2:].tolist() == [PADDING] * 3
    assert np.isneginf(found.similarities[:, 2:]).all()


def test_search_of_an_empty_index_is_all_padding(index: VectorIndex) -> None:
    """An empty index returns an answer, not an error."""
    assert index.search(rows_of(7, 1), 3).ids.tolist() == [[PADDING] * 3]
    index.add(ids_of(1, 2), rows_of(8, 2))
    settle(index)
    index.remove(ids_of(1, 2))
    assert index.search(rows_of(7, 1), 3).ids.tolist() == [[PADDING] * 3]
    assert index.search(np.zeros((0, DIMENSIONS), dtype=np.float32), 3).ids.shape == (0, 3)


@pytest.mark.parametrize(
    "allowed",
    [lambda id_: id_ % 2 == 0, lambda id_: id_ % 150 == 3, lambda _: False, lambda id_: id_ >= 590],
    ids=["half", "four", "none", "ten"],
)
def test_search_returns_allowed_ids_only_and_all_that_fit(index: VectorIndex, allowed: Callable[[int], bool]) -> None:
    """A filter is applied exactly: the result equals that of an exact index which holds the allowed ids alone."""
    rows, queries = rows_of(9, 600), rows_of(10, 20)
    index.add(np.arange(600), rows)
    settle(index)
    ids = np.array([id_ for id_ in range(600) if allowed(id_)], dtype=np.int64)
    reference = ExactIndex(DIMENSIONS)
    reference.add(ids, rows[ids])
    found, expected = index.search(queries, 10, allowed=allowed), reference.search(queries, 10)
    assert np.isin(found.ids, [*ids.tolist(), PADDING]).all()
    assert ((found.ids == PADDING) == (expected.ids == PADDING)).all()
    assert (found.ids == expected.ids).mean() >= 0.98


def test_add_replaces_the_vector_of_an_id_it_holds(index: VectorIndex) -> None:
    """After a second add of an id only its new vector is found; of a batch's duplicates the last counts."""
    rows = rows_of(11, 100)
    index.add(np.arange(100), rows)
    index.add(ids_of(7, 8, 7), np.stack([rows[20], rows[21], -rows[20]]))
    settle(index)
    assert len(index) == 100
    nearest = index.search(-rows[20:21], 1)
    assert nearest.ids.tolist() == [[7]]
    assert nearest.similarities[0, 0] == pytest.approx(1, abs=1e-6)
    assert np.allclose(index.vectors(ids_of(7, 8)), -index.vectors(ids_of(20, 21)) * [[1], [-1]], atol=1e-7)


def test_remove_may_be_repeated(index: VectorIndex) -> None:
    """Removing an unknown id changes nothing, and a removed id can return."""
    rows = rows_of(12, 50)
    index.add(np.arange(50), rows)
    settle(index)
    for _ in range(2):
        index.remove(ids_of(3, 4, 999))
    assert (len(index), 3 in index, 5 in index) == (48, False, True)
    assert index.search(rows[3:4], 1).ids.tolist() != [[3]]
    index.add(ids_of(3), rows[3:4])
    assert index.search(rows[3:4], 1).ids.tolist() == [[3]]


@pytest.mark.parametrize(
    ("ids", "rows", "reason"),
    [
        ([1], np.full((1, DIMENSIONS), np.nan), "not finite"),
        ([1, 2], np.stack([np.ones(DIMENSIONS), np.full(DIMENSIONS, np.inf)]), "row 1 is not finite"),
        ([1], np.full((1, DIMENSIONS), 1e300), "not finite"),
        ([1, 2], np.stack([np.ones(DIMENSIONS), np.zeros(DIMENSIONS)]), "row 1 is zero"),
        ([1], np.ones((1, DIMENSIONS + 1)), "shape"),
        ([1], np.ones(DIMENSIONS), "shape"),
        ([1, 2], np.ones((1, DIMENSIONS)), "2 ids for 1"),
        ([-1], np.ones((1, DIMENSIONS)), "negative"),
        ([0.5], np.ones((1, DIMENSIONS)), "integer"),
    ],
)
def test_add_refuses_bad_input_and_changes_nothing(
    index: VectorIndex, ids: list[float], rows: Vectors, reason: str
) -> None:
    """A batch with one bad row is refused whole, with the reason."""
    index.add(ids_of(1, 5), rows_of(13, 2))
    before = index.vectors(ids_of(1, 5))
    with pytest.raises(ValueError, match=reason):
        index.add(np.array(ids), rows)
    assert len(index) == 2
    assert np.array_equal(index.vectors(ids_of(1, 5)), before)


@pytest.mark.parametrize(
    ("query", "k"),
    [
        (np.ones((1, DIMENSIONS)), 0),
        (np.zeros((1, DIMENSIONS)), 1),
        (np.full((1, DIMENSIONS), np.nan), 1),
        (np.ones((1, 3)), 1),
    ],
)
def test_search_refuses_bad_queries(index: VectorIndex, query: Vectors, k: int) -> None:
    """A query that could not be added as a vector, and k below 1, are errors of the caller."""
    with pytest.raises(ValueError, match=r"k must|zero|finite|shape"):
        index.search(query, k)


def test_vectors_are_unit_length_and_keep_their_bits(index: VectorIndex) -> None:
    """The stored vector is the normalised input, extreme lengths included, with the same bits in every state."""
    rows = rows_of(14, 40)
    rows[0] *= np.float32(1e30)
    rows[1] *= np.float32(1e-35)
    index.add(np.arange(40), rows)
    before = index.vectors(np.arange(40))
    settle(index)
    assert np.array_equal(index.vectors(np.arange(40)), before)
    assert np.allclose(np.linalg.norm(before, axis=1), 1, atol=1e-6)
    assert index.vectors(np.zeros(0, dtype=np.int64)).shape == (0, DIMENSIONS)
    with pytest.raises(KeyError):
        index.vectors(ids_of(2, 41))


def test_add_of_the_vectors_already_held_is_no_work(index: VectorIndex) -> None:
    """A redelivered batch leaves no tombstones and no growth."""
    rows = rows_of(15, 60)
    index.add(np.arange(60), rows)
    settle(index)
    before = index.statistics()
    index.add(np.arange(60), rows)
    assert index.statistics() == before


def test_statistics_count_what_is_held(index: VectorIndex) -> None:
    """Live ids and bytes follow the changes."""
    assert index.statistics().live == 0
    index.add(np.arange(200), rows_of(16, 200))
    settle(index)
    index.remove(np.arange(20))
    statistics = index.statistics()
    assert statistics.live == 180
    assert statistics.size_bytes >= 180 * DIMENSIONS * 4
    assert statistics.kind in {"exact", "hnsw"}


@pytest.mark.parametrize("dimensions", [0, -1])
def test_index_refuses_to_have_no_dimensions(dimensions: int) -> None:
    """A length below 1 is refused when the index is created."""
    for make in (ExactIndex, HnswIndex):
        with pytest.raises(ValueError, match="at least 1"):
            make(dimensions)
