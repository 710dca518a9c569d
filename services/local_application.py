"""The application on the views of this process, for the embedded runtime and for query replicas.

It owns no driver (`services/wiring.py` and `services/cluster/roles` choose those), runs no stage and implements no
protocol. Views are read in threads, under their read locks, so each answer reflects one version.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TypeVar

from graphtide.graph.rwlock import LockBusyError
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.observability.metrics.views import counts
from graphtide.services import dead_letters as letters
from graphtide.services.access.limits.pending import PendingRevisions
from graphtide.services.access.limits.quotas import Entering, Quotas
from graphtide.services.administration.maintenance import request_deletion
from graphtide.services.api.schema.disclosure import ADDRESSES_SHOWN
from graphtide.services.application import (
    Answer,
    AnswerChunk,
    ChangeQuery,
    CommunityReport,
    DeletedGraph,
    Digest,
    DocumentStatus,
    EntityStatus,
    FeedItem,
    GraphStats,
    Health,
    LetterList,
    LetterQuery,
    LetterStatus,
    Purged,
    QueryRequest,
    Rebuilt,
    Receipt,
    RelatedDocuments,
    Usage,
    Verification,
)
from graphtide.services.changes.feed import ChangeFeed
from graphtide.services.changes.past_views import PastViews
from graphtide.services.health import with_dependencies
from graphtide.services.inspection.browsing import community_report
from graphtide.services.inspection.document_status import arriving_status, document_status
from graphtide.services.inspection.entity_details import explain_entity, explain_related
from graphtide.services.inspection.local_browser import LocalBrowser
from graphtide.services.inspection.shared_reads import SharedReads
from graphtide.services.inspection.usage import spending, usage
from graphtide.services.preview.local import LocalPreview
from graphtide.services.preview.types import Preview, PreviewRequest
from graphtide.services.query.service import QueryService
from graphtide.services.runtime import Runtime, RuntimeLimits, using_graph
from graphtide.services.standing.local import LocalStandingQuestions
from graphtide.streams.clock import now_ms
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.document_progress import DocumentProgress
from graphtide.streams.errors import DeadlineExceeded, NotFound
from graphtide.streams.follow.progress import token
from graphtide.streams.messages import DocumentMessage, document_key, split_document_key
from graphtide.streams.ports import LedgerEntry, Position, Record, RevisionState
from graphtide.streams.scheduling.fair_queue import Slots
from graphtide.streams.tracing import Span, SpanRole, inject, span

T = TypeVar("T")

_KERNELS = dict.fromkeys(("communities", "pagerank", "trussness"), "compiled")

SMALL_EXTRACTION_BYTES = 32 << 10
"""Maximum size of a stored extraction that is decoded within about a millisecond."""
SMALL_CONTENT = 256
LARGE_ENCODING_CHARS, STATED_CHARS = 50_000, 200
"""Size of documents from which they are encoded in a thread, and the cost of an entity or a fact in characters."""
LARGE_READS = 2
"""Maximum number of documents with more than SMALL_CONTENT mentions and facts that are read for their status at a
time: such an extraction occupies megabytes while it is decoded."""


class LocalApplication(LocalBrowser, LocalStandingQuestions):
    """Implementation of `graphtide.services.application.Application` on the views of this process."""

    def __init__(self, runtime: Runtime, limits: RuntimeLimits | None = None) -> None:
        self._runtime = runtime
        self._limits = limits or RuntimeLimits()
        self._quotas = Quotas(runtime)
        self._pending = PendingRevisions(runtime.ledger, self._limits.pending_revisions)
        self._past = PastViews(runtime)
        self._questions = QueryService(runtime, self._limits.running_queries, self._past)
        self._feed = ChangeFeed(runtime)
        self._previews = LocalPreview(runtime)
        self._letters = DeadLetterIndex(runtime.log)
        self._digests: SharedReads[Digest] = SharedReads()
        self._statuses: SharedReads[DocumentStatus] = SharedReads()
        self._large_reads = Slots(LARGE_READS)

    # -- documents -----------------------------------------------------------------------------------------------------

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        for graph, count in Counter(document.graph for document in documents).items():
            await self._pending.admit(graph, count)
        entering = [Entering(each.graph, each.doc_id, len(each.text.encode())) for each in documents]
        with _published(documents), await self._quotas.admit(entering):
            headers = inject()
            encode = partial(_records, documents, headers)
            records = await asyncio.to_thread(encode) if _are_large(documents) else encode()
            return Receipt(token(await self._runtime.ledger.accept(records)), len(records))

    async def delete(self, graph: str, doc_id: str) -> Receipt:
        latest = await self._latest(graph, doc_id)
        if latest.state is RevisionState.DELETED:
            raise NotFound(f"document {doc_id!r} of graph {graph!r} is deleted already")
        await self._pending.admit(graph)
        with span("publish", SpanRole.PRODUCER, graph=graph, doc_id=doc_id, documents=1):
            record = Record(document_key(graph, doc_id), None, inject())
            return Receipt(token(await self._runtime.ledger.accept([record])), 1)

    @using_graph
    async def document(self, graph: str, doc_id: str) -> DocumentStatus:
        latest = await self._latest(graph, doc_id)
        spent = await self._runtime.accounts.spending.document(graph, doc_id)
        await self._runtime.views.wake(graph)
        wait_s, used = self._limits.status_wait_s, usage(spent, self._runtime.accounts)
        arrives = latest.state is RevisionState.APPLIED and not await self._runtime.views.arrived(graph, doc_id, wait_s)
        maintenance, open_ = self._runtime.maintenance, arrives or latest.state is RevisionState.ACCEPTED
        waits = maintenance.waiting.get((graph, doc_id), "") if open_ else ""
        progress = maintenance.document_progress(graph, doc_id, latest.revision) if open_ else None
        if arrives:
            return arriving_status(latest, waits, used, progress)
        view = self._runtime.views.get(graph)
        finish = partial(self._status, latest, view, waits, used, progress)
        async with self._deadline(graph):
            shown = ADDRESSES_SHOWN.get()
            key = (graph, doc_id, latest.position, latest.state, waits, progress, view and view.version, shown)
            return await self._statuses.read(key, finish)

    async def _status(
        self, latest: LedgerEntry, view: LiveView | None, waits: str, used: Usage, progress: DocumentProgress | None
    ) -> DocumentStatus:
        """Read the live revision, its facts as extracted if the view changes for long. Large ones are read one after
        the other: each occupies many times its text.
        """
        graph, doc_id, pool = latest.graph, latest.doc_id, self._runtime.pool
        view = view if view is not None and await self._readable(view) else None
        content = view.content_count(doc_id) if view else 0
        async with self._large_reads.one(graph) if content > SMALL_CONTENT else nullcontext():
            standing = (await self._runtime.store.standings(graph, [doc_id], vectors=False)).get(doc_id)
            if self._runtime.views.is_expected(graph, doc_id):  # since `latest` was read
                return arriving_status(latest, waits, used, progress)
            read = partial(document_status, latest, standing, waiting=waits, used=used, progress=progress)
            if len(standing.extraction or b"") <= SMALL_EXTRACTION_BYTES if standing else True:
                with suppress(LockBusyError):
                    return await pool.run(partial(read, view, timeout_s=0), graph, small=True)
            with suppress(LockBusyError):
                return await pool.run(partial(read, view, timeout_s=self._limits.status_wait_s), graph)
            return await pool.run(partial(read, None), graph)

    async def _readable(self, view: LiveView) -> bool:
        """Return True once the view is not being changed, False if that takes long. Nothing is in memory meanwhile: the
        change of a large document takes minutes.
        """
        wait = partial(view.lock.is_readable, self._limits.status_wait_s)
        return view.lock.is_readable(0) or await self._runtime.pool.run(wait, view.graph)

    @using_graph
    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        view = await self._view(graph)
        with self._questions.place():
            found = await self._read(graph, partial(_related, view, doc_id, count))
        if found is None:
            raise NotFound(f"graph {graph!r} has no live document {doc_id!r}")
        return found

    async def _latest(self, graph: str, doc_id: str) -> LedgerEntry:
        latest = await self._runtime.ledger.latest(graph, doc_id)
        if latest is None:
            await self._runtime.known(graph)
            raise NotFound(f"graph {graph!r} has no document {doc_id!r}")
        return latest

    @using_graph
    async def preview(self, graph: str, request: PreviewRequest) -> Preview:
        return await self._previews.preview(await self._view(graph), request)

    # -- questions -----------------------------------------------------------------------------------------------------

    async def query(self, graph: str, ask: QueryRequest) -> Answer:
        return await self._questions.answer(graph, ask)

    def stream(self, graph: str, ask: QueryRequest) -> AsyncIterator[Answer | AnswerChunk]:
        return self._questions.stream(graph, ask)

    def changes(self, graph: str, query: ChangeQuery) -> AsyncIterator[FeedItem]:
        return self._feed.follow(graph, query)

    # -- the graph as a whole ------------------------------------------------------------------------------------------

    async def graphs(self) -> Mapping[str, int]:
        views = self._runtime.views
        return {**views.evicted, **views.versions()}

    @using_graph
    async def stats(self, graph: str) -> GraphStats:
        await self._runtime.known(graph)
        runtime, view = self._runtime, self._runtime.views.get(graph)
        revisions = await runtime.ledger.counts(graph)
        found, indexes = await self._read(graph, lambda: (_counts(view), _indexes(view))) if view else ({}, {})
        lag = revisions.get(RevisionState.ACCEPTED, 0)
        oldest = await runtime.ledger.oldest_pending(graph) if lag else None
        return GraphStats(
            graph,
            view.version if view else 0,
            found,
            {state.value: count for state, count in revisions.items()},
            lag,
            0.0 if oldest is None else max(0.0, (now_ms() - oldest) / 1000),
            runtime.metrics.event_to_queryable_ms(graph),
            _KERNELS,
            runtime.models,
            indexes,
            await spending(graph, runtime.accounts),
        )

    @using_graph
    async def entity(self, graph: str, entity_id: str, at: str = "") -> EntityStatus:
        view = await self._view_at(graph, at)
        if not at:
            await self._runtime.shelves.fill(view)
        found = await self._read(graph, partial(_entity, view, entity_id))
        if found is None:
            raise NotFound(f"graph {graph!r} has no entity {entity_id!r}")
        return found

    @using_graph
    async def reports(self, graph: str) -> Sequence[CommunityReport]:
        view = await self._view(graph)
        await self._runtime.shelves.fill(view)
        return await self._read(graph, partial(_reports, view))

    @using_graph
    async def digest(self, graph: str, at: str = "") -> Digest:
        view = await self._view_at(graph, at)
        async with self._deadline(graph):
            key, read = (id(view), view.version), partial(_digest, view)
            return await self._digests.read(key, lambda: self._runtime.pool.run(read, graph))

    @using_graph
    async def verify(self, graph: str) -> Verification:
        return await self._runtime.maintenance.verify(await self._maintained(graph))

    @using_graph
    async def rebuild(self, graph: str) -> Rebuilt:
        return await self._runtime.maintenance.rebuild(await self._maintained(graph))

    async def delete_graph(self, graph: str, wait_s: float) -> DeletedGraph:
        runtime = self._runtime
        await runtime.views.wake(graph)  # also finds out whether it is damaged
        if graph not in runtime.views.damaged:
            await runtime.known(graph)
        deletion = await request_deletion(runtime.log, graph)
        return DeletedGraph(graph, await runtime.progress.deleted(deletion, wait_s))

    async def purge(self) -> Purged:
        return await self._runtime.maintenance.purge()

    # -- dead letters --------------------------------------------------------------------------------------------------

    async def dead_letters(self, graph: str, query: LetterQuery) -> LetterList:
        return await letters.listed(self._letters, graph, query)

    async def dead_letter(self, graph: str, letter_id: str) -> LetterStatus:
        return await letters.shown(self._letters, graph, letter_id)

    async def retry_letter(self, graph: str, letter_id: str, correction: DocumentMessage | None = None) -> Receipt:
        await self._pending.admit(graph)
        return await letters.retried(self._letters, graph, letter_id, self._accept, correction)

    async def discard_letter(self, graph: str, letter_id: str) -> LetterStatus:
        return await letters.dropped(self._letters, graph, letter_id)

    async def _accept(self, record: Record) -> Position:
        graph, doc_id = split_document_key(record.key)
        with await self._quotas.admit([Entering(graph, doc_id, len(record.value or b""))]):
            [position] = await self._runtime.ledger.accept([record])
            return position

    async def health(self) -> Health:
        return await with_dependencies(self._runtime.maintenance.health(), self._runtime.dependencies)

    async def _read(self, graph: str, read: Callable[[], T]) -> T:
        """Run `read` in the work pool of the graph, outside the event loop. Raises Overloaded, DeadlineExceeded."""
        async with self._deadline(graph):
            return await self._runtime.pool.run(read, graph)

    @asynccontextmanager
    async def _deadline(self, graph: str) -> AsyncIterator[None]:
        timeout_s = self._limits.lookup_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                yield
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the look-up in graph {graph!r} was not finished within {timeout_s:g} s; try again later"
            ) from error

    async def _maintained(self, graph: str) -> LiveView:
        """Return the graph's view; an empty one if its rows cannot be shown, so that they can be rebuilt."""
        views = self._runtime.views
        await views.wake(graph)
        if views.get(graph) is None and graph in views.damaged:
            return LiveView(graph, VectorIndexes(ExactIndex(1), ExactIndex(1), ExactIndex(1)))
        return await self._view(graph)

    async def _view_at(self, graph: str, at: str) -> LiveView:
        """Return the graph's view, `at` an earlier version if that is not empty."""
        if not at:
            return await self._view(graph)
        async with self._deadline(graph):
            return await self._past.at(graph, at)

    async def _view(self, graph: str) -> LiveView:
        await self._runtime.known(graph)
        view = self._runtime.views.get(graph)
        if view is None:
            raise NotFound(f"graph {graph!r} has no document applied yet")
        return view


