"""The Log port, on every adapter: order, offsets, groups, waiting, trimming."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from graphtide.streams.errors import Rejected
from graphtide.streams.log.log_scan import read_again
from graphtide.streams.ports import Consumer, Position, Record
from tests.support.backends import Clock
from tests.support.logs import TIMEOUT_S, OpenLog, nothing, opened_log, taken

RECORDS = [Record("a", b"1"), Record("b\0é", None), Record("a", b"", (("h", b"\0\xff"), ("h", b""), ("é", b"x")))]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=("memory", "sqlite", "kafka"))
async def backend(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[OpenLog]:
    async with opened_log(request.param, request, clock) as one:
        yield one


@pytest.fixture(params=("memory", "kafka"))
async def spread(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[OpenLog]:
    """Yield a log of three partitions."""
    async with opened_log(request.param, request, clock, partitions=3) as one:
        yield one


async def offsets(consumer: Consumer, count: int) -> list[int]:
    return [one.position.offset for one in await taken(consumer, count)]


async def test_log_delivers_what_was_appended_in_order(backend: OpenLog, clock: Clock) -> None:
    """Keys, values, tombstones, headers, offsets and times are read back unchanged."""
    positions = await backend.log.append("t", RECORDS)
    clock.now_ms = 2_000
    later = await backend.log.append("t", [Record("c", b"4")])
    assert [*positions, *later] == [Position(0, offset) for offset in range(4)]
    consumer = backend.log.consumer("t", "g")
    delivered = await taken(consumer, 4)
    assert [one.record for one in delivered] == [*RECORDS, Record("c", b"4")]
    assert [one.position.offset for one in delivered] == [0, 1, 2, 3]
    times = [one.timestamp_ms for one in delivered]
    assert times == ([1_000, 1_000, 1_000, 2_000] if backend.is_local else sorted(times))
    await consumer.close()


async def test_log_appends_nothing_when_one_record_cannot_be_stored(backend: OpenLog) -> None:
    """The append is atomic: a key without a UTF-8 form rejects the whole append, and uses no offset."""
    with pytest.raises(Rejected):
        await backend.log.append("t", [Record("a", b"1"), Record("\ud800", b"2")])
    consumer = backend.log.consumer("t", "g")
    assert await nothing(consumer, backend.quiet_s)
    await consumer.close()
    assert await backend.log.append("t", RECORDS[:1]) == [Position(0, 0)]


async def test_log_knows_the_end_of_each_topic(backend: OpenLog) -> None:
    """An unknown topic ends at 0, an empty append moves nothing, topics do not mix."""
    assert await backend.log.end("t") == {0: 0}
    assert list(await backend.log.append("t", [])) == []
    await backend.log.append("t", RECORDS)
    await backend.log.append("other", RECORDS[:1])
    assert (await backend.log.end("t"), await backend.log.end("other")) == ({0: 3}, {0: 1})
    consumer = backend.log.consumer("t", "g")
    assert await offsets(consumer, 3) == [0, 1, 2]
    assert await nothing(consumer, backend.quiet_s)
    await consumer.close()


async def test_a_part_of_a_partition_is_read_again(spread: OpenLog) -> None:
    """Exactly its records, in order: here more than one fetch has, beside records of other partitions."""
    value = bytes(700_000)
    for number in range(12):
        await spread.log.append("t", [Record("k", b"%d" % number + value, (), number % 2) for _ in range(2)])
    assert await spread.log.end("t") == {0: 12, 1: 12, 2: 0}
    found = await read_again(spread.log, "t", 1, 3, 11)
    assert [one.position for one in found] == [Position(1, offset) for offset in range(3, 11)]
    assert [len(one.record.value or b"") for one in found] == [len(value) + len(b"%d" % number) for number in _odd()]
    assert await read_again(spread.log, "t", 1, 5, 5) == []


def _odd() -> list[int]:
    """Return the numbers in the values of the records from 3 to before 11 of partition 1."""
    return [2 * (offset // 2) + 1 for offset in range(3, 11)]


async def test_consumer_delivers_each_record_once_up_to_the_limit(backend: OpenLog) -> None:
    """Each poll starts where the last one ended."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(5)])
    consumer = backend.log.consumer("t", "g")
    seen: list[bytes | None] = []
    while len(seen) < 5:
        polled = await consumer.poll(2, TIMEOUT_S)
        assert len(polled) <= 2
        seen += [one.record.value for one in polled]
    assert seen == [b"0", b"1", b"2", b"3", b"4"]
    assert await nothing(consumer, backend.quiet_s)
    await consumer.close()


