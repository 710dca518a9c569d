"""Consolidators that share partitions: whatever happens to the assignment, the graphs are those of a clean build."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import DocumentChange, Extraction, GraphDelta
from graphtide.streams.consolidate import outbox_relay as relay
from graphtide.streams.consolidate.stage import STAGE, ConsolidateSettings, ConsolidateStage
from graphtide.streams.errors import Fenced
from graphtide.streams.follow.delta_records import full_records, part_label
from graphtide.streams.messages import DELTAS, EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Commit, ConsumedRecord, Position, Record, RevisionState, Watermark
from tests.model.graph_oracle import GraphOracle
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.extractions import random_extraction
from tests.support.groups import Group, MemberConsumer
from tests.support.stages import Seen, eventually, running

PARTITIONS = 4
GRAPHS = tuple("abcdefgh")
HEAVY_BYTES = 900
"""A third of the records are heavy here: those of other graphs overtake them."""


@dataclass
class Cluster:
    """A broker and a store, and what was published to them."""

    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
    backend: MemoryBackend = field(init=False)
    group: Group = field(init=False)
    messages: list[ExtractionMessage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.backend = MemoryBackend(PARTITIONS, outbox=self.outbox)
        self.group = Group(self.backend.log)

    def stage(self, name: str, max_write_models: int = 100, batch_size: int = 5) -> ConsolidateStage:
        """Return a consolidator as a process of that name runs it."""
        settings = ConsolidateSettings(batch_size, max_write_models, full_records, self.outbox, HEAVY_BYTES)
        return ConsolidateStage(self.group.join(name), self.backend.store, None, Seen(), settings)

    async def publish(self, rng: random.Random, count: int) -> None:
        """Publish revisions of a few documents in all graphs, some deletions, each record up to three times."""
        for _ in range(count):
            graph, doc_id = rng.choice(GRAPHS), rng.choice("xyz")
            [position] = await self.backend.ledger.accept([Record(f"{graph}|{doc_id}", b"{}")])
            gone = rng.random() < 0.2
            extraction = None if gone else random_extraction(rng, doc_id, position.offset)
            message = ExtractionMessage(graph, doc_id, position.offset, extraction)
            self.messages.append(message)
            record = Record(graph, message.encode())
            await self.backend.log.append(EXTRACTIONS, [record] * rng.choice((1, 1, 2, 3)))

    async def settled(self) -> bool:
        """Return True once every revision has its final state, and every notice is in `deltas`."""
        pending = [await self.backend.ledger.pending(graph) for graph in GRAPHS]
        waiting = [await self.outbox.waiting(number, 1) for number in range(PARTITIONS)]
        return not any(pending) and not any(waiting)

    async def check(self) -> None:
        """Check that each stored graph is the graph of the live revisions."""
        for graph in GRAPHS:
            expected = sorted(GraphOracle(live(self.messages, graph).values()).lines())
            assert sorted(canonical_lines(await self.backend.store.snapshot(graph))) == expected


def live(messages: Sequence[ExtractionMessage], graph: str) -> Mapping[str, Extraction]:
    """The newest extraction of each document, by its revision."""
    newest: dict[str, ExtractionMessage] = {}
    for one in messages:
        if one.graph == graph and (one.doc_id not in newest or newest[one.doc_id].revision < one.revision):
            newest[one.doc_id] = one
    return {doc_id: one.extraction for doc_id, one in newest.items() if one.extraction is not None}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
async def test_consolidators_give_the_graphs_of_a_clean_build_whatever_happens_to_the_assignment(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three consolidators; partitions move at random under load, processes are killed, sleep, and come back."""
    print(f"seed {seed}")
    monkeypatch.setattr(relay, "BATCH_SIZE", 3)
    rng, cluster = random.Random(seed), Cluster()
    names = ("one", "two", "three")
    stages: dict[str, asyncio.Task[None]] = {}
    for _ in range(25):
        await cluster.publish(rng, rng.randint(1, 8))
        name = rng.choice(names)
        if name not in stages:
            stages[name] = asyncio.create_task(_forever(cluster.stage(name, max_write_models=rng.choice((1, 3, 100)))))
        elif rng.random() < 0.3:
            await _kill(stages.pop(name))
        cluster.group.members[name].asleep = rng.random() < 0.2
        holders = {number: rng.choice([*stages, ""]) for number in range(PARTITIONS)}
        cluster.group.assign(**{name: [n for n, holder in holders.items() if holder == name] for name in stages})
        for _ in range(rng.randint(0, 30)):
            await asyncio.sleep(0)
    for member in cluster.group.members.values():
        member.asleep = False
    for task in stages.values():
        await _kill(task)
    last = cluster.stage("last")
    cluster.group.assign(last=range(PARTITIONS))
    async with running(last.run):
        await eventually(cluster.settled)
    await cluster.check()
    await _check_announced(cluster)


