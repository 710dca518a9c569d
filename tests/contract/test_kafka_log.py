"""Behaviour of the Log port in a cluster: changing group members, unreachable brokers, topics that must be created."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewPartitions

from graphtide.infra.kafka import topics as kafka_topics
from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.log import KafkaLog, KafkaTuning
from graphtide.streams.errors import Broken, Rejected, Retryable
from graphtide.streams.log.topics import TOPICS
from graphtide.streams.ports import Consumer, Position, Record
from tests.support.kafka_server import KafkaServer, fresh, make_topic
from tests.support.logs import TIMEOUT_S, TUNING, nothing, taken


@pytest.fixture
def address(kafka: KafkaServer) -> KafkaAddress:
    return fresh(kafka)


@pytest.fixture
async def log(address: KafkaAddress) -> AsyncIterator[KafkaLog]:
    one = KafkaLog(address, TUNING)
    yield one
    await one.close()


async def settled(*consumers: Consumer) -> None:
    """Poll until the consumers share all three partitions."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            for one in consumers:
                await one.poll(1, 0.05)
            assigned = [one.assigned() for one in consumers]
            if sum(map(len, assigned)) == 3 and all(assigned):
                return


async def test_consumer_delivers_nothing_of_a_partition_it_lost(
    kafka: KafkaServer, address: KafkaAddress, log: KafkaLog
) -> None:
    """A second member joins; the first delivers and commits its remaining partitions only, from its position there."""
    make_topic(kafka, address.topic("t"), 3)
    await log.append("t", [Record(f"k{i}", b"%d" % i) for i in range(30)])
    first = log.consumer("t", "g")
    seen = await taken(first, 30)
    second = log.consumer("t", "g")
    await settled(first, second)
    lost, kept = second.assigned(), first.assigned()
    assert kept
    assert lost.isdisjoint(kept)
    for position in {one.position.partition: one.position for one in seen}.values():
        await first.commit(position)  # the last record of each partition, including the lost ones
    committed = await log.committed("t", "g")
    assert {number for number, offset in committed.items() if offset} == kept
    await first.seek(Position(min(lost), 0))
    more = await log.append("t", [Record(f"k{i}", b"+%d" % i) for i in range(30)])
    mine = [one.position for one in await taken(first, sum(at.partition in kept for at in more))]
    assert sorted(mine) == sorted(at for at in more if at.partition in kept)
    assert await nothing(first, 0.5)
    await first.close()
    await second.close()


async def test_source_consumer_restores_keys_and_waits_for_a_topic(kafka: KafkaServer, log: KafkaLog) -> None:
    """A topic of another system has no prefix; its keys are any bytes; a missing one may appear later."""
    topic = f"{uuid.uuid4().hex[:8]}.public.rows"
    waiting = log.source_consumer(topic)
    with pytest.raises(Retryable, match=topic):
        await waiting.poll(1, 5)
    await waiting.close()
    make_topic(kafka, topic, 1)
    keys = [b"\0\0\0\0\1\xff\\x", b'{"id": 1}', b"", "é".encode()]
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address)
    await producer.start()
    for key in keys:
        await producer.send_and_wait(topic, b"1", key=key)
    await producer.stop()
    reader = log.source_consumer(topic)
    found = await taken(reader, len(keys))
    assert [each.record.key.encode(errors="surrogateescape") for each in found] == keys
    await reader.close()


