"""Recounting: a graph built from nothing out of its live extractions, to verify the one that stands or to replace it.

No model is called: extractions are kept, embeddings and all.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from graph.consolidation import Consolidator
from graph.digest import differences, digest
from graph.records import Change, GraphDelta
from graph.view import LiveView
from streams.messages import decode_extraction
from streams.ports import GraphStore


@dataclass(frozen=True, slots=True)
class Recount:
    """The digests of the graph as stored, as questions see it, and as counted anew, and what differs between them."""

    version: int
    stored: str
    recounted: str
    differences: tuple[str, ...]
    checked: dict[str, int]


async def build(store: GraphStore, graph: str, version: int) -> GraphDelta:
    """The graph of the live extractions, in one batch, as a snapshot of that version. Cost: the whole graph."""
    changes = []
    async for doc_id, value in store.extractions(graph):
        extraction = decode_extraction(value).extraction
        if extraction is not None:
            changes.append(Change(doc_id, None, extraction))
    return await asyncio.to_thread(_build, graph, changes, version)


def _build(graph: str, changes: list[Change], version: int) -> GraphDelta:
    writer = Consolidator(graph)
    writer.version = version - 1
    delta = writer.apply(changes)
    return replace(delta, snapshot=True, communities=writer.hierarchy())


async def recount(store: GraphStore, view: LiveView, writer: Consolidator | None) -> Recount:
    """Compare what is stored, what questions see and what the kernels hold with a build from nothing.

    Call while the writer is paused. Cost: the whole graph, in a thread.
    """
    stored = await store.snapshot(view.graph)
    fresh = await build(store, view.graph, stored.version)
    return await asyncio.to_thread(_compare, stored, fresh, view, writer)


def _compare(stored: GraphDelta, fresh: GraphDelta, view: LiveView, writer: Consolidator | None) -> Recount:
    with view.lock.read():
        seen = view.rows()
        lost = _index_differences(view)
    found = [f"stored {line}" for line in differences(stored, fresh)]
    found += [f"queryable {line}" for line in differences(seen, fresh)]
    if view.version != stored.version:
        found.append(f"questions see version {view.version}, the store has {stored.version}")
    found += lost
    found += [f"trussness {line}" for line in (writer or Consolidator.restore(stored)).violations()]
    checked = {
        "documents": len(fresh.documents),
        "chunks": len(fresh.chunks),
        "entities": len(fresh.entities),
        "relations": len(fresh.statements),
        "edges": len(fresh.edges),
    }
    return Recount(stored.version, digest(stored), digest(fresh), tuple(found), checked)


def _index_differences(view: LiveView) -> list[str]:
    indexes = view.indexes
    pairs = (
        ("chunk", indexes.chunks, view.chunks),
        ("entity", indexes.entities, view.entities),
        ("statement", indexes.statements, view.statements),
    )
    found = []
    for kind, index, table in pairs:
        missing = sum(number not in index for number in table)
        if missing or len(index) > len(table):
            found.append(f"{kind} index holds {len(index)} of {len(table)}, {missing} are missing")
    return found
