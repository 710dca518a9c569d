"""The history of graphs in the topic `deltas`: commits with the rows that they overwrote, from any retained version on.

Records of a version are joined by their numbers, so those that a relay sent twice do no harm. A version is incomplete
when a later one begins before it has all of its parts: a worker of an earlier release wrote it, or it was too large.

Invariant: the records that `read` returns are complete, of consecutive versions, and together of a bounded size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.changes.commit_header import commit_origin
from graphtide.streams.changes.delta_index import DeltaIndex, NoticePlace
from graphtide.streams.errors import Rejected
from graphtide.streams.follow.delta_records import DeltaPart, parse_record
from graphtide.streams.log.log_scan import read_window
from graphtide.streams.messages import DELTAS, DeltaNotice
from graphtide.streams.ports import ConsumedRecord, Log

READ_BYTES = 8 << 20
"""Size after which a read returns no further record."""


@dataclass(slots=True)
class _Version:
    """The records of one version that were read so far, by their numbers."""

    notice: DeltaNotice
    origin: ConsumedRecord
    parts: dict[int, bytes] = field(default_factory=dict)
    overwritten: dict[int, bytes] = field(default_factory=dict)
    count: int = 0
    """The number of parts of the rows that it overwrote; 0 before the first of them."""

    def take(self, part: DeltaPart) -> None:
        (self.overwritten if part.overwritten else self.parts)[part.number] = part.data
        if part.overwritten:
            self.count = part.count

    def is_complete(self) -> bool:
        if self.notice.replaced:
            return True
        return len(self.parts) == self.notice.parts and 0 < self.count == len(self.overwritten)

    def record(self) -> ChangeRecord:
        """Return the commit."""
        found = commit_origin(self.origin.record.headers)
        committed_ms = found.committed_ms if found else self.origin.timestamp_ms
        documents, replaced = found.documents if found else (), self.notice.replaced
        forward = b"" if replaced else b"".join(data for _, data in sorted(self.parts.items()))
        old = b"" if replaced else b"".join(data for _, data in sorted(self.overwritten.items()))
        return ChangeRecord(self.notice.graph, self.notice.version, committed_ms, documents, forward, old, replaced)


class RetainedDeltas:
    """The history of all graphs of a process. One reader of the topic at a time."""

    def __init__(self, log: Log, commits: int) -> None:
        """Create a history of at most `commits` versions of each graph, within the retention of the topic."""
        self._log = log
        self._index = DeltaIndex(log, commits)
        self._reading = asyncio.Lock()

    async def has(self, graph: str, version: int) -> bool:
        """Return True if the commit to the version is retained."""
        async with self._reading:
            return await self._index.find(graph, version) is not None

    async def first(self, graph: str, until: int) -> int:
        """Return the version after which all commits up to `until` are retained. Cost: the topic, at the first call."""
        async with self._reading:
            return await self._index.first(graph, until)

    async def newest_with(self, graph: str, until: Mapping[int, int], before: int) -> int:
        """Return the newest version up to `before` that includes a revision up to a number of `until`, 0 for none."""
        async with self._reading:
            return await self._index.newest_with(graph, until, before)

    async def read(self, graph: str, after: int, limit: int, until: int) -> Sequence[ChangeRecord]:
        """Return up to `limit` commits with versions above `after`, at most `until`; none if the first is not retained.

        A version that is incomplete at the end of the topic is awaited by the caller: it is left out here.
        """
        async with self._reading:
            place = await self._index.find(graph, after + 1)
            return await self._read(graph, after + 1, min(limit, until - after), place) if place else []

    async def discard(self, graph: str, version: int) -> None:
        """Remove a version of which the topic will not get all parts: it was too large."""
        async with self._reading:
            self._index.discard(graph, version)

    async def clear(self) -> None:
        """Forget the commits that the topic holds now: they hold deleted content."""
        async with self._reading:
            await self._index.clear()

    async def _read(self, graph: str, version: int, limit: int, place: NoticePlace) -> list[ChangeRecord]:
        found: list[ChangeRecord] = []
        size, collected = 0, None
        ends = await self._log.end(DELTAS)
        begin = {**ends, place.partition: place.offset}
        async with aclosing(read_window(self._log, DELTAS, begin, ends)) as records:
            async for consumed in records:
                if consumed.record.key != graph:
                    continue
                message = _parsed(consumed)
                if isinstance(message, DeltaNotice) and message.version > version and collected is not None:
                    self._index.discard(graph, version)
                    break
                collected = _taken(collected, version, message, consumed)
                if collected is None or not collected.is_complete():
                    continue
                found.append(collected.record())
                size += len(found[-1].forward) + len(found[-1].old)
                if len(found) >= limit or size >= READ_BYTES or collected.notice.replaced:
                    break
                version, collected = version + 1, None
        return found


def _taken(
    collected: _Version | None, version: int, message: DeltaNotice | DeltaPart | None, consumed: ConsumedRecord
) -> _Version | None:
    """Return the version with the record, if it is one of its records."""
    if message is None or message.version != version:
        return collected
    if isinstance(message, DeltaNotice):
        return collected or _Version(message, consumed)
    if collected is not None:
        collected.take(message)
    return collected


def _parsed(consumed: ConsumedRecord) -> DeltaNotice | DeltaPart | None:
    """Return the notice or part in a record; None for others, and for malformed ones."""
    try:
        message = parse_record(consumed)
    except Rejected:
        return None
    return message if isinstance(message, DeltaNotice | DeltaPart) else None
