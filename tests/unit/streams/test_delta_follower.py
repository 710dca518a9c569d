"""Followers of graphs that another process writes: whatever happens to `deltas`, the view is the stored graph."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import DocumentChange, GraphDelta, MentionRow
from graphtide.services.cluster.gauges import FollowerGauges
from graphtide.streams.changes.purge_marker import PURGE, mark_purge
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceReply
from graphtide.streams.errors import Rejected
from graphtide.streams.follow import delta_follower
from graphtide.streams.follow import delta_records as announcing
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records, notice_records
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DeltaNotice, ReportRequest
from graphtide.streams.ports import Commit, ConsumedRecord, Consumer, GraphCommit, Position, Record
from graphtide.streams.retry import supervise
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.extractions import random_extraction
from tests.support.stages import ExactKeeper, eventually, running
from tests.support.worlds import RandomWorld

SMALL = 4096
"""Bytes of a part, so that deltas take several."""


@dataclass
class Writer:
    """A graph that another process writes, and its announcements."""

    backend: MemoryBackend
    world: RandomWorld
    offset: int = 0

    async def commit(self, delta: GraphDelta) -> list[Record]:
        """Make the delta durable. Returns the records to announce."""
        store = self.backend.store
        await store.commit(Commit(0, await store.claim(0), 0, (GraphCommit(delta, {}),), ()))
        return list(full_records(delta, part_bytes=SMALL))

    async def step(self) -> list[Record]:
        return await self.commit(self.world.step())

    async def rebuild(self) -> list[Record]:
        """Store the same rows with other internal numbers, at the next version, as a rebuild does."""
        old = self.world.writer
        changes = [DocumentChange(doc_id, None, one) for doc_id, one in sorted(self.world.live.items(), reverse=True)]
        self.world.writer = fresh = Consolidator("world")
        fresh.version = old.version
        delta = replace(fresh.apply(changes), snapshot=True, communities=fresh.hierarchy())
        return await self.commit(delta)

    async def announce(self, *records: Record) -> None:
        await self.backend.log.append(DELTAS, records)


@dataclass
class FollowingHarness:
    """A writer and a follower with its views."""

    writer: Writer
    views: ViewRegistry
    follower: DeltaFollower
    replies: list[MaintenanceReply] = field(default_factory=list)
    purges: list[int] = field(default_factory=list)
    """The version that the view had at each purge."""

    async def caught_up(self) -> bool:
        versions = await self.writer.backend.store.graphs()
        return all(self.views.version(graph) == version for graph, version in versions.items())

    async def check(self) -> None:
        """Check that the view becomes the stored graph exactly, vectors and indexes included."""
        await eventually(self.caught_up)
        view, stored = self.views.get("world"), await self.writer.backend.store.snapshot("world")
        assert view is not None
        assert sorted(canonical_lines(view.rows())) == sorted(canonical_lines(stored))
        assert {row.chunk for row in stored.chunks if row.vector.size} == set(view.indexes.chunks.live_ids().tolist())
        assert {row.node for row in stored.entities if row.vector.size} == set(
            view.indexes.entities.live_ids().tolist()
        )


@asynccontextmanager
async def harness(seed: int) -> AsyncIterator[FollowingHarness]:
    """Return a running follower."""
    print(f"seed {seed}")
    backend = MemoryBackend(3, outbox=MemoryOutbox())
    writer, views = Writer(backend, RandomWorld(random.Random(seed))), ViewRegistry(ExactKeeper())
    replies: list[MaintenanceReply] = []

    async def replied(reply: MaintenanceReply) -> None:
        replies.append(reply)

    purges: list[int] = []

    async def purged() -> None:
        purges.append(views.version("world"))

    follower = DeltaFollower(backend.log, backend.store, views, lambda: None, replied, purged=purged)
    for _ in range(3):
        await writer.step()
    await follower.start()
    async with running(follower.run):
        yield FollowingHarness(writer, views, follower, replies, purges)


async def test_follower_applies_what_is_announced_and_reads_no_snapshot_again() -> None:
    """Thirty commits in parts, each announced twice: the view is at the last one, without a reload."""
    async with harness(1) as one:
        for _ in range(30):
            records = await one.writer.step()
            await one.writer.announce(*records, *records)
        await one.check()
        assert not one.follower.reloads


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
async def test_follower_heals_whatever_becomes_of_the_announcements(seed: int) -> None:
    """Notices and parts are lost, repeated, swapped, garbled, kept back and replayed late; graphs are rebuilt."""
    async with harness(seed) as one:
        rng = one.writer.world.rng
        kept: list[Record] = []
        for _ in range(60):
            records = await (one.writer.rebuild() if rng.random() < 0.1 else one.writer.step())
            kept += records
            for record in list(records):
                spoilt = rng.random()
                if spoilt < 0.05:
                    records.remove(record)
                elif spoilt < 0.1:
                    records.insert(rng.randrange(len(records)), rng.choice(kept))
                elif spoilt < 0.15:
                    records[records.index(record)] = replace(record, value=(record.value or b"")[:-7] + b"garbage")
            if rng.random() < 0.1:
                rng.shuffle(records)
            await one.writer.announce(*records)
            for _ in range(rng.randint(0, 5)):
                await asyncio.sleep(0)
        await one.writer.announce(*await one.writer.step())
        await one.check()
        assert one.follower.reloads


async def test_follower_takes_the_snapshot_when_a_delta_was_too_large_to_send() -> None:
    """The notice has no parts: the store is asked, and the deltas after it are applied as they come."""
    async with harness(3) as one:
        delta = one.writer.world.step()
        await one.writer.commit(delta)
        await one.writer.announce(*full_records(delta, part_bytes=SMALL, max_bytes=10))
        await one.check()
        assert one.follower.reloads == 1
        await one.writer.announce(*await one.writer.step())
        await one.check()
        assert one.follower.reloads == 1


async def test_follower_sees_a_graph_that_is_new_and_one_whose_beginning_it_missed() -> None:
    """A first version needs no snapshot; a later one of an unknown graph does."""
    async with harness(4) as one:
        store = one.writer.backend.store
        for graph, missed in (("new", 0), ("known elsewhere", 2)):
            world = RandomWorld(random.Random(7))
            world.writer = Consolidator(graph)
            for number in range(3):
                delta = world.step()
                await store.commit(Commit(1, await store.claim(1), 0, (GraphCommit(delta, {}),), ()))
                if number >= missed:
                    await one.writer.announce(*full_records(delta))
            await eventually(one.caught_up)
            assert one.follower.reloads == (1 if missed else 0)


async def test_follower_is_not_made_to_reload_by_what_anybody_wrote() -> None:
    """Garbage under a known key, an unknown key, light notices of old versions: nothing is loaded, nothing stops."""
    async with harness(5) as one:
        garbage = [Record("world", b"\xff"), Record("nowhere", b"{}"), Record("world", None)]
        garbage += [Record("world", b"x", (("part", b"1:2"),)), Record("world", b"x", (("part", b"9:1/1"),))]
        garbage += [Record("world", b"[]", (("upkeep-reply", b"x"),))]
        for graph in ("world", "nowhere"):
            garbage.append(MaintenanceReply(graph, MaintenanceKind.VERIFY, "the last one").record())
        await one.writer.announce(*garbage, *notice_records(GraphDelta("world", 1)))
        await eventually(lambda: _is(len(one.replies) == 2))
        await one.writer.announce(*await one.writer.step())
        await one.check()
        assert not one.follower.reloads


async def test_follower_notices_what_was_never_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last commit's notice is lost and nothing follows: the comparison with the store updates the view."""
    for name in ("POLL_INTERVAL_S", "TIMEOUT_S"):
        monkeypatch.setattr(delta_follower, name, 0.02)
    async with harness(6) as one:
        await one.writer.step()
        await one.check()
        assert one.follower.reloads == 1 and one.follower.behind()["world"] == (0, 0.0)


