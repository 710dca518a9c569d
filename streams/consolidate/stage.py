"""The consolidate stage: owns the partitions of `extractions` assigned to it, each through its single writer.

The stage reads for all partitions and passes each its records. The `PartitionWorker` of a partition claims it,
continues from the watermark in the store (not from the committed offset), and runs in a task of its own, so that
partitions do not wait for each other. A revoked partition is released at once. One whose writer is fenced, or whose
storage is unreachable, is claimed again after a while if it is still assigned. A Broken one reports the cause, and no
claim resets anything: it continues when log and store are consistent again.

Invariant: a writer receives the records of its partition in order from its watermark, or none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from graphtide.graph.communities.drift import Partition, leiden
from graphtide.graph.communities.types import Int32, Int64
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.consolidator import DriftSnapshot
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import PairQuestion
from graphtide.graph.view import LiveView
from graphtide.streams.consolidate.batches import STAGE
from graphtide.streams.consolidate.forwarding import Forwarder
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.consolidate.outbox_relay import OutboxRelay
from graphtide.streams.consolidate.partition_buffer import HEAVY_BYTES, PartitionBuffer
from graphtide.streams.consolidate.partitions.dependencies import Announce, WriterDependencies
from graphtide.streams.consolidate.partitions.followers import LocalFollowers
from graphtide.streams.consolidate.partitions.writer import PartitionWriter
from graphtide.streams.consolidate.write_models import MAX_WRITE_MODELS, WriteModel, WriteModels
from graphtide.streams.errors import GraphStopped
from graphtide.streams.follow.delta_records import notice_records
from graphtide.streams.log.routing import Routes
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import (
    ConsumedRecord,
    Consumer,
    GraphCommit,
    GraphStore,
    Ledger,
    Log,
    Outbox,
    Overwritten,
    Position,
)
from graphtide.streams.retry import supervise
from graphtide.streams.usage import BillingContext, paid_by

__all__ = ["STAGE", "ConsolidateSettings", "ConsolidateStage", "LeidenRun", "PairJudge"]

log = logging.getLogger("graphtide.streams")

Follow = Callable[[GraphDelta], Awaitable[None]]
PairJudge = Callable[[PairQuestion], Awaitable[bool | None]]
"""Decides if two labels denote one entity; None when the judge cannot decide now."""

LeidenRun = Callable[[Int32, Int64], Awaitable[Partition]]
"""Partitions a graph of edges (m, 2) with weights (m,), as `leiden` does."""

IDLE_S = 5.0
FULL_S = 0.05
"""Poll timeout of the other partitions while the buffer of one is full."""


@dataclass(frozen=True, slots=True)
class ConsolidateSettings:
    """Settings of the stage. `max_write_models` is the maximum number of graphs in memory.

    Small records may overtake one of another graph with `heavy_bytes` or more. `announce` makes the records that a
    commit appends to `deltas`, through `outbox` where the store has one.
    """

    batch_size: int = 64
    max_write_models: int = MAX_WRITE_MODELS
    announce: Announce = notice_records
    outbox: Outbox | None = None
    heavy_bytes: int = HEAVY_BYTES
    tombstones: Ledger | None = None
    """The ledger, where the documents of a deleted graph get tombstones in `documents`."""
    overwritten: Overwritten | None = None
    """The records of the rows that a commit overwrites, where readers rebuild earlier versions from `deltas`."""
    synonyms: bool = False
    """Whether pairs of labels for a judge are found by vectors, too."""
    predicates: bool = False
    """Whether pairs of predicates are proposed to a judge."""
    window_s: float = 0.0
    """Minimum time between the starts of two batches of a partition, unless the second one is full: a commit costs
    more by itself than by its documents. A record that arrives later than that after a batch started does not wait."""


class PartitionWorker:
    """The worker of a partition while it is assigned: it claims, applies, and claims again after a failure."""

    def __init__(
        self, writer: PartitionWriter, relay: OutboxRelay | None, settings: ConsolidateSettings, changed: asyncio.Event
    ) -> None:
        self.writer = writer
        self.inbox = PartitionBuffer(heavy_bytes=settings.heavy_bytes)
        self.trouble = ""
        self.stopped = ""
        """The graph whose stored rows block the partition; "" for none."""
        self.seek_to: int | None = None
        self.done: int | None = None
        self._missed: int | None = None
        self._relay = relay
        self._batch_size = settings.batch_size
        self._window_s = settings.window_s
        self._changed = changed
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the tasks of the worker."""
        name = f"{STAGE}-{self.writer.partition}"
        self._tasks = [asyncio.create_task(supervise(name, self._run, self._note), name=name)]
        if self._relay is not None:
            relay = f"relay-{self.writer.partition}"
            self._tasks.append(asyncio.create_task(supervise(relay, self._relay.run, lambda _: None), name=relay))

    async def end(self) -> None:
        """Stop at once: the next worker that claims the partition reads again what was not committed."""
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
            loop, not_before = asyncio.get_running_loop(), 0.0
            while True:
                delivered = await self.inbox.next(self._batch_size, not_before)
                not_before = loop.time() + self._window_s
                if self.inbox.is_heavy(delivered[0]):
                    await self.writer.heavy(delivered, self.inbox)
                else:
                    await self.writer.batch(delivered)
                self.stopped = ""
                self.done = self.writer.next_offset - 1
                self._changed.set()
                if self._relay is not None:
                    self._relay.wake()
        except GraphStopped as error:
            self.stopped = error.graph
            raise
        finally:
            self.inbox.restart(None)
            self.writer.forget()

    def offer(self, delivered: ConsumedRecord) -> None:
        """Accept the expected record, and drop a record that was read before a seek.

        A missing record is sought again: a cancelled poll may have taken it. If it is missing in a poll after that, and
        none ended empty between them, the log does not have it: the next record is accepted, and the writer raises the
        gap.
        """
        expected = self.inbox.expected
        if expected is None or delivered.position.offset < expected:
            return
        if expected in (delivered.position.offset, self._missed):
            self.inbox.take(delivered)
        elif self.seek_to is None:
            self.seek_to = self._missed = expected

    def poll_ended_empty(self) -> None:
        """Note that a poll returned nothing: it may have been cancelled, and have taken the record that was sought."""
        self._missed = None

    def go_to(self, offset: int) -> None:
        """Request that the stage seeks to `offset`."""
        self.inbox.restart(offset)
        self.seek_to = offset
        self._changed.set()

    def ready(self) -> bool:
        return self.inbox.expected is not None

    def has_room(self) -> bool:
        return self.ready() and len(self.inbox.records) < self._batch_size


