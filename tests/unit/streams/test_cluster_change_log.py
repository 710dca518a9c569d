"""The history of a replica that has just started: read from `deltas`, through repeated, missing and lost records."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from graphtide.graph.digest import digest
from graphtide.graph.records import GraphDelta
from graphtide.infra.index_folder import IndexFolder
from graphtide.streams.changes import cluster_log, delta_index
from graphtide.streams.changes.change_log import ChangeRecord, ChangeRetention
from graphtide.streams.changes.cluster_log import ClusterChangeLog
from graphtide.streams.changes.commit_header import COMMIT, commit_origin
from graphtide.streams.changes.purge_marker import mark_purge
from graphtide.streams.changes.recent import RecentChanges
from graphtide.streams.changes.retained_deltas import RetainedDeltas
from graphtide.streams.errors import Retryable
from graphtide.streams.follow.delta_records import OVERWRITTEN, PART, full_records, overwritten_records
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.log import log_scan
from graphtide.streams.messages import DELTAS, DeltaNotice
from graphtide.streams.ports import Position, Record
from tests.contract.test_change_log import GRAPH, Writer, assert_equal, tables_of
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.backends import Clock

SEED = 20_261_124
SMALL = 700
"""Bytes of a part, so that a delta and the rows that it overwrote have several."""


class Source:
    """A writer whose commits wait in the outbox, and the snapshot of every version."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.outbox = MemoryOutbox()
        self.backend = MemoryBackend(2, Clock(), outbox=self.outbox)
        self.log = self.backend.log
        self.stored: list[GraphDelta] = []
        self._numbers = count()
        self._folder = folder
        parts, old = partial(full_records, part_bytes=SMALL), partial(overwritten_records, part_bytes=SMALL)
        self.writer = Writer(self.backend, seed, old, parts)

    async def commit(self, times: int = 1) -> None:
        """Commit, and keep the snapshots."""
        for _ in range(times):
            if not self.stored:
                self.stored.append(await self.backend.store.snapshot(GRAPH))
            await self.writer.commit()
            self.stored.append(await self.backend.store.snapshot(GRAPH))

    async def taken(self) -> list[Record]:
        """Return the records of the outbox, and mark them as sent."""
        waiting = await self.outbox.waiting(0, 10_000)
        if waiting:
            await self.outbox.sent(0, waiting[-1][0])
        return [record for _, record in waiting]

    async def relay(self) -> None:
        await self.log.append(DELTAS, await self.taken())

    async def replica(self, commits: int = 10_000) -> ClusterChangeLog:
        """Return the change log of a replica that starts now."""
        views = ViewRegistry(IndexFolder(self._folder / str(next(self._numbers))))
        recent = RecentChanges(views, self.backend.ledger, ChangeRetention(commits))
        views.recorder = recent
        await views.open(self.backend.store)
        return ClusterChangeLog(recent, RetainedDeltas(self.log, commits), self.backend.store, self.outbox)


@pytest.fixture
async def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Source]:
    monkeypatch.setattr(delta_index, "FIRST_WINDOW", 3)
    yield Source(tmp_path, SEED)


async def all_after(log: ClusterChangeLog, version: int) -> list[ChangeRecord]:
    """Return the records after a version, in pages."""
    found: list[ChangeRecord] = []
    while page := await log.read(GRAPH, version, 7):
        assert page[0].version == version + 1
        found += page
        version = page[-1].version
    return found


def check(source: Source, records: Sequence[ChangeRecord]) -> None:
    """Check that the records lead from the version before the first one to the newest, and back."""
    first = records[0].version - 1
    forward, back = tables_of(source.stored[first]), tables_of(source.stored[-1])
    forward.version = first
    for record in records:
        forward.apply(record.delta())
        assert digest(forward.snapshot()) == digest(source.stored[record.version])
        assert record.documents == source.writer.documents[record.version - 1]
    for record in reversed(records):
        back.revert(record.delta(), record.old_rows().rows)
        assert_equal(back, source.stored[record.version - 1])


async def test_started_replica_has_the_history_of_the_log(source: Source) -> None:
    """All commits are read, forward and back; other graphs, garbage and wishes between them do not matter."""
    print("seed", SEED)
    for _ in range(6):
        await source.commit(4)
        await source.relay()
        await source.log.append(DELTAS, [Record(GRAPH, b"garbage"), Record("other", DeltaNotice("other", 3).encode())])
    log = await source.replica()
    assert await log.retains(GRAPH, 20) and await log.retains(GRAPH, 0) and not await log.retains(GRAPH, 25)
    assert (await log.first(GRAPH), await log.last(GRAPH)) == (0, 24)
    check(source, await all_after(log, 0))
    check(source, await all_after(await source.replica(), 13))


