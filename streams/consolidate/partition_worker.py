"""One partition of the consolidation: its buffer, its writer, and the task that writes its batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from graphtide.graph.records import GraphDelta
from graphtide.streams.checkpoints.model_checkpoints import ModelCheckpoints
from graphtide.streams.consolidate.batches import STAGE
from graphtide.streams.consolidate.outbox_relay import OutboxRelay
from graphtide.streams.consolidate.partition_buffer import HEAVY_BYTES, MAX_WAITING_BYTES, PartitionBuffer
from graphtide.streams.consolidate.partitions.dependencies import Announce
from graphtide.streams.consolidate.partitions.writer import PartitionWriter
from graphtide.streams.consolidate.write_models import MAX_WRITE_MODELS
from graphtide.streams.errors import GraphStopped
from graphtide.streams.follow.delta_records import notice_records
from graphtide.streams.ports import (
    ConsumedRecord,
    Ledger,
    Outbox,
    Overwritten,
)
from graphtide.streams.retry import supervise

log = logging.getLogger("graphtide.streams")


Follow = Callable[[GraphDelta], Awaitable[None]]


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
    max_waiting_bytes: int = MAX_WAITING_BYTES
    """Values of records that a partition holds before they are applied; others are read again when it is their turn."""
    tombstones: Ledger | None = None
    """The ledger, where the documents of a deleted graph get tombstones in `documents`."""
    overwritten: Overwritten | None = None
    """The records of the rows that a commit overwrites, where readers rebuild earlier versions from `deltas`."""
    synonyms: bool = False
    """True if pairs of labels with similar vectors are proposed to a judge."""
    predicates: bool = False
    """True if pairs of predicates with similar vectors are proposed to a judge."""
    checkpoints: ModelCheckpoints | None = None
    """The place where models are saved that leave memory; None: they are restored from the store."""
    window_s: float = 0.0
    """Minimum time between the starts of two batches of a partition, unless the second one is full: a commit costs
    more by itself than by its documents. A record that arrives later than that after a batch started does not wait."""


class PartitionWorker:
    """The worker of a partition while it is assigned: it claims, applies, and claims again after a failure."""

    def __init__(
        self, writer: PartitionWriter, relay: OutboxRelay | None, settings: ConsolidateSettings, changed: asyncio.Event
    ) -> None:
        self.writer = writer
        self.inbox = PartitionBuffer(
            heavy_bytes=settings.heavy_bytes,
            fetch=writer.read_again,
            max_waiting_bytes=settings.max_waiting_bytes,
        )
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
        self.writer.leave()

    def _note(self, reason: str) -> None:
        self.trouble = reason

    async def _run(self) -> None:
        try:
            claimed = await self.writer.claim()
            if self.stopped and await self.writer.rebuild_stopped(self.stopped):
                self.stopped = ""
            self.done = claimed - 1 if claimed else None  # the writer before may have died between its commit and this
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
        except Exception as error:
            self.writer.forget()
            if isinstance(error, GraphStopped):
                self.stopped = error.graph
            raise
        finally:
            self.inbox.restart(None)

    def offer(self, delivered: ConsumedRecord) -> None:
        """Accept the expected record, and drop a record that was read before a seek.

        A missing record is sought again: a reassignment may have lost it. If it is missing in a poll after that, and
        none was cancelled or ended empty between them, the log does not have it: the next record is accepted, and the
        writer raises the gap.
        """
        expected = self.inbox.expected
        if expected is None or delivered.position.offset < expected:
            return
        if expected in (delivered.position.offset, self._missed):
            self.inbox.take(delivered)
        elif self.seek_to is None:
            self.seek_to = self._missed = expected

    def poll_ended_empty(self) -> None:
        """Note that a poll returned nothing."""
        self._missed = None

    def poll_cancelled(self) -> None:
        """Request a seek to the expected record: the poll may have taken it, also if it was sought."""
        self._missed = None
        if self.seek_to is None:
            self.seek_to = self.inbox.expected

    def go_to(self, offset: int) -> None:
        """Request that the stage seeks to `offset`."""
        self.inbox.restart(offset)
        self.seek_to = offset
        self._changed.set()

    def ready(self) -> bool:
        return self.inbox.expected is not None

    def has_room(self) -> bool:
        return self.ready() and len(self.inbox.records) < self._batch_size
