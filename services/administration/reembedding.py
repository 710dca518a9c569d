"""Re-embedding of a data folder: new vectors by the model of the settings for every document it stores.

The service must not be running. All work is done on a copy of the database inside the folder; the copy replaces the
database by one rename. Invariant: a process killed at any moment leaves the folder with its old vectors, model and
graphs, or with the new ones. The graphs equal those of a new folder with the same documents and the new model.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from prometheus_client import CollectorRegistry

from graphtide.infra.backup_folder import Progress, silent
from graphtide.infra.durable_files import to_disk
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.private_files import make_private_folder
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend, SqliteUsageLedger
from graphtide.infra.sqlite.administration.backup import INDEXES, copy_database, fold_log
from graphtide.infra.sqlite.administration.embedding_model import (
    EmbeddingModel,
    record_model,
    recorded_model,
    write_file,
)
from graphtide.infra.sqlite.administration.stored_extractions import (
    count_extractions,
    replace_extractions,
    replace_record,
    waiting_extractions,
)
from graphtide.infra.sqlite.errors import failure
from graphtide.infra.sqlite.folder_lock import DATABASE, FolderLock
from graphtide.services.model_wiring import open_embedder, plan
from graphtide.streams.consolidate.verification import build
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.extract.reembedding import reembedded
from graphtide.streams.messages import DELTAS, DeltaNotice, ExtractionMessage, decode_extraction, decode_stored
from graphtide.streams.model_ports import Embedder
from graphtide.streams.ports import Record
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.usage import BillingContext, paid_by

SCRATCH = "reembedding"
"""The folder inside the data folder that holds the copy. A killed run leaves it; the next start or run deletes it."""
BATCH_DOCUMENTS = 16
EMBEDDED = "documents embedded"
BUILT = "graphs built"


@dataclass(frozen=True, slots=True)
class Reembedded:
    """The result: the models before and after, and the numbers of graphs and documents with new vectors."""

    before: str
    after: str
    dimensions: int
    graphs: int
    documents: int


async def reembed(settings: Settings, on_progress: Progress = silent) -> Reembedded:
    """Give every document of the data folder vectors by the model of the settings. Cost: all texts, all graphs.

    Raises Broken when the folder holds no data or a process uses it, and as `Embedder.embed` does: then nothing has
    changed. Steps: 1 copy; 2 new vectors; 3 graphs of them; 4 the model's name; 5 the switch.
    """
    folder = settings.data
    if not (folder / DATABASE).exists():
        raise Broken(f"{folder} contains no {DATABASE}: set the data folder with --data or GRAPHTIDE_DATA")
    lock = FolderLock(folder)
    try:
        remove_scratch(folder)
        scratch = folder / SCRATCH
        scratch.mkdir()
        make_private_folder(scratch)
        copy_database(folder / DATABASE, scratch / DATABASE, on_progress)  # 1
        done = await _work(settings, scratch, on_progress)
        _switch(scratch, folder, done.after)  # 5
    except sqlite3.Error as error:
        raise failure(error) from error
    finally:
        remove_scratch(folder)
        lock.release()
    return done


def remove_scratch(folder: Path) -> None:
    """Delete the copy that a killed run left. Call while holding the folder's lock."""
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)


async def _work(settings: Settings, scratch: Path, on_progress: Progress) -> Reembedded:
    chosen = plan(settings)
    async with AsyncExitStack() as stack:
        backend = await SqliteBackend.open(scratch)
        stack.push_async_callback(backend.close)
        pool = WorkPool()
        stack.callback(pool.close)
        tally = Tally(CollectorRegistry())
        accounts = UsageAccounting(await SqliteUsageLedger.open(backend.database), chosen.rules, tally)
        embedder = open_embedder(settings, accounts, stack, pool)
        recorded = await recorded_model(backend.database, settings.data)
        graphs = await backend.store.graphs()
        documents = await _embed_all(backend, list(graphs), embedder, on_progress)  # 2
        for number, graph in enumerate(graphs):  # 3
            on_progress(BUILT, number, len(graphs))
            await _build(backend, graph, graphs[graph] + 1)
        on_progress(BUILT, len(graphs), len(graphs))
        model = EmbeddingModel(embedder.name, embedder.dimensions)
        await record_model(backend.database, scratch, model)  # 4
        return Reembedded(recorded.name if recorded else "", model.name, model.dimensions, len(graphs), documents)


async def _embed_all(backend: SqliteBackend, graphs: Sequence[str], embedder: Embedder, on_progress: Progress) -> int:
    """Replace the extractions of all graphs, and those that wait in the log; return the number of stored ones."""
    total = await count_extractions(backend.database)
    done = 0
    for graph in graphs:
        with paid_by(BillingContext(graph)):
            async for batch in _batches(backend.store.extractions(graph)):
                on_progress(EMBEDDED, done, total)
                fresh = {doc_id: await _embedded(_stored(graph, doc_id, value), embedder) for doc_id, value in batch}
                await replace_extractions(backend.database, graph, fresh)
                done += len(batch)
    on_progress(EMBEDDED, done, total)
    for key, value in await waiting_extractions(backend.database):
        with suppress(Rejected):  # the writer dead-letters a malformed record
            message = decode_extraction(value)
            with paid_by(BillingContext(message.graph)):
                await replace_record(backend.database, key, await _embedded(message, embedder))
    return done


async def _batches(items: AsyncIterator[tuple[str, bytes]]) -> AsyncIterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    async for item in items:
        batch.append(item)
        if len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch = []
    if batch:
        yield batch


def _stored(graph: str, doc_id: str, value: bytes) -> ExtractionMessage:
    decode_stored(graph, doc_id, value)
    return decode_extraction(value)


async def _embedded(message: ExtractionMessage, embedder: Embedder) -> bytes:
    """Return the record with new vectors; of a deletion, the same record."""
    if message.extraction is None:
        return message.encode()
    return replace(message, extraction=await reembedded(message.extraction, embedder)).encode()


async def _build(backend: SqliteBackend, graph: str, version: int) -> None:
    """Replace the rows of a graph by those of its new extractions. Reports name communities by old ids: they go."""
    await backend.store.replace(await build(backend.store, graph, version))
    written = [row.community for row in await backend.store.reports(graph)]
    await backend.store.save_reports(graph, [], written)
    await backend.log.append(DELTAS, [Record(graph, DeltaNotice(graph, version, replaced=True).encode())])


def _switch(scratch: Path, folder: Path, model: str) -> None:
    """Replace the database by the copy.

    1 the copy on the disk, as one file; 2 the old database without its write-ahead log, and without indexes, which are
    derived; 3 one rename, which changes vectors and recorded model together; 4 the file that repeats the name.
    """
    fold_log(scratch / DATABASE)  # 1
    to_disk(scratch / DATABASE)
    fold_log(folder / DATABASE)  # 2
    shutil.rmtree(folder / INDEXES, ignore_errors=True)
    to_disk(folder)
    (scratch / DATABASE).replace(folder / DATABASE)  # 3
    to_disk(folder)
    write_file(folder, model)  # 4
