"""The consolidate stage: owns the partitions of `extractions` that it is assigned, each through its single writer.

This is the loop over them: it reads for all, and hands each partition its records. A partition's `PartitionWorker`
claims it, continues from the watermark in the store (not from the committed offset), and works in a task of its own,
so that partitions do not wait for each other. A partition that is revoked is released at once. One whose writer is
fenced, or whose storage is unreachable, is claimed again after a while if it is still assigned. One that is Broken
names the cause, and no claim resets anything: it continues when log and store fit together again.

Invariant: a writer is given the records of its partition in order from its watermark, or none.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from graphtide.graph.communities.drift import Partition, leiden
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.consolidator import DriftSnapshot
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import LabelKey
from graphtide.streams.consolidate.batches import STAGE
from graphtide.streams.consolidate.forwarding import Forwarder
from graphtide.streams.consolidate.outbox_relay import OutboxRelay
from graphtide.streams.consolidate.partition_writer import Announce, LocalFollowers, PartitionWriter, WriterDependencies
from graphtide.streams.consolidate.write_models import MAX_WRITE_MODELS, WriteModel, WriteModels
from graphtide.streams.errors import GraphStopped
from graphtide.streams.follow.delta_records import notice_records
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import ConsumedRecord, Consumer, GraphCommit, GraphStore, Log, Outbox, Position
from graphtide.streams.retry import supervise
from graphtide.streams.routing import Routes
from graphtide.streams.usage import BillingContext, paid_by

__all__ = ["STAGE", "ConsolidateSettings", "ConsolidateStage", "PairJudge"]

log = logging.getLogger("graphtide.streams")

Follow = Callable[[GraphDelta], Awaitable[None]]
PairJudge = Callable[[LabelKey, LabelKey], Awaitable[bool | None]]
"""Whether two labels, (name, type) each, are one entity; None when it cannot be told now."""

BATCH_BYTES = 1 << 20
"""Size of a batch beyond which it takes no second record: the next one waits for a commit of its own."""
IDLE_S = 5.0
FULL_S = 0.05
"""How long to look at the other partitions before looking again at one that had no room."""


@dataclass(frozen=True, slots=True)
class ConsolidateSettings:
    """`write_models` bounds the graphs in memory; `announce` is what a commit says in `deltas`, by way of `outbox`
    where the store has one.
    """

    batch_size: int = 64
    write_models: int = MAX_WRITE_MODELS
    announce: Announce = notice_records
    outbox: Outbox | None = None


@dataclass(slots=True)
class PartitionBuffer:
    """What was read of a partition and not applied. `expected` is the offset that comes next; None: take nothing."""

    expected: int | None = None
    records: deque[ConsumedRecord] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def restart(self, offset: int | None) -> None:
        """Nothing is waiting, and what comes next is at `offset`."""
        self.records.clear()
        self.expected = offset

    def take(self, one: ConsumedRecord) -> None:
        self.records.append(one)
        self.expected = one.position.offset + 1
        self.arrived.set()

    async def next(self, most: int) -> Sequence[ConsumedRecord]:
        """Up to `most` records, as soon as there is one; fewer when they are large.

        A large record ends a batch, so those before it are committed without waiting for it.
        """
        while not self.records:
            self.arrived.clear()
            await self.arrived.wait()
        taken, size = [self.records.popleft()], 0
        while self.records and len(taken) < most:
            size += len(taken[-1].record.value or b"")
            if size + len(self.records[0].record.value or b"") > BATCH_BYTES:
                break
            taken.append(self.records.popleft())
        return taken


class PartitionWorker:
    """A partition for as long as it is assigned: claimed, worked on, claimed again after a failure."""

    def __init__(
        self, writer: PartitionWriter, relay: OutboxRelay | None, batch_size: int, tell: asyncio.Event
    ) -> None:
        self.writer = writer
        self.inbox = PartitionBuffer()
        self.trouble = ""
        self.stopped = ""
        """The graph whose stored rows hold the partition up; "" for none."""
        self.seek_to: int | None = None
        self.done: int | None = None
        self._missed: int | None = None
        self._relay = relay
        self._batch_size = batch_size
        self._tell = tell
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to work, in tasks of its own."""
        name = f"{STAGE}-{self.writer.partition}"
        self._tasks = [asyncio.create_task(supervise(name, self._run, self._note), name=name)]
        if self._relay is not None:
            relay = f"relay-{self.writer.partition}"
            self._tasks.append(asyncio.create_task(supervise(relay, self._relay.run, lambda _: None), name=relay))

    async def end(self) -> None:
        """Stop at once: what was not committed is read again by whoever claims the partition next."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.writer.forget()

    def _note(self, reason: str) -> None:
        self.trouble = reason

    async def _run(self) -> None:
        try:
            claimed = await self.writer.claim()
            if self.stopped and await self.writer.rebuild_stopped(self.stopped):
                self.stopped = ""
            self.go_to(claimed)
            if self._relay is not None:
                self._relay.wake()
            while True:
                delivered = await self.inbox.next(self._batch_size)
                await self.writer.batch(delivered)
                self.stopped = ""
                self.done = delivered[-1].position.offset
                self._tell.set()
                if self._relay is not None:
                    self._relay.wake()
        except GraphStopped as error:
            self.stopped = error.graph
            raise
        finally:
            self.inbox.restart(None)
            self.writer.forget()

    def offer(self, one: ConsumedRecord) -> None:
        """Take the record that is expected, and drop what was read before a seek.

        Where something is missing it is sought once more: a poll that was given up may have taken it. If it is
        missing again, it is not there, and the writer is to see it.
        """
        expected = self.inbox.expected
        if expected is None or one.position.offset < expected:
            return
        if expected in (one.position.offset, self._missed):
            self.inbox.take(one)
        elif self.seek_to is None:
            self.seek_to = self._missed = expected

    def go_to(self, offset: int) -> None:
        """Have the loop seek there."""
        self.inbox.restart(offset)
        self.seek_to = offset
        self._tell.set()

    def ready(self) -> bool:
        return self.inbox.expected is not None

    def has_room(self) -> bool:
        return self.ready() and len(self.inbox.records) < self._batch_size


class ConsolidateStage:
    """See the module. `follow` is awaited with each delta once it is durable, and with a snapshot to catch up."""

    def __init__(
        self,
        log: Log,
        store: GraphStore,
        follow: Follow | None,
        observer: Observer,
        settings: ConsolidateSettings | None = None,
    ) -> None:
        self._log = log
        self._observer = observer
        self._settings = settings or ConsolidateSettings()
        self._models = WriteModels(store, self._settings.write_models)
        following = LocalFollowers(follow, store)
        forwarder = Forwarder(log, Routes(store.bindings), observer)
        self._tools = WriterDependencies(
            log, store, self._models, following, self._settings.announce, observer, forwarder
        )
        self._tenures: dict[int, PartitionWorker] = {}
        self._told = asyncio.Event()

    @property
    def kernels(self) -> Mapping[str, str]:
        """Which implementation the kernels run on."""
        held = self._models.all()
        return (held[0].writer if held else Consolidator("")).kernels

    @property
    def troubles(self) -> Mapping[int, str]:
        """By partition, why it does not go on."""
        return {number: tenure.trouble for number, tenure in sorted(self._tenures.items()) if tenure.trouble}

    @property
    def stopped(self) -> Mapping[str, int]:
        """The graphs whose stored rows cannot be used, and the partition that each holds up."""
        return {tenure.stopped: number for number, tenure in sorted(self._tenures.items()) if tenure.stopped}

    @property
    def upkeep(self) -> Mapping[int, str]:
        """By partition, what it recounts or rebuilds instead of going on, and how far it is."""
        return {number: one.writer.upkeep for number, one in sorted(self._tenures.items()) if one.writer.upkeep}

    @property
    def partitions(self) -> frozenset[int]:
        """What is held now."""
        return frozenset(self._tenures)

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Own what is assigned and work, until cancelled. Raises what the log raises."""
        consumer = self._log.consumer(EXTRACTIONS, STAGE)
        reading: asyncio.Task[Sequence[ConsumedRecord]] | None = None
        try:
            while True:
                await self._follow_assignment(consumer.assigned())
                if reading is None:
                    await self._seek(consumer)
                    reading = asyncio.create_task(self._poll(consumer))
                telling = asyncio.create_task(self._told.wait())
                await asyncio.wait({reading, telling}, return_when=asyncio.FIRST_COMPLETED)
                telling.cancel()
                self._told.clear()
                if not reading.done() and any(one.seek_to is not None for one in self._tenures.values()):
                    await _stop(reading)
                if reading.done():
                    delivered = [] if reading.cancelled() else reading.result()
                    reading = None
                    self._hand_out(delivered)
                await self._commit_positions(consumer)
        finally:
            await self._leave(consumer, reading)

    async def _poll(self, consumer: Consumer) -> Sequence[ConsumedRecord]:
        """Read for whoever has room: a partition that is behind does not fill the memory, nor hold up another."""
        room = [number for number, one in self._tenures.items() if one.has_room()]
        full = any(one.ready() and not one.has_room() for one in self._tenures.values())
        return await consumer.poll(self._settings.batch_size, FULL_S if full else IDLE_S, room)

    async def _follow_assignment(self, assigned: frozenset[int]) -> None:
        for number in [number for number in self._tenures if number not in assigned]:
            log.info("partition %d of %s is let go", number, EXTRACTIONS)
            await self._tenures.pop(number).end()
        for number in sorted(assigned - self._tenures.keys()):
            writer = PartitionWriter(number, self._tools)
            relay = (
                OutboxRelay(number, self._settings.outbox, self._log, self._observer) if self._settings.outbox else None
            )
            self._tenures[number] = PartitionWorker(writer, relay, self._settings.batch_size, self._told)
            self._tenures[number].start()

    async def _seek(self, consumer: Consumer) -> None:
        """Seek where tenures ask for it."""
        for number, tenure in self._tenures.items():
            if tenure.seek_to is not None:
                position, tenure.seek_to = Position(number, tenure.seek_to), None
                await consumer.seek(position)

    def _hand_out(self, delivered: Sequence[ConsumedRecord]) -> None:
        for one in delivered:
            if one.position.partition in self._tenures:
                self._tenures[one.position.partition].offer(one)

    async def _commit_positions(self, consumer: Consumer) -> None:
        """The group's offsets: for whoever watches the lag. Where to go on is in the store."""
        for number, tenure in list(self._tenures.items()):
            if tenure.done is not None:
                offset, tenure.done = tenure.done, None
                before = Position(number, offset + 1)
                await asyncio.gather(consumer.commit(Position(number, offset)), self._log.trim(EXTRACTIONS, before))

    async def _leave(self, consumer: Consumer, reading: asyncio.Task[Sequence[ConsumedRecord]] | None) -> None:
        if reading is not None:
            await _stop(reading)
        await asyncio.gather(*(tenure.end() for tenure in self._tenures.values()))
        self._tenures.clear()
        await consumer.close()

    # -- beside the loop -----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Between batches, and no batch begins: whoever holds this may read, or replace, what the store has."""
        async with AsyncExitStack() as stack:
            for _, tenure in sorted(self._tenures.items()):
                await stack.enter_async_context(tenure.writer.writing)
            yield

    def _held(self) -> list[tuple[PartitionWriter, WriteModel]]:
        models = [(self._tenures.get(model.partition), model) for model in self._models.all()]
        return [(tenure.writer, model) for tenure, model in models if tenure is not None]

    async def check_drift(self) -> None:
        """Compare the communities of graphs that changed enough with a fresh Leiden run, and adopt what is better.

        The run itself is off the hot path: batches go on beside it, and what it found is taken over as of its start.
        """
        for owner, model in self._held():
            async with owner.writing:
                check = await asyncio.to_thread(model.writer.drift_check)
            if check is None:
                continue
            fresh = await asyncio.to_thread(leiden, check.edges, check.weights)
            async with owner.writing:
                if self._models.peek(model.writer.graph) is model:
                    await self._adopt(owner, model.writer, check, fresh)

    async def judge(self, ask: PairJudge, most: int = 16) -> int:
        """Put up to `most` borderline pairs of each graph to a judge, and take its verdicts; returns how many.

        `ask` is awaited with no lock held; None is no verdict, and the pair is asked about again another time. A
        verdict and what it changes are one commit, so no pair is paid for twice.
        """
        taken = 0
        for owner, model in self._held():
            async with owner.writing:
                pairs = model.writer.borderline(most)
            with paid_by(BillingContext(model.writer.graph)):
                answers = await asyncio.gather(*(ask(*pair) for pair in pairs))
            for pair, same in zip(pairs, answers, strict=True):
                if same is not None:
                    async with owner.writing:
                        taken += await owner.decide(model, pair, same)
        return taken

    async def _adopt(
        self, owner: PartitionWriter, writer: Consolidator, check: DriftSnapshot, fresh: Partition
    ) -> None:
        delta = await asyncio.to_thread(writer.adopt, check, fresh)
        if delta is not None:
            await owner.publish(GraphCommit(delta, {}))
            log.info("graph %s: communities of a fresh run are adopted, modularity %.4f", delta.graph, fresh.modularity)

    def writer(self, graph: str) -> Consolidator | None:
        """The write model of a graph, if it is in memory. To be read while `paused`."""
        model = self._models.peek(graph)
        return model.writer if model else None

    def forget(self, graph: str) -> None:
        """Drop a graph's write model: the store's rows were replaced. The next batch restores it from there."""
        self._models.forget(graph)


async def _stop(reading: asyncio.Task[Sequence[ConsumedRecord]]) -> None:
    """Cancel a poll. What it may have taken and not returned is sought again: the offsets tell."""
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
