"""The watermark of a partition and the commits that advance it.

A commit is one transaction: watermark, rows, document states, outcomes, notices; an unbound graph is bound to the
partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.batches import ConsolidationBatch
from graphtide.streams.consolidate.partitions.dependencies import WriterDependencies
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.follow.freshness import accepted
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.ports import (
    Commit,
    ConsumedRecord,
    Record,
    RevisionOutcome,
    Watermark,
)
from graphtide.streams.tracing import inject

LARGE_ROWS = 1_000
"""Changed rows from which a delta is announced in a thread: a notice names each entity, in a cluster each row."""
MAX_OVERTAKEN = 1_000
"""Maximum number of applied records after the watermark: a restart reads them again."""


class PartitionWatermark:
    """The position of one writer in its partition. Every commit passes through it, and advances or keeps it."""

    def __init__(self, partition: int, dependencies: WriterDependencies) -> None:
        self.current = Watermark(0, 0)
        self._partition = partition
        self._dependencies = dependencies
        self._overtaken: set[int] = set()
        """Offsets after the watermark whose records are applied."""
        self._not_delivered: int | None = None
        """The last offset that was missing where a batch began."""

    @property
    def next_offset(self) -> int:
        """Return the first offset whose record is not applied."""
        return self.current.next_offset

    async def claim(self) -> None:
        """Become the partition's writer. Raises Broken when log and store have different histories."""
        self.current = await self._dependencies.store.claim(self._partition)
        self._overtaken.clear()
        self._dependencies.following.forget_expected()
        await self._check()

    async def _check(self) -> None:
        next_offset = self.current.next_offset
        end = (await self._dependencies.log.end(EXTRACTIONS)).get(self._partition, 0)
        if next_offset > end:
            raise Broken(
                f"the graph store has consumed partition {self._partition} of {EXTRACTIONS} up to {next_offset}, but"
                f" the log ends at {end}: the store and the log have different histories; restore both from one backup"
            )
        start = (await self._dependencies.log.start(EXTRACTIONS)).get(self._partition, 0)
        if next_offset < start:
            raise self._gap(start)

    def check_next(self, delivered: ConsumedRecord) -> None:
        """Raise Retryable for a missing record, which is read again, and Broken if it is missing once more.

        A reassignment of the partition can lose what a poll had taken, though the log has it.
        """
        if delivered.position.offset == self.next_offset:
            return
        if self._not_delivered == self.next_offset:
            raise self._gap(delivered.position.offset)
        self._not_delivered = self.next_offset
        raise Retryable(
            f"record {self.next_offset} of partition {self._partition} of {EXTRACTIONS} was not delivered before record"
            f" {delivered.position.offset}; both are read again"
        )

    def _gap(self, offset: int) -> Broken:
        return Broken(
            f"the graph store has consumed partition {self._partition} of {EXTRACTIONS} up to {self.next_offset},"
            f" but the log continues at {offset}: the records between are lost; restore the store and the log from one"
            " backup"
        )

    def note_overtaken(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Note that these records after the watermark are applied."""
        self._overtaken.update(consumed.position.offset for consumed in delivered)

    @property
    def may_be_overtaken(self) -> bool:
        """Return whether more records after the watermark may be applied."""
        return len(self._overtaken) < MAX_OVERTAKEN

    async def commit(self, batch: ConsolidationBatch, next_offset: int, replies: tuple[Record, ...] = ()) -> None:
        """Commit the batch, with the watermark at `next_offset` or after the applied records that follow it."""
        for letter in batch.letters:
            await write_dead_letter(self._dependencies.log, letter)
        while next_offset in self._overtaken:
            next_offset += 1
        parts, outcomes = tuple(batch.parts), tuple(batch.outcomes)
        announced = partial(self._notices, batch)
        large = any(part.delta.changed_rows > LARGE_ROWS for part in parts)
        notices = (await asyncio.to_thread(announced) if large else announced()) + replies
        more, following = self._dependencies.overwritten, self._dependencies.following
        following.expect(part.delta for part in parts)
        try:
            await self._dependencies.store.commit(
                Commit(self._partition, self.current, next_offset, parts, outcomes, notices, more)
            )
        except BaseException:
            following.forget_expected()
            raise
        self.current = Watermark(self.current.epoch, next_offset)
        self._overtaken = {offset for offset in self._overtaken if offset > next_offset}
        for part in parts:
            self._dependencies.models.committed(part.delta.graph, part.delta.version, self._partition)

    def _notices(self, batch: ConsolidationBatch) -> tuple[Record, ...]:
        times, outcomes = batch.accepted_ms(), tuple(batch.outcomes)
        return tuple(record for part in batch.parts for record in self._announced(part.delta, outcomes, times))

    def _announced(
        self, delta: GraphDelta, outcomes: Sequence[RevisionOutcome], times: Mapping[str, Sequence[int]]
    ) -> tuple[Record, ...]:
        notice, *parts = self._dependencies.announce(delta, outcomes)
        headers = (*notice.headers, *inject(), *accepted(times.get(delta.graph, ())))
        return (replace(notice, headers=headers), *parts)
