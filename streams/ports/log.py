"""The port of the log: records of topics, their consumers, appends and reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Record:
    """A record to append to a topic. `value` None is a tombstone; `partition` None lets the key decide.

    `message` is what decoding `value` returns, for a consumer in the same process, which may find None instead: a log
    neither stores nor sends it.
    """

    key: str
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None
    message: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class ConsumedRecord:
    """A record that was read: its position, and when it was appended (milliseconds since the epoch)."""

    position: Position
    timestamp_ms: int
    record: Record


class Consumer(Protocol):
    """One reader of one topic. Not shared between tasks.

    The consumers of a group share the topic's partitions. A partition can be reassigned to another consumer at any
    time, and only `poll` shows that to the caller: a poll that finds `assigned` changed returns at once, empty. So no
    record of a new partition is delivered before the caller could read `assigned` and `seek`. A retained partition
    continues from its place; a newly assigned one starts after what the group committed.
    """

    def assigned(self) -> frozenset[int]:
        """Return the partitions assigned to this consumer, as of the last poll. Backends of one process: always all."""
        ...

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """Return up to `limit` records, in order within each partition, each delivered once since the last `seek`.

        Waits up to `timeout_s` for the first one. Returns an empty sequence after that, and at once when `assigned`
        has changed since the previous poll. `among` names the partitions to read; the others keep their place, and an
        empty collection makes the poll only wait. A cancelled poll may have taken records: `seek` to read them again.
        """
        ...

    async def commit(self, position: Position) -> None:
        """Commit everything up to and including `position` in its partition: a restart resumes after it.

        For a partition that is no longer assigned, nothing is committed: its new consumer does that.
        """
        ...

    async def seek(self, position: Position) -> None:
        """Make the next poll of that partition start AT `position.offset`. A partition not assigned is ignored."""
        ...

    async def close(self) -> None: ...


class Log(Protocol):
    """Durable, ordered, partitioned topics. A record that `append` has returned for survives kill -9."""

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        """Append all or none, in order. Offsets of a partition rise by one from 0 and are never used twice.

        Raises Rejected for a record that names a partition which the topic does not have.
        """
        ...

    def consumer(self, topic: str, group: str) -> Consumer:
        """Return a reader that resumes after what `group` committed, or at the start."""
        ...

    def reader(self, topic: str, offsets: Mapping[int, int]) -> Consumer:
        """Return a reader of every partition, from the given offsets (the start where none is given), of no group.

        It shares no partition with other readers, and its commits are not stored. For followers and look-ups.
        """
        ...

    async def start(self, topic: str) -> Mapping[int, int]:
        """Return the offset of the first retained record of each partition; its end where none is retained."""
        ...

    async def end(self, topic: str) -> Mapping[int, int]:
        """Return the next offset of each partition."""
        ...

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        """Return the offset at which the group would resume in each partition; 0 where it committed nothing."""
        ...

    async def members(self, topic: str, group: str) -> int:
        """Return the number of consumers of the topic that the group has now, in all processes."""
        ...

    async def trim(self, topic: str, before: Position) -> None:
        """Allow the log to delete the records of the partition before `before`, now or later. Offsets do not change."""
        ...
