"""The Consumer port on aiokafka: a member of a group, or a reader of all partitions.

The driver rebalances between any two awaits. A change becomes visible at one point only: `poll` reports a changed
assignment by returning empty. A partition that is kept through a rebalance continues at its position, although the
driver would return to the committed offset.

Invariant: `_reached[p]` is one past the last record of p that was taken from the driver; records taken and not yet
delivered are in `_taken`, and only of assigned partitions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    IllegalStateError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from aiokafka.structs import ConsumerRecord

from graphtide.infra.kafka.address import METADATA_AGE_S
from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.streams.errors import GraphtideError
from graphtide.streams.ports import ConsumedRecord, Position, Record
from graphtide.streams.retry import outcome_of

log = logging.getLogger("graphtide.kafka")

FETCH_MS = 5_000
COMMIT_S = 10.0
BEYOND_END_S = 0.1
"""Delay before the next check of a partition whose requested offset is beyond its end."""
_REASSIGNED = (
    CommitFailedError,
    IllegalGenerationError,
    IllegalStateError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    TimeoutError,
)


async def stop(driver: AIOKafkaConsumer) -> None:
    """Stop a consumer of the driver, and wait at most COMMIT_S. A failure is logged, not raised.

    Runs in a task of its own: with an unreachable broker, the cancellation of the driver's own tasks leaks out of
    `stop`, and the caller would end as if it had been cancelled itself.
    """
    stopping = asyncio.ensure_future(driver.stop())
    done, _ = await asyncio.wait({stopping}, timeout=COMMIT_S)
    if not done:
        stopping.cancel()
    elif stopping.cancelled() or stopping.exception() is not None:
        log.warning(
            "a consumer could not leave its group in order: %s", "" if stopping.cancelled() else stopping.exception()
        )


Exists = Callable[[str], Awaitable[frozenset[int]]]


class KafkaConsumer(ConsumerRebalanceListener):  # type: ignore[misc]
    """See Consumer. With `offsets`, a reader of all partitions from there; else a member of the driver's group."""

    def __init__(
        self,
        driver: AIOKafkaConsumer,
        topic: str,
        exists: Exists,
        offsets: Mapping[int, int] | None = None,
        key_errors: str = "backslashreplace",
    ) -> None:
        self._key_errors = key_errors
        self._driver = driver
        self._topic = topic
        self._exists = exists
        self._offsets = offsets
        self._started = False
        self._assigned: frozenset[int] = frozenset()
        self._shown: frozenset[int] = frozenset()
        self._moved = asyncio.Event()
        self._fetched: frozenset[int] | None = None
        self._fetching: asyncio.Task[Mapping[TopicPartition, Sequence[ConsumerRecord]]] | None = None
        self._taken: deque[ConsumerRecord] = deque()
        self._reached: dict[int, int] = {}
        self._to_commit: dict[int, int] = {}
        self._looked_s = 0.0

    # -- Consumer ------------------------------------------------------------------------------------------------------

    def assigned(self) -> frozenset[int]:
        """See Consumer.assigned."""
        return self._shown

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """See Consumer.poll. While the broker is unreachable, nothing arrives; afterwards reading continues."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            if self._shows_change():
                return ()
            if self._to_commit:
                await self._flush()
            delivered = self._deliver(limit, among)
            left_s = deadline - loop.time()
            if delivered or left_s <= 0:
                return delivered
            await self._fetch(limit, left_s, among)

    async def commit(self, position: Position) -> None:
        """See Consumer.commit. A commit that a rebalance or an unreachable broker prevents is done later."""
        if position.partition in self._assigned and self._offsets is None:
            self._to_commit[position.partition] = position.offset + 1
            await self._flush()

    async def seek(self, position: Position) -> None:
        """See Consumer.seek."""
        if position.partition not in self._assigned:
            return
        await self._stop_fetching()
        self._taken = deque(record for record in self._taken if record.partition != position.partition)
        self._go_to(position.partition, position.offset)

    async def close(self) -> None:
        """Leave the group."""
        await self._stop_fetching()
        try:
            if self._to_commit:
                await self._flush()
        except GraphtideError as error:
            log.warning("the last records of %s could not be committed and are read again: %s", self._topic, error)
        await stop(self._driver)
        self._assigned = frozenset()

    # -- callbacks of the driver --------------------------------------------------------------------------------------

    def on_partitions_revoked(self, revoked: object) -> None:
        """Do nothing: partitions are lost at the next assignment, and the driver delivers nothing in between."""

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        """Keep the position in kept partitions, and forget lost ones. Called by the driver's own task."""
        self._harvest()
        now = frozenset(each.partition for each in assigned)
        kept, self._assigned = now & self._assigned, now
        self._taken = deque(record for record in self._taken if record.partition in kept)
        self._reached = {number: offset for number, offset in self._reached.items() if number in kept}
        self._to_commit = {number: offset for number, offset in self._to_commit.items() if number in kept}
        for number, offset in self._reached.items():
            self._driver.seek(TopicPartition(self._topic, number), offset)
        if now != self._shown:
            self._moved.set()

    # -- reading -------------------------------------------------------------------------------------------------------

    def _shows_change(self) -> bool:
        self._moved.clear()
        if self._assigned == self._shown:
            return False
        self._shown = self._assigned
        return True

    def _deliver(self, limit: int, among: Collection[int] | None) -> list[ConsumedRecord]:
        wanted = [record for record in self._taken if among is None or record.partition in among][:limit]
        if wanted:
            gone = {(record.partition, record.offset) for record in wanted}
            self._taken = deque(record for record in self._taken if (record.partition, record.offset) not in gone)
        return [_delivered(record, self._key_errors) for record in wanted]

    async def _fetch(self, limit: int, timeout_s: float, among: Collection[int] | None) -> None:
        """Take what the driver has of these partitions, after waiting at most `timeout_s` for records or a change."""
        if self._started and self._offsets is not None:
            await self._take_added_partitions()
        wanted = None if among is None or not self._started else self._assigned & frozenset(among)
        if self._fetching is not None and wanted != self._fetched:
            await self._stop_fetching()
        if self._fetching is None and wanted != frozenset():
            self._fetched = wanted
            self._fetching = asyncio.create_task(self._from_driver(limit, wanted or ()))
        moved = asyncio.create_task(self._moved.wait())
        try:
            awaited = {moved} if self._fetching is None else {moved, self._fetching}
            await asyncio.wait(awaited, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            moved.cancel()
        if self._fetching is None or not self._fetching.done():
            return
        error = self._fetching.exception()
        if error is None:
            self._harvest()
            return
        self._fetching = None
        if isinstance(error, NoOffsetForPartitionError | OffsetOutOfRangeError):
            await self._find_place(error)
        elif isinstance(error, DRIVER_ERRORS):
            raise failure(error, f"reading {self._topic}") from error
        else:
            raise error

    async def _from_driver(
        self, limit: int, partitions: Collection[int]
    ) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        if not self._started:
            await self._start()
        found: Mapping[TopicPartition, Sequence[ConsumerRecord]] = await self._driver.getmany(
            *(TopicPartition(self._topic, number) for number in partitions), timeout_ms=FETCH_MS, max_records=limit
        )
        return found

    async def _start(self) -> None:
        partitions = await self._exists(self._topic)
        if self._offsets is None:
            self._driver.subscribe([self._topic], listener=self)
            await self._driver.start()
        else:
            await self._driver.start()
            self._driver.assign([TopicPartition(self._topic, number) for number in sorted(partitions)])
            self._assigned = partitions
            self._looked_s = asyncio.get_running_loop().time()
            self._moved.set()
            for number, offset in self._offsets.items():
                if number in partitions:
                    self._go_to(number, offset)
        self._started = True

    async def _take_added_partitions(self) -> None:
        """Read each partition that was added to the topic from its start: a reader has no group to assign it."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_s < METADATA_AGE_S:
            return
        self._looked_s = now
        partitions = await outcome_of(self._exists(self._topic))
        if isinstance(partitions, Exception) or partitions <= self._assigned:
            return  # with the broker unreachable, no partition is added
        await self._stop_fetching()
        self._driver.assign([TopicPartition(self._topic, number) for number in sorted(partitions)])
        self._assigned = partitions
        for number, offset in self._reached.items():
            self._driver.seek(TopicPartition(self._topic, number), offset)
        self._moved.set()

    def _harvest(self) -> None:
        """Move the records that the driver has returned to `_taken`."""
        done = self._fetching
        if done is None or not done.done() or done.cancelled() or done.exception() is not None:
            return
        self._fetching = None
        for found in done.result().values():
            for record in found:
                if record.offset >= self._reached.get(record.partition, 0):
                    self._taken.append(record)
                    self._reached[record.partition] = record.offset + 1

    async def _stop_fetching(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
            self._harvest()
            self._fetching = None

    async def _find_place(self, error: NoOffsetForPartitionError | OffsetOutOfRangeError) -> None:
        """Seek when the offset has no record: to the first record that is left, or wait for a record to arrive."""
        cause = error.args[0]
        wanted: Mapping[TopicPartition, int] = cause if isinstance(cause, dict) else {cause: 0}
        try:
            starts = await self._driver.beginning_offsets(list(wanted))
            for topic_partition, offset in wanted.items():
                if topic_partition.partition in self._assigned:
                    self._go_to(
                        topic_partition.partition,
                        max(starts[topic_partition], self._reached.get(topic_partition.partition, offset)),
                    )
        except DRIVER_ERRORS as failed:
            raise failure(failed, f"finding the place in {self._topic}") from failed
        if isinstance(error, OffsetOutOfRangeError):
            await asyncio.sleep(BEYOND_END_S)

    def _go_to(self, partition: int, offset: int) -> None:
        self._reached[partition] = offset
        self._driver.seek(TopicPartition(self._topic, partition), offset)

    async def _flush(self) -> None:
        wanted = dict(self._to_commit)
        try:
            async with asyncio.timeout(COMMIT_S):
                await self._driver.commit({TopicPartition(self._topic, n): at for n, at in wanted.items()})
        except _REASSIGNED as error:
            log.info("a commit to %s waits: %s", self._topic, error)
            return
        except DRIVER_ERRORS as error:
            raise failure(error, f"committing to {self._topic}") from error
        for number, offset in wanted.items():
            if self._to_commit.get(number) == offset:
                del self._to_commit[number]


def _delivered(record: ConsumerRecord, key_errors: str) -> ConsumedRecord:
    """Convert a record. A key that is not UTF-8 keeps its bytes as escapes; the stages reject it by that name."""
    key = (record.key or b"").decode(errors=key_errors)
    return ConsumedRecord(
        Position(record.partition, record.offset), record.timestamp, Record(key, record.value, tuple(record.headers))
    )