async def test_follower_makes_a_reader_anew_that_brings_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reader stops returning records while deltas arrive: the run ends, and the next one continues there."""
    for name in ("POLL_INTERVAL_S", "TIMEOUT_S"):
        monkeypatch.setattr(delta_follower, name, 0.02)
    backend = MemoryBackend(3, outbox=MemoryOutbox())
    writer, views = Writer(backend, RandomWorld(random.Random(12))), ViewRegistry(ExactKeeper())
    await writer.step()
    reader = backend.log.reader
    made: list[Consumer] = []

    def deaf_at_first(topic: str, offsets: dict[int, int]) -> object:
        made.append(reader(topic, dict.fromkeys(range(3), 10**9) if not made else offsets))
        return made[-1]

    monkeypatch.setattr(backend.log, "reader", deaf_at_first)
    follower = DeltaFollower(backend.log, backend.store, views, lambda: None)
    await follower.start()
    await writer.announce(*await writer.step())
    async with running(lambda: supervise("follow", follower.run, lambda _: None)):
        await FollowingHarness(writer, views, follower).check()
    assert len(made) == 2 and not follower.reloads


async def test_follower_says_how_far_it_is_behind_and_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops, versions are committed, it runs again: it is behind by as many, then by none, and reloads nothing."""
    monkeypatch.setattr(delta_follower, "POLL_INTERVAL_S", 0.02)
    backend = MemoryBackend(3, outbox=MemoryOutbox())
    writer, views = Writer(backend, RandomWorld(random.Random(8))), ViewRegistry(ExactKeeper())
    await writer.step()
    follower = DeltaFollower(backend.log, backend.store, views, lambda: None)
    async with running(follower.run):
        await eventually(lambda: _is(views.version("world") == 1))
    deltas = [await writer.step() for _ in range(4)]
    async with running(follower.run):
        await eventually(lambda: _is(follower.behind().get("world", (0, 0.0))[0] == 4))
        for records in deltas:
            await writer.announce(*records)
        await FollowingHarness(writer, views, follower).check()
        assert not follower.reloads