async def test_records_that_a_relay_repeats_do_no_harm(source: Source) -> None:
    """A relay dies after any number of records, and the next one sends them again from the start of its batch."""
    for lost in range(9):
        await source.commit(2)
        records = await source.taken()
        await source.log.append(DELTAS, records[: lost * 2])
        await source.log.append(DELTAS, records)
    check(source, await all_after(await source.replica(), 0))


async def test_history_begins_after_the_commits_of_an_earlier_release(source: Source) -> None:
    """Records without the header and the overwritten rows are read by followers, and are not part of the history."""
    await source.commit(3)
    plain = [record for record in await source.taken() if OVERWRITTEN not in dict(record.headers)]
    await source.log.append(
        DELTAS,
        [Record(each.key, each.value, tuple(pair for pair in each.headers if pair[0] != COMMIT)) for each in plain],
    )
    await source.commit(4)
    await source.relay()
    log = await source.replica()
    assert [await log.retains(GRAPH, version) for version in range(8)] == [False] * 3 + [True] * 5
    assert await log.first(GRAPH) == 3
    assert await log.read(GRAPH, 1, 5) == []
    check(source, await all_after(log, 3))


async def test_version_without_its_overwritten_rows_ends_the_history(source: Source) -> None:
    """They were too large to send: readers of that version and of earlier ones are refused, later ones continue."""
    await source.commit(2)
    await source.relay()
    await source.commit()
    large = [record for record in await source.taken() if OVERWRITTEN not in dict(record.headers)]
    await source.log.append(DELTAS, large)
    await source.commit(2)
    await source.relay()
    log = await source.replica()
    assert [record.version for record in await log.read(GRAPH, 0, 9)] == [1, 2]
    assert await log.read(GRAPH, 2, 9) == [] and not await log.retains(GRAPH, 2)
    assert await log.first(GRAPH) == 3
    check(source, await all_after(log, 3))


async def test_newest_version_without_its_overwritten_rows_is_refused(source: Source) -> None:
    """They were too large to send: its reader does not wait for the next commit."""
    await source.commit(3)
    sent = await source.taken()
    newest = [each for each in sent if dict(each.headers).get(PART, b"").startswith(b"3:")]
    lost = [each for each in newest if OVERWRITTEN in dict(each.headers)]
    assert lost
    await source.log.append(DELTAS, [each for each in sent if each not in lost])
    log = await source.replica()
    async with asyncio.timeout(60):
        assert [record.version for record in await log.read(GRAPH, 0, 9)] == [1, 2]
        assert await log.read(GRAPH, 2, 9) == []
    assert not await log.retains(GRAPH, 2) and await log.retains(GRAPH, 3)