async def test_consumer_gets_the_partitions_of_one_that_left(
    kafka: KafkaServer, address: KafkaAddress, log: KafkaLog
) -> None:
    """Only the records that the other member had not committed are delivered again."""
    make_topic(kafka, address.topic("t"), 3)
    first, second = log.consumer("t", "g"), log.consumer("t", "g")
    await settled(first, second)
    theirs = second.assigned()
    positions = await log.append("t", [Record(f"k{i}", b"%d" % i) for i in range(30)])
    got = await taken(second, sum(at.partition in theirs for at in positions))
    done = got[len(got) // 2].position
    await second.commit(done)
    await second.close()
    expected = [
        at
        for at in positions
        if at.partition not in theirs or at.partition != done.partition or at.offset > done.offset
    ]
    assert sorted(one.position for one in await taken(first, len(expected))) == sorted(expected)
    assert first.assigned() == {0, 1, 2}
    await first.close()


async def test_consumer_gets_partitions_that_its_group_was_not_told_of(
    kafka: KafkaServer, address: KafkaAddress, log: KafkaLog
) -> None:
    """A group assigns the partitions that its leader knows; those it discovers later are assigned soon."""
    make_topic(kafka, address.topic("t"), 1)
    consumer = log.consumer("t", "g")
    await log.append("t", [Record("k", b"1")])
    await taken(consumer, 1)
    assert consumer.assigned() == {0}
    async with kafka_topics.admin_client(address) as admin:
        await admin.create_partitions({address.topic("t"): NewPartitions(total_count=2)})
    async with asyncio.timeout(TIMEOUT_S):
        while consumer.assigned() != {0, 1}:
            await consumer.poll(1, 1.0)
    await consumer.close()


async def test_log_says_which_command_makes_a_missing_topic(log: KafkaLog, address: KafkaAddress) -> None:
    """Neither producing, nor reading, nor asking for offsets creates the topic."""
    with pytest.raises(Broken, match="graphtide topics apply"):
        await log.append("missing", [Record("k", b"v")])
    with pytest.raises(Broken, match="graphtide topics apply"):
        await log.end("missing")
    consumer = log.consumer("missing", "g")
    with pytest.raises(Broken, match="graphtide topics apply"):
        await consumer.poll(1, TIMEOUT_S)
    await consumer.close()
    async with kafka_topics.admin_client(address) as admin:
        assert address.topic("missing") not in await admin.list_topics()


async def test_log_rejects_what_the_topic_does_not_take(
    kafka: KafkaServer, address: KafkaAddress, log: KafkaLog
) -> None:
    """A large record is accepted where the limit allows it; otherwise it is Rejected, and the next one is appended."""
    make_topic(kafka, address.topic("documents"), 1, {"max.message.bytes": str(16 << 20)})
    make_topic(kafka, address.topic("t"), 1, {"max.message.bytes": "2000"})
    large = bytes(range(256)) * (5 << 12)
    await log.append("documents", [Record("k", large)])
    reader = log.reader("documents", {})
    [one] = await taken(reader, 1)
    assert one.record.value == large
    await reader.close()
    with pytest.raises(Rejected, match="limit is"):
        await log.append("documents", [Record("k", bytes(17 << 20))])
    incompressible = b"".join(i.to_bytes(4, "big") for i in range(0, 1 << 24, 1 << 13))
    for offset in range(2):  # by the second attempt the broker knows the producer and its sequence number
        with pytest.raises(Rejected):
            await log.append("t", [Record("k", incompressible)])
        assert await log.append("t", [Record("k", b"fits")]) == [Position(0, offset)]


async def test_log_waits_a_bounded_time_for_a_broker_that_is_away(address: KafkaAddress) -> None:
    """Appending and asking for offsets are Retryable without a broker; checking an address takes a bounded time."""
    log = KafkaLog(KafkaAddress("127.0.0.1:1", prefix=address.prefix), KafkaTuning(timeout_s=0.5))
    with pytest.raises(Retryable):
        await log.append("t", [Record("k", b"1")])
    with pytest.raises(Retryable):
        await log.end("t")
    await log.close()


@pytest.mark.thorough
async def test_log_goes_on_when_the_broker_is_back(kafka: KafkaServer, address: KafkaAddress) -> None:
    """The broker is killed under a producer and a consumer: appends are Retryable, no acknowledged record is lost."""
    make_topic(kafka, address.topic("t"))
    log = KafkaLog(address, KafkaTuning(timeout_s=0.5, session_timeout_s=6.0))
    consumer = log.consumer("t", "g")
    assert await log.append("t", [Record("k", b"before")]) == [Position(0, 0)]
    assert len(await taken(consumer, 1)) == 1
    await asyncio.to_thread(kafka.kill)
    try:
        for _ in range(3):
            with pytest.raises(Retryable):
                await log.append("t", [Record("k", b"meanwhile")])
        assert not await consumer.poll(1, 0.2)
    finally:
        await asyncio.to_thread(kafka.restart)
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            try:
                [last] = await log.append("t", [Record("k", b"after")])
                break
            except Retryable:
                continue
    values = [one.record.value for one in await taken(consumer, last.offset)]
    assert values[-1] == b"after"
    assert values.count(b"meanwhile") <= 1, "what waits is handed to the driver once"
    await consumer.commit(last)
    await consumer.close()
    assert (await log.committed("t", "g"))[0] == last.offset + 1
    await log.close()


async def test_keys_have_the_partitions_that_javas_clients_give_them(
    kafka: KafkaServer, address: KafkaAddress, log: KafkaLog
) -> None:
    """The partition is murmur2 of the key's UTF-8, as in org.apache.kafka.common.utils.Utils."""
    make_topic(kafka, address.topic("t"), 60)
    # Utils.murmur2 of these keys, as Kafka's own UtilsTest states them.
    stated = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}
    positions = await log.append("t", [Record(key, b"") for key in stated])
    assert [one.partition for one in positions] == [(hash_ & 0x7FFFFFFF) % 60 for hash_ in stated.values()]


async def test_topics_are_made_once_and_adjusted(kafka: KafkaServer, address: KafkaAddress) -> None:
    """A dry run changes nothing; a second application has nothing to do; the number of partitions never shrinks."""
    planned = await kafka_topics.compare(address)
    assert [one.changes[0].startswith("create it") for one in planned] == [True] * len(TOPICS)
    await kafka_topics.apply(address, partitions=3)
    topics = await kafka_topics.compare(address, partitions=3)
    assert [(one.changes, one.by_hand) for one in topics] == [((), ())] * len(TOPICS)
    by_name = {one.name: one for one in topics}
    for topic in TOPICS:
        state = by_name[address.topic(topic.name)]
        assert state.partitions == (1 if topic.partitions == 1 else 3)
        assert {name: state.settings[name] for name in topic.settings} == topic.settings
    await kafka_topics.apply(address, partitions=4)
    fewer = await kafka_topics.apply(address, partitions=2)
    assert [one.partitions for one in fewer if one.by_hand] == [4] * sum(topic.partitions != 1 for topic in TOPICS)


async def test_topics_keep_what_somebody_else_has_set(kafka: KafkaServer, address: KafkaAddress) -> None:
    """A managed setting with another value is corrected; other settings stay."""
    make_topic(kafka, address.topic("deltas"), 12, {"retention.ms": "1000", "segment.ms": "123456"})
    [planned] = [one for one in await kafka_topics.compare(address) if one.name == address.topic("deltas")]
    assert any("retention.ms" in change for change in planned.changes)
    await kafka_topics.apply(address)
    [state] = [one for one in await kafka_topics.compare(address) if one.name == address.topic("deltas")]
    assert (state.changes, state.settings["segment.ms"]) == ((), "123456")
