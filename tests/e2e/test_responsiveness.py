"""The event loop waits for no lock of a view or an index, and large statuses are read a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry

from graphtide.graph.view import LiveView
from graphtide.infra.settings import Settings
from graphtide.services.api.http.app import create_app
from graphtide.services.application import DocumentStatus, QueryRequest
from graphtide.services.local_application import LARGE_READS, SMALL_CONTENT, LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenFact
from graphtide.streams.ports import LedgerEntry, RevisionState, StoredDocument

GRAPH = "notes"
TIMEOUT_S = 600.0
"""Timeout of the requests. No test here measures time, and on a busy machine the default of 30 s can pass."""


@asynccontextmanager
async def opened(
    folder: Path, documents: Iterable[DocumentMessage], registry: CollectorRegistry | None = None
) -> AsyncIterator[tuple[LocalApplication, LiveView]]:
    """Yield an application whose graph holds the documents, and the graph's view."""
    async with open_application(Settings(data=folder), registry) as application:
        assert isinstance(application, LocalApplication)
        receipt = await application.publish(list(documents))
        application._limits = replace(application._limits, lookup_timeout_s=TIMEOUT_S, status_wait_s=TIMEOUT_S)
        await application.query(GRAPH, QueryRequest("?", after=receipt.token, generate=False, timeout_s=TIMEOUT_S))
        view = application._runtime.views.get(GRAPH)
        assert view is not None
        yield application, view


def small(doc_id: str = "a") -> DocumentMessage:
    return DocumentMessage(GRAPH, doc_id, "Ada met Bob.", facts=(GivenFact("Ada", "met", "Bob"),))


def large(doc_id: str) -> DocumentMessage:
    """Return a document with more than SMALL_CONTENT facts."""
    facts = tuple(GivenFact(f"S{n}", "met", f"O{n}") for n in range(SMALL_CONTENT))
    return DocumentMessage(GRAPH, doc_id, " ".join(f"S{n} met O{n}." for n in range(SMALL_CONTENT)), facts=facts)


async def waiting_task(waits: Callable[[], int], block: Callable[[], Awaitable[object]]) -> asyncio.Task[object]:
    """Start the call, and return its task once a thread waits for the lock on its behalf."""
    task = asyncio.ensure_future(_called(block))
    while not waits() and not task.done():  # noqa: ASYNC110 -- a thread that waits for a lock sets no event
        await asyncio.sleep(0)
    assert not task.done()
    return task


async def _called(block: Callable[[], Awaitable[object]]) -> object:
    return await block()


async def test_status_of_a_small_document_waits_in_a_thread_while_the_view_changes(tmp_path: Path) -> None:
    """The event loop runs while a writer holds the view, and the status follows when the writer ends."""
    async with opened(tmp_path, [small()]) as (application, view):
        with view.lock.write():
            task = await waiting_task(lambda: view.lock.waiting, lambda: application.document(GRAPH, "a"))
        status = await task
        assert getattr(status, "text", "") == "Ada met Bob."


async def test_status_reads_no_stored_document_while_the_view_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extraction of a large document would wait in memory, once for each caller that gives up."""
    async with opened(tmp_path, [small()]) as (application, view):
        reads = Reads(monkeypatch, application)
        with view.lock.write():
            task = await waiting_task(lambda: view.lock.waiting, lambda: application.document(GRAPH, "a"))
            assert reads.all == 0
        await task
        assert reads.all == 1


async def committed(application: LocalApplication, doc_id: str) -> None:
    """Return once the newest revision is committed, whether or not the view shows it."""
    while True:
        latest = await application._runtime.ledger.latest(GRAPH, doc_id)
        if latest is not None and latest.state is RevisionState.APPLIED:
            return
        await asyncio.sleep(0)


@pytest.mark.parametrize("doc_id", ["a", "b"], ids=["edited", "new"])
async def test_status_of_a_committed_document_is_accepted_until_the_view_shows_it(tmp_path: Path, doc_id: str) -> None:
    """The view of a large document follows for minutes: its status does not wait, and reads no stored document."""
    async with opened(tmp_path, [small()]) as (application, view):
        application._limits = replace(application._limits, status_wait_s=0.01)
        with view.lock.write():
            receipt = await application.publish([small(doc_id)])
            await committed(application, doc_id)
            status = await application.document(GRAPH, doc_id)
        assert (status.state, status.text, status.live_revision) == (RevisionState.ACCEPTED, "", None)
        await application.query(GRAPH, QueryRequest("?", after=receipt.token, generate=False, timeout_s=TIMEOUT_S))
        shown = await application.document(GRAPH, doc_id)
        assert (shown.state, shown.text, shown.token) == (RevisionState.APPLIED, "Ada met Bob.", status.token)


async def test_status_that_was_asked_for_before_a_commit_reads_no_document_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is visible before the view begins to follow it."""
    async with opened(tmp_path, [small()]) as (application, view):
        application._limits = replace(application._limits, status_wait_s=0.01)
        latest = application._latest

        async def before(graph: str, doc_id: str) -> LedgerEntry:
            found = await latest(graph, doc_id)
            await committed(application, doc_id)
            return found

        with view.lock.write():
            receipt = await application.publish([small("b")])
            monkeypatch.setattr(application, "_latest", before)
            status = await application.document(GRAPH, "b")
        assert (status.state, status.text, status.facts) == (RevisionState.ACCEPTED, "", ())
        await application.query(GRAPH, QueryRequest("?", after=receipt.token, generate=False, timeout_s=TIMEOUT_S))


