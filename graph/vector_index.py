"""Nearest neighbours by cosine: the VectorIndex port, and the exact in-memory index that defines its meaning.

Its results enter no digest, since an adapter may be approximate.

Invariant: a live id holds exactly one unit vector, and a call that raises ValueError has changed nothing. Equal vectors
have equal similarities to a query whatever their slot or batch, so that ties are broken by id; between implementations
similarities agree within 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Rows = Sequence[NDArray[np.float16]]
"""Vectors of one length as the rows of a graph store them; an index may refer to them, so they are never written to."""

PADDING = -1
QUERY_BLOCK = 64
MAGNITUDE_BITS, INFINITE_BITS = 0x7FFF, 0x7C00
"""The bits of a float16 without its sign, and those of the smallest magnitude that is not finite."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The results of a search: row i answers query i. `ids` (m, k), padded with -1; `similarities` (m, k) in [-1, 1],
    padded with -inf.
    """

    ids: Ids
    similarities: Vectors


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """Statistics of an index: live vectors, dead slots still allocated, bytes of both, "exact" or "hnsw", rebuilds so
    far.
    """

    live: int
    tombstones: int
    size_bytes: int
    kind: str
    rebuilds: int


class VectorIndex(Protocol):
    """Unit vectors by id, searchable by cosine similarity."""

    @property
    def dimensions(self) -> int:
        """Return the length of every vector, which is fixed."""
        ...

    def __len__(self) -> int:
        """Return the number of live ids."""
        ...

    def __contains__(self, id_: object) -> bool:
        """Return whether the id is live."""
        ...

    def add(self, ids: Ids, vectors: Vectors | Rows) -> None:
        """Insert or replace: `ids` (n,) from 0 up, `vectors` (n, d) of any positive length.

        If an id is given twice, its last vector counts. A vector that is already stored costs no index work. Raises
        ValueError for another shape, a negative id, NaN, infinity or a zero vector, with nothing changed.
        """
        ...

    def remove(self, ids: Ids) -> None:
        """Remove the ids; unknown ids are ignored, so that a retraction may be repeated."""
        ...

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """Return the k most similar live ids of each query (m, d), most similar first, equal similarities by smaller
        id.

        `allowed` tests an id; an id it rejects is not returned. With fewer than k results, rows are padded. Raises
        ValueError for k below 1 and for queries that `add` would reject as vectors.
        """
        ...

    def vectors(self, ids: Ids) -> Vectors:
        """Return the stored unit vectors of the ids, (n, d). Raises KeyError for an id that is not live."""
        ...

    def live_ids(self) -> Ids:
        """Return all live ids, ascending. Cost: n log n; for recounts and for an index that is loaded again."""
        ...

    def statistics(self) -> IndexStatistics:
        """Return counts and memory. It is cheap enough for every metrics scrape."""
        ...


def have_directions(rows: NDArray[np.float16]) -> bool:
    """Return whether all of (n, d) vectors are finite and none is zero. Compares bits: NumPy would convert float16.

    `d` is positive.
    """
    largest = (rows.view(np.uint16) & MAGNITUDE_BITS).max(axis=1)
    return not len(largest) or bool(largest.min() > 0 and largest.max() < INFINITE_BITS)


def check_rows(rows: Rows, dimensions: int, first: int = 0) -> None:
    """Raise ValueError, naming the first invalid row, unless all have the length and a direction; see `unit_rows`."""
    block = np.asarray(rows)
    if block.dtype != np.float16 or block.ndim != 2 or block.shape[1] != dimensions or not have_directions(block):
        unit_rows(rows, dimensions, first)


def unit_rows(vectors: Vectors | Rows, dimensions: int, first: int = 0) -> Vectors:
    """Check (n, d) vectors and scale each to length 1, as a fresh C-contiguous float32 array.

    Lengths are taken in float64, row by row: the result of a row does not depend on its batch, and no finite float32
    vector overflows or vanishes. Raises ValueError naming the first invalid row, counted from `first`. NumPy converts
    in the loops, a few kilobytes at a time: copies in float64 took seven times as long for 200 rows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise ValueError(f"expected vectors of shape (n, {dimensions}), got {rows.shape}")
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
    for problem, wrong in (("is not finite", ~np.isfinite(lengths)), ("is zero", lengths == 0)):
        if wrong.any():
            raise ValueError(f"vector in row {first + int(np.argmax(wrong))} {problem}")
    scaled: Vectors = np.empty(rows.shape, np.float32)
    np.divide(rows, lengths[:, None], out=scaled, dtype=np.float64, casting="same_kind")
    return scaled


