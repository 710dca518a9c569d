"""Deletion of a graph in a cluster, on the reference backing: replicas drop their views, running or started later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from graphtide.services.api.schema.requests.browsing import document_query
from graphtide.services.application import Application
from graphtide.streams.errors import NotFound
from graphtide.streams.log.document_position import is_erasure
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Position, Record
from tests.model.memory import MemoryLog
from tests.support.role_cluster import TEXTS, Cluster, document, opened

WAIT_S = 60.0


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with opened(tmp_path) as one:
        yield one


async def published(application: Application, graph: str, *doc_ids: str) -> str:
    """Publish documents, wait until they are queryable, and return the digest."""
    receipt = await application.publish([document(doc_id, TEXTS[doc_id], graph) for doc_id in doc_ids])
    assert (await application.token_state(graph, receipt.token, WAIT_S)).reached
    return (await application.digest(graph)).digest


async def known(application: Application, graph: str, version: int) -> None:
    """Return once the application shows that version of the graph."""
    async with asyncio.timeout(WAIT_S):
        while (await application.graphs()).get(graph, 0) < version:  # noqa: ASYNC110 - as below
            await asyncio.sleep(0.01)


async def unknown(application: Application, graph: str) -> None:
    """Return once the application does not know the graph."""
    async with asyncio.timeout(WAIT_S):
        while graph in await application.graphs():  # noqa: ASYNC110 - the follower of a replica sets no event
            await asyncio.sleep(0.01)
    with pytest.raises(NotFound):
        await application.stats(graph)


def watch_tombstones(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the set to which the keys of documents that are deleted with their graph are added."""
    found: set[str] = set()
    append = MemoryLog.append

    async def watched(log: MemoryLog, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        found.update(record.key for record in records if topic == DOCUMENTS and is_erasure(record))
        return await append(log, topic, records)

    monkeypatch.setattr(MemoryLog, "append", watched)
    return found


async def test_graph_is_deleted_on_every_replica_and_through_the_gateway(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other graph keeps its digest; the name is used again with the digest of a clean build."""
    tombstones = watch_tombstones(monkeypatch)
    first, second = await cluster.replica("first"), await cluster.replica("second")
    gateway = await cluster.gateway(first)
    await published(gateway, "g", "curie", "pierre")
    other = await published(gateway, "h", "lab")
    assert (await gateway.delete_graph("g", WAIT_S)).deleted
    for application in (gateway, first, second):
        await unknown(application, "g")
        assert (await application.digest("h")).digest == other
    assert tombstones == {"g|curie", "g|pierre"}
    again, clean = await published(gateway, "g", "pierre"), await published(gateway, "clean", "pierre")
    assert again == clean
    assert [row.id for row in (await first.list_documents("g", document_query({}))).documents] == ["pierre"]
    assert (await gateway.verify("g")).differences == ()


async def test_replica_that_was_down_learns_of_the_deletion_at_its_start(cluster: Cluster) -> None:
    """Its saved indexes are of the old graph; it shows the new one, and no graph that was not published again."""
    writer = await cluster.replica("writer")
    async with AsyncExitStack() as life:
        worker = await cluster.start("query", "late", life)
        assert worker.application is not None
        for graph in ("g", "h"):
            await published(writer, graph, "curie", "pierre")
            await known(worker.application, graph, (await writer.graphs())[graph])
    assert (cluster.folder / "late" / "indexes" / "h").exists()
    for graph in ("g", "h"):
        assert (await writer.delete_graph(graph, WAIT_S)).deleted
    wanted = await published(writer, "g", "lab")
    late = await cluster.replica("late")
    assert (await late.digest("g")).digest == wanted
    assert (await late.verify("g")).differences == ()
    await unknown(late, "h")
    assert not (cluster.folder / "late" / "indexes" / "h").exists()
