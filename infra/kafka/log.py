"""The Log port on Apache Kafka.

Producing is idempotent with acks=all; readers see committed records only. Keys choose partitions by murmur2, as Java's
clients do; nothing depends on other producers doing the same (`streams/log/revisions.py`,
`streams/consolidate/forwarding.py`).

No topic is created here: a missing one is Broken, and the message names the command. `producer.py` hands records to the
driver, and replaces a failed producer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import NoError, for_code

from graphtide.infra.kafka.address import METADATA_AGE_S, KafkaAddress
from graphtide.infra.kafka.connection_diagnosis import unreached
from graphtide.infra.kafka.consumer import KafkaConsumer, stop
from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.infra.kafka.producer import Producing, Wire
from graphtide.streams.errors import Broken, Rejected, Retryable
from graphtide.streams.log.topics import BY_NAME, LARGEST_BYTES
from graphtide.streams.ports import Position, Record

T = TypeVar("T")

MISSING = "the topic {!r} is not on the Kafka cluster; make it with: graphtide topics apply"
BATCH_BYTES = 256 << 10
ASKING_S = 5.0
"""Longest wait for the start or end of a topic: milliseconds while the broker answers."""
UNKNOWN_GROUP = 69
"""GROUP_ID_NOT_FOUND: the coordinator does not know the group any more, or not yet. It then has no member."""
ABSENT_S = 10.0
"""Seconds until a missing topic of another system is looked for again."""
OVERHEAD_BYTES = 1024
"""Size of a record beyond its key, value and headers."""


@dataclass(frozen=True, slots=True)
class KafkaTuning:
    """Timeouts of a log. `timeout_s` bounds an append while the broker is unreachable; `session_timeout_s` is how long
    a member of a group may be silent before it loses its partitions.
    """

    timeout_s: float = 30.0
    session_timeout_s: float = 30.0
    compression: str | None = "zstd"


class KafkaLog:
    """See Log. Made in the event loop that uses it, connects when it is first used, ended by `close`."""

    def __init__(self, address: KafkaAddress, tuning: KafkaTuning | None = None) -> None:
        self._address = address
        self._tuning = tuning or KafkaTuning()
        self._producing = Producing(self._new_producer, self._tuning.timeout_s)
        self._scout: AIOKafkaConsumer | None = None
        self._admin: AIOKafkaAdminClient | None = None
        self._connecting = asyncio.Lock()

    # -- Log -----------------------------------------------------------------------------------------------------------

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        """See Log.append. Kafka's part of "all or none":

        1. Everything known beforehand (keys, sizes, the topic) is checked before the first record is sent: Rejected and
        Broken leave nothing behind.
        2. Then all in-sync replicas acknowledge each record. If the broker or this process is lost in between, some
        records may be stored: Retryable, outcome unknown.

        The caller retries the whole call. A duplicate record is harmless: two records of one revision of an extraction
        count as one (the stored document has its number), and a duplicate document is a newer revision with the same
        content.
        """
        wire = [self._wire(topic, record) for record in records]
        if not wire:
            return []
        name = self._address.topic(topic)
        partitions = await self._exists(name)
        for record in records:
            if record.partition is not None and record.partition not in partitions:
                raise Rejected(f"a record names partition {record.partition} of {topic}, which has {len(partitions)}")
        return await self._producing.append(topic, name, wire)

    def consumer(self, topic: str, group: str) -> KafkaConsumer:
        """See Log.consumer."""
        return KafkaConsumer(self._new_consumer(self._address.group(group)), self._address.topic(topic), self._exists)

    def source_consumer(self, topic: str) -> KafkaConsumer:
        """Return a member of the group that reads a topic of another system, which has no prefix.

        Keys are decoded with surrogateescape, so that their bytes can be restored.
        """
        driver = self._new_consumer(self._address.group(f"sources-{topic}"))
        return KafkaConsumer(driver, topic, self._foreign, key_errors="surrogateescape")

    async def _foreign(self, name: str) -> frozenset[int]:
        """Return the partitions of another system's topic. Raises Retryable for a missing one: it may appear."""
        try:
            return await self._exists(name)
        except Broken as error:
            raise Retryable(
                f"the source topic {name!r} is not on the Kafka cluster yet: its producer creates it with the first"
                " record, or correct topic in the sources file",
                ABSENT_S,
            ) from error

    def reader(self, topic: str, offsets: Mapping[int, int]) -> KafkaConsumer:
        """See Log.reader."""
        return KafkaConsumer(self._new_consumer(None), self._address.topic(topic), self._exists, offsets)

    async def start(self, topic: str) -> Mapping[int, int]:
        """See Log.start."""
        scout, partitions = await self._partitions(topic)
        return await self._found(scout, scout.beginning_offsets(partitions), f"asking where {topic} starts")

    async def end(self, topic: str) -> Mapping[int, int]:
        """See Log.end."""
        scout, partitions = await self._partitions(topic)
        return await self._found(scout, scout.end_offsets(partitions), f"asking where {topic} ends")

    async def _found(
        self, scout: AIOKafkaConsumer, asked: Awaitable[Mapping[TopicPartition, int]], doing: str
    ) -> Mapping[int, int]:
        """Return the offsets by partition. The driver may wait forever after a broker's return, so a timeout replaces
        it.
        """
        try:
            async with asyncio.timeout(ASKING_S):
                found = await asked
        except DRIVER_ERRORS as error:
            if self._scout is scout:
                self._scout = None
                await stop(scout)
            raise failure(error, doing) from error
        return {place.partition: offset for place, offset in found.items()}

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        """See Log.committed."""
        _, partitions = await self._partitions(topic)

        async def ask(admin: AIOKafkaAdminClient) -> Any:
            return await admin.list_consumer_group_offsets(self._address.group(group))

        kept = await self._ask_coordinator(ask, f"asking how far {group} has read {topic}")
        return {
            partition.partition: max(0, kept[partition].offset) if partition in kept else 0 for partition in partitions
        }

    async def members(self, topic: str, group: str) -> int:
        """See Log.members. One request to the group's coordinator."""

        async def ask(admin: AIOKafkaAdminClient) -> int:
            [answer] = await admin.describe_consumer_groups([self._address.group(group)])
            [described] = answer.to_object()["groups"]
            if described["error_code"] not in (NoError.errno, UNKNOWN_GROUP):
                raise for_code(described["error_code"])()
            return len(described["members"])

        return await self._ask_coordinator(ask, f"asking who reads {topic} for {group}")

    async def _ask_coordinator(self, ask: Callable[[AIOKafkaAdminClient], Awaitable[T]], doing: str) -> T:
        """Return the coordinator's answer. On a cluster that never had a group, the first request creates the
        coordinator.
        """
        deadline = asyncio.get_running_loop().time() + self._tuning.timeout_s
        while True:
            try:
                return await ask(await self._asking())
            except DRIVER_ERRORS as error:
                if not getattr(error, "retriable", False) or asyncio.get_running_loop().time() > deadline:
                    raise failure(error, doing) from error
            await asyncio.sleep(0.1)

    async def trim(self, topic: str, before: Position) -> None:
        """Do nothing (see Log.trim): the topic's retention deletes records, and `documents` may have other readers."""

    async def close(self) -> None:
        """Close every connection. Unacknowledged records stay so."""
        scout, self._scout = self._scout, None
        admin, self._admin = self._admin, None
        await self._producing.close()
        if scout is not None:
            await stop(scout)
        if admin is not None:
            await admin.close()

    # -- records -------------------------------------------------------------------------------------------------------

    def _wire(self, topic: str, record: Record) -> Wire:
        try:
            key = record.key.encode()
        except UnicodeEncodeError as error:
            raise Rejected(f"a record's key cannot be stored: {error.reason}") from error
        size = len(key) + len(record.value or b"") + sum(len(name) + len(value) for name, value in record.headers)
        limit = BY_NAME[topic].max_message_bytes if topic in BY_NAME else LARGEST_BYTES
        if size + OVERHEAD_BYTES > limit:
            raise Rejected(f"a record for {topic} has {size} bytes, and the limit is {limit}: split it up")
        return Wire(key, record.value, list(record.headers), record.partition)

    # -- connections ---------------------------------------------------------------------------------------------------

    async def _new_producer(self) -> AIOKafkaProducer:
        made = AIOKafkaProducer(
            **self._address.client_options(),
            acks="all",
            enable_idempotence=True,
            compression_type=self._tuning.compression,
            max_request_size=LARGEST_BYTES,
            max_batch_size=BATCH_BYTES,
        )
        started: AIOKafkaProducer = await self._started(made)
        return started

    async def _partitions(self, topic: str) -> tuple[AIOKafkaConsumer, list[TopicPartition]]:
        """Return a consumer for requests, and the partitions of the topic as the cluster has them now."""
        name = self._address.topic(topic)
        partitions = await self._exists(name)
        async with self._connecting:
            if self._scout is None:
                self._scout = await self._started(self._new_consumer(None))
        return self._scout, [TopicPartition(name, number) for number in sorted(partitions)]

    async def _exists(self, name: str) -> frozenset[int]:
        """Return the partitions of a topic, by its name on the cluster. Raises Broken for a missing topic.

        The request lists all topics: a request for one would create it if the brokers are configured so.
        """
        try:
            described = await (await self._asking()).describe_topics(None)
        except DRIVER_ERRORS as error:
            raise failure(error, "asking for the topics") from error
        for item in described:
            if item["topic"] == name:
                return frozenset(each["partition"] for each in item["partitions"])
        raise Broken(MISSING.format(name))

    async def _asking(self) -> AIOKafkaAdminClient:
        async with self._connecting:
            if self._admin is None:
                self._admin = await self._started(AIOKafkaAdminClient(**self._address.client_options()))
            return self._admin

    async def _started(self, client: Any) -> Any:
        try:
            async with asyncio.timeout(self._tuning.timeout_s):
                await client.start()
        except DRIVER_ERRORS as error:
            await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())
            raise await unreached(self._address, error, f"connecting to {self._address.bootstrap}") from error
        return client

    def _new_consumer(self, group: str | None) -> AIOKafkaConsumer:
        session_ms = int(self._tuning.session_timeout_s * 1000)
        return AIOKafkaConsumer(
            **self._address.client_options(),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=max(100, session_ms // 10),
            metadata_max_age_ms=int(METADATA_AGE_S * 1000),
            # A stage that waits for a model may not poll for hours; its heartbeat shows that it is alive.
            max_poll_interval_ms=24 * 3600 * 1000,
            max_partition_fetch_bytes=4 << 20,
            fetch_max_wait_ms=250,
        )
