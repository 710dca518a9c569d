"""The consolidate stage: the single writer of its graphs.

For each partition of `extractions` it holds, in this order:
1. claim: raise the epoch, seek to the watermark in the store (not to the committed offset), and let the followers
   catch up with graphs whose last commit they did not see the end of
2. read a batch; of each document keep the newest revision, and drop what the store's standing shows as done
3. apply the changes to each graph's write model
4. one transaction: watermark, rows, standings, outcomes, notices
5. let the followers apply the deltas; only now is the batch queryable

A failure between 3 and 4 throws the write models away: memory never runs ahead of the store for longer than a batch.
When it is not the storage that failed, the batch is tried again record by record, and the record that fails alone is
dead-lettered with the cause.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from graph.communities.guard import Partition, leiden
from graph.consolidation import Consolidator
from graph.consolidation.consolidator import DriftCheck
from graph.records import Change, GraphDelta
from graph.resolution import LabelKey, PairKey
from streams.dead_letters import bury
from streams.errors import Broken, GraphtideError, Rejected
from streams.messages import (
    EXTRACTIONS,
    DeadLetter,
    DeltaNotice,
    ExtractionMessage,
    decode_extraction,
    extraction_of,
)
from streams.observing import Observer
from streams.ports import (
    Commit,
    Delivered,
    GraphCommit,
    GraphStore,
    Log,
    Outcome,
    Position,
    Record,
    Standing,
    State,
    Watermark,
)
from streams.retrying import outcome_of

log = logging.getLogger("graphtide.streams")

STAGE = "consolidate"
Follow = Callable[[GraphDelta], Awaitable[None]]
Ask = Callable[[LabelKey, LabelKey], Awaitable[bool | None]]
"""Whether two labels, (name, type) each, are one entity; None when it cannot be told now."""


@dataclass(slots=True)
class _Batch:
    """A batch sorted out: the newest message of each document by graph, the ends of all the others, and what it does
    to each graph.
    """

    newest: dict[str, dict[str, ExtractionMessage]] = field(default_factory=lambda: defaultdict(dict))
    values: dict[tuple[str, str], bytes] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    parts: list[GraphCommit] = field(default_factory=list)

    def fail(self, one: Delivered, error: Exception) -> None:
        """Bury a record, and end the revision it is of, if it says so much."""
        value = one.record.value or b""
        log.error("extraction at %s cannot be applied", one.position, exc_info=error)
        reason = str(error) if isinstance(error, Rejected) else f"{type(error).__name__}: {error}"
        graph, doc_id, revision = extraction_of(value) or (one.record.key, "?", one.position.offset)
        said = reason[:1000].encode(errors="backslashreplace").decode()
        self.letters.append(DeadLetter(graph, doc_id, revision, STAGE, said, 1, value))
        self.outcomes.append(Outcome(graph, doc_id, revision, State.FAILED, said))


def _sort_out(delivered: Sequence[Delivered]) -> _Batch:
    batch = _Batch()
    for one in delivered:
        value = one.record.value or b""
        try:
            message = decode_extraction(value)
        except Rejected as error:
            batch.fail(one, error)
            continue
        newest = batch.newest[message.graph]
        other = newest.get(message.doc_id)
        if other is not None and other.revision != message.revision:
            older = min(message, other, key=lambda one: one.revision)
            batch.outcomes.append(_outcome(older, State.SUPERSEDED))
        if other is None or message.revision > other.revision:
            newest[message.doc_id] = message
            batch.values[message.graph, message.doc_id] = value
    return batch


class ConsolidateStage:
    """See the module. `follow` is awaited with each delta once it is durable, and with a snapshot to catch up."""

    def __init__(self, log: Log, store: GraphStore, follow: Follow, observer: Observer, batch_size: int = 64) -> None:
        self._log = log
        self._store = store
        self._follow = follow
        self._observer = observer
        self._batch_size = batch_size
        self._writers: dict[str, Consolidator] = {}
        self._dimensions: dict[str, int] = {}
        self._followed: Mapping[str, int] | None = None
        self._partition = 0
        self._held = Watermark(0, 0)
        self._writing = asyncio.Lock()

    @property
    def kernels(self) -> Mapping[str, str]:
        """Which implementation the kernels run on."""
        return (next(iter(self._writers.values()), None) or Consolidator("")).kernels

    async def run(self, partition: int = 0) -> None:
        """Own the partition and work until cancelled or fenced."""
        self._forget_all()
        self._partition = partition
        self._held = await self._store.claim(partition)
        await self._check_watermark()
        async with self._writing:
            await self._catch_up()
        consumer = self._log.consumer(EXTRACTIONS, STAGE)
        await consumer.seek(Position(partition, self._held.next_offset))
        try:
            while True:
                delivered = await consumer.poll(self._batch_size, 5.0)
                if delivered:
                    self._check_gap(delivered[0].position)
                    async with self._writing:
                        await self._batch(delivered)
                    done = Position(partition, self._held.next_offset)
                    await asyncio.gather(consumer.commit(delivered[-1].position), self._log.trim(EXTRACTIONS, done))
        finally:
            self._forget_all()
            await consumer.close()

    async def _check_watermark(self) -> None:
        end = (await self._log.end(EXTRACTIONS)).get(self._partition, 0)
        if self._held.next_offset > end:
            raise Broken(
                f"the graph store has consumed {EXTRACTIONS} up to {self._held.next_offset}, but the log ends at {end}:"
                " the store and the log are not of one history; restore both from one backup"
            )

    def _check_gap(self, first: Position) -> None:
        if first.offset != self._held.next_offset:
            raise Broken(
                f"the graph store has consumed {EXTRACTIONS} up to {self._held.next_offset}, but the log goes on at"
                f" {first.offset}: what is between is lost; restore the store and the log from one backup"
            )

    async def _catch_up(self) -> None:
        """Bring the followers to what the store has, where an earlier run ended between a commit and its follow."""
        stands = await self._store.graphs()
        if self._followed is not None:
            for graph, version in stands.items():
                if self._followed.get(graph) != version:
                    await self._follow(await self._store.snapshot(graph))
        self._followed = dict(stands)

    async def _batch(self, delivered: Sequence[Delivered]) -> None:
        """Apply the records, all at once if that goes, else one by one."""
        started = time.monotonic()
        outcome = await outcome_of(self._together(delivered))
        if isinstance(outcome, _Batch):
            for part in outcome.parts:
                await self._let_follow(part.delta)
            self._report(outcome, time.monotonic() - started)
            return
        self._forget_all()
        if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected):
            raise outcome  # of the storage: no record is to blame
        if len(delivered) > 1:
            for one in delivered:
                await self._batch((one,))
            return
        batch = _Batch()
        batch.fail(delivered[0], outcome)
        await self._commit(batch, delivered[0].position.offset + 1)
        self._report(batch, time.monotonic() - started)

    async def _together(self, delivered: Sequence[Delivered]) -> _Batch:
        batch = _sort_out(delivered)
        for graph, messages in sorted(batch.newest.items()):
            part = await self._graph(graph, messages, batch)
            if part is not None:
                batch.parts.append(part)
        await self._commit(batch, delivered[-1].position.offset + 1)
        return batch

    async def _commit(self, batch: _Batch, next_offset: int) -> None:
        for letter in batch.letters:
            await bury(self._log, letter)
        notices = tuple(Record(part.delta.graph, notice(part.delta).encode()) for part in batch.parts)
        parts, outcomes = tuple(batch.parts), tuple(batch.outcomes)
        await self._store.commit(Commit(self._partition, self._held, next_offset, parts, outcomes, notices))
        self._held = Watermark(self._held.epoch, next_offset)

    async def _let_follow(self, delta: GraphDelta) -> None:
        """The delta is durable, so no failure here is a record's: the followers start over from a snapshot."""
        failure = await outcome_of(self._follow(delta))
        if failure is not None:
            log.error("graph %s: version %d is taken from a snapshot", delta.graph, delta.version, exc_info=failure)
            await self._follow(await self._store.snapshot(delta.graph))
        self._followed = {**(self._followed or {}), delta.graph: delta.version}

    async def _graph(self, graph: str, messages: Mapping[str, ExtractionMessage], batch: _Batch) -> GraphCommit | None:
        """Apply one graph's part of the batch to its write model; None when nothing of it is new."""
        held = await self._store.standings(graph, list(messages))
        changes: list[Change] = []
        standings: dict[str, Standing] = {}
        for doc_id, message in sorted(messages.items()):
            standing = held.get(doc_id)
            if standing is not None and message.revision <= standing.revision:
                if message.revision < standing.revision:
                    batch.outcomes.append(_outcome(message, State.SUPERSEDED))
                continue
            old = decode_extraction(standing.extraction).extraction if standing and standing.extraction else None
            deleted = message.extraction is None
            standings[doc_id] = Standing(message.revision, None if deleted else batch.values[graph, doc_id])
            batch.outcomes.append(_outcome(message, State.DELETED if deleted else State.APPLIED))
            if old is not None or not deleted:
                changes.append(Change(doc_id, old, message.extraction))
        if not standings:
            return None
        writer = await self._writer(graph)
        await self._check_dimensions(graph, changes)
        return GraphCommit(await asyncio.to_thread(writer.apply, changes), standings)

    async def _check_dimensions(self, graph: str, changes: Sequence[Change]) -> None:
        """Raise Rejected for vectors of another length than the graph's: they cannot be compared, nor indexed."""
        for change in changes:
            for unit in change.new.units if change.new else ():
                held = self._dimensions.get(graph, 0)
                if held and unit.vector.size != held and await self._holds_any(graph):
                    raise Rejected(
                        f"its vectors have {unit.vector.size} dimensions, and those of graph {graph!r} have {held}:"
                        " they are of two embedding models"
                    )
                self._dimensions[graph] = unit.vector.size

    async def _holds_any(self, graph: str) -> bool:
        async for _ in self._store.extractions(graph):
            return True
        return False

    async def _writer(self, graph: str) -> Consolidator:
        writer = self._writers.get(graph)
        if writer is None:
            snapshot = await self._store.snapshot(graph)
            verdicts = await self._store.verdicts(graph)
            restore = partial(Consolidator.restore, snapshot, verdicts=verdicts)
            writer = self._writers[graph] = await asyncio.to_thread(restore)
            self._dimensions[graph] = max((row.vector.size for row in snapshot.chunks), default=0)
        return writer

    def _forget_all(self) -> None:
        self._writers.clear()
        self._dimensions.clear()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Between batches, and no batch begins: whoever holds this may read, or replace, what the store has."""
        async with self._writing:
            yield

    async def check_drift(self) -> None:
        """Compare the communities of graphs that changed enough with a fresh Leiden run, and adopt what is better.

        The run itself is off the hot path: batches go on beside it, and what it found is taken over as of its start.
        """
        for graph, writer in list(self._writers.items()):
            async with self._writing:
                check = await asyncio.to_thread(writer.drift_check)
            if check is None:
                continue
            fresh = await asyncio.to_thread(leiden, check.edges, check.weights)
            async with self._writing:
                if self._writers.get(graph) is writer:
                    await self._adopt(writer, check, fresh)

    async def judge(self, ask: Ask, most: int = 16) -> int:
        """Put up to `most` borderline pairs of each graph to a judge, and take its verdicts; returns how many.

        `ask` is awaited with no lock held; None is no verdict, and the pair is asked about again another time. A
        verdict and what it changes are one commit, so no pair is paid for twice.
        """
        taken = 0
        for graph, writer in list(self._writers.items()):
            async with self._writing:
                pairs = writer.borderline(most)
            answers = await asyncio.gather(*(ask(*pair) for pair in pairs))
            for pair, same in zip(pairs, answers, strict=True):
                if same is not None:
                    async with self._writing:
                        taken += await self._decide(graph, writer, pair, same)
        return taken

    async def _decide(self, graph: str, writer: Consolidator, pair: PairKey, same: bool) -> bool:
        delta = await asyncio.to_thread(writer.decide, pair, same) if self._writers.get(graph) is writer else None
        if delta is not None:
            await self._publish(GraphCommit(delta, {}, {pair: same}))
        return delta is not None

    async def _publish(self, part: GraphCommit) -> None:
        """Commit and let follow what no record of the log brought about."""
        try:
            await self._commit(_Batch(parts=[part]), self._held.next_offset)
        except BaseException:
            self._forget_all()
            raise
        await self._let_follow(part.delta)

    async def _adopt(self, writer: Consolidator, check: DriftCheck, fresh: Partition) -> None:
        delta = await asyncio.to_thread(writer.adopt, check, fresh)
        if delta is not None:
            await self._publish(GraphCommit(delta, {}))
            log.info("graph %s: communities of a fresh run are adopted, modularity %.4f", delta.graph, fresh.modularity)

    def writer(self, graph: str) -> Consolidator | None:
        """The write model of a graph, if it is in memory. To be read while `paused`."""
        return self._writers.get(graph)

    def forget(self, graph: str) -> None:
        """Drop a graph's write model: the store's rows were replaced. The next batch restores it from there."""
        self._writers.pop(graph, None)

    def _report(self, batch: _Batch, seconds: float) -> None:
        self._observer.worked(STAGE, seconds)
        now_ms = time.time() * 1000
        accepted = {
            (graph, doc_id, message.revision): message.accepted_ms
            for graph, messages in batch.newest.items()
            for doc_id, message in messages.items()
        }
        for outcome in batch.outcomes:
            self._observer.ended(outcome.graph, outcome.state)
            accepted_ms = accepted.get((outcome.graph, outcome.doc_id, outcome.revision))
            if accepted_ms and outcome.state is not State.SUPERSEDED:
                self._observer.queryable(outcome.graph, max(0.0, now_ms - accepted_ms) / 1000)


def notice(delta: GraphDelta) -> DeltaNotice:
    """What `deltas` says of a delta: the entities whose row changed, or whose edges did."""
    nodes = {row.node for row in delta.entities}
    nodes.update(end for row in delta.edges for end in (row.u, row.v))
    nodes.update(end for edge in delta.gone.edges for end in edge)
    return DeltaNotice(delta.graph, delta.version, tuple(sorted(nodes - set(delta.gone.entities))))


def _outcome(message: ExtractionMessage, state: State) -> Outcome:
    return Outcome(message.graph, message.doc_id, message.revision, state)