async def test_follower_misses_nothing_that_is_committed_while_it_loads() -> None:
    """Between noting the ends and reading the rows a commit is announced, and another after: both are in the view."""
    backend = MemoryBackend(3, outbox=MemoryOutbox())
    writer, views = Writer(backend, RandomWorld(random.Random(9))), ViewRegistry(ExactKeeper())
    await writer.step()
    graphs, done = backend.store.graphs, threading.Event()

    async def busy() -> dict[str, int]:
        if not done.is_set():
            done.set()
            await writer.announce(*await writer.step())
        return dict(await graphs())

    backend.store.graphs = busy  # type: ignore[method-assign]
    follower = DeltaFollower(backend.log, backend.store, views, lambda: None)
    async with running(follower.run):
        await eventually(lambda: _is(done.is_set()))
        await writer.announce(*await writer.step())
        await FollowingHarness(writer, views, follower).check()
        assert not follower.reloads


async def test_follower_passes_over_wishes_between_a_notice_and_its_parts() -> None:
    """Replicas write to the topic, too, at any moment: nothing is loaded again for it."""
    async with harness(12) as one:
        for _ in range(5):
            records = await one.writer.step()
            request = Record("world", ReportRequest("world", (1, 2)).encode())
            await one.writer.announce(request, records[0], request, *records[1:], request)
        await one.check()
        assert not one.follower.reloads