async def _check_announced(cluster: Cluster) -> None:
    """Check that every version of each graph was announced, the first time in order."""
    seen: dict[str, int] = {}
    for one in await cluster.backend.log.reader(DELTAS, {}).poll(1_000_000, 0):
        if label := part_label(one):
            version = int(label.partition(b":")[0])
            graph = one.record.key
            assert version <= seen.get(graph, 0) + 1
            seen[graph] = max(seen.get(graph, 0), version)
    assert seen == await cluster.backend.store.graphs()


async def test_zombie_writes_nothing_when_it_wakes_in_the_middle_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer sleeps between applying and committing; another one claims the partition; the sleeper is fenced."""
    cluster, rng = Cluster(), random.Random(5)
    asleep, awake = asyncio.Event(), asyncio.Event()
    commit, refused = cluster.backend.store.commit, []

    async def sleeping(given: Commit) -> None:
        if given.expected.epoch == 1 and given.graphs and not awake.is_set():
            asleep.set()
            await awake.wait()
        try:
            await commit(given)
        except Fenced as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(cluster.backend.store, "commit", sleeping)
    zombie, heir = cluster.stage("zombie"), cluster.stage("heir")
    cluster.group.assign(zombie=range(PARTITIONS))
    async with running(zombie.run):
        await cluster.publish(rng, 6)
        async with asyncio.timeout(30):
            await asleep.wait()
        cluster.group.members["zombie"].asleep = True
        cluster.group.assign(heir=range(PARTITIONS))
        async with running(heir.run):
            await eventually(cluster.settled)
            versions = await cluster.backend.store.graphs()
            awake.set()
            await eventually(lambda: _is(bool(refused)))
            assert await cluster.backend.store.graphs() == versions
            cluster.group.members["zombie"].asleep = False
            cluster.group.members["zombie"].changed.set()
            await eventually(lambda: _is(not zombie.partitions))
            await cluster.publish(rng, 10)
            await eventually(cluster.settled)
    await cluster.check()


async def test_partition_that_cannot_go_on_stops_alone_and_says_why() -> None:
    """One watermark is beyond the log, one below its start: these two stop, the others continue, nothing is reset."""
    cluster, rng = Cluster(), random.Random(6)
    await cluster.publish(rng, 40)
    store = cluster.backend.store
    await store.commit(Commit(0, await store.claim(0), 10_000, (), ()))
    await cluster.backend.log.trim(EXTRACTIONS, Position(1, 1))
    stage = cluster.stage("one")
    cluster.group.assign(one=range(PARTITIONS))
    async with running(stage.run):
        await eventually(lambda: _is(set(stage.troubles) == {0, 1}))
        ends = await cluster.backend.log.end(EXTRACTIONS)
        await eventually(lambda: _is_committed(cluster, {number: ends[number] for number in (2, 3)}))
    assert "partition 0" in stage.troubles.get(0, "partition 0") and not stage.partitions
    assert (await store.claim(0)).next_offset == 10_000 and (await store.claim(1)).next_offset == 0


async def test_partition_does_not_wait_for_another_that_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One graph's write model never finishes, and more records wait than fit: the other partitions finish."""
    import threading

    cluster, rng, release = Cluster(), random.Random(7), threading.Event()
    numbers = dict(zip(GRAPHS, cluster.backend.log.check([Record(graph, b"") for graph in GRAPHS]), strict=True))
    apply = Consolidator.apply

    def slow(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        if numbers[self.graph] == numbers["a"]:
            release.wait(60)
        return apply(self, changes)

    monkeypatch.setattr(Consolidator, "apply", slow)
    await cluster.publish(rng, 120)
    stage = cluster.stage("one")
    cluster.group.assign(one=range(PARTITIONS))
    others = [graph for graph in GRAPHS if numbers[graph] != numbers["a"]]

    async def finished() -> bool:
        return not any([await cluster.backend.ledger.pending(graph) for graph in others])

    try:
        async with running(stage.run):
            await eventually(finished)
            assert await cluster.backend.ledger.pending("a")
            release.set()
            await eventually(cluster.settled)
    finally:
        release.set()
    await cluster.check()


async def test_write_models_are_bounded_and_restored_when_they_are_needed_again() -> None:
    """Two models for eight graphs: at no time more are held, and the graphs are right."""
    cluster, rng = Cluster(), random.Random(8)
    stage = cluster.stage("one", max_write_models=2)
    cluster.group.assign(one=range(PARTITIONS))
    async with running(stage.run):
        for _ in range(6):
            await cluster.publish(rng, 12)
            await eventually(cluster.settled)
            assert len([graph for graph in GRAPHS if stage.writer(graph)]) <= 2
    await cluster.check()


async def test_commit_of_an_unknown_outcome_is_settled_by_the_next_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits raise at random, before or after they happened: each revision is applied once, none is lost."""
    from graphtide.streams.errors import Retryable

    cluster, rng = Cluster(), random.Random(9)
    commit, left = cluster.backend.store.commit, [12]

    async def shaky(given: Commit) -> None:
        before, after = rng.random() < 0.3, rng.random() < 0.3
        if left[0] and (before or after):
            left[0] -= 1
            if not before:
                await commit(given)
            raise Retryable("the connection dropped on COMMIT", 0.0)
        await commit(given)

    monkeypatch.setattr(cluster.backend.store, "commit", shaky)
    await cluster.publish(rng, 60)
    stage = cluster.stage("one")
    cluster.group.assign(one=range(PARTITIONS))
    async with running(stage.run):
        await eventually(cluster.settled)
    await cluster.check()
    assert left[0] < 12 and not any([(await cluster.backend.ledger.counts(g))[RevisionState.FAILED] for g in GRAPHS])


async def test_last_records_of_a_partition_are_read_again_when_a_cancelled_poll_took_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No later record shows that they are missing. The claim of another partition cancels the poll."""
    cluster, taken = Cluster(), asyncio.Event()
    poll, claim = MemberConsumer.poll, cluster.backend.store.claim
    await cluster.publish(random.Random(3), 1)
    [filled] = [number for number, end in (await cluster.backend.log.end(EXTRACTIONS)).items() if end]

    async def losing(
        self: MemberConsumer, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        delivered = await poll(self, limit, timeout_s, among)
        if delivered and not taken.is_set():
            taken.set()
            await asyncio.Event().wait()
        return delivered

    async def late(partition: int) -> Watermark:
        if partition != filled:
            await taken.wait()
        return await claim(partition)

    monkeypatch.setattr(MemberConsumer, "poll", losing)
    monkeypatch.setattr(cluster.backend.store, "claim", late)
    stage = cluster.stage("one")
    cluster.group.assign(one=range(PARTITIONS))
    async with running(stage.run):
        await eventually(cluster.settled)
    await cluster.check()


async def test_relay_reads_no_notice_before_the_claim() -> None:
    """Until then another process may commit, and a read beside its commits may return the second without the first."""
    cluster, reads = Cluster(), list[int]()

    class Watched(MemoryOutbox):
        async def waiting(self, partition: int, limit: int) -> Sequence[tuple[int, Record]]:
            reads.append(partition)
            return await super().waiting(partition, limit)

    outbox = Watched()
    outbox.put(0, [Record("a", b"notice")])
    beside = relay.OutboxRelay(0, outbox, cluster.backend.log, Seen())
    async with running(beside.run):
        for _ in range(20):  # turns of the event loop; the relay depends on nothing else
            await asyncio.sleep(0)
        assert not reads
        beside.wake()
        await eventually(lambda: _is(len(reads) > 1))
    assert not await outbox.waiting(0, 1)


async def _is_committed(cluster: Cluster, wanted: Mapping[int, int]) -> bool:
    """Return True once the group has committed these offsets."""
    committed = await cluster.backend.log.committed(EXTRACTIONS, STAGE)
    return all(committed[number] == offset for number, offset in wanted.items())


async def _forever(stage: ConsolidateStage) -> None:
    await stage.run()


async def _kill(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _is(value: bool) -> bool:
    return value
