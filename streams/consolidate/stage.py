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
from functools import partial

from graphtide.graph.communities.drift import Partition, leiden
from graphtide.graph.communities.types import Int32, Int64
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.consolidator import DriftSnapshot
from graphtide.graph.resolution import PairQuestion
from graphtide.graph.view import LiveView
from graphtide.streams.consolidate.batches import STAGE
from graphtide.streams.consolidate.forwarding import Forwarder
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.consolidate.model_saving import ModelSaver
from graphtide.streams.consolidate.outbox_relay import OutboxRelay
from graphtide.streams.consolidate.partition_worker import (
    FULL_S,
    IDLE_S,
    ConsolidateSettings,
    Follow,
    PartitionWorker,
)
from graphtide.streams.consolidate.partitions.dependencies import WriterDependencies
from graphtide.streams.consolidate.partitions.followers import Expect, LocalFollowers, expect_nothing
from graphtide.streams.consolidate.partitions.writer import PartitionWriter
from graphtide.streams.consolidate.write_models import WriteModel, WriteModels
from graphtide.streams.log.routing import Routes
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import (
    ConsumedRecord,
    Consumer,
    GraphStore,
    Log,
    Position,
)
from graphtide.streams.usage import BillingContext, paid_by

__all__ = ["STAGE", "ConsolidateSettings", "ConsolidateStage", "LeidenRun", "PairJudge"]


log = logging.getLogger("graphtide.streams")

PairJudge = Callable[[PairQuestion], Awaitable[bool | None]]
"""Decides if two labels denote one entity; None when the judge cannot decide now."""


LeidenRun = Callable[[Int32, Int64], Awaitable[Partition]]
"""Partitions a graph of edges (m, 2) with weights (m,), as `leiden` does."""


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
        expect: Expect = expect_nothing,
    ) -> None:
        """Create the stage. `view` returns a graph's view in this process, if any: write models share its vectors.
        `expect` is called before a commit that `follow` will receive.
        """
        self._log = log
        self._observer = observer
        self._settings = settings or ConsolidateSettings()
        proposes = {"synonyms": self._settings.synonyms, "predicates": self._settings.predicates}
        checkpoints = self._settings.checkpoints
        saver = ModelSaver(checkpoints) if checkpoints is not None else None
        self._models = WriteModels(store, self._settings.max_write_models, **proposes, view=view, saver=saver)
        following = LocalFollowers(follow, store, expect)
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
    def maintenance(self) -> Mapping[int, str]:
        """Return, by partition, the running verification or rebuild, and its progress."""
        workers = sorted(self._workers.items())
        return {number: worker.writer.maintenance for number, worker in workers if worker.writer.maintenance}

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
                try:
                    await asyncio.wait({reading, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
                self._changed.clear()
                if not reading.done() and any(worker.seek_to is not None for worker in self._workers.values()):
                    await _stop(reading)
                if reading.done():
                    if reading.cancelled():
                        self._seek_again()
                    else:
                        self._hand_out(reading.result())
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

    def _seek_again(self) -> None:
        """Seek to the next record of every partition: a cancelled poll may have taken records of any of them, and the
        last ones have none after them that would show the gap.
        """
        for worker in self._workers.values():
            worker.poll_cancelled()

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
                await consumer.commit(Position(number, offset))
                await self._log.trim(EXTRACTIONS, Position(number, offset + 1))

    async def _leave(self, consumer: Consumer, reading: asyncio.Task[Sequence[ConsumedRecord]] | None) -> None:
        if reading is not None:
            await _stop(reading)
        await asyncio.gather(*(worker.end() for worker in self._workers.values()))
        self._workers.clear()
        await self._models.hand_over()
        await consumer.close()
        await self._models.finish()

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

    def _owned_models(self) -> list[tuple[PartitionWriter, WriteModel]]:
        models = [(self._workers.get(model.partition), model) for model in self._models.all()]
        return [(worker.writer, model) for worker, model in models if worker is not None]

    async def check_drift(self, run: LeidenRun | None = None) -> None:
        """Compare the communities of graphs that changed enough with a fresh Leiden run, and adopt the better ones.

        `run` is where Leiden runs: by default in a thread. It is not on the hot path: batches continue beside it, and
        its result is adopted as of its start.
        """
        for owner, model in self._owned_models():
            async with owner.writing:
                check = await asyncio.to_thread(model.writer.drift_check)
            if check is None:
                continue
            fresh = await (run or _leiden_in_thread)(check.edges, check.weights)
            async with owner.writing:
                if self._models.peek(model.writer.graph) is model:
                    await self._adopt(owner, model, check, fresh)

    async def judge(self, ask: PairJudge, limit: int = 16) -> int:
        """Have a judge decide up to `most` borderline pairs per graph, and apply its verdicts. Returns their number.

        `ask` is awaited with no lock held; after None the pair is asked again later. A verdict and its changes are one
        commit, so no pair is paid for twice.
        """
        taken = 0
        for owner, model in self._owned_models():
            async with owner.writing:
                questions = await asyncio.to_thread(model.writer.borderline, limit)
            with paid_by(BillingContext(model.writer.graph)):
                answers = await asyncio.gather(*(ask(question) for question in questions))
            for question, same in zip(questions, answers, strict=True):
                if same is not None:
                    async with owner.writing:
                        taken += await owner.decide(model, question.pair, question.verdict(same))
        return taken

    async def _adopt(self, owner: PartitionWriter, model: WriteModel, check: DriftSnapshot, fresh: Partition) -> None:
        delta = await owner.change(model, partial(model.writer.adopt, check, fresh))
        if delta is not None:
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
