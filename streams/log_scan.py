"""Reading what a topic holds now, and then stopping: for looking something up, not for following."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from graphtide.streams.errors import Retryable
from graphtide.streams.ports import ConsumedRecord, Log

BATCH_SIZE = 256
TIMEOUT_S = 15.0


async def read_up_to_end(log: Log, topic: str, offsets: Mapping[int, int]) -> AsyncGenerator[ConsumedRecord, None]:
    """Every record from the offsets (the start where none is given) to where the topic ends now.

    Raises Retryable when records that must be there do not come. A topic that is compacted, or written in transactions,
    has gaps at which that can happen: it is for topics that Graphtide alone writes. Cost: what is read.
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
            for one in delivered:
                if one.position.offset < ends[one.position.partition]:
                    yield one
                if one.position.offset + 1 >= ends[one.position.partition]:
                    left.pop(one.position.partition, None)
    finally:
        await reader.close()
