"""A consumer group whose assignments the test decides, members with a stale assignment included."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from graphtide.streams.ports import ConsumedRecord, Consumer, Position, Record
from tests.model.memory import MemoryLog


@dataclass
class Member:
    """One consumer's assignment; a sleeping consumer sees no change, as a stopped process."""

    assigned: frozenset[int] = frozenset()
    asleep: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Group:
    """The members by name, over one log."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log
        self.members: dict[str, Member] = {}

    def join(self, name: str) -> MemberLog:
        """Return the log as that process sees it."""
        self.members.setdefault(name, Member())
        return MemberLog(self, name)

    def assign(self, **partitions: Collection[int]) -> None:
        """Assign partitions to members; a member that is not named holds none."""
        for name, member in self.members.items():
            member.assigned = frozenset(partitions.get(name, ()))
            member.changed.set()


class MemberLog:
    """A Log whose consumers of `extractions` obey the group; everything else is the log's own."""

    def __init__(self, group: Group, name: str) -> None:
        self._group = group
        self._name = name

    def consumer(self, topic: str, group: str) -> Consumer:
        return MemberConsumer(self._group, self._group.members[self._name], topic, group)

    def reader(self, topic: str, offsets: Mapping[int, int]) -> Consumer:
        return self._group.log.reader(topic, offsets)

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        return await self._group.log.append(topic, records)

    async def start(self, topic: str) -> Mapping[int, int]:
        return await self._group.log.start(topic)

    async def end(self, topic: str) -> Mapping[int, int]:
        return await self._group.log.end(topic)

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        return await self._group.log.committed(topic, group)

    async def members(self, topic: str, group: str) -> int:
        """See Log.members."""
        return await self._group.log.members(topic, group)

    async def trim(self, topic: str, before: Position) -> None:
        """Do nothing: a cluster's log is trimmed by its retention alone."""


class MemberConsumer:
    """A Consumer that sees a change of assignment at a poll, which returns at once, empty."""

    def __init__(self, group: Group, member: Member, topic: str, name: str) -> None:
        self._group = group
        self._member = member
        self._topic = topic
        self._name = name
        self._inner = group.log.consumer(topic, name)
        self._assigned: frozenset[int] = frozenset()

    def assigned(self) -> frozenset[int]:
        return self._assigned

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        if await self._changed():
            return []
        chosen = self._assigned if among is None else self._assigned & set(among)
        self._member.changed.clear()
        reading = asyncio.create_task(self._inner.poll(limit, timeout_s, chosen))
        waiting = asyncio.create_task(self._member.changed.wait())
        try:
            await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
        finally:
            for task in (reading, waiting):
                task.cancel()
            await asyncio.gather(reading, waiting, return_exceptions=True)
        await self._changed()
        return []

    async def _changed(self) -> bool:
        if self._member.asleep or self._member.assigned == self._assigned:
            return False
        gained, self._assigned = self._member.assigned - self._assigned, self._member.assigned
        committed = await self._group.log.committed(self._topic, self._name)
        for number in gained:
            await self._inner.seek(Position(number, committed[number]))
        return True

    async def commit(self, position: Position) -> None:
        if position.partition in self._member.assigned:
            await self._inner.commit(position)

    async def seek(self, position: Position) -> None:
        if position.partition in self._assigned:
            await self._inner.seek(position)

    async def close(self) -> None:
        await self._inner.close()