async def test_purge_is_announced_once_after_everything_before_it() -> None:
    """Each purge has a marker in every partition: the follower hears of it once, when the view shows what was announced
    before. Malformed markers and those of an unfinished purge change nothing.
    """
    async with harness(13) as one:
        label = (PURGE, b"0" * 32 + b":3")
        await one.writer.announce(Record("world", b"", ((PURGE, b"x"),)), Record("world", b"", (label,)))
        await one.writer.announce(*await one.writer.step())
        await mark_purge(one.writer.backend.log)
        await eventually(lambda: _is(len(one.purges) == 1))
        version = one.views.version("world")
        assert one.purges == [version] and await one.caught_up()
        await mark_purge(one.writer.backend.log)
        await one.writer.announce(*await one.writer.step())
        await one.check()
        await eventually(lambda: _is(len(one.purges) == 2))
        assert not one.follower.reloads


async def test_replies_reach_whoever_follows() -> None:
    """A reply in `deltas` is handed over, as it was written."""
    async with harness(10) as one:
        reply = MaintenanceReply("world", MaintenanceKind.VERIFY, "id", 3, "a", "b", ("one line",), {"chunks": 2})
        await one.writer.announce(reply.record())
        await eventually(lambda: _is(bool(one.replies)))
        assert one.replies == [reply]


def test_parts_put_together_are_the_delta() -> None:
    """Cut small, and put together: what the view needs is there to the bit; a part too few is Rejected."""
    delta = RandomWorld(random.Random(11)).step()
    records = full_records(delta, part_bytes=1000)
    parts = [
        announcing.parse_record(ConsumedRecord(Position(0, number), 0, record))
        for number, record in enumerate(records[1:])
    ]
    slices = [one for one in parts if isinstance(one, announcing.DeltaPart)]
    assert len(slices) == len(records) - 1 > 2
    rebuilt = announcing.assemble_delta(slices)
    assert sorted(canonical_lines(rebuilt)) == sorted(canonical_lines(delta))
    assert [row.vector.tobytes() for row in rebuilt.chunks] == [row.vector.tobytes() for row in delta.chunks]
    with pytest.raises(Rejected, match="cut off"):
        announcing.assemble_delta(slices[:-1])


async def _is(value: bool) -> bool:
    return value


async def test_follower_serves_other_graphs_when_one_is_damaged_until_it_is_rebuilt() -> None:
    """At the start and later: the graph is named, its last view stays, and a rebuild repairs it."""
    backend = MemoryBackend(3, outbox=MemoryOutbox())
    writer, views = Writer(backend, RandomWorld(random.Random(3))), ViewRegistry(ExactKeeper())
    first = await writer.step()
    damage = GraphDelta("damaged", 1, mentions=(MentionRow(1, 2, "Ada", "", 1),))
    await writer.commit(damage)
    follower = DeltaFollower(backend.log, backend.store, views, lambda: None)
    await follower.start()
    assert list(follower.damaged) == ["damaged"] and "graphtide rebuild --graph damaged" in follower.damaged["damaged"]
    assert views.version("world") == 1 and views.get("damaged") is None
    shown = generate_latest(_registry(follower)).decode()
    assert 'graphtide_view_damaged{graph="damaged"} 1.0' in shown
    assert 'graphtide_view_damaged{graph="world"} 0.0' in shown
    async with running(follower.run):
        await writer.commit(replace(damage, version=2))
        await writer.announce(*first, Record("damaged", DeltaNotice("damaged", 2, replaced=True).encode()))
        await writer.announce(*await writer.step())
        await eventually(lambda: _reached(views, "world", 2))
        await eventually(lambda: _names(follower, "version 2"))
        good = Consolidator("damaged").apply([DocumentChange("d", None, random_extraction(random.Random(1), "d", 1))])
        await backend.store.replace(replace(good, version=3, snapshot=True))
        await writer.announce(Record("damaged", DeltaNotice("damaged", 3, replaced=True).encode()))
        await eventually(lambda: _reached(views, "damaged", 3))
    assert not follower.damaged


def _registry(follower: DeltaFollower) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(FollowerGauges(follower))
    return registry


async def _reached(views: ViewRegistry, graph: str, version: int) -> bool:
    return views.version(graph) == version


async def _names(follower: DeltaFollower, text: str) -> bool:
    return any(text in reason for reason in follower.damaged.values())
