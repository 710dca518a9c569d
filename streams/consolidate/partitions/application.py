"""The plan of a batch, and its application to the write models of its graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from graphtide.graph.algorithms.in_parts import free_in_parts
from graphtide.graph.records import DocumentChange, Extraction
from graphtide.streams.consolidate.batches import ConsolidationBatch, plan_batch
from graphtide.streams.consolidate.partitions.dependencies import WriterDependencies
from graphtide.streams.consolidate.write_models import WriteModel
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import ExtractionMessage
from graphtide.streams.ports import (
    ConsumedRecord,
    GraphCommit,
    GraphDeletion,
    Watermark,
)

FREED_UNITS, FREED_AT_ONCE = 256, 32
"""Units of extractions that are freed in a thread, and how many at a time: each has some ninety objects."""
LARGE_BYTES = 100_000
"""Size from which extractions are decoded in a thread: decoding takes more than about a millisecond."""


class BatchPlanner:
    """The planned batches of a partition, without the revisions that deletions of their graphs cover."""

    def __init__(self, partition: int, dependencies: WriterDependencies) -> None:
        self._partition = partition
        self._dependencies = dependencies
        self._deletions: dict[str, GraphDeletion | None] = {}
        """The last deletion of each graph that this writer has read, None for none. Only this writer adds one."""

    def forget_all(self) -> None:
        """Read the deletions of all graphs again."""
        self._deletions.clear()

    def forget(self, graph: str) -> None:
        """Read the deletion of a graph again."""
        self._deletions.pop(graph, None)

    async def plan(self, delivered: Sequence[ConsumedRecord], watermark: Watermark) -> ConsolidationBatch:
        """Return the planned batch, without the revisions that deletions of their graphs cover."""
        batch = await _decoded(delivered)
        unread = [graph for graph in batch.newest if graph not in self._deletions]
        if unread:
            self._deletions.update(dict.fromkeys(unread))
            self._deletions.update(await self._dependencies.store.deletions(unread))
        for graph in list(batch.newest):
            if (deletion := self._deletions[graph]) is not None:
                batch.leave_out(deletion)
                await self._finish_erasure(deletion, watermark)
        return batch

    async def _finish_erasure(self, deletion: GraphDeletion, watermark: Watermark) -> None:
        graph = deletion.graph
        if not deletion.erased:
            await self._dependencies.eraser.erase(graph, self._partition, watermark, lambda _: None)
            self._deletions[graph] = replace(deletion, erased=True)


class GraphApplier:
    """The application of planned batches to the write models of their graphs."""

    def __init__(self, partition: int, dependencies: WriterDependencies) -> None:
        self._partition = partition
        self._dependencies = dependencies

    async def apply(self, batch: ConsolidationBatch) -> None:
        """Apply the batch to the write models of its graphs."""
        for graph, messages in sorted(batch.newest.items()):
            part = await self._graph(graph, messages, batch)
            applied = [message.extraction for message in messages.values() if message.extraction is not None]
            for doc_id in messages:  # neither the commit nor the view needs a large extraction
                messages[doc_id] = replace(messages[doc_id], extraction=None)
            await _free(applied)
            if part is not None:
                batch.parts.append(part)

    async def _graph(
        self, graph: str, messages: Mapping[str, ExtractionMessage], batch: ConsolidationBatch
    ) -> GraphCommit | None:
        """Apply one graph's part of the batch to its write model. Returns None when it changes nothing."""
        stored = await self._dependencies.store.standings(graph, list(messages))
        large = sum(len(document.extraction or b"") for document in stored.values()) > LARGE_BYTES
        step = partial(batch.step, graph, messages, stored)
        changes, documents, size = await asyncio.to_thread(step) if large else step()
        if not documents:
            return None
        model = await self._dependencies.models.of(graph, self._partition)
        await self._check_dimensions(graph, model, changes)
        before = model.writer.kernel_work()
        delta = await asyncio.to_thread(model.writer.apply, changes)
        batch.kernel_work[graph] = model.writer.kernel_work().since(before)
        old = [change.old for change in changes if change.old is not None]
        changes.clear()
        await _free(old)
        return GraphCommit(delta, documents, content=size)

    async def _check_dimensions(self, graph: str, model: WriteModel, changes: Sequence[DocumentChange]) -> None:
        """Raise Rejected for vectors of another length than the graph's: they can be neither compared nor indexed."""
        for change in changes:
            for unit in change.new.units[:1] if change.new else ():  # a record has one length for all
                expected = model.dimensions
                if expected and unit.vector.size != expected and await self._holds_any(graph):
                    raise Rejected(
                        f"the document's vectors have {unit.vector.size} dimensions and those of graph {graph!r}"
                        f" have {expected}: they come from two embedding models; use one model per graph"
                    )
                model.dimensions = unit.vector.size

    async def _holds_any(self, graph: str) -> bool:
        async for _ in self._dependencies.store.extractions(graph):
            return True
        return False


async def _free(extractions: list[Extraction]) -> None:
    """Free extractions to which nothing else refers; many units are freed in a thread."""
    tables = [list(extraction.units) for extraction in extractions]
    extractions.clear()
    if sum(map(len, tables)) >= FREED_UNITS:
        await asyncio.to_thread(free_in_parts, tables, FREED_AT_ONCE)


async def _decoded(delivered: Sequence[ConsumedRecord]) -> ConsolidationBatch:
    """Return the planned batch; large records are decoded in a thread."""
    large = sum(len(consumed.record.value or b"") for consumed in delivered) > LARGE_BYTES
    return await asyncio.to_thread(plan_batch, delivered) if large else plan_batch(delivered)
