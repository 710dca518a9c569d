"""Producer of Kafka records: a driver's producer, made on first use, and replaced after a failure.

`log.py` checks topics and records. Two invariants. While the outcome of an append is unknown, no new record is handed
to the driver, so an unreachable broker costs one copy of each record. And a producer with a failed batch is never used
again: it counted that batch, the broker did not, and would refuse all further batches (OutOfOrderSequenceNumber) for
the life of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError
from aiokafka.structs import RecordMetadata

from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.streams.errors import Retryable
from graphtide.streams.ports import Position

Sent = asyncio.Future[RecordMetadata]


class Wire(NamedTuple):
    """A record as the driver takes it."""

    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]]
    partition: int | None


class Producing:
    """The replaceable producer. `make` returns a started one, or raises the cause; `timeout_s` bounds each wait."""

    def __init__(self, make: Callable[[], Awaitable[AIOKafkaProducer]], timeout_s: float) -> None:
        self._make = make
        self._timeout_s = timeout_s
        self._making = asyncio.Lock()
        self._producer: AIOKafkaProducer | None = None
        self._unsettled: set[Sent] = set()
        self._leaving: set[asyncio.Task[None]] = set()

    async def append(self, topic: str, name: str, wire: Sequence[Wire]) -> Sequence[Position]:
        """Return the position of each record in the topic, which is `name` on the cluster.

        Raises as Log.append does, which also says what an error leaves behind.
        """
        await self._settle()
        producer = await self._ready()
        sent: list[Sent] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                if wanted := {record.partition for record in wire if record.partition is not None}:
                    await self._know(producer, name, wanted)
                for key, value, headers, partition in wire:
                    sent.append(await producer.send(name, value, key=key, partition=partition, headers=headers))
        except DRIVER_ERRORS as error:
            self._unsettled |= {future for future in sent if not future.done()}
            if not isinstance(error, TimeoutError | KafkaTimeoutError):
                self._renounce(producer)
            raise failure(error, f"appending to {topic}") from error
        await asyncio.wait(sent, timeout=self._timeout_s)
        if any(_has_failed(future) for future in sent):
            self._renounce(producer)
        return [self._position(topic, future) for future in sent if self._is_settled(future, sent)]

    async def _know(self, producer: AIOKafkaProducer, name: str, wanted: set[int]) -> None:
        """Wait until the producer knows the partitions, which exist: its metadata may be older than they are."""
        while not wanted <= set(await producer.partitions_for(name)):
            await producer.client.force_metadata_update()

    async def close(self) -> None:
        """Close every connection. Unacknowledged records stay so."""
        producer, self._producer = self._producer, None
        for future in self._unsettled:
            future.cancel()
        for leaving in self._leaving:
            leaving.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        if producer is not None:
            # With an unreachable broker the driver would flush forever.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5 if self._unsettled else self._timeout_s):
                    await producer.stop()

    async def _ready(self) -> AIOKafkaProducer:
        async with self._making:
            if self._producer is None:
                self._producer = await self._make()
            return self._producer

    def _renounce(self, producer: AIOKafkaProducer) -> None:
        """Stop using the producer. It is closed once nothing is in flight: records of other callers are
        finished first.
        """
        is_current = self._producer is producer
        if is_current:
            self._producer = None
            leaving = asyncio.create_task(producer.stop(), name="kafka-producer-leaving")
            self._leaving.add(leaving)
            leaving.add_done_callback(self._has_left)

    def _has_left(self, leaving: asyncio.Task[None]) -> None:
        self._leaving.discard(leaving)
        if not leaving.cancelled():
            leaving.exception()  # of a producer that failed before; its callers received the error

    async def _settle(self) -> None:
        """Wait for records of earlier appends. Raises Retryable when their outcome stays unknown."""
        if not self._unsettled:
            return
        done, waiting = await asyncio.wait(self._unsettled, timeout=self._timeout_s)
        self._unsettled = set(waiting)
        if self._producer is not None and any(_has_failed(future) for future in done):
            self._renounce(self._producer)
        if waiting:
            raise Retryable("Kafka is unreachable: earlier records are not acknowledged yet")

    def _is_settled(self, future: Sent, all_: Sequence[Sent]) -> bool:
        if not future.done():
            self._unsettled |= {each for each in all_ if not each.done()}
            raise Retryable("Kafka did not acknowledge in time; the append is retried when the broker is back")
        return True

    def _position(self, topic: str, future: Sent) -> Position:
        try:
            metadata = future.result()
        except (*DRIVER_ERRORS, asyncio.CancelledError) as error:
            raise failure(error, f"appending to {topic}") from error
        if metadata.offset < 0:  # a repeated send: the driver knows that it is stored, but not where
            raise Retryable(f"Kafka: the record's position in {topic} is unknown")
        return Position(metadata.partition, metadata.offset)


def _has_failed(future: Sent) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
