"""The hnswlib adapter of VectorIndex: exact while small, then a graph with tombstones, rebuilt in the background.

Derived state: its owner can always build it again from the store. Invariants: one writer at a time and never beside a
reader; searches continue during a rebuild; after equal sequences of calls, each awaited with `settle`, two indexes hold
equal graphs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.rwlock import ReadersWriterLock
from graphtide.graph.vector_index import (
    Ids,
    IndexStatistics,
    Rows,
    SearchResult,
    Vectors,
    check_rows,
    checked_batch,
    checked_ids,
)
from graphtide.graph.vector_store import release
from graphtide.infra.hnsw.bulk import BulkGeneration
from graphtide.infra.hnsw.exact import ExactGeneration
from graphtide.infra.hnsw.generation import HnswGeneration, Row
from graphtide.infra.hnsw.parameters import HnswParameters
from graphtide.infra.hnsw.rebuild import Rebuild
from graphtide.infra.hnsw.snapshot import Generation, Snapshot
from graphtide.infra.hnsw.turns import REBUILDS
from graphtide.streams.free_memory import return_free_memory
from graphtide.streams.scheduling.precedence import QUESTIONS

WRITE_SLICE = 16  # vectors added under one hold of the lock: about 2 ms, the longest a search waits for an add
REPLAY_SLICE = 48  # more than a write slice, so that a rebuild catches up with a continuous writer
READ_BLOCK = 256
YIELD_SLICES = 2
"""Slices between two yield points of an addition."""
NO_GRAPH = ""
"""A rebuild waits for the questions to all graphs, since none waits for it."""
RELEASING_ROWS = 10_000
"""Rows of a large addition after whose graph is built free memory and read pages are returned to the system."""
CHECKED_ROWS = 256
"""Rows that are checked at a time: each occupies fourteen times its size meanwhile."""


class HnswIndex:
    """Approximate nearest neighbours (Malkov & Yashunin 2020), thread-safe.

    A search sees a change of up to 16 ids entirely or not at all, a larger one in such slices.
    """

    def __init__(self, dimensions: int, parameters: HnswParameters | None = None) -> None:
        """Make an empty index of vectors of the given length."""
        self._dimensions = dimensions
        self._parameters = parameters or HnswParameters()
        self._lock = ReadersWriterLock()
        self._current: Generation = ExactGeneration(dimensions)
        self._rebuild: Rebuild | None = None
        self._rebuilds = 0
        self._in_bulk = False
        self._running: Future[None] | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index-rebuild")
        self._closing = threading.Event()

    @classmethod
    def load(cls, folder: Path, dimensions: int, version: int, parameters: HnswParameters | None = None) -> HnswIndex:
        """Return the index saved in `folder`, which must be intact, of these dimensions and parameters, and of
        `version`.

        Raises IndexDamaged for anything else: the caller then builds a new one from the store.
        """
        index = cls(dimensions, parameters)
        index._current = Snapshot(folder, dimensions, index._parameters).read(version)
        index._order_rebuild_if_due()
        return index

    @property
    def dimensions(self) -> int:
        """Return the length of every vector."""
        return self._dimensions

    @property
    def saves_rows(self) -> bool:
        """Return whether a saved index has the rows as they were added; a small one has unit vectors alone."""
        return isinstance(self._current, HnswGeneration)

    def __len__(self) -> int:
        """Return the number of live ids."""
        with self._lock.read():
            return len(self._current)

    def __contains__(self, id_: object) -> bool:
        """Return whether the id is live."""
        with self._lock.read():
            return id_ in self._current

    def add(self, ids: Ids, vectors: Vectors | Rows) -> None:
        """Insert or replace, see VectorIndex.add. An error of an earlier background rebuild is raised here, once."""
        keys, rows = self._new_rows(ids, vectors)
        self._raise_failure()
        many = len(keys) > max(self._parameters.exact_below, len(self))
        with self._bulk() if many else nullcontext():
            for start in with_yields(range(0, len(keys), WRITE_SLICE), YIELD_SLICES):
                self._change(keys[start : start + WRITE_SLICE], rows[start : start + WRITE_SLICE])

    def remove(self, ids: Ids) -> None:
        """Remove the ids, see VectorIndex.remove. Raises as `add` does."""
        keys = checked_ids(ids)
        self._raise_failure()
        for start in range(0, len(keys), READ_BLOCK):
            self._change(keys[start : start + READ_BLOCK], None)

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """Return the k most similar, see VectorIndex.search: exact while small, else approximate.

        `allowed` is called with the lock held and must not use this index.
        """
        with self._lock.read():
            return self._current.search(queries, k, allowed=allowed)

    def vectors(self, ids: Ids) -> Vectors:
        """Return the unit vectors of the ids, see VectorIndex.vectors."""
        with self._lock.read():
            return self._current.vectors(ids)

    def rows(self, ids: Sequence[int]) -> list[Row | None]:
        """Return the row of each id as it was put or loaded, None for an id that is not live."""
        with self._lock.read():
            live = [id_ for id_ in ids if id_ in self._current]
            found = dict(zip(live, self._current.rows(live), strict=True))
        return [found.get(id_) for id_ in ids]

    def live_ids(self) -> Ids:
        """Return all live ids, ascending, see VectorIndex.live_ids."""
        with self._lock.read():
            return self._current.live_ids()

    def statistics(self) -> IndexStatistics:
        """Return counts and memory of the generation in use, and the number of its replacements."""
        with self._lock.read():
            now = self._current.statistics()
            return IndexStatistics(now.live, now.tombstones, now.size_bytes, now.kind, self._rebuilds)

    def save(self, folder: Path, version: int) -> None:
        """Write a snapshot labelled `version` that `load` accepts; the previous one stays until this one is proven.

        Searches continue; changes wait while the vectors are written. Raises IndexNotSaved (disk full, no folder, ...).
        """
        snapshot = Snapshot(folder, self._dimensions, self._parameters)
        with self._lock.read():
            written = snapshot.write(self._current)
        snapshot.publish(written, version)

    def compact(self) -> None:
        """Rebuild from the live vectors, so that memory and the next snapshot hold no dead one.

        Searches continue. Cost: a rebuild if there are dead vectors, else nothing. Raises the error of the rebuild.
        """
        self.settle()
        with self._lock.write():
            now = self._current
            if isinstance(now, HnswGeneration) and now.tombstones and not self._closing.is_set():
                self._start_rebuild()
        self.settle()

    def settle(self) -> None:
        """Wait until no rebuild runs or is due. Raises the error of a rebuild."""
        while (running := self._running) is not None:
            running.result()
            with self._lock.write():
                if self._running is running:
                    self._running = None
                    self._order_rebuild_if_due()

    def close(self) -> None:
        """Abandon a running rebuild and end its thread. The index can still be searched."""
        self._closing.set()
        self._worker.shutdown(wait=True)
        with self._lock.write():
            self._running = self._rebuild = None

    def _change(self, keys: list[int], rows: Sequence[Row] | None) -> None:
        with self._lock.write():
            if self._rebuild is not None:
                self._rebuild.note(self._current, keys, rows)
            _apply(self._current, keys, rows)
            self._order_rebuild_if_due()

    @contextmanager
    def _bulk(self) -> Iterator[None]:
        """Add to an exact generation in the block, and order the rebuild of the graph after it.

        So the caller, who may hold a view's lock, waits for no links: they are made in the background. The generation
        copies no vectors. Cost: the live vectors, of which there are fewer than the caller adds.
        """
        self.settle()
        with self._lock.write():
            if not isinstance(self._current, BulkGeneration):
                self._current = _bulk_generation(self._current, self._dimensions)
            self._in_bulk = True
        try:
            yield
        finally:
            with self._lock.write():
                self._in_bulk = False
                self._order_rebuild_if_due()

    def _new_rows(self, ids: Ids, vectors: Vectors | Rows) -> tuple[list[int], list[Row]]:
        """Return one upsert, validated; rows of float16 as they were given, others as unit vectors. Left out are those
        that the index refers to already, so they are not read: a document changes many rows but not their vectors.
        """
        if isinstance(vectors, np.ndarray):
            keys, units = checked_batch(ids, vectors, self._dimensions)
            return keys, list(units)
        given = checked_ids(ids)
        if len(given) != len(vectors):
            raise ValueError(f"got {len(given)} ids for {len(vectors)} vectors: the numbers must be equal")
        last = {key: at for at, key in enumerate(given)}
        with self._lock.read():
            refers = self._current.refers_to
            known = {at for key, at in last.items() if refers(key, vectors[at])}
        new = [at for at in range(len(vectors)) if at not in known]
        _check([vectors[at] for at in new], new, self._dimensions)
        changed = {key: at for key, at in last.items() if at not in known}
        return list(changed), [np.ascontiguousarray(vectors[at]) for at in changed.values()]

    def _raise_failure(self) -> None:
        with self._lock.write():
            running = self._running
            if running is not None and running.done():
                self._running = self._rebuild = None
                running.result()

    def _order_rebuild_if_due(self) -> None:
        if self._rebuild is not None or self._in_bulk or self._closing.is_set():
            return
        now, parameters = self._current, self._parameters
        if isinstance(now, HnswGeneration):
            due = now.tombstones > parameters.dead_share * (now.tombstones + len(now))
        else:
            due = len(now) > parameters.exact_below
        if due:
            self._start_rebuild()

    def _start_rebuild(self) -> None:
        self._rebuild = Rebuild(self._current.live_ids())
        self._running = self._worker.submit(self._run, self._rebuild)

    def _run(self, rebuild: Rebuild) -> None:
        fresh, wait, large = self._empty_generation(rebuild.live), QUESTIONS.hook(NO_GRAPH), False
        while not self._closing.is_set():
            with self._lock.read():
                keys, rows = rebuild.read(self._current, READ_BLOCK)
            if not keys:
                break
            for start in range(0, len(keys), WRITE_SLICE):
                wait()
                with REBUILDS.turn():
                    fresh.put(keys[start : start + WRITE_SLICE], rows[start : start + WRITE_SLICE])
        while not self._closing.is_set():
            with self._lock.write():
                changes = rebuild.take(REPLAY_SLICE)
                for keys, changed in changes:
                    _apply(fresh, keys, changed)
                if not changes:
                    large = isinstance(self._current, BulkGeneration) and rebuild.live >= RELEASING_ROWS
                    self._current, self._rebuild = fresh, None
                    self._rebuilds += 1
                    break
        if large:
            release()
            return_free_memory()

    def _empty_generation(self, live: int) -> Generation:
        if live < self._parameters.exact_below // 2:
            return ExactGeneration(self._dimensions)
        return HnswGeneration(self._dimensions, self._parameters, capacity=live + live // 8)


def _bulk_generation(generation: Generation, dimensions: int) -> BulkGeneration:
    copy, live = BulkGeneration(dimensions), generation.live_ids().tolist()
    for start in range(0, len(live), READ_BLOCK):
        part = live[start : start + READ_BLOCK]
        copy.put(part, generation.rows(part))
    return copy


def _check(rows: Rows, places: Sequence[int], dimensions: int) -> None:
    """Raise ValueError, naming the place of the first invalid row, unless all are valid."""
    for start in range(0, len(rows), CHECKED_ROWS):
        block = rows[start : start + CHECKED_ROWS]
        try:
            check_rows(block, dimensions)
        except ValueError:
            for place, row in zip(places[start:], block, strict=False):
                check_rows([row], dimensions, place)
            raise


def _apply(generation: Generation, keys: list[int], rows: Sequence[Row] | None) -> None:
    if rows is None:
        generation.remove(np.array(keys, dtype=np.int64))
    else:
        generation.put(keys, rows)