async def test_commit_behind_many_waiting_records_is_awaited(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relay that has more to send than is looked at may still have to send the commit."""
    monkeypatch.setattr(cluster_log, "RELAY_TIMEOUT_S", 0.0)
    monkeypatch.setattr(cluster_log, "UNSENT_RECORDS", 4)
    await source.commit(1)
    waiting = await source.taken()
    partition = (await source.backend.store.bindings([GRAPH]))[GRAPH]
    source.outbox.put(partition, [Record("other", b"{}")] * 4 + waiting)
    with pytest.raises(Retryable):
        await (await source.replica()).retains(GRAPH, 0)


async def test_history_continues_when_unread_records_have_expired(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits that the retention deleted before the index saw them are skipped, also when nothing follows them."""
    monkeypatch.setattr(log_scan, "TIMEOUT_S", 0.1)
    await source.commit(2)
    await source.relay()
    log = await source.replica()
    assert await log.retains(GRAPH, 0)
    await source.commit(2)
    await source.relay()
    for number, end in (await source.log.end(DELTAS)).items():
        await source.log.trim(DELTAS, Position(number, end))
    assert not await log._retained.has(GRAPH, 3)
    await source.commit()
    await source.relay()
    assert await log._retained.has(GRAPH, 5)


async def test_index_of_more_graphs_than_places_keeps_the_newest_of_each(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound on all versions cannot be met, and indexing ends."""
    monkeypatch.setattr(delta_index, "MAX_PLACES", 3)
    names = [f"g{number}" for number in range(5)]
    for version in (1, 2):
        notices = [DeltaNotice(name, version, replaced=True) for name in names]
        await source.log.append(DELTAS, [Record(each.graph, each.encode()) for each in notices])
    index = delta_index.DeltaIndex(source.log, 10)
    assert [await index.find(name, 2) is not None for name in names] == [True] * 5


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("[" * 200_000, id="nested"),
        pytest.param("[1e999,[]]", id="infinite time"),
        pytest.param('[1,[["a",1e999,"applied"]]]', id="infinite revision"),
        pytest.param('[1,[["\\ud800",1,"applied"]]]', id="lone surrogate"),
        pytest.param('[1,[["a",1]]]', id="missing state"),
        pytest.param("[1,2]", id="documents are no list"),
    ],
)
def test_malformed_commit_header_is_none(body: str) -> None:
    """Any producer may write to the topic: a follower reads the headers of every notice."""
    assert commit_origin(((COMMIT, zlib.compress(body.encode())),)) is None


async def test_commit_that_is_not_relayed_yet_is_awaited(source: Source) -> None:
    """A replica shows it, because it loaded the stored rows; its records arrive later, a part at a time."""
    await source.commit(2)
    await source.relay()
    await source.commit(2)
    log = await source.replica()
    reading = asyncio.create_task(all_after(log, 0))
    while not reading.done():
        await asyncio.sleep(0)
        if waiting := await source.outbox.waiting(0, 1):
            await source.log.append(DELTAS, [record for _, record in waiting])
            await source.outbox.sent(0, waiting[-1][0])
    check(source, await reading)


async def test_lost_records_end_the_history(source: Source) -> None:
    """Commits that the topic's retention has deleted is not retained, also when it was indexed before; limits hold."""
    await source.commit(9)
    await source.relay()
    log = await source.replica()
    assert await log.retains(GRAPH, 0)
    [number] = [number for number, end in (await source.log.end(DELTAS)).items() if end]
    place = await log._retained._index.find(GRAPH, 5)
    assert place is not None
    await source.log.trim(DELTAS, Position(number, place.offset + 1))
    for each in (log, await source.replica()):
        assert not await each.retains(GRAPH, 4) and await each.retains(GRAPH, 5)
        assert await each.first(GRAPH) == 5
    few = await source.replica(commits=2)
    assert not await few.retains(GRAPH, 6) and [each.version for each in await all_after(few, 7)] == [8, 9]


@pytest.mark.parametrize("deleted", [True, False])
async def test_deleted_or_rebuilt_graph_begins_a_new_history(source: Source, deleted: bool) -> None:
    """Nothing before it is retained; the version of a rebuilt graph is a record without rows."""
    await source.commit(3)
    await source.relay()
    notice = DeltaNotice(GRAPH, 4, replaced=True, deleted=deleted)
    if not deleted:
        await source.backend.store.replace(replace(source.stored[-1], version=4))
    await source.log.append(DELTAS, [Record(GRAPH, notice.encode())])
    log = await source.replica()
    assert not await log.retains(GRAPH, 1) and await log.first(GRAPH) == 3
    if not deleted:
        [record] = await log.read(GRAPH, 3, 9)
        assert (record.version, record.replaced) == (4, True)


async def test_publisher_token_names_the_version_that_included_it(source: Source) -> None:
    """The newest commit with a revision up to the token's number, which a started replica finds in the log."""
    await source.commit(8)
    await source.relay()
    log = await source.replica()
    for version, documents in enumerate(source.writer.documents, 1):
        assert await log.version_of(GRAPH, {0: documents[0].revision}) == version
    assert await log.version_of(GRAPH, {0: 0}) == 0


async def test_cleared_history_is_not_read_again(source: Source) -> None:
    """After a purge only later commits are retained."""
    await source.commit(3)
    await source.relay()
    log = await source.replica()
    assert await log.retains(GRAPH, 1)
    await log.clear()
    assert not await log.retains(GRAPH, 1)


async def test_marker_of_a_purge_ends_the_history_of_every_replica(source: Source) -> None:
    """Commits before the markers are not retained, at replicas that have indexed them and at later ones; commits after
    them are.
    """
    await source.commit(6)
    await source.relay()
    running = await source.replica()
    assert await running.retains(GRAPH, 1) and len(await all_after(running, 2)) == 4
    await mark_purge(source.log)
    await source.commit(5)
    await source.relay()
    for log in (running, await source.replica()):
        retained = log._retained
        assert [await retained.has(GRAPH, version) for version in range(1, 12)] == [False] * 6 + [True] * 5
        assert await retained.first(GRAPH, 11) == 6
        assert [record.version for record in await retained.read(GRAPH, 6, 10, 11)] == [7, 8, 9, 10, 11]
        assert await retained.read(GRAPH, 5, 10, 11) == []
    await mark_purge(source.log)
    assert not await running._retained.has(GRAPH, 11)
