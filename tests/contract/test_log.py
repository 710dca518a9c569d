"""The Log port, on every adapter: order, offsets, groups, waiting, trimming."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streams.errors import Rejected
from streams.ports import Position, Record
from tests.support.backends import NAMES, Backend, Clock, opened

RECORDS = [Record("a", b"1"), Record("b\0é", None), Record("a", b"", (("h", b"\0\xff"), ("h", b""), ("é", b"x")))]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Backend]:
    async with opened(request.param, tmp_path, clock) as one:
        yield one


async def test_log_delivers_what_was_appended_in_order(backend: Backend, clock: Clock) -> None:
    """Keys, values, tombstones, headers, offsets and times come back as they went in."""
    positions = await backend.log.append("t", RECORDS)
    clock.now_ms = 2_000
    later = await backend.log.append("t", [Record("c", b"4")])
    assert [*positions, *later] == [Position(0, offset) for offset in range(4)]
    delivered = await backend.log.consumer("t", "g").poll(10, 0)
    assert [one.record for one in delivered] == [*RECORDS, Record("c", b"4")]
    assert [one.position.offset for one in delivered] == [0, 1, 2, 3]
    assert [one.timestamp_ms for one in delivered] == [1_000, 1_000, 1_000, 2_000]


async def test_log_appends_nothing_when_one_record_cannot_be_stored(backend: Backend) -> None:
    """All or none: a key without a UTF-8 form rejects the whole append, and costs no offset."""
    with pytest.raises(Rejected):
        await backend.log.append("t", [Record("a", b"1"), Record("\ud800", b"2")])
    assert await backend.log.consumer("t", "g").poll(10, 0) in ([], ())
    assert await backend.log.append("t", RECORDS[:1]) == [Position(0, 0)]


async def test_log_knows_the_end_of_each_topic(backend: Backend) -> None:
    """An unknown topic ends at 0, an empty append moves nothing, topics do not mix."""
    assert await backend.log.end("t") == {0: 0}
    assert list(await backend.log.append("t", [])) == []
    await backend.log.append("t", RECORDS)
    await backend.log.append("other", RECORDS[:1])
    assert (await backend.log.end("t"), await backend.log.end("other")) == ({0: 3}, {0: 1})
    assert len(await backend.log.consumer("t", "g").poll(10, 0)) == 3


async def test_consumer_delivers_each_record_once_up_to_the_limit(backend: Backend) -> None:
    """Polls go on where the last one ended."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(5)])
    consumer = backend.log.consumer("t", "g")
    sizes = [[one.record.value for one in await consumer.poll(2, 0)] for _ in range(4)]
    assert sizes == [[b"0", b"1"], [b"2", b"3"], [b"4"], []]


async def test_consumer_resumes_after_what_its_group_committed(backend: Backend) -> None:
    """A new consumer of the group starts after the commit; one of another group at the start."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    first = backend.log.consumer("t", "g")
    delivered = await first.poll(3, 0)
    await first.commit(delivered[1].position)
    await first.close()
    assert [one.position.offset for one in await backend.log.consumer("t", "g").poll(9, 0)] == [2, 3]
    assert [one.position.offset for one in await backend.log.consumer("t", "h").poll(9, 0)] == [0, 1, 2, 3]
    assert [one.position.offset for one in await first.poll(9, 0)] == [3]


async def test_consumer_goes_where_it_is_sent(backend: Backend) -> None:
    """The next poll starts at the offset of the seek, back or forth, also where nothing is yet."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    consumer = backend.log.consumer("t", "g")
    await consumer.poll(4, 0)
    await consumer.seek(Position(0, 1))
    assert [one.position.offset for one in await consumer.poll(2, 0)] == [1, 2]
    await consumer.seek(Position(0, 5))
    assert not await consumer.poll(9, 0)
    await backend.log.append("t", [Record("k", b"4"), Record("k", b"5")])
    assert [one.position.offset for one in await consumer.poll(9, 0)] == [5]


async def test_consumers_wake_when_the_topic_grows(backend: Backend) -> None:
    """Several wait at once; each gets the record as soon as it is there, long before its timeout."""
    waiting = [asyncio.create_task(backend.log.consumer("t", f"g{i}").poll(5, 250)) for i in range(3)]
    elsewhere = asyncio.create_task(backend.log.consumer("other", "g").poll(5, 0.2))
    await backend.log.append("t", RECORDS[:1])
    for delivered in await asyncio.gather(*waiting):
        assert [one.record for one in delivered] == RECORDS[:1]
    assert not await elsewhere


async def test_consumer_returns_nothing_when_its_time_is_up(backend: Backend) -> None:
    """An empty sequence, and the consumer goes on afterwards."""
    consumer = backend.log.consumer("t", "g")
    assert not await consumer.poll(5, 0.01)
    await backend.log.append("t", RECORDS[:1])
    assert len(await consumer.poll(5, 0.01)) == 1


async def test_log_misses_no_record_when_appends_race_with_polls(backend: Backend) -> None:
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


async def test_log_uses_no_offset_twice_when_trimmed(backend: Backend) -> None:
    """Records in front of the position go, offsets stay, even when everything is trimmed."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    await backend.log.append("u", RECORDS)
    await backend.log.trim("t", Position(0, 2))
    assert [one.position.offset for one in await backend.log.consumer("t", "g").poll(9, 0)] == [2, 3]
    await backend.log.trim("t", Position(0, 99))
    consumer = backend.log.consumer("t", "g")
    assert not await consumer.poll(9, 0)
    assert await backend.log.end("t") == {0: 4}
    assert await backend.log.append("t", RECORDS[:1]) == [Position(0, 4)]
    assert [one.position.offset for one in await consumer.poll(9, 0)] == [4]
    assert len(await backend.log.consumer("u", "g").poll(9, 0)) == 3


async def test_reader_starts_where_it_is_told_and_shares_nothing(backend: Backend) -> None:
    """From the given offset, or from the start; its commits reach no group, and nobody's commits reach it."""
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    first = backend.log.consumer("t", "g")
    await first.commit((await first.poll(9, 0))[2].position)
    reader = backend.log.reader("t", {0: 1})
    delivered = await reader.poll(9, 0)
    assert [one.position.offset for one in delivered] == [1, 2, 3]
    await reader.commit(delivered[-1].position)
    assert [one.position.offset for one in await backend.log.reader("t", {}).poll(2, 0)] == [0, 1]
    await reader.seek(Position(0, 3))
    assert [one.position.offset for one in await reader.poll(9, 0)] == [3]
    assert await backend.log.committed("t", "g") == {0: 3}
    assert await backend.log.committed("t", "h") == {0: 0}


async def test_log_knows_the_first_record_that_is_left(backend: Backend) -> None:
    """0 for a topic that nothing was written to, then what trimming leaves, then the end."""
    assert await backend.log.start("t") == {0: 0}
    await backend.log.append("t", [Record("k", b"%d" % i) for i in range(4)])
    assert await backend.log.start("t") == {0: 0}
    await backend.log.trim("t", Position(0, 3))
    assert await backend.log.start("t") == {0: 3}
    await backend.log.trim("t", Position(0, 4))
    assert await backend.log.start("t") == {0: 4}


async def test_consumer_holds_every_partition_when_it_is_alone(backend: Backend) -> None:
    """What it holds is what the topic has."""
    consumer = backend.log.consumer("t", "g")
    await consumer.poll(1, 0)
    assert consumer.assigned() == frozenset(await backend.log.end("t"))
    assert backend.log.reader("t", {}).assigned() == consumer.assigned()