def unit_halves(rows: NDArray[np.float16]) -> Vectors:
    """Return (n, d) float16 vectors that a view holds, each scaled to length 1, as float32; a zero vector stays zero.

    Sums in float32, row by row: the squares of float16 neither overflow nor vanish there, and the result of a row does
    not depend on its batch. It takes two thirds of the time of `unit_rows`, from which it differs by less than 1e-7.
    """
    wide: Vectors = rows.astype(np.float32)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    wide /= np.where(lengths == 0, np.float32(1), lengths)[:, None]
    return wide


def checked_ids(ids: Ids) -> list[int]:
    """Return the ids as Python ints. Raises ValueError unless they are one row of integers from 0 up."""
    array = np.asarray(ids)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"expected one row of integer ids, got {array.dtype} of shape {array.shape}")
    if array.size and array.min() < 0:
        raise ValueError(f"ids must not be negative, got {array.min()}")
    return [int(id_) for id_ in array]


def checked_batch(ids: Ids, vectors: Vectors | Rows, dimensions: int) -> tuple[list[int], Vectors]:
    """Return one upsert, validated and normalised, with only the last vector of an id given twice."""
    keys, rows = checked_ids(ids), unit_rows(vectors, dimensions)
    if len(keys) != len(rows):
        raise ValueError(f"got {len(keys)} ids for {len(rows)} vectors: the numbers must be equal")
    last = {key: row for row, key in enumerate(keys)}
    if len(last) == len(keys):
        return keys, rows
    return list(last), rows[list(last.values())]


