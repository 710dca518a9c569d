"""Re-embedding of a data folder while its service runs: the old vectors answer until the new ones are complete.

1. in batches, store the extraction of every live document with vectors of the new model, beside the present one; an
   edit or deletion deletes that record, and the edited document is embedded again
2. build the graphs of the new vectors
3. end the extract and consolidate stages: documents are still accepted, and wait in the log
4. repeat 1 and 2 for what changed meanwhile, and embed the extractions in the log that are not applied yet
5. replace graphs, extractions, records in the log and the name of the model in one transaction
6. replace all views, and the model that embeds questions and documents, at one moment; start the stages again

Invariant: a process killed at any moment leaves the old vectors, model and graphs, and the records of 1, with which the
next start continues; or the new ones. The graphs equal those of a new folder with the same documents and the new model.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphtide.graph.records import GraphDelta
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.administration.embedding_model import EmbeddingModel, recorded_model, write_file, write_row
from graphtide.infra.sqlite.administration.reembedded import LiveDocument, ReembeddedDocuments, switch_extractions
from graphtide.infra.sqlite.administration.stored_extractions import waiting_extractions
from graphtide.services.administration.maintenance import EmbeddedMaintenance
from graphtide.services.process.pausable_task import PausableTask
from graphtide.streams.consolidate.verification import build
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.reembedding import reembedded
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DeltaNotice, ExtractionMessage, decode_extraction, decode_stored
from graphtide.streams.model_ports import Embedder
from graphtide.streams.ports import Record
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.standing.stage import StandingStage
from graphtide.streams.usage import BillingContext, paid_by

log = logging.getLogger("graphtide")

LARGE_BYTES = 32 << 10
"""Size from which an extraction is decoded and encoded in a thread."""
FEW = 64
"""Documents without new vectors that may be left for the switch, while the stages are ended: a steady stream of edits
always leaves some."""


@dataclass(slots=True)
class ReembeddingProgress:
    """The progress for health reports and metrics: what is done, and how many documents have vectors."""

    old: str
    new: str
    step: str = "not started"
    failures: dict[str, str] = field(default_factory=dict)
    """Why the task waits, as the supervisor of tasks notes it."""
    embedded: int = 0
    documents: int = 0
    ended: bool = False

    def figures(self) -> tuple[int, int]:
        """Return the documents with new vectors, and all live documents."""
        return self.embedded, self.documents

    async def trouble(self) -> str:
        """Return the progress as the state of a dependency, "" at the end."""
        if self.ended:
            return ""
        reason = next(filter(None, self.failures.values()), "")
        failed = f"; waiting: {reason}" if reason else ""
        return (
            f"{self.step}: {self.embedded} of {self.documents} documents have vectors of {self.new};"
            f" {self.old} answers until all have{failed}"
        )


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages that end for the switch."""

    extract: PausableTask
    consolidate: PausableTask
    standing: StandingStage


