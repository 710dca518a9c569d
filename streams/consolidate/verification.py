"""Recounting: a graph built from nothing out of its live extractions, to verify the one that stands or to replace it.

No model is called: extractions are kept, embeddings and all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import differences, digest
from graphtide.graph.identity import entity_id
from graphtide.graph.records import DocumentChange, GraphDelta, Vector
from graphtide.graph.resolution import PairKey
from graphtide.graph.vector_index import VectorIndex, unit_rows
from graphtide.graph.view import LiveView
from graphtide.streams.errors import GraphtideError
from graphtide.streams.messages import decode_stored
from graphtide.streams.ports import GraphStore
from graphtide.streams.retry import outcome_of

VECTORS_NAMED = 20
UNREADABLE = "none: the rows do not fit together"
VECTOR_TOLERANCE = 1e-3
"""An index may keep fewer bits than a row does."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The digests of the graph as stored, as questions see it, and as counted anew, and what differs between them."""

    version: int
    stored: str
    recounted: str
    differences: tuple[str, ...]
    checked: dict[str, int]


Told = Callable[[str], None]
"""Takes what is being done, in words for people, whenever there is more to say."""
TELL_EVERY = 64


def _nobody(_: str) -> None:
    """Nobody wants to know."""


async def build(store: GraphStore, graph: str, version: int, told: Told = _nobody) -> GraphDelta:
    """The graph of the live extractions, in one batch, as a snapshot of that version. Cost: the whole graph."""
    changes = []
    async for doc_id, value in store.extractions(graph):
        extraction = decode_stored(graph, doc_id, value)
        if extraction is not None:
            changes.append(DocumentChange(doc_id, None, extraction))
        if len(changes) % TELL_EVERY == 1:
            told(f"{len(changes):,} documents read")
    told(f"counting {len(changes):,} documents")
    return await asyncio.to_thread(_build, graph, changes, await store.verdicts(graph), version)


def _build(graph: str, changes: list[DocumentChange], verdicts: Mapping[PairKey, bool], version: int) -> GraphDelta:
    writer = Consolidator(graph, verdicts=verdicts)
    writer.version = version - 1
    delta = writer.apply(changes)
    return replace(delta, snapshot=True, communities=writer.hierarchy())


async def recount(store: GraphStore, view: LiveView, writer: Consolidator | None) -> VerificationResult:
    """Compare what is stored, what questions see and what the kernels hold with a build from nothing.

    Call while the writer is paused. Cost: the whole graph, in a thread.
    """
    stored = await store.snapshot(view.graph)
    fresh = await build(store, view.graph, stored.version)
    return await asyncio.to_thread(_compare, stored, fresh, view, writer)


async def recount_stored(
    store: GraphStore, graph: str, writer: Consolidator | None, told: Told = _nobody
) -> tuple[int, str, str, tuple[str, ...], dict[str, int]]:
    """Do the same without a view, in a process that answers no questions: rows and kernels, as a tuple."""
    told("reading what is stored")
    stored = await store.snapshot(graph)
    fresh = await build(store, graph, stored.version, told)
    told("comparing")
    return await asyncio.to_thread(_compare_stored, stored, fresh, writer)


async def digests(*rows: GraphDelta) -> tuple[str, ...]:
    """The digest of each, in a thread; rows that do not fit together have none, and say so."""
    return tuple([await asyncio.to_thread(_digest, one) for one in rows])


async def stored_digest(store: GraphStore, graph: str) -> str:
    """The digest of the stored rows; rows that cannot even be read have none, and say so."""
    rows = await outcome_of(store.snapshot(graph))
    if isinstance(rows, GraphtideError):
        raise rows
    return UNREADABLE if isinstance(rows, Exception) else (await digests(rows))[0]


