"""Values of heavy records that wait are left out of the buffer, and fetched from the log before their turn."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from graphtide.streams.consolidate.partition_buffer import PartitionBuffer
from graphtide.streams.errors import Retryable
from graphtide.streams.ports import ConsumedRecord, Position, Record

HEAVY_BYTES, MAX_BYTES = 1_000, 5_000


class LogOfRecords:
    """A log of records with random sizes, which notes what is fetched again."""

    def __init__(self, rng: random.Random, count: int) -> None:
        sizes = [rng.choice((rng.randrange(HEAVY_BYTES), rng.randrange(HEAVY_BYTES, 4_000))) for _ in range(count)]
        self.records = [
            ConsumedRecord(Position(0, offset), 0, Record(rng.choice("abc"), rng.randbytes(size)))
            for offset, size in enumerate(sizes)
        ]
        self.fetched: list[tuple[int, int]] = []

    async def fetch(self, first: int, after: int) -> Sequence[ConsumedRecord]:
        self.fetched.append((first, after))
        return self.records[first:after]


async def test_a_buffer_returns_whole_records_and_holds_few_values() -> None:
    """Random records, in random turns of reading, taking, overtaking and putting back."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    log = LogOfRecords(rng, 400)
    buffer = PartitionBuffer(0, HEAVY_BYTES, log.fetch, MAX_BYTES)
    to_read, returned = list(log.records), list[ConsumedRecord]()
    while len(returned) < len(log.records):
        for _ in range(min(len(to_read), rng.randrange(8))):
            buffer.take(to_read.pop(0))
        heavy_bytes = sum(
            len(each.record.value or b"") for each in buffer.records if len(each.record.value or b"") >= HEAVY_BYTES
        )
        assert heavy_bytes <= MAX_BYTES
        if not buffer.records:
            continue
        if rng.random() < 0.3 and any(each.record.key == "a" and not buffer.is_heavy(each) for each in buffer.records):
            before = list(buffer.records)
            taken = list(buffer._others({"b", "c"}, 2))
            buffer.put_back(taken)
            assert list(buffer.records) == before
        returned += await buffer.next(rng.randrange(1, 5))
    assert returned == log.records
    assert log.fetched and not buffer.left_out
    assert len(log.fetched) < len([each for each in log.records if buffer.is_heavy(each)])


async def test_a_heavy_record_larger_than_the_limit_is_fetched_alone() -> None:
    """The first one is held whatever its size, and a restart forgets what was left out."""
    log = LogOfRecords(random.Random(1), 0)
    log.records = [ConsumedRecord(Position(0, at), 0, Record("g", bytes(3 * MAX_BYTES))) for at in range(3)]
    buffer = PartitionBuffer(0, HEAVY_BYTES, log.fetch, MAX_BYTES)
    for each in log.records:
        buffer.take(each)
    assert [len(each.record.value or b"") for each in buffer.records] == [3 * MAX_BYTES, 0, 0]
    assert [await buffer.next(64) for _ in range(3)] == [[each] for each in log.records]
    assert log.fetched == [(1, 2), (2, 3)]
    buffer.take(log.records[0])
    buffer.take(log.records[1])
    buffer.restart(1)
    buffer.take(log.records[1])
    assert await buffer.next(64) == [log.records[1]] and len(log.fetched) == 2


async def test_a_record_is_never_returned_without_its_value() -> None:
    """A log that does not return it again is an error, and the record keeps its place."""
    log = LogOfRecords(random.Random(1), 0)
    log.records = [ConsumedRecord(Position(0, at), 0, Record("g", bytes(MAX_BYTES))) for at in range(2)]
    buffer = PartitionBuffer(0, HEAVY_BYTES, log.fetch, MAX_BYTES)
    for each in log.records:
        buffer.take(each)
    known, log.records = log.records, []
    assert await buffer.next(64) == known[:1]
    with pytest.raises(Retryable, match="at 1 again"):
        await buffer.next(64)
    log.records = known
    assert await buffer.next(64) == known[1:]