@dataclass(frozen=True, slots=True)
class OnlineReembedding:
    """The task. `switch` replaces the model of questions and documents, without waiting."""

    folder: Path
    backend: SqliteBackend
    views: ViewRegistry
    maintenance: EmbeddedMaintenance
    stages: Stages
    embedder: Embedder
    pool: WorkPool
    progress: ReembeddingProgress
    switch: Callable[[], None]
    built: dict[str, GraphDelta] = field(default_factory=dict)

    async def run(self) -> None:
        """Re-embed and switch. Raises as `Embedder.embed` and the store do: a repeated call continues."""
        if self.progress.ended:
            return
        if not await self._is_switched():
            documents = ReembeddedDocuments(self.backend.database, self.backend.store)
            await documents.prepare(self.embedder.name)
            await self._prepare_graphs(documents, FEW)  # 1 and 2
            async with self._stopped():  # 3
                await self._prepare_graphs(documents, 0)  # 4
                await self._commit()  # 5
                await self._show()  # 6
        else:
            async with self._stopped():
                await self._show()
        self.progress.ended = True
        log.info("all documents have vectors of %s, which answers from now on", self.embedder.name)

    async def _is_switched(self) -> bool:
        recorded = await recorded_model(self.backend.database, self.folder)
        return recorded is not None and recorded.name == self.embedder.name

    async def _prepare_graphs(self, documents: ReembeddedDocuments, left: int) -> None:
        """Embed what has no new vectors, but for `left` documents, and build the graphs that changed since their build.

        A graph that changes during this is left out.
        """
        versions = await self._embed_all(documents, left)
        for graph in self.built.keys() - versions.keys():
            del self.built[graph]
        for number, (graph, version) in enumerate(versions.items(), 1):
            if graph in self.built and self.built[graph].version == version + 1:
                continue
            self.progress.step = f"building graph {number} of {len(versions)}"
            self.built.pop(graph, None)
            snapshot = await build(documents, graph, version + 1)
            if (await self.backend.store.graphs()).get(graph) == version:
                self.built[graph] = snapshot

    # -- vectors -------------------------------------------------------------------------------------------------------

    async def _embed_all(self, documents: ReembeddedDocuments, left: int) -> Mapping[str, int]:
        """Embed the documents without a record, in passes over the rows, until a pass finds at most `left`.

        Returns the versions of the graphs before the last pass: their documents of these versions have new vectors.
        """
        self.progress.step = "embedding"
        while True:
            versions, last = await self.backend.store.graphs(), await documents.last_row()
            found, row = 0, 0
            while batch := await documents.missing(row, last):
                found, row = found + len(batch), batch[-1].row
                await self._embed_batch(documents, batch)
            if found <= left:
                self.progress.embedded, self.progress.documents = await documents.counts()
                return versions

    async def _embed_batch(self, documents: ReembeddedDocuments, batch: Sequence[LiveDocument]) -> None:
        self.progress.embedded, self.progress.documents = await documents.counts()
        records = dict[int, tuple[int, bytes]]()
        for document in batch:
            message = await self._decoded(document)
            records[document.row] = message.revision, await self._embedded(message)
        await documents.put(records)

    async def _decoded(self, document: LiveDocument) -> ExtractionMessage:
        def work() -> ExtractionMessage:
            decode_stored(document.graph, document.doc_id, document.extraction)
            return decode_extraction(document.extraction)

        return await self.pool.run(work, document.graph, small=len(document.extraction) < LARGE_BYTES)

    async def _embedded(self, message: ExtractionMessage) -> bytes:
        """Return the record with new vectors; of a deletion, the same record."""
        if message.extraction is None:
            return message.encode()
        with paid_by(BillingContext(message.graph, message.doc_id)):
            fresh = replace(message, extraction=await reembedded(message.extraction, self.embedder))
        return await self.pool.run(fresh.encode, message.graph)

    async def _log_records(self) -> Mapping[int, bytes]:
        """Return the records of the log that the writer has yet to apply, with new vectors, by key."""
        found = dict[int, bytes]()
        for key, value in await waiting_extractions(self.backend.database):
            with suppress(Rejected):  # the writer dead-letters a malformed record
                found[key] = await self._embedded(decode_extraction(value))
        return found

    # -- the switch ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _stopped(self) -> AsyncIterator[None]:
        """End the stages that use vectors, between two batches, and start them again after the block."""
        self.progress.step = "switching"
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.stages.extract.paused())
            await self.maintenance.extract.release_attempts()
            await stack.enter_async_context(self.maintenance.summarizing)
            await stack.enter_async_context(self.maintenance.consolidate.paused())
            await stack.enter_async_context(self.stages.consolidate.paused())
            yield

    async def _commit(self) -> None:
        records = await self._log_records()
        model = EmbeddingModel(self.embedder.name, self.embedder.dimensions)

        def more(connection: sqlite3.Connection) -> None:
            switch_extractions(connection, records)
            write_row(connection, model)

        snapshots = list(self.built.values())
        notices = [
            Record(each.graph, DeltaNotice(each.graph, each.version, replaced=True).encode()) for each in snapshots
        ]
        await self.backend.store.replace_all(snapshots, notices, more)
        self.built.clear()

    async def _show(self) -> None:
        """Replace the views and the model. The stages read the log and the write models anew."""
        await asyncio.to_thread(write_file, self.folder, self.embedder.name)
        self.backend.log.forget_recent()
        graphs = list(await self.backend.store.graphs())
        for graph in graphs:
            self.maintenance.consolidate.forget(graph)
        await self.views.replace_all(self._snapshots(graphs), self.switch)
        self.maintenance.progress.moved()
        await self.stages.standing.evaluate_again()

    async def _snapshots(self, graphs: Sequence[str]) -> AsyncIterator[GraphDelta]:
        for graph in graphs:
            yield await self.backend.store.snapshot(graph)
