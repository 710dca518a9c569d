"""Verification: builds a graph anew from its live extractions, to verify the stored graph or to replace it.

No model is called: the stored extractions include the embeddings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from graphtide.graph import communities
from graphtide.graph.changes.tables import RowTables
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import differences, digest, has_digest
from graphtide.graph.identity import entity_id
from graphtide.graph.records import DocumentChange, GraphDelta, Vector
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.vector_index import VectorIndex, unit_rows
from graphtide.graph.view import LiveView
from graphtide.streams.errors import GraphtideError
from graphtide.streams.messages import decode_stored
from graphtide.streams.ports import GraphStore
from graphtide.streams.retry import outcome_of

VECTORS_NAMED = 20
UNREADABLE = "none: the rows are inconsistent"
VECTOR_TOLERANCE = 1e-3
"""Maximum difference of a vector in an index, which may store fewer bits than a row does."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The digests of the graph as stored and as built anew, and the differences, those of the live view included."""

    version: int
    stored: str
    recounted: str
    differences: tuple[str, ...]
    checked: dict[str, int]


OnProgress = Callable[[str], None]
"""Receives the progress of the work as text for operators."""
BATCH_DOCUMENTS, BATCH_BYTES = 64, 4 << 20
"""Maximum documents and size of the extractions that are decoded at a time, apart from a single larger one."""


def _ignore(_: str) -> None:
    """Ignore the progress."""


class ExtractionSource(Protocol):
    """The source of a build: the extractions of live documents, and the verdicts on pairs of labels."""

    def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]: ...

    async def verdicts(self, graph: str) -> Mapping[PairKey, Verdict]: ...


async def build(
    store: ExtractionSource, graph: str, version: int, on_progress: OnProgress = _ignore, documents: int = 0
) -> GraphDelta:
    """Build the graph of the live extractions. Returns a snapshot of that version. Cost: the graph.

    Memory: the new graph and one batch of extractions. `documents` is their number where the caller knows it.
    """
    building = _Building(Consolidator(graph, verdicts=await store.verdicts(graph)), version)
    batch, size_bytes, built = list[tuple[str, bytes]](), 0, 0
    whole = f" of {documents:,}" if documents else ""
    async for doc_id, value in store.extractions(graph):
        batch.append((doc_id, value))
        size_bytes += len(value)
        if len(batch) == BATCH_DOCUMENTS or size_bytes > BATCH_BYTES:
            await asyncio.to_thread(building.add, batch)
            built, batch, size_bytes = built + len(batch), [], 0
            on_progress(f"{built:,}{whole} documents built")
    if batch:
        await asyncio.to_thread(building.add, batch)
    on_progress(f"{built + len(batch):,}{whole} documents built; finding communities")
    return await asyncio.to_thread(building.snapshot)


class _Building:
    """A graph that is built batch by batch, and its rows. Every row counts as new at the version."""

    def __init__(self, writer: Consolidator, version: int) -> None:
        self._writer = writer
        self._version = version
        self._rows = RowTables(writer.graph)

    def add(self, documents: Sequence[tuple[str, bytes]]) -> None:
        """Add the stored extractions of new documents, by id. Raises Broken for damaged ones."""
        graph = self._writer.graph
        decoded = ((doc_id, decode_stored(graph, doc_id, value)) for doc_id, value in documents)
        self._writer.version = self._version - 1
        changes = [DocumentChange(doc_id, None, extraction) for doc_id, extraction in decoded if extraction]
        self._rows.apply(self._writer.apply(changes))

    def snapshot(self) -> GraphDelta:
        """Return all rows, with communities built from all edges at once."""
        rows = self._rows.snapshot()
        edges = np.array([(row.u, row.v) for row in rows.edges], np.int32).reshape(-1, 2)
        weights = np.array([row.weight for row in rows.edges], np.int64)
        return replace(rows, version=self._version, communities=communities.build(edges, weights).hierarchy())


async def recount(store: GraphStore, view: LiveView, writer: Consolidator | None) -> VerificationResult:
    """Compare the stored rows, the live view and the kernels with a new build.

    Call while the writer is paused. Cost: the whole graph, in a thread.
    """
    stored = await store.snapshot(view.graph)
    fresh = await build(store, view.graph, stored.version)
    return await asyncio.to_thread(_compare, stored, fresh, view, writer)