@pytest.mark.parametrize("document", [small(), large("a")], ids=["small", "large"])
async def test_status_of_another_document_does_not_wait_for_the_end_of_a_change(
    tmp_path: Path, document: DocumentMessage
) -> None:
    """Its facts are those that were extracted."""
    async with opened(tmp_path, [document]) as (application, view):
        shown = await application.document(GRAPH, "a")
        application._limits = replace(application._limits, status_wait_s=0.01)
        with view.lock.write():
            status = await application.document(GRAPH, "a")
        assert (status.state, status.text) == (RevisionState.APPLIED, document.text)
        stated = [[(fact.subject, fact.predicate, fact.object) for fact in each.facts] for each in (shown, status)]
        assert stated[0] == stated[1] and len(stated[0]) == len(document.facts or ())


async def test_stats_wait_in_a_thread_while_an_index_changes(tmp_path: Path) -> None:
    """The event loop runs while an index is being changed."""
    async with opened(tmp_path, [small()]) as (application, view):
        lock = view.indexes.chunks._lock  # type: ignore[attr-defined]
        with lock.write():
            task = await waiting_task(lambda: lock.waiting, lambda: application.stats(GRAPH))
        stats = await task
        assert getattr(stats, "indexes", {})["chunks"]["live"] == 1


async def test_healthz_is_answered_while_a_scrape_of_metrics_waits_for_an_index(tmp_path: Path) -> None:
    """A scrape reads the sizes of the indexes, which wait for a change."""
    registry = CollectorRegistry()
    async with opened(tmp_path, [small()], registry) as (application, view):
        transport = httpx.ASGITransport(create_app(application, registry=registry))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            lock = view.indexes.chunks._lock  # type: ignore[attr-defined]
            with lock.write():
                task = await waiting_task(lambda: lock.waiting, lambda: client.get("/metrics"))
                assert (await client.get("/healthz")).status_code == httpx.codes.OK
            scraped = await task
            assert isinstance(scraped, httpx.Response)
            assert 'graphtide_index_vectors{graph="notes",index="chunks",state="live"} 1.0' in scraped.text


class Reads:
    """The number of stored documents that are read, in all and at a time at most.

    Each read waits until `together` of them have begun, and `callers` of a status have asked.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, application: LocalApplication, *, together: int = 1, callers: int = 0
    ) -> None:
        self.all = self.now = self.highest = self.callers = 0
        begun, asked = asyncio.Event(), asyncio.Event()
        store = type(application._runtime.store)
        read, share = store.standings, application._statuses.read

        async def shared(key: Hashable, finish: Callable[[], Awaitable[DocumentStatus]]) -> DocumentStatus:
            self.callers += 1
            if self.callers >= callers:
                asked.set()
            return await share(key, finish)

        async def counted(
            given: object, graph: str, doc_ids: Iterable[str], *, vectors: bool = True
        ) -> Mapping[str, StoredDocument]:
            self.all += 1
            self.now += 1
            self.highest = max(self.highest, self.now)
            if self.all >= together:
                begun.set()
            await begun.wait()
            if callers:
                await asked.wait()
            try:
                return await read(given, graph, doc_ids, vectors=vectors)  # type: ignore[arg-type]
            finally:
                self.now -= 1

        monkeypatch.setattr(store, "standings", counted)
        monkeypatch.setattr(application._statuses, "read", shared)


async def test_parallel_statuses_of_one_document_share_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty callers of one large document cost one read of its extraction."""
    async with opened(tmp_path, [large("big")]) as (application, _):
        reads = Reads(monkeypatch, application, callers=60)
        statuses = await asyncio.gather(*(application.document(GRAPH, "big") for _ in range(60)))
        assert reads.all == 1
        assert {len(status.facts) for status in statuses} == {SMALL_CONTENT}


async def test_statuses_of_large_documents_are_read_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extractions of many large documents are never in memory together; a small document does not wait."""
    names = [f"big{number}" for number in range(6)]
    async with opened(tmp_path, [*map(large, names), small()]) as (application, _):
        reads = Reads(monkeypatch, application, together=LARGE_READS)
        await asyncio.gather(*(application.document(GRAPH, name) for name in names))
        assert (reads.all, reads.highest) == (len(names), LARGE_READS)