async def test_consumer_resumes_after_what_its_group_committed(backend: OpenLog) -> None:
    """A new consumer of the group starts after the commit; one of another group at the start."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    first = backend.log.consumer("t", "g")
    delivered = await taken(first, 3)
    await first.commit(delivered[1].position)
    assert await offsets(first, 1) == [3]
    await first.close()
    second, other = backend.log.consumer("t", "g"), backend.log.consumer("t", "h")
    assert await offsets(second, 2) == [2, 3]
    assert await offsets(other, 4) == [0, 1, 2, 3]
    await second.close()
    await other.close()


async def test_consumer_goes_where_it_is_sent(backend: OpenLog) -> None:
    """The next poll starts at the offset of the seek, backwards or forwards, even beyond the end."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    consumer = backend.log.consumer("t", "g")
    await taken(consumer, 4)
    await consumer.seek(Position(0, 1))
    assert await offsets(consumer, 2) == [1, 2]
    await consumer.seek(Position(0, 5))
    assert await nothing(consumer, backend.quiet_s)
    await backend.log.append("t", [Record("k", b"4"), Record("k", b"5")])
    assert await offsets(consumer, 1) == [5]
    await consumer.close()


async def test_consumers_wake_when_the_topic_grows(backend: OpenLog) -> None:
    """Several consumers wait at once; each gets the record as soon as it exists, long before its timeout."""
    consumers = [backend.log.consumer("t", f"g{i}") for i in range(3)]
    waiting = [asyncio.create_task(taken(one, 1)) for one in consumers]
    other = backend.log.consumer("other", "g")
    elsewhere = asyncio.create_task(nothing(other, 0.2))
    await backend.log.append("t", RECORDS[:1])
    for delivered in await asyncio.gather(*waiting):
        assert [one.record for one in delivered] == RECORDS[:1]
    assert await elsewhere
    for one in (*consumers, other):
        await one.close()


async def test_consumer_returns_nothing_when_its_time_is_up(backend: OpenLog) -> None:
    """The poll returns an empty sequence, and the consumer continues to work."""
    consumer = backend.log.consumer("t", "g")
    assert not await consumer.poll(5, 0.01)
    await backend.log.append("t", RECORDS[:1])
    assert await offsets(consumer, 1) == [0]
    await consumer.close()


async def test_log_misses_no_record_when_appends_race_with_polls(backend: OpenLog) -> None:
    """A reader beside a writer sees every offset once and in order."""

    async def write() -> None:
        for i in range(60):
            await backend.log.append("t", [Record("k", b"%d" % i)] * (1 + i % 3))

    total = sum(1 + i % 3 for i in range(60))
    writing = asyncio.create_task(write())
    consumer = backend.log.consumer("t", "g")
    seen: list[int] = []
    while len(seen) < total:
        seen += [one.position.offset for one in await consumer.poll(7, 60)]
    await writing
    assert seen == list(range(total))
    await consumer.close()


async def test_log_uses_no_offset_twice_when_trimmed(backend: OpenLog) -> None:
    """Offsets are not reused, even when everything is trimmed. The backends of one process delete trimmed records at
    once; Kafka leaves them to the topic's retention.
    """
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    await backend.log.append("u", RECORDS)
    await backend.log.trim("t", Position(0, 2))
    if backend.is_local:
        assert await offsets(backend.log.consumer("t", "g"), 2) == [2, 3]
    await backend.log.trim("t", Position(0, 99))
    consumer = backend.log.consumer("t", "g")
    if backend.is_local:
        assert await nothing(consumer, 0)
        assert await backend.log.start("t") == {0: 4}
    assert await backend.log.end("t") == {0: 4}
    assert await backend.log.append("t", RECORDS[:1]) == [Position(0, 4)]
    assert (await offsets(consumer, 1 if backend.is_local else 5))[-1] == 4
    other = backend.log.consumer("u", "g")
    assert await offsets(other, 3) == [0, 1, 2]
    await consumer.close()
    await other.close()