class ConsolidateStage:
    """The stage. `follow` is awaited with each delta once it is durable, and with a snapshot to catch up."""

    def __init__(
        self,
        log: Log,
        store: GraphStore,
        follow: Follow | None,
        observer: Observer,
        settings: ConsolidateSettings | None = None,
        view: Callable[[str], LiveView | None] | None = None,
    ) -> None:
        """Create the stage. `view` returns a graph's view in this process, if any: write models share its vectors."""
        self._log = log
        self._observer = observer
        self._settings = settings or ConsolidateSettings()
        proposes = {"synonyms": self._settings.synonyms, "predicates": self._settings.predicates}
        self._models = WriteModels(store, self._settings.max_write_models, **proposes, view=view)
        following = LocalFollowers(follow, store)
        forwarder = Forwarder(log, Routes(store.bindings), observer)
        eraser = GraphEraser(log, store, self._settings.tombstones)
        self._tools = WriterDependencies(
            log,
            store,
            self._models,
            following,
            self._settings.announce,
            observer,
            forwarder,
            eraser,
            self._settings.overwritten,
        )
        self._workers: dict[int, PartitionWorker] = {}
        self._changed = asyncio.Event()
        self._starting = asyncio.Lock()
        """Held while a worker starts, and during a pause: a partition assigned in a pause waits for its end."""

    @property
    def troubles(self) -> Mapping[int, str]:
        """Return, by partition, the reason why it does not advance."""
        return {number: worker.trouble for number, worker in sorted(self._workers.items()) if worker.trouble}

    @property
    def stopped(self) -> Mapping[str, int]:
        """Return the graphs whose stored rows cannot be used, and the partition that each blocks."""
        return {worker.stopped: number for number, worker in sorted(self._workers.items()) if worker.stopped}

    @property
    def upkeep(self) -> Mapping[int, str]:
        """Return, by partition, the running verification or rebuild, and its progress."""
        workers = sorted(self._workers.items())
        return {number: worker.writer.upkeep for number, worker in workers if worker.writer.upkeep}

    @property
    def partitions(self) -> frozenset[int]:
        """Return the partitions assigned now."""
        return frozenset(self._workers)

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Consolidate the assigned partitions until cancelled. Raises what the log raises."""
        consumer = self._log.consumer(EXTRACTIONS, STAGE)
        reading: asyncio.Task[Sequence[ConsumedRecord]] | None = None
        try:
            while True:
                await self._follow_assignment(consumer.assigned())
                if reading is None:
                    await self._seek(consumer)
                    reading = asyncio.create_task(self._poll(consumer))
                change = asyncio.create_task(self._changed.wait())
                await asyncio.wait({reading, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                self._changed.clear()
                if not reading.done() and any(worker.seek_to is not None for worker in self._workers.values()):
                    await _stop(reading)
                if reading.done():
                    self._hand_out([] if reading.cancelled() else reading.result())
                    reading = None
                await self._commit_positions(consumer)
        finally:
            await self._leave(consumer, reading)

    async def _poll(self, consumer: Consumer) -> Sequence[ConsumedRecord]:
        """Read the partitions whose buffer has room: a slow partition neither fills the memory nor delays another."""
        room = [number for number, worker in self._workers.items() if worker.has_room()]
        full = any(worker.ready() and not worker.has_room() for worker in self._workers.values())
        return await consumer.poll(self._settings.batch_size, FULL_S if full else IDLE_S, room)

    async def _follow_assignment(self, assigned: frozenset[int]) -> None:
        for number in [number for number in self._workers if number not in assigned]:
            log.info("partition %d of %s was revoked", number, EXTRACTIONS)
            await self._workers.pop(number).end()
        if assigned <= self._workers.keys():
            return
        async with self._starting:
            self._start(sorted(assigned - self._workers.keys()))

    def _start(self, assigned: Sequence[int]) -> None:
        for number in assigned:
            writer = PartitionWriter(number, self._tools)
            relay = (
                OutboxRelay(number, self._settings.outbox, self._log, self._observer) if self._settings.outbox else None
            )
            self._workers[number] = PartitionWorker(writer, relay, self._settings, self._changed)
            self._workers[number].start()

    async def _seek(self, consumer: Consumer) -> None:
        """Seek in the partitions whose workers request it."""
        for number, worker in self._workers.items():
            if worker.seek_to is not None:
                position, worker.seek_to = Position(number, worker.seek_to), None
                await consumer.seek(position)

    def _hand_out(self, delivered: Sequence[ConsumedRecord]) -> None:
        if not delivered:
            for worker in self._workers.values():
                worker.poll_ended_empty()
        for consumed in delivered:
            if consumed.position.partition in self._workers:
                self._workers[consumed.position.partition].offer(consumed)

    async def _commit_positions(self, consumer: Consumer) -> None:
        """Commit the group's offsets, which show the lag to operators. The offset to resume at is in the store."""
        for number, worker in list(self._workers.items()):
            if worker.done is not None:
                offset, worker.done = worker.done, None
                before = Position(number, offset + 1)
                await asyncio.gather(consumer.commit(Position(number, offset)), self._log.trim(EXTRACTIONS, before))

    async def _leave(self, consumer: Consumer, reading: asyncio.Task[Sequence[ConsumedRecord]] | None) -> None:
        if reading is not None:
            await _stop(reading)
        await asyncio.gather(*(worker.end() for worker in self._workers.values()))
        self._workers.clear()
        await consumer.close()

    # -- beside the loop -----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Pause between batches: while the caller holds this, it may read or replace the stored rows.

        No partition gets a writer during the pause: right after the start it holds for those assigned later, too.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._starting)
            for _, worker in sorted(self._workers.items()):
                await stack.enter_async_context(worker.writer.writing)
            yield

    def _held(self) -> list[tuple[PartitionWriter, WriteModel]]:
        models = [(self._workers.get(model.partition), model) for model in self._models.all()]
        return [(worker.writer, model) for worker, model in models if worker is not None]

    async def check_drift(self, run: LeidenRun | None = None) -> None:
        """Compare the communities of graphs that changed enough with a fresh Leiden run, and adopt the better ones.

        `run` is where Leiden runs: by default in a thread. It is not on the hot path: batches continue beside it, and
        its result is adopted as of its start.
        """
        for owner, model in self._held():
            async with owner.writing:
                check = await asyncio.to_thread(model.writer.drift_check)
            if check is None:
                continue
            fresh = await (run or _leiden_in_thread)(check.edges, check.weights)
            async with owner.writing:
                if self._models.peek(model.writer.graph) is model:
                    await self._adopt(owner, model.writer, check, fresh)

    async def judge(self, ask: PairJudge, most: int = 16) -> int:
        """Have a judge decide up to `most` borderline pairs per graph, and apply its verdicts. Returns their number.

        `ask` is awaited with no lock held; after None the pair is asked again later. A verdict and its changes are one
        commit, so no pair is paid for twice.
        """
        taken = 0
        for owner, model in self._held():
            async with owner.writing:
                questions = await asyncio.to_thread(model.writer.borderline, most)
            with paid_by(BillingContext(model.writer.graph)):
                answers = await asyncio.gather(*(ask(question) for question in questions))
            for question, same in zip(questions, answers, strict=True):
                if same is not None:
                    async with owner.writing:
                        taken += await owner.decide(model, question.pair, question.verdict(same))
        return taken

    async def _adopt(
        self, owner: PartitionWriter, writer: Consolidator, check: DriftSnapshot, fresh: Partition
    ) -> None:
        delta = await asyncio.to_thread(writer.adopt, check, fresh)
        if delta is not None:
            await owner.publish(GraphCommit(delta, {}))
            log.info("graph %s: adopted the communities of a fresh run, modularity %.4f", delta.graph, fresh.modularity)

    def writer(self, graph: str) -> Consolidator | None:
        """Return the write model of a graph, if it is in memory. Read it while `paused`."""
        model = self._models.peek(graph)
        return model.writer if model else None

    def forget(self, graph: str) -> None:
        """Evict a graph's write model after its stored rows were replaced. The next batch restores it from them."""
        self._models.forget(graph)


async def _stop(reading: asyncio.Task[Sequence[ConsumedRecord]]) -> None:
    """Cancel a poll. Records that it took and did not return leave a gap in the offsets, and are sought again."""
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def _leiden_in_thread(edges: Int32, weights: Int64) -> Partition:
    return await asyncio.to_thread(leiden, edges, weights)