async def recount_stored(
    store: GraphStore, graph: str, writer: Consolidator | None, on_progress: OnProgress = _ignore
) -> tuple[int, str, str, tuple[str, ...], dict[str, int]]:
    """Compare rows and kernels with a new build, in a process without views. Returns the fields as a tuple."""
    on_progress("reading the stored rows")
    stored = await store.snapshot(graph)
    fresh = await build(store, graph, stored.version, on_progress, len(stored.documents))
    on_progress("comparing")
    return await asyncio.to_thread(_compare_stored, stored, fresh, writer)


async def digests(*rows: GraphDelta) -> tuple[str, ...]:
    """Return the digest of each, computed in a thread; UNREADABLE for inconsistent rows."""
    return tuple([await asyncio.to_thread(_digest, delta) for delta in rows])


async def stored_digest(store: GraphStore, graph: str) -> str:
    """Return the digest of the stored rows; UNREADABLE for rows that cannot be read."""
    rows = await outcome_of(store.snapshot(graph))
    if isinstance(rows, GraphtideError):
        raise rows
    return UNREADABLE if isinstance(rows, Exception) else (await digests(rows))[0]


def view_differences(view: LiveView, version: int, stored: str) -> list[str]:
    """Return the differences of a view from the stored graph at that version, by digest and by the ids of its indexes.

    A view at another version has none. Cost: the whole graph. Call in a thread.
    """
    with view.lock.read():
        if view.version != version:
            return []
        seen = view.rows()
        tables = (
            ("chunk", view.indexes.chunks, set(view.chunks)),
            ("entity", view.indexes.entities, set(view.entities)),
            ("statement", view.indexes.statements, set(view.statements)),
        )
        found = [
            f"{kind} index holds ids without rows"
            for kind, index, rows in tables
            if not set(index.live_ids().tolist()) <= rows
        ]
    if not _has_digest(seen, stored):
        found.append("rows differ from the stored rows")
    return found + digest_differences(view, seen)


def digest_differences(view: LiveView, rows: GraphDelta) -> list[str]:
    """Return the difference of the digest that a view keeps from that of its rows. A later version has none."""
    try:
        version, kept = view.digests.read(view)
    except LookupError as error:
        return [f"the digest cannot be read: {error}"]
    return [f"the digest {kept} is not that of the rows"] if version == rows.version and kept != _digest(rows) else []


def _compare_stored(
    stored: GraphDelta, fresh: GraphDelta, writer: Consolidator | None
) -> tuple[int, str, str, tuple[str, ...], dict[str, int]]:
    found = _row_differences("stored", stored, fresh) + _kernel_differences(stored, writer)
    return stored.version, _digest(stored), digest(fresh), tuple(found), _checked(fresh)


def _compare(stored: GraphDelta, fresh: GraphDelta, view: LiveView, writer: Consolidator | None) -> VerificationResult:
    with view.lock.read():
        seen = view.rows()
        lost = _index_differences(view, stored)
    found = _row_differences("stored", stored, fresh) + _row_differences("queryable", seen, fresh)
    if view.version != stored.version:
        found.append(f"the live view has version {view.version}, the store has {stored.version}")
    found += lost + digest_differences(view, seen) + _kernel_differences(stored, writer)
    return VerificationResult(stored.version, _digest(stored), digest(fresh), tuple(found), _checked(fresh))


def _checked(fresh: GraphDelta) -> dict[str, int]:
    return {
        "documents": len(fresh.documents),
        "chunks": len(fresh.chunks),
        "entities": len(fresh.entities),
        "relations": len(fresh.statements),
        "edges": len(fresh.edges),
    }


def _row_differences(where: str, rows: GraphDelta, fresh: GraphDelta) -> list[str]:
    """Return the differences in the canonical lines, and in the vectors and headings, which the lines leave out."""
    try:
        found = [f"{where} {line}" for line in differences(rows, fresh)]
        if where == "stored":
            found += [f"{where} {line}" for line in _vector_differences(rows, fresh)]
        found += [f"{where} {line}" for line in _heading_differences(rows, fresh)]
    except (LookupError, ValueError) as error:
        return [f"{where} rows refer to missing rows: {type(error).__name__}: {error}"]
    return found


