"""The newest records of some topics, in memory: a consumer at the end of a topic does not query the database.

Invariant: the records of a topic that are held have consecutive offsets up to the end of the topic, and are durable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice

from graphtide.streams.ports import ConsumedRecord

MAX_RECORDS = 512
MAX_BYTES = 1 << 20


@dataclass(slots=True)
class _Tail:
    records: deque[ConsumedRecord] = field(default_factory=deque)
    size_bytes: int = 0

    def drop_first(self) -> None:
        self.size_bytes -= _size(self.records.popleft())


class RecentRecords:
    """The records by topic. Belongs to the event loop."""

    def __init__(self, topics: Collection[str]) -> None:
        self._tails = {topic: _Tail() for topic in topics}

    def add(self, topic: str, records: Sequence[ConsumedRecord]) -> None:
        """Add the records that became the end of the topic. Other topics than the chosen ones are ignored."""
        tail = self._tails.get(topic)
        if tail is None:
            return
        if tail.records and tail.records[-1].position.offset + 1 != records[0].position.offset:
            tail = self._tails[topic] = _Tail()
        tail.records.extend(records)
        tail.size_bytes += sum(map(_size, records))
        while tail.records and (len(tail.records) > MAX_RECORDS or tail.size_bytes > MAX_BYTES):
            tail.drop_first()

    def read(self, topic: str, start: int, limit: int) -> list[ConsumedRecord] | None:
        """Return up to `limit` records from offset `start` on; None if the one at `start` is not held."""
        tail = self._tails.get(topic)
        if tail is None or not tail.records:
            return None
        skipped = start - tail.records[0].position.offset
        if not 0 <= skipped < len(tail.records):
            return None
        return list(islice(tail.records, skipped, skipped + limit))

    def trim(self, topic: str, before: int) -> None:
        """Drop the records before an offset."""
        tail = self._tails.get(topic)
        while tail is not None and tail.records and tail.records[0].position.offset < before:
            tail.drop_first()


def _size(consumed: ConsumedRecord) -> int:
    return len(consumed.record.value or b"") + len(consumed.record.key)
