"""Deletion of a graph in the storage ports, on every adapter: the name is free at once, nothing old returns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.streams.errors import Fenced
from graphtide.streams.ports import (
    Commit,
    ConsumedRecord,
    GraphCommit,
    GraphDeletion,
    Position,
    Record,
    ReportRow,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
    Watermark,
)
from tests.support.backends import WITH_SERVERS, Backend, Clock, accepted, opened_for
from tests.support.records import Walk, plain

PAIR = (("a", "person"), ("b", "person"))


@pytest.fixture(params=WITH_SERVERS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened_for(request, request.param, tmp_path, Clock()) as one:
        yield one


def part(delta: GraphDelta, *doc_ids: str) -> GraphCommit:
    standings = {doc_id: StoredDocument(7, b"x") for doc_id in doc_ids}
    return GraphCommit(delta, standings, {PAIR: True})


def deletion(graph: str, version: int, before: int) -> GraphCommit:
    delta = GraphDelta(graph, version, snapshot=True, deleted=True)
    return GraphCommit(delta, {}, deletion=GraphDeletion(graph, {0: before}, version))


async def erased(backend: Backend, watermark: Watermark, graph: str, limit: int = 1) -> int:
    count = 0
    while rows := await backend.store.erase(0, watermark, graph, limit):
        count += rows
    return count


async def published(backend: Backend, graph: str, watermark: Watermark, *doc_ids: str) -> Watermark:
    """Accept the documents, commit a walk's first delta of the graph, and return the watermark."""
    revisions = await accepted(backend, [Record(f"{graph}|{doc_id}", b"") for doc_id in doc_ids])
    outcomes = [
        RevisionOutcome(graph, doc_id, revision, RevisionState.APPLIED)
        for doc_id, revision in zip(doc_ids, revisions, strict=True)
    ]
    delta = Walk(Random(3), graph).delta()
    await backend.store.commit(
        Commit(0, watermark, watermark.next_offset + 1, (part(delta, *doc_ids),), tuple(outcomes))
    )
    report = ReportRow(1, 0, "f", 1, "title", "summary", ("c",))
    await backend.store.save_reports(graph, [report], [])
    return Watermark(watermark.epoch, watermark.next_offset + 1)


async def test_graph_does_not_exist_after_the_commit_that_deletes_it(backend: Backend) -> None:
    """Its rows are not readable at once; other graphs keep theirs; the deletion can be read."""
    watermark = await published(backend, "g", await backend.store.claim(0), "a", "b")
    watermark = await published(backend, "h", watermark, "a")
    other = plain(await backend.store.snapshot("h"))
    await backend.store.commit(Commit(0, watermark, watermark.next_offset, (deletion("g", 2, 2),), ()))
    assert await backend.store.graphs() == {"h": 1}
    assert [await backend.store.version(graph) for graph in ("g", "h", "unknown")] == [0, 1, 0]
    assert await backend.store.snapshot("g") == GraphDelta("g", 2, snapshot=True, deleted=True)
    assert await backend.store.deletions(["g", "h"]) == {"g": GraphDeletion("g", {0: 2}, 2)}
    assert await erased(backend, watermark, "g") > 0
    assert (await backend.store.deletions(["g"]))["g"].erased
    assert plain(await backend.store.snapshot("h")) == other
    assert await backend.store.standings("h", ["a"]) and await backend.store.verdicts("h")
    assert await backend.store.reports("h") and (await backend.ledger.counts("h"))[RevisionState.APPLIED] == 1


async def test_erasing_leaves_nothing_of_the_graph(backend: Backend) -> None:
    """Documents, verdicts, reports and revisions are deleted in portions; a repeated erasure finds nothing."""
    watermark = await published(backend, "g", await backend.store.claim(0), "a", "b", "c")
    await backend.store.commit(Commit(0, watermark, watermark.next_offset, (deletion("g", 2, 3),), ()))
    await erased(backend, watermark, "g", 2)
    assert await backend.store.erase(0, watermark, "g", 2) == 0
    assert await backend.store.standings("g", ["a", "b", "c"]) == {}
    assert [one async for one in backend.store.extractions("g")] == []
    assert await backend.store.verdicts("g") == {} and await backend.store.reports("g") == []
    assert set((await backend.ledger.counts("g")).values()) == {0}
    assert await backend.ledger.latest("g", "a") is None
    assert await backend.ledger.documents("g", "", "", 10) == []


async def test_revisions_accepted_before_the_deletion_are_not_entered_again(backend: Backend) -> None:
    """A record that is delivered again has no entry and starts no attempt; a later one is a revision as any other."""
    old = Record("g|a", b"")
    [revision] = await accepted(backend, [old])
    watermark = await backend.store.claim(0)
    await backend.store.commit(Commit(0, watermark, 0, (deletion("g", 1, 1),), ()))
    await erased(backend, watermark, "g")
    [number] = await backend.ledger.register([ConsumedRecord(Position(0, 0), 1_000, old)])
    assert number >= 0 and await backend.ledger.pending("g") == 0
    assert await backend.ledger.start_attempt("g", "a", revision) == 0
    assert await backend.ledger.latest("g", "a") is None and await backend.ledger.unfinished(1 << 50, 9) == []
    [later] = await accepted(backend, [Record("g|a", b"")])
    assert await backend.ledger.start_attempt("g", "a", later) == 1 and await backend.ledger.pending("g") == 1


async def test_revisions_accepted_between_request_and_deletion_stay(backend: Backend) -> None:
    """The offsets of the request decide, not the moment of the commit."""
    await accepted(backend, [Record("g|a", b"")])
    [later] = await accepted(backend, [Record("g|b", b"")])
    watermark = await backend.store.claim(0)
    await backend.store.commit(Commit(0, watermark, 0, (deletion("g", 1, 1),), ()))
    await erased(backend, watermark, "g")
    assert (await backend.ledger.counts("g"))[RevisionState.ACCEPTED] == 1
    assert await backend.ledger.start_attempt("g", "b", later) == 1
    await backend.ledger.finish([RevisionOutcome("g", "b", later, RevisionState.FAILED, "why")])
    assert (await backend.ledger.counts("g"))[RevisionState.FAILED] == 1


async def test_graph_published_again_continues_the_versions(backend: Backend) -> None:
    """The next version after the deletion is a new graph with its own rows; a late report on the old one is ignored."""
    watermark = await published(backend, "g", await backend.store.claim(0), "a")
    await backend.store.commit(Commit(0, watermark, watermark.next_offset, (deletion("g", 2, 1),), ()))
    await erased(backend, watermark, "g")
    delta = GraphDelta("g", 3)
    await backend.store.commit(Commit(0, watermark, watermark.next_offset + 1, (GraphCommit(delta, {}),), ()))
    assert await backend.store.graphs() == {"g": 3}
    assert (await backend.store.snapshot("g")).documents == ()
    late, current = ReportRow(1, 0, "f", 1, "t", "s", ("c",)), ReportRow(2, 0, "f", 3, "t", "s", ("c",))
    await backend.store.save_reports("g", [late, current], [])
    assert [row.community for row in await backend.store.reports("g")] == [2]


async def test_only_the_writer_of_the_partition_erases(backend: Backend) -> None:
    """A writer that was replaced is fenced."""
    watermark = await published(backend, "g", await backend.store.claim(0), "a")
    await backend.store.commit(Commit(0, watermark, watermark.next_offset, (deletion("g", 2, 1),), ()))
    await backend.store.claim(0)
    with pytest.raises(Fenced):
        await backend.store.erase(0, watermark, "g", 10)