def _vector_differences(rows: GraphDelta, fresh: GraphDelta) -> list[str]:
    stored, built = _vectors(rows), _vectors(fresh)
    wrong = sorted(key for key, vector in stored.items() if built.get(key, vector) != vector)
    return [f"the vector of {' '.join(key)} differs from the rebuilt one" for key in wrong[:VECTORS_NAMED]]


def _heading_differences(rows: GraphDelta, fresh: GraphDelta) -> list[str]:
    stored, built = ({row.chunk_id: (row.title, row.description) for row in delta.chunks} for delta in (rows, fresh))
    wrong = sorted(name for name, heading in stored.items() if built.get(name, heading) != heading)
    return [f"the heading of chunk {name} differs from the rebuilt one" for name in wrong[:VECTORS_NAMED]]


def _vectors(rows: GraphDelta) -> dict[tuple[str, ...], bytes]:
    """Return every vector and sum of vectors as bytes, by the row's canonical name: they must be equal exactly."""
    labels = {row.label: (row.name, row.type) for row in rows.labels}
    found: dict[tuple[str, ...], bytes] = {}
    found.update((("chunk", row.chunk_id), row.vector.tobytes()) for row in rows.chunks)
    found.update((("label", *labels[row.label]), bytes(row.vector_sum)) for row in rows.labels)
    for row in rows.statements:
        name = ("statement", *labels[row.subject], row.predicate, *labels[row.object])
        found[name] = bytes(row.vector_sum) + row.vector.tobytes()
    for entity in rows.entities:
        found["entity", entity_id(labels[number] for number in entity.labels)] = entity.vector.tobytes()
    return found


def _digest(rows: GraphDelta) -> str:
    try:
        return digest(rows)
    except (LookupError, ValueError):
        return UNREADABLE


def _has_digest(rows: GraphDelta, wanted: str) -> bool:
    """Return True if the rows have that digest, in the construction that a process of its version uses."""
    try:
        return has_digest(rows, wanted)
    except (LookupError, ValueError):
        return wanted == UNREADABLE


def _kernel_differences(stored: GraphDelta, writer: Consolidator | None) -> list[str]:
    try:
        return [f"trussness {line}" for line in (writer or Consolidator.restore(stored)).violations()]
    except (LookupError, ValueError) as error:
        return [f"the write model cannot be restored: {type(error).__name__}: {error}"]


def _index_differences(view: LiveView, stored: GraphDelta) -> list[str]:
    """Compare each index with the rows that have a vector: it must hold these vectors and no others."""
    indexes = view.indexes
    pairs = (
        ("chunk", indexes.chunks, {row.chunk: row.vector for row in stored.chunks}),
        ("entity", indexes.entities, {row.node: row.vector for row in stored.entities}),
        ("statement", indexes.statements, {row.statement: row.vector for row in stored.statements}),
    )
    found = []
    for kind, index, rows in pairs:
        wanted = {number: vector for number, vector in rows.items() if vector.size}
        missing = [number for number in wanted if number not in index]
        if missing or len(index) != len(wanted):
            found.append(f"{kind} index holds {len(index)} of {len(wanted)}, {len(missing)} are missing")
        stale = _stale(index, {number: wanted[number] for number in wanted if number in index})
        if stale:
            found.append(f"{kind} index holds {stale} vectors that differ from the stored ones")
    return found


def _stale(index: VectorIndex, rows: Mapping[int, Vector]) -> int:
    """Return how many vectors in the index differ from the vector of their row."""
    if not rows:
        return 0
    try:
        expected = unit_rows(np.stack(list(rows.values())).astype(np.float32), index.dimensions)
    except ValueError:  # rows of different lengths, or zero vectors
        return len(rows)
    indexed = index.vectors(np.fromiter(rows, np.int64, len(rows)))
    return int((np.abs(indexed - expected).max(axis=1) > VECTOR_TOLERANCE).sum())