def view_differences(view: LiveView, version: int, stored: str) -> list[str]:
    """What a view that stands at that version differs in from the stored graph, by its digest, and by the ids of its
    indexes. Nothing is said of a view that stands elsewhere. Cost: the whole graph. Call in a thread.
    """
    with view.lock.read():
        if view.version != version:
            return []
        seen = view.rows()
        held = (
            ("chunk", view.indexes.chunks, set(view.chunks)),
            ("entity", view.indexes.entities, set(view.entities)),
            ("statement", view.indexes.statements, set(view.statements)),
        )
        found = [
            f"{kind} index holds ids that are no rows"
            for kind, index, rows in held
            if not set(index.live_ids().tolist()) <= rows
        ]
    return found if _digest(seen) == stored else [*found, "what questions see is not what is stored"]


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
        found.append(f"questions see version {view.version}, the store has {stored.version}")
    found += lost + _kernel_differences(stored, writer)
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
    """What differs in the canonical lines, and in the vectors and headings, which the lines leave out."""
    try:
        found = [f"{where} {line}" for line in differences(rows, fresh)]
        if where == "stored":
            found += [f"{where} {line}" for line in _vector_differences(rows, fresh)]
        found += [f"{where} {line}" for line in _heading_differences(rows, fresh)]
    except (LookupError, ValueError) as error:
        return [f"{where} rows refer to what is not there: {type(error).__name__}: {error}"]
    return found


def _vector_differences(rows: GraphDelta, fresh: GraphDelta) -> list[str]:
    held, counted = _vectors(rows), _vectors(fresh)
    wrong = sorted(key for key, vector in held.items() if counted.get(key, vector) != vector)
    return [f"the vector of {' '.join(key)} is not the one counted anew" for key in wrong[:VECTORS_NAMED]]


def _heading_differences(rows: GraphDelta, fresh: GraphDelta) -> list[str]:
    held, counted = ({row.chunk_id: (row.title, row.description) for row in one.chunks} for one in (rows, fresh))
    wrong = sorted(name for name, said in held.items() if counted.get(name, said) != said)
    return [f"the heading of chunk {name} is not the one counted anew" for name in wrong[:VECTORS_NAMED]]


def _vectors(rows: GraphDelta) -> dict[tuple[str, ...], bytes]:
    """Every vector and every sum of vectors, as bytes, by its row's canonical name: exact, so they must be equal."""
    labels = {row.label: (row.name, row.type) for row in rows.labels}
    found: dict[tuple[str, ...], bytes] = {}
    found.update((("chunk", row.chunk_id), row.vector.tobytes()) for row in rows.chunks)
    found.update((("label", *labels[row.label]), row.vector_sum) for row in rows.labels)
    for row in rows.statements:
        name = ("statement", *labels[row.subject], row.predicate, *labels[row.object])
        found[name] = row.vector_sum + row.vector.tobytes()
    for one in rows.entities:
        found["entity", entity_id(labels[number] for number in one.labels)] = one.vector.tobytes()
    return found


def _digest(rows: GraphDelta) -> str:
    try:
        return digest(rows)
    except (LookupError, ValueError):
        return UNREADABLE


def _kernel_differences(stored: GraphDelta, writer: Consolidator | None) -> list[str]:
    try:
        return [f"trussness {line}" for line in (writer or Consolidator.restore(stored)).violations()]
    except (LookupError, ValueError) as error:
        return [f"the write model cannot be restored: {type(error).__name__}: {error}"]


def _index_differences(view: LiveView, stored: GraphDelta) -> list[str]:
    """Each index must hold the rows that have a vector, each with the vector that is stored, and nothing else."""
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
            found.append(f"{kind} index holds {stale} vectors that are not the stored ones")
    return found


def _stale(index: VectorIndex, rows: Mapping[int, Vector]) -> int:
    """How many ids the index holds under another vector than their row's."""
    if not rows:
        return 0
    try:
        expected = unit_rows(np.stack(list(rows.values())).astype(np.float32), index.dimensions)
    except ValueError:  # rows of other lengths, or none that point anywhere
        return len(rows)
    held = index.vectors(np.fromiter(rows, np.int64, len(rows)))
    return int((np.abs(held - expected).max(axis=1) > VECTOR_TOLERANCE).sum())