async def test_reader_starts_where_it_is_told_and_shares_nothing(backend: OpenLog) -> None:
    """It starts at the given offset, or at the first record; its commits and those of groups are independent."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    first = backend.log.consumer("t", "g")
    await first.commit((await taken(first, 4))[2].position)
    reader = backend.log.reader("t", {0: 1})
    delivered = await taken(reader, 3)
    assert [one.position.offset for one in delivered] == [1, 2, 3]
    await reader.commit(delivered[-1].position)
    other = backend.log.reader("t", {})
    assert await offsets(other, 2) == [0, 1]
    await reader.seek(Position(0, 3))
    assert await offsets(reader, 1) == [3]
    assert await backend.log.committed("t", "g") == {0: 3}
    assert await backend.log.committed("t", "h") == {0: 0}
    for one in (first, reader, other):
        await one.close()


async def test_log_knows_the_first_record_that_is_left(backend: OpenLog) -> None:
    """The offset is 0 for a topic without writes, and until records are deleted."""
    assert await backend.log.start("t") == {0: 0}
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    assert await backend.log.start("t") == {0: 0}
    await backend.log.trim("t", Position(0, 3))
    assert await backend.log.start("t") == {0: 3 if backend.is_local else 0}


async def test_consumer_holds_every_partition_when_it_is_alone(spread: OpenLog) -> None:
    """The assignment is all partitions of the topic; a seek to a partition that is not assigned is ignored."""
    consumer, reader = spread.log.consumer("t", "g"), spread.log.reader("t", {})
    assert await nothing(consumer, spread.quiet_s)
    assert await nothing(reader, spread.quiet_s)
    assert consumer.assigned() == reader.assigned() == frozenset(await spread.log.end("t")) == {0, 1, 2}
    await consumer.close()
    await reader.close()


async def test_log_keeps_the_records_of_a_key_in_order_when_there_are_several_partitions(spread: OpenLog) -> None:
    """A key has one partition; append returns the positions at which records are read, in order in each partition."""
    records = [Record(f"k{i % 7}", b"%d" % i) for i in range(60)]
    positions = await spread.log.append("t", records)
    assert {position.partition for position in positions} == {0, 1, 2}
    homes: dict[str, set[int]] = {}
    for record, position in zip(records, positions, strict=True):
        homes.setdefault(record.key, set()).add(position.partition)
    assert all(len(home) == 1 for home in homes.values())
    consumer = spread.log.consumer("t", "g")
    delivered = await taken(consumer, 60)
    assert {one.position: one.record for one in delivered} == dict(zip(positions, records, strict=True))
    for partition in range(3):
        seen = [one.position.offset for one in delivered if one.position.partition == partition]
        assert seen == list(range(len(seen)))
    await consumer.close()


async def test_consumer_resumes_each_partition_by_itself(spread: OpenLog) -> None:
    """A commit of one partition does not affect the others; a seek moves one."""
    await spread.log.append("t", [Record(f"k{i}", b"%d" % i) for i in range(30)])
    first = spread.log.consumer("t", "g")
    delivered = await taken(first, 30)
    last = max(one.position for one in delivered if one.position.partition == 1)
    await first.commit(last)
    await first.seek(Position(2, 0))
    again = await taken(first, sum(one.position.partition == 2 for one in delivered))
    assert {one.position.partition for one in again} == {2}
    await first.close()
    second = spread.log.consumer("t", "g")
    left = await taken(second, sum(one.position.partition != 1 for one in delivered))
    assert {one.position.partition for one in left} == {0, 2}
    assert await nothing(second, spread.quiet_s)
    await second.close()


async def test_log_counts_the_members_of_a_group(backend: OpenLog) -> None:
    """The count is 0 before the first consumer and after the last; readers without a group do not count."""
    await backend.log.append("t", RECORDS)
    assert await backend.log.members("t", "g") == 0
    reader, consumer = backend.log.reader("t", {}), backend.log.consumer("t", "g")
    await taken(reader, 3)
    await taken(consumer, 3)
    assert (await backend.log.members("t", "g"), await backend.log.members("t", "other")) == (1, 0)
    await reader.close()
    await consumer.close()
    await consumer.close()
    assert await backend.log.members("t", "g") == 0
