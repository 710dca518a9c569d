"""One hnswlib graph, from its build to its replacement.

Not thread-safe and without policy: HnswIndex holds the lock and decides when a generation is replaced. Invariant: an id
maps to one label, and a label is used once. hnswlib repairs a vector that is added again under its label at 5 to 12
times the cost of a fresh one, so a replaced vector becomes a tombstone under its old label.

The graph holds no copies of vectors: it refers to the rows that it is given, which are never written to; of an array
over bytes it holds the bytes alone. A float16 row
is a vector of any length, as the tables of a view have it; a float32 row has unit length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._hnsw import Kernel
from graphtide.graph.vector_index import (
    PADDING,
    Ids,
    IndexStatistics,
    SearchResult,
    Vectors,
    best_of,
    checked_ids,
    checked_queries,
    similarities,
    stacked,
    unit_rows,
)
from graphtide.graph.vector_store import VECTOR_BYTES
from graphtide.infra.hnsw.label_table import NO_LABEL, LabelTable
from graphtide.infra.hnsw.parameters import HnswParameters

Row = NDArray[np.float16] | NDArray[np.float32]

SPACE = "cosine"
TIE_SLACK = 8  # fetched beyond k, so that ties at the k-th place are broken by id rather than by the graph
OVERFETCH = 512  # beyond it, compare with a scan of the allowed vectors (8 us per vector read, 1.3 us fetched)
SCAN_BLOCK = 1_024
BYTES_BESIDE = 12  # the tables of labels and owners, per label


class HnswGeneration:
    """Vectors by id in one hnswlib graph."""

    def __init__(self, dimensions: int, parameters: HnswParameters, capacity: int) -> None:
        """Make an empty graph with capacity for `capacity` labels, live or dead; it grows by itself."""
        self.dimensions = dimensions
        self._index = Kernel(dimensions, max(capacity, 16), parameters.links, parameters.build_width, parameters.seed)
        self._owner: Ids = np.full(max(capacity, 16), PADDING, dtype=np.int64)
        self._labels = LabelTable()
        self._used = 0
        self.tune(parameters)

    @classmethod
    def restored(cls, dimensions: int, parameters: HnswParameters, file: str, owner: Ids) -> HnswGeneration:
        """Return the graph saved in `file`, whose label i belonged to owner[i] (-1: tombstone).

        hnswlib loads damaged files too: the caller excludes damage before, and probes the result after. Raises
        RuntimeError where hnswlib notices by itself.
        """
        generation = cls(dimensions, parameters, 16)
        generation._index = Kernel.load(file, dimensions, max(len(owner) + len(owner) // 8, 16))
        if len(generation._index) != len(owner):
            raise RuntimeError(f"the graph has {len(generation._index)} labels, the snapshot {len(owner)}")
        generation._owner = np.full(generation._index.capacity, PADDING, dtype=np.int64)
        generation._owner[: len(owner)] = owner
        generation._labels = LabelTable((id_, label) for label, id_ in enumerate(owner.tolist()) if id_ != PADDING)
        generation._used = len(owner)
        generation.tune(parameters)
        return generation

    def __len__(self) -> int:
        """Return the number of live ids."""
        return len(self._labels)

    def __contains__(self, id_: object) -> bool:
        """Return whether the id is live."""
        return id_ in self._labels

    def put(self, keys: list[int], rows: Sequence[Row]) -> None:
        """Insert or replace distinct ids; ids with equal vectors stay unchanged. The rows are kept, not copied."""
        fresh = self._changed(keys, rows)
        if not fresh:
            return
        self._grow_for(len(fresh))
        labels = range(self._used, self._used + len(fresh))
        self._index.add([rows[row] for row in fresh])
        self._used += len(fresh)
        for row, label in zip(fresh, labels, strict=True):
            self._mark_deleted(keys[row])
            self._labels.set(keys[row], label)
            self._owner[label] = keys[row]

    def remove(self, ids: Ids) -> None:
        """Turn the ids' vectors into tombstones; unknown ids are ignored."""
        for key in checked_ids(ids):
            self._mark_deleted(key)

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """Return the approximate k nearest of each query, see VectorIndex.search; k of them if that many exist."""
        unit = checked_queries(queries, k, self.dimensions)
        return stacked([self._search_one(query, k, allowed) for query in unit], k)

    def vectors(self, ids: Ids) -> Vectors:
        """Return the unit vectors, (n, d). Raises KeyError for an id that is not live."""
        return unit_vectors(self.rows(checked_ids(ids)), self.dimensions)

    def rows(self, keys: Sequence[int]) -> list[Row]:
        """Return the rows of the ids as they were put. Raises KeyError for an id that is not live."""
        return [self._index.row(self._labels.of(key)) for key in keys]

    def refers_to(self, key: int, row: Row) -> bool:
        """Return whether the id is live, and its row this one, or one over the same bytes. The rows are not read."""
        label = self._labels.get(key)
        return label != NO_LABEL and is_same_row(self._index.row(label), row)

    @property
    def tombstones(self) -> int:
        """Return the number of labels that are dead but still part of the graph."""
        return self._used - len(self._labels)

    def live_ids(self) -> Ids:
        """Return all live ids, ascending."""
        return np.array(sorted(self._labels), dtype=np.int64)

    def statistics(self) -> IndexStatistics:
        """Return counts and memory, without untouched spare capacity and the rows, which their owners count."""
        size_bytes = self._index.memory_bytes() + BYTES_BESIDE * self._used
        return IndexStatistics(len(self._labels), self.tombstones, size_bytes, "hnsw", 0)

    def owner(self) -> Ids:
        """Return the id of each label ever used, -1 for a tombstone."""
        return self._owner[: self._used].copy()

    def write(self, file: str) -> int:
        """Save the graph and return the size it must have: hnswlib reports success on a full disk as well."""
        self._index.save(file)
        return self._index.file_bytes()

    def tune(self, parameters: HnswParameters) -> None:
        """Apply the search width."""
        self._index.width = parameters.search_width  # a save loses it

    def _changed(self, keys: list[int], rows: Sequence[Row]) -> list[int]:
        labels = self._labels
        return [at for at, key in enumerate(keys) if key not in labels or not self._holds(key, rows[at])]

    def _holds(self, key: int, row: Row) -> bool:
        present = self._index.row(self._labels.of(key))
        if is_same_row(present, row) or (present.dtype == row.dtype and np.array_equal(present, row)):
            return True
        both = unit_vectors([present, row], self.dimensions)
        return bool(np.array_equal(both[0], both[1]))

    def _grow_for(self, count: int) -> None:
        # May move all links in memory: safe only while the owner's write lock excludes readers. Cost: some 30 bytes a
        # label are copied, which is 250 for each label that comes.
        if self._used + count > len(self._owner):
            capacity = max(len(self._owner) * 9 // 8, self._used + count)
            self._index.resize(capacity)
            self._owner = np.concatenate([self._owner, np.full(capacity - len(self._owner), PADDING, dtype=np.int64)])

    def _mark_deleted(self, key: int) -> None:
        label = self._labels.pop(key)
        if label != NO_LABEL:
            self._index.mark_deleted(label)
            self._owner[label] = PADDING

    def _search_one(self, query: Vectors, k: int, allowed: Callable[[int], bool] | None) -> tuple[Ids, Vectors]:
        # A search visits its width in any case, so this number of candidates for a filter costs nothing extra.
        wanted = k + TIE_SLACK if allowed is None else max(k + TIE_SLACK, self._index.width)
        eligible = None
        while 2 * wanted <= len(self._labels):
            if allowed is not None and wanted > OVERFETCH:
                eligible = self._eligible(allowed) if eligible is None else eligible
                if len(eligible) <= wanted:
                    break
            nearest = self._nearest(query, wanted, allowed)
            if nearest is None:
                break
            if len(nearest[0]) >= k:
                return best_of(*nearest, k)
            wanted *= 4
        return self._scan(query, k, self._eligible(allowed) if eligible is None else eligible)

    def _nearest(
        self, query: Vectors, wanted: int, allowed: Callable[[int], bool] | None
    ) -> tuple[Ids, Vectors] | None:
        labels, distances = self._index.search(query, wanted)
        if len(labels) < wanted:
            return None  # fewer live labels are reachable over the links: tombstones may have cut the graph
        ids: Ids = self._owner[labels]
        scores: Vectors = np.float32(1) - distances
        if allowed is None:
            return ids, scores
        keep = np.fromiter((allowed(id_) for id_ in ids.tolist()), dtype=np.bool_, count=len(ids))
        return ids[keep], scores[keep]

    def _eligible(self, allowed: Callable[[int], bool] | None) -> Ids:
        return np.array([key for key in self._labels if allowed is None or allowed(key)], dtype=np.int64)

    def _scan(self, query: Vectors, k: int, keys: Ids) -> tuple[Ids, Vectors]:
        scores = np.zeros(len(keys), dtype=np.float32)
        for start in range(0, len(keys), SCAN_BLOCK):
            block = slice(start, start + SCAN_BLOCK)
            scores[block] = similarities(query, self.vectors(keys[block]))
        return best_of(keys, scores, k)


def is_same_row(one: Row, other: Row) -> bool:
    """Return whether two rows are one object, or are over the same bytes."""
    return one is other or (isinstance(one.base, VECTOR_BYTES) and one.base is other.base)


def unit_vectors(rows: Sequence[Row], dimensions: int) -> Vectors:
    """Return rows as unit vectors, (n, d) float32; those of float32 have unit length already and keep their bits."""
    units: Vectors = np.zeros((len(rows), dimensions), dtype=np.float32)
    halves = [at for at, row in enumerate(rows) if row.dtype == np.float16]
    if halves:
        units[halves] = unit_rows(np.stack([rows[at] for at in halves]).astype(np.float32), dimensions)
    for at, row in enumerate(rows):
        if row.dtype != np.float16:
            units[at] = row
    return units