def checked_queries(queries: Vectors, k: int, dimensions: int) -> Vectors:
    """Return unit query vectors (m, d). Raises ValueError for k below 1 and for vectors that `unit_rows` rejects."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return unit_rows(queries, dimensions)


def similarities(query: Vectors, vectors: Vectors) -> Vectors:
    """Return the cosine of one unit query (d,) to unit vectors (n, d), summed in float64 row by row.

    A matrix product would round a row differently at different positions of the matrix, and ties would break by slot.
    """
    exact: Vectors = np.multiply(vectors, query, dtype=np.float64).sum(axis=1).astype(np.float32)
    return exact


def best_of(ids: Ids, scores: Vectors, k: int) -> tuple[Ids, Vectors]:
    """Return one row of a SearchResult from candidates: the best k by similarity, then id, padded to k."""
    best = np.lexsort((ids, -scores))[:k]
    row_ids = np.full(k, PADDING, dtype=np.int64)
    row_scores = np.full(k, -np.inf, dtype=np.float32)
    row_ids[: len(best)], row_scores[: len(best)] = ids[best], scores[best]
    return row_ids, row_scores


def near_best(rough: Vectors, eligible: NDArray[np.intp], k: int, error: float) -> NDArray[np.intp]:
    """Return the eligible places that can be among the best k, given a bound of the error of each rough similarity."""
    scores = rough[eligible]
    if len(scores) <= k:
        return eligible
    kth = np.partition(scores, len(scores) - k)[len(scores) - k]
    near: NDArray[np.intp] = eligible[scores >= kth - 2 * error]
    return near


def stacked(rows: list[tuple[Ids, Vectors]], k: int) -> SearchResult:
    """Return a SearchResult from its rows; (0, k) when there are none."""
    ids = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, k)
    return SearchResult(ids, np.array([row[1] for row in rows], dtype=np.float32).reshape(-1, k))


class ExactIndex:
    """Brute-force search over one matrix: the reference, and the fastest choice for a few thousand vectors.

    Search is one matrix product, O(n d) per query. Removed slots are reused, the matrix grows by doubling.
    """

    def __init__(self, dimensions: int) -> None:
        """Create an empty index of vectors of the given length, at least 1."""
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, got {dimensions}")
        self._dimensions = dimensions
        self._matrix: Vectors = np.zeros((1, dimensions), dtype=np.float32)
        self._owner: Ids = np.full(1, PADDING, dtype=np.int64)
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._used = 0

    @property
    def dimensions(self) -> int:
        """Return the length of every vector."""
        return self._dimensions

    def __len__(self) -> int:
        """Return the number of live ids."""
        return len(self._slots)

    def __contains__(self, id_: object) -> bool:
        """Return whether the id is live."""
        return id_ in self._slots

    def add(self, ids: Ids, vectors: Vectors | Rows) -> None:
        """Insert or replace, see VectorIndex.add."""
        self.put(*checked_batch(ids, vectors, self._dimensions))

    def put(self, keys: list[int], rows: Vectors) -> None:
        """Add distinct ids with vectors of unit length, unchanged: scaling them again could change their bits."""
        for key, row in zip(keys, rows, strict=True):
            slot = self._slots.get(key)
            if slot is None:
                slot = self._slots[key] = self._take_slot()
                self._owner[slot] = key
            self._matrix[slot] = row

    def remove(self, ids: Ids) -> None:
        """Remove the ids, see VectorIndex.remove."""
        for key in checked_ids(ids):
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._owner[slot] = PADDING
                self._free.append(slot)

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """Return the k most similar of each query, exactly, see VectorIndex.search."""
        return self.search_without((), queries, k, allowed)

    def search_without(
        self, without: Collection[int], queries: Vectors, k: int, allowed: Callable[[int], bool] | None = None
    ) -> SearchResult:
        """Return the result of `search` in an index without these ids. Cost: they are no more than a search is."""
        unit = checked_queries(queries, k, self._dimensions)
        eligible = self._eligible(allowed, without)
        error = self._dimensions * float(np.finfo(np.float32).eps)
        rows: list[tuple[Ids, Vectors]] = []
        for start in range(0, len(unit), QUERY_BLOCK):
            block = unit[start : start + QUERY_BLOCK]
            rough = block @ self._matrix[: self._used].T
            for query, row in zip(block, rough, strict=True):
                slots = near_best(row, eligible, k, error)
                rows.append(best_of(self._owner[slots], similarities(query, self._matrix[slots]), k))
        return stacked(rows, k)

    def vectors(self, ids: Ids) -> Vectors:
        """Return the stored unit vectors of the ids, see VectorIndex.vectors."""
        rows: Vectors = self._matrix[[self._slots[key] for key in checked_ids(ids)]]
        return rows

    def statistics(self) -> IndexStatistics:
        """Return counts and memory; free slots are reused and are therefore not tombstones."""
        size_bytes = self._matrix.nbytes + self._owner.nbytes + 100 * len(self._slots)
        return IndexStatistics(len(self._slots), 0, size_bytes, "exact", 0)

    def live_ids(self) -> Ids:
        """Return all live ids, ascending."""
        return np.array(sorted(self._slots), dtype=np.int64)

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        if self._used == len(self._owner):
            grown = np.zeros((2 * self._used, self._dimensions), np.float32)  # occupies memory as rows are written
            grown[: self._used] = self._matrix
            self._matrix = grown
            self._owner = np.concatenate([self._owner, np.full_like(self._owner, PADDING)])
        self._used += 1
        return self._used - 1

    def _eligible(self, allowed: Callable[[int], bool] | None, without: Collection[int]) -> NDArray[np.intp]:
        owners = self._owner[: self._used]
        if without:
            owners = owners.copy()
            owners[[self._slots[number] for number in without if number in self._slots]] = PADDING
        if allowed is None:
            return np.flatnonzero(owners != PADDING)
        return np.array([slot for slot, id_ in enumerate(owners.tolist()) if id_ >= 0 and allowed(id_)], dtype=np.intp)
