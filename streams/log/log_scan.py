"""Bounded scan of a topic: reads the records that it holds now, then stops. For look-ups, not for followers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

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
    left = {number: end for number, end in ends.items() if max(offsets.get(number, 0), starts[number]) < end}
    if not left:
        return
    reader = log.reader(topic, offsets)
    try:
        while left:
            held = reader.assigned()
            delivered = await reader.poll(BATCH_SIZE, TIMEOUT_S)
            if not delivered and reader.assigned() == held:
                raise Retryable(f"the topic {topic} could not be read to its end in {TIMEOUT_S:g} s")
            for consumed in delivered:
                position = consumed.position
                if position.offset < ends[position.partition]:
                    yield consumed
                if position.offset + 1 >= ends[position.partition]:
                    left.pop(position.partition, None)
    finally:
        await reader.close()
