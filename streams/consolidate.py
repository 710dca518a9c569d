"""The consolidate stage: the single writer of its graphs.

For each partition of `extractions` it holds, in this order:
1. claim: raise the epoch, seek to the watermark in the store (not to the committed offset)
2. read a batch; of each document keep the newest revision, and drop what the store's standing shows as done
3. apply the changes to each graph's write model
4. one transaction: watermark, rows, standings, outcomes, notices
5. let the followers apply the deltas; only now is the batch queryable

A failure between 3 and 4 throws the write models away: memory never runs ahead of the store for longer than a batch.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from graph.consolidation import Consolidator
from graph.records import Change, GraphDelta
from streams.errors import Broken, Rejected
from streams.messages import (
    DEAD_LETTERS,
    EXTRACTIONS,
    DeadLetter,
    DeltaNotice,
    ExtractionMessage,
    decode_extraction,
    document_key,
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

log = logging.getLogger("graphtide.streams")

STAGE = "consolidate"
Follow = Callable[[GraphDelta], Awaitable[None]]


@dataclass(slots=True)
class _Batch:
    """A batch sorted out: the newest message of each document by graph, and the ends of all the others."""

    newest: dict[str, dict[str, ExtractionMessage]] = field(default_factory=lambda: defaultdict(dict))
    values: dict[tuple[str, str], bytes] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)


class ConsolidateStage:
    """See the module. `follow` is awaited with each delta once it is durable."""

    def __init__(self, log: Log, store: GraphStore, follow: Follow, observer: Observer, batch_size: int = 64) -> None:
        self._log = log
        self._store = store
        self._follow = follow
        self._observer = observer
        self._batch_size = batch_size
        self._writers: dict[str, Consolidator] = {}
        self._partition = 0
        self._held = Watermark(0, 0)
        self._writing = asyncio.Lock()

    @property
    def kernels(self) -> Mapping[str, str]:
        """Which implementation the kernels run on."""
        return (next(iter(self._writers.values()), None) or Consolidator("")).kernels

    async def run(self, partition: int = 0) -> None:
        """Own the partition and work until cancelled or fenced."""
        self._writers.clear()
        self._partition = partition
        self._held = await self._store.claim(partition)
        await self._check_watermark()
        consumer = self._log.consumer(EXTRACTIONS, STAGE)
        await consumer.seek(Position(partition, self._held.next_offset))
        try:
            while True:
                delivered = await consumer.poll(self._batch_size, 5.0)
                if delivered:
                    async with self._writing:
                        await self._batch(delivered)
                    await consumer.commit(delivered[-1].position)
                    await self._log.trim(EXTRACTIONS, Position(partition, self._held.next_offset))
        except BaseException:
            self._writers.clear()
            raise
        finally:
            await consumer.close()

    async def _check_watermark(self) -> None:
        end = (await self._log.end(EXTRACTIONS)).get(self._partition, 0)
        if self._held.next_offset > end:
            raise Broken(
                f"the graph store has consumed {EXTRACTIONS} up to {self._held.next_offset}, but the log ends at {end}:"
                " the store and the log are not of one history; restore both from one backup"
            )

    async def _batch(self, delivered: Sequence[Delivered]) -> None:
        started = time.monotonic()
        batch = self._sort_out(delivered)
        commits = []
        for graph, messages in sorted(batch.newest.items()):
            commits.append(await self._graph(graph, messages, batch))
        if batch.letters:
            records = [Record(document_key(one.graph, one.doc_id), one.encode()) for one in batch.letters]
            await self._log.append(DEAD_LETTERS, records)
        commits = [commit for commit in commits if commit.standings]
        await self._store.commit(self._commit(delivered[-1].position.offset + 1, commits, batch.outcomes))
        for commit in commits:
            await self._follow(commit.delta)
        self._report(batch, time.monotonic() - started)

    def _commit(self, next_offset: int, graphs: Sequence[GraphCommit], outcomes: Sequence[Outcome]) -> Commit:
        notices = tuple(Record(part.delta.graph, notice(part.delta).encode()) for part in graphs)
        held = self._held
        self._held = Watermark(held.epoch, next_offset)
        return Commit(self._partition, held, next_offset, tuple(graphs), tuple(outcomes), notices)

    def _sort_out(self, delivered: Sequence[Delivered]) -> _Batch:
        batch = _Batch()
        for one in delivered:
            value = one.record.value or b""
            try:
                message = decode_extraction(value)
            except Rejected as error:
                log.error("extraction at %s: %s", one.position, error)
                revision = one.position.offset
                batch.letters.append(DeadLetter(one.record.key, "?", revision, STAGE, str(error), 1, value))
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

    async def _graph(self, graph: str, messages: Mapping[str, ExtractionMessage], batch: _Batch) -> GraphCommit:
        """Apply one graph's part of the batch to its write model."""
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
            return GraphCommit(GraphDelta(graph, 0), {})
        writer = await self._writer(graph)
        delta = await asyncio.to_thread(writer.apply, changes)
        return GraphCommit(delta, standings)

    async def _writer(self, graph: str) -> Consolidator:
        writer = self._writers.get(graph)
        if writer is None:
            snapshot = await self._store.snapshot(graph)
            writer = self._writers[graph] = await asyncio.to_thread(Consolidator.restore, snapshot)
        return writer

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Between batches, and no batch begins: whoever holds this may read, or replace, what the store has."""
        async with self._writing:
            yield

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