def _are_large(documents: Sequence[DocumentMessage]) -> bool:
    stated = sum(len(each.facts or ()) + len(each.entities or ()) for each in documents)
    return sum(len(each.text) for each in documents) + STATED_CHARS * stated > LARGE_ENCODING_CHARS


def _records(documents: Sequence[DocumentMessage], headers: tuple[tuple[str, bytes], ...]) -> list[Record]:
    return [Record(document.key, document.encode(), headers) for document in documents]


def _published(documents: Sequence[DocumentMessage]) -> Span:
    """Return the span of publishing, with the graph and the document if there is only one."""
    attributes: dict[str, str] = {}
    if len({document.graph for document in documents}) == 1:
        attributes["graph"] = documents[0].graph
    if len(documents) == 1:
        attributes["doc_id"] = documents[0].doc_id
    return span("publish", SpanRole.PRODUCER, documents=len(documents), **attributes)


def _entity(view: LiveView, entity_id: str) -> EntityStatus | None:
    with view.lock.read():
        node = view.entity_nodes.get(entity_id)
        return None if node is None else explain_entity(view, node)


def _related(view: LiveView, doc_id: str, count: int) -> RelatedDocuments | None:
    with view.lock.read():
        return explain_related(view, doc_id, count) if doc_id in view.documents else None


def _reports(view: LiveView) -> list[CommunityReport]:
    with view.lock.read():
        rows = sorted(view.reports.reports(view), key=lambda row: (-row.level, row.community))
    return [community_report(row) for row in rows]


def _digest(view: LiveView) -> Digest:
    return Digest(*view.digests.read(view))


def _counts(view: LiveView) -> dict[str, int]:
    with view.lock.read():
        return {
            **counts(view),
            "merged_labels": len(view.same_as),
        }


def _indexes(view: LiveView) -> dict[str, Mapping[str, object]]:
    named = {"chunks": view.indexes.chunks, "entities": view.indexes.entities, "relations": view.indexes.statements}
    found: dict[str, Mapping[str, object]] = {}
    for name, index in named.items():
        figures = index.statistics()
        found[name] = {
            "kind": figures.kind,
            "live": figures.live,
            "tombstones": figures.tombstones,
            "size_bytes": figures.size_bytes,
            "rebuilds": figures.rebuilds,
        }
    return found
