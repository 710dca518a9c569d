"""Erasure of the remains of deleted documents and past revisions in a data folder, while the service runs.

A deletion removes a document from the graph at once; a purge removes its bytes from the files: log records, dead
letters, verdicts, reports, memos, index snapshots, free pages and the write-ahead log. Writers are paused meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from graphtide.graph.entity_descriptions import profile
from graphtide.graph.records import Extraction
from graphtide.graph.reports.entity_summaries import EntitySummary, split_rows, storage_id
from graphtide.graph.reports.fingerprint import Fingerprint
from graphtide.graph.reports.rows import ReportRow
from graphtide.graph.view import LiveView
from graphtide.infra.models.cache.purge import live_keys, purge_memos
from graphtide.infra.sqlite.administration.purge import compact, purge_rows
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.services.application import Purged
from graphtide.services.model_wiring import Memos
from graphtide.streams.extract.pipeline import ExtractionModels
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import decode_extraction
from graphtide.streams.ports import GraphStore

log = logging.getLogger("graphtide")

Pause = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class EmbeddedPurge:
    """The purge of a data folder. `pause` pauses the writers between batches."""

    database: SqliteDatabase
    store: GraphStore
    views: ViewRegistry
    reading: ExtractionModels
    memos: Memos | None
    pause: Pause

    async def run(self) -> Purged:
        """Purge all graphs. Raises Retryable when the write-ahead log cannot be emptied; running it again is safe.

        Steps: 1. rows, in one transaction; 2. reports; 3. memos; 4. indexes; 5. the file. Cost: all data.
        """
        before = _size_bytes(self.database)
        async with self.pause():
            removed = await purge_rows(self.database)  # 1
            views = self.views.all()
            removed["reports"] = sum([await purge_reports(self.store, view) for view in views])  # 2
            removed["memo_entries"] = sum([await self._purge_memos(view.graph) for view in views])  # 3
            removed["indexes"] = await self.views.purge()  # 4
            await compact(self.database)  # 5
        after = _size_bytes(self.database)
        log.info("purged the data folder: %s; %d bytes before, %d after", removed, before, after)
        return Purged(removed, before, after, ())

    async def _purge_memos(self, graph: str) -> int:
        if self.memos is None:
            return 0
        keys = await live_keys(graph, self._live(graph), self.reading)
        return await purge_memos(keys, self.memos.vectors, self.memos.extractions, self.memos.reports)

    async def _live(self, graph: str) -> AsyncIterator[Extraction]:
        async for _, value in self.store.extractions(graph):
            extraction = decode_extraction(value).extraction
            if extraction is not None:
                yield extraction


async def purge_reports(store: GraphStore, view: LiveView) -> int:
    """Delete the stored reports and summaries that were written from content that is no longer live; return their
    number.
    """
    rows = await store.reports(view.graph)
    stale = await asyncio.to_thread(_retire, view, rows)
    if stale:
        await store.save_reports(view.graph, (), stale)
    return len(stale)


def _retire(view: LiveView, rows: Sequence[ReportRow]) -> list[int]:
    with view.lock.write():
        reports, summaries = split_rows(rows)
        communities = {
            each.community for each in reports if not _is_live(view, each, view.contents.fingerprint(each.community))
        }
        entities = {each.entity for each in summaries if not _is_live(view, each, _entity_fingerprint(view, each))}
        view.reports.retire(communities)
        view.summaries.retire(entities)
    return sorted(communities | set(map(storage_id, entities)))


def _is_live(view: LiveView, written_from: ReportRow | EntitySummary, now: Fingerprint | None) -> bool:
    """Return True when the text was written from exactly the current content."""
    if any(source not in view.chunk_numbers for source in written_from.sources):
        return False
    written = Fingerprint.decode(written_from.fingerprint)
    return written is not None and now is not None and written.changed(now) == 0.0


def _entity_fingerprint(view: LiveView, summary: EntitySummary) -> Fingerprint | None:
    node = view.entity_nodes.get(summary.entity)
    found = None if node is None else profile(view, node)
    return None if found is None else Fingerprint.decode(found.fingerprint)


def _size_bytes(database: SqliteDatabase) -> int:
    folder = database.path.parent
    return sum(path.stat().st_size for path in folder.glob(f"{database.path.name}*"))
