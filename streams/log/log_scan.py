"""Bounded scans of a topic: they read records that it holds now, then stop. For look-ups, not for followers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from graphtide.streams.errors import Retryable
from graphtide.streams.ports import ConsumedRecord, Log

BATCH_SIZE = 256
TIMEOUT_S = 15.0


async def read_up_to_end(log: Log, topic: str, offsets: Mapping[int, int]) -> AsyncGenerator[ConsumedRecord, None]:
    """Yield every record from the offsets (the start where none is given) to the current end of the topic.

    Raises Retryable when expected records do not arrive. That can happen at the gaps of a topic that is compacted or
    written in transactions: use it only for topics that Graphtide alone writes. Cost: the records read.
    """
    starts, ends = await log.start(topic), await log.end(topic)
    begin = {number: max(offsets.get(number, 0), starts[number]) for number in ends}
    async with aclosing(read_window(log, topic, begin, ends)) as records:
        async for consumed in records:
            yield consumed


async def read_again(log: Log, topic: str, partition: int, first: int, after: int) -> list[ConsumedRecord]:
    """Return the records of a partition from an offset to before another. Raises Retryable as `read_up_to_end`.

    Nothing of other partitions is fetched. Cost: one request for the ends of the topic, and the records.
    """
    begin = {**await log.end(topic), partition: first}
    async with aclosing(read_window(log, topic, begin, {partition: after})) as records:
        return [consumed async for consumed in records if consumed.position.partition == partition]


async def read_window(
    log: Log, topic: str, begin: Mapping[int, int], ends: Mapping[int, int]
) -> AsyncGenerator[ConsumedRecord, None]:
    """Yield the records from `begin` to before `ends`, offsets by partition. Other partitions are not read.

    Raises Retryable as `read_up_to_end`.
    """
    left = {number for number, end in ends.items() if begin.get(number, 0) < end}
    if not left:
        return
    reader = log.reader(topic, begin)
    try:
        while left:
            assigned = reader.assigned()
            delivered = await reader.poll(BATCH_SIZE, TIMEOUT_S, left)
            if not delivered and reader.assigned() == assigned:
                raise Retryable(f"the topic {topic} could not be read to its end in {TIMEOUT_S:g} s")
            for consumed in delivered:
                position = consumed.position
                if position.offset < ends.get(position.partition, 0):
                    yield consumed
                if position.offset + 1 >= ends.get(position.partition, 0):
                    left.discard(position.partition)
    finally:
        await reader.close()
