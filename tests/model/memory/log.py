"""The reference of the Log port: topics as lists, positions of groups as a dict."""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

from graphtide.infra.sqlite.arrivals import Arrivals
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.ports import ConsumedRecord, Position, Record


class _Partition:
    """The records from offset `start` on; earlier ones were trimmed."""

    def __init__(self) -> None:
        self.start = 0
        self.records: deque[ConsumedRecord] = deque()

    @property
    def end(self) -> int:
        return self.start + len(self.records)

    def read(self, offset: int, limit: int) -> list[ConsumedRecord]:
        first = max(offset, self.start) - self.start
        return list(islice(self.records, first, first + limit))

    def trim(self, before: int) -> None:
        while self.records and self.start < before:
            self.records.popleft()
            self.start += 1


class MemoryLog:
    """Topics of `partitions` partitions each; a key maps to the same one until `add_partitions`."""

    def __init__(self, partitions: int, clock_ms: Callable[[], int]) -> None:
        self._partitions = partitions
        self._clock_ms = clock_ms
        self._topics: dict[str, list[_Partition]] = {}
        self._committed: dict[tuple[str, str], dict[int, int]] = {}
        self._members: Counter[tuple[str, str]] = Counter()
        self.arrivals = Arrivals()

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        """See Log.append."""
        return self.add(topic, records)

    def consumer(self, topic: str, group: str) -> MemoryConsumer:
        """See Log.consumer."""
        self._members[topic, group] += 1
        committed = self._committed.setdefault((topic, group), {})
        return MemoryConsumer(self, topic, committed, lambda: self._members.subtract([(topic, group)]))

    def reader(self, topic: str, offsets: Mapping[int, int]) -> MemoryConsumer:
        """See Log.reader."""
        return MemoryConsumer(self, topic, dict(offsets))

    async def start(self, topic: str) -> Mapping[int, int]:
        """See Log.start."""
        return {number: partition.start for number, partition in enumerate(self.topic(topic))}

    async def end(self, topic: str) -> Mapping[int, int]:
        """See Log.end."""
        return {number: partition.end for number, partition in enumerate(self.topic(topic))}

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        """See Log.committed."""
        kept = self._committed.get((topic, group), {})
        return {number: kept.get(number, 0) for number in range(self._partitions)}

    async def members(self, topic: str, group: str) -> int:
        """See Log.members."""
        return self._members[topic, group]

    async def trim(self, topic: str, before: Position) -> None:
        """See Log.trim."""
        self._partition(topic, before).trim(before.offset)

    def add(self, topic: str, records: Sequence[Record]) -> list[Position]:
        """Append in one step, for `append`, the ledger and the store. Raises what `check` raises."""
        numbers = self.check(records)
        partitions, at = self.topic(topic), self._clock_ms()
        positions = []
        for number, record in zip(numbers, records, strict=True):
            position = Position(number, partitions[number].end)
            partitions[number].records.append(ConsumedRecord(position, at, record))
            positions.append(position)
        if positions:
            self.arrivals.announce(topic)
        return positions

    def check(self, records: Sequence[Record]) -> list[int]:
        """Return the partition of each record. Raises Rejected for a key without UTF-8 form or an unknown partition."""
        for record in records:
            if record.partition is not None and not 0 <= record.partition < self._partitions:
                raise Rejected(
                    f"a record names partition {record.partition}, but the topic has {self._partitions} partitions"
                )
        try:
            return [
                zlib.crc32(record.key.encode()) % self._partitions if record.partition is None else record.partition
                for record in records
            ]
        except UnicodeEncodeError as error:
            raise Rejected(f"the record key cannot be stored: {error.reason}") from error

    def add_partitions(self, partitions: int) -> None:
        """Increase every topic to `partitions` partitions: from now on, keys may map to other ones."""
        self._partitions = max(self._partitions, partitions)
        for records in self._topics.values():
            records.extend(_Partition() for _ in range(self._partitions - len(records)))

    def topic(self, topic: str) -> list[_Partition]:
        """Return the topic's partitions; a topic is created when it is first named."""
        return self._topics.setdefault(topic, [_Partition() for _ in range(self._partitions)])

    def _partition(self, topic: str, position: Position) -> _Partition:
        if not 0 <= position.partition < self._partitions:
            raise Broken(f"topic {topic!r} has no partition {position.partition}")
        return self.topic(topic)[position.partition]


class MemoryConsumer:
    """The in-memory Consumer. The consumers of a group share `committed`: the next offset by partition.

    The first `close` calls `leave`.
    """

    def __init__(
        self, log: MemoryLog, topic: str, committed: dict[int, int], leave: Callable[[], None] = lambda: None
    ) -> None:
        self._log = log
        self._topic = topic
        self._committed = committed
        self._next: dict[int, int] = {}
        self._turn = 0
        self._leave = leave

    def assigned(self) -> frozenset[int]:
        """See Consumer.assigned."""
        return frozenset(range(len(self._log.topic(self._topic))))

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """See Consumer.poll. Partitions take turns at being read first, so that none starves."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            taken = self._take(limit, among)
            left = deadline - loop.time()
            if taken or left <= 0:
                return taken
            await self._log.arrivals.wait(self._topic, left)

    async def commit(self, position: Position) -> None:
        """See Consumer.commit."""
        self._committed[position.partition] = position.offset + 1

    async def seek(self, position: Position) -> None:
        """See Consumer.seek."""
        self._next[position.partition] = position.offset

    async def close(self) -> None:
        """Leave the group."""
        leave, self._leave = self._leave, lambda: None
        leave()

    def _take(self, limit: int, among: Collection[int] | None) -> list[ConsumedRecord]:
        partitions = self._log.topic(self._topic)
        taken: list[ConsumedRecord] = []
        self._turn += 1
        for step in range(len(partitions)):
            number = (self._turn + step) % len(partitions)
            if among is not None and number not in among:
                continue
            start = self._next.setdefault(number, self._committed.get(number, 0))
            read = partitions[number].read(start, limit - len(taken))
            if read:
                self._next[number] = read[-1].position.offset + 1
                taken += read
        return taken
