"""Fault attribution: decides if the record or the stored graph is the cause when a record cannot be applied.

A faulty record is dead-lettered. A faulty graph is stopped, because each of its next records would fail in the same
way although the records are valid.
"""

from __future__ import annotations

import asyncio

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange
from graphtide.streams.consolidate import verification
from graphtide.streams.errors import GraphStopped
from graphtide.streams.messages import decode_extraction
from graphtide.streams.ports import ConsumedRecord, GraphStore
from graphtide.streams.retry import outcome_of


async def raise_if_stopped(store: GraphStore, delivered: ConsumedRecord, error: Exception) -> None:
    """Raise GraphStopped when the stored graph is the reason why the record cannot be applied.

    A record that also fails on an empty graph is faulty. Otherwise the stored graph is compared with a build from its
    documents. Cost: the whole graph; call it only for an unexpected failure.
    """
    message = decode_extraction(delivered.record.value or b"")
    graph = message.graph
    if message.extraction is not None:
        change = DocumentChange(message.doc_id, None, message.extraction)
        alone = await outcome_of(asyncio.to_thread(Consolidator(graph).apply, [change]))
        if isinstance(alone, Exception):
            return
    *_, differences, _ = await verification.recount_stored(store, graph, None)
    if differences:
        raise GraphStopped(
            f"the stored rows of graph {graph!r} differ from a build from its documents ({differences[0][:200]}):"
            f" its documents wait; rebuild it with: graphtide rebuild --graph {graph}",
            graph,
        ) from error
