"""Index of the retained commits in `deltas`: the place of each version's notice, by graph.

It is built on demand: windows of the topic are read backwards until the wanted version is found, and forwards to the
end when it is newer. A version that was sent again by a relay keeps its first place: the records after the first notice
include all of its parts.

What a partition holds before the marker of a purge counts as expired: it may be content that was deleted since.

Invariant: every version in the index can be undone, as far as its notice tells. Memory: at most MAX_PLACES
versions, or one of each graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from graphtide.streams.changes.change_log import included
from graphtide.streams.changes.commit_header import commit_origin
from graphtide.streams.changes.purge_marker import is_purge_marker
from graphtide.streams.errors import Rejected
from graphtide.streams.follow.delta_records import is_notice
from graphtide.streams.log.log_scan import read_window
from graphtide.streams.log.revisions import MAX_PARTITIONS
from graphtide.streams.messages import DELTAS, DeltaNotice, decode_notice
from graphtide.streams.ports import ConsumedRecord, Log, Position

Found = TypeVar("Found")

FIRST_WINDOW = 256
LARGEST_WINDOW = 4_096
"""Records of a partition that one step backwards reads."""
MAX_PLACES = 200_000


@dataclass(frozen=True, slots=True)
class NoticePlace:
    """The place of a version's notice. `lowest` are the lowest revisions that it includes, by partition."""

    partition: int
    offset: int
    lowest: tuple[int, ...] = ()

    def includes(self, until: Mapping[int, int]) -> bool:
        """Return True if the version includes a revision up to a number of `until` (see `included`)."""
        return any(included(revision, until) for revision in self.lowest)


@dataclass(slots=True)
class _Graph:
    """The places of one graph. Versions up to `floor` are not retained: the graph was deleted or rebuilt after them.

    `lowest` is the lowest version that a notice named, with or without the rows that it overwrote; 0 for none.
    """

    places: dict[int, NoticePlace] = field(default_factory=dict)
    floor: int = 0
    lowest: int = 0

    def add(self, notice: DeltaNotice, place: NoticePlace, *, complete: bool) -> None:
        version = notice.version
        self.lowest = min(version, self.lowest or version)
        self.floor = max(self.floor, version if notice.deleted else version - 1 if notice.replaced else 0)
        known = self.places.get(version)
        if complete and (known is None or place.offset < known.offset or place.partition != known.partition):
            self.places[version] = place
        if notice.replaced:
            self.places = {number: known for number, known in self.places.items() if number > self.floor}

    def find(self, version: int) -> NoticePlace | None:
        return self.places.get(version) if version > self.floor else None

    def is_past(self, version: int) -> bool:
        """Return True if no record before those that are indexed can be of the version."""
        return version <= self.floor or 0 < self.lowest < version


class DeltaIndex:
    """The index of a process. Its methods are called by one task at a time."""

    def __init__(self, log: Log, commits: int) -> None:
        """Create an index of at most `commits` versions of each graph."""
        self._log = log
        self._commits = commits
        self._graphs: dict[str, _Graph] = {}
        self._low: dict[int, int] = {}
        self._high: dict[int, int] = {}
        self._floor: dict[int, int] = {}
        self._window = FIRST_WINDOW

    async def find(self, graph: str, version: int) -> NoticePlace | None:
        """Return the place of a version; None if the topic does not retain it. Cost: the records since then."""
        index = self._graphs.setdefault(graph, _Graph())
        return await self._search(index, lambda: index.find(version), lambda: index.is_past(version))

    async def newest_with(self, graph: str, until: Mapping[int, int], before: int) -> int:
        """Return the newest version up to `before` that includes a revision up to a number of `until`, 0 for none."""
        index = self._graphs.setdefault(graph, _Graph())

        def newest() -> int | None:
            found = (number for number, place in index.places.items() if number <= before and place.includes(until))
            return max(found, default=None)

        return await self._search(index, newest, lambda: False) or 0

    async def first(self, graph: str, until: int) -> int:
        """Return the version after which all up to `until` are retained. Cost: all records of the topic, once."""
        index = self._graphs.setdefault(graph, _Graph())
        await self._search(index, lambda: None, lambda: False)
        while index.find(until) is not None:
            until -= 1
        return until

    def discard(self, graph: str, version: int) -> None:
        """Remove a version whose records are incomplete."""
        self._graphs[graph].places.pop(version, None)

    async def clear(self) -> None:
        """Forget everything: what is in the topic now is not read again."""
        ends = await self._log.end(DELTAS)
        self._floor, self._low, self._high = dict(ends), dict(ends), dict(ends)
        self._graphs.clear()

    # -- reading -------------------------------------------------------------------------------------------------------

    async def _search(
        self, index: _Graph, find: Callable[[], Found | None], is_past: Callable[[], bool]
    ) -> Found | None:
        """Return what `find` returns once the index is wide enough, None when `is_past` or all records are indexed."""
        start = await self._log.start(DELTAS)
        await self._forwards(start)  # first, since a purge may have been marked since the last search
        self._drop_expired(index, start)
        while (found := find()) is None and not is_past() and await self._backwards(start):
            pass
        return found

    async def _forwards(self, start: Mapping[int, int]) -> None:
        """Index what was appended since the last look, and has not expired."""
        ends = dict(await self._log.end(DELTAS))
        if not self._high:
            self._low, self._high = dict(ends), dict(ends)
        for number in ends.keys() - self._high.keys():  # partitions were added
            self._low[number] = self._high[number] = 0
        await self._index({number: max(start.get(number, 0), high) for number, high in self._high.items()}, ends)
        self._high = ends

    async def _backwards(self, start: Mapping[int, int]) -> bool:
        """Index one window before what is indexed. Returns False when there is none."""
        limits = self._limits(start)
        before = {number: min(low, max(limits.get(number, 0), low - self._window)) for number, low in self._low.items()}
        if all(before[number] >= low for number, low in self._low.items()):
            return False
        await self._index(before, self._low)
        self._low = {number: min(offset, self._low[number]) for number, offset in before.items()}
        self._window = min(2 * self._window, LARGEST_WINDOW)
        return True

    async def _index(self, begin: Mapping[int, int], end: Mapping[int, int]) -> None:
        async for consumed in read_window(self._log, DELTAS, begin, end):
            if is_purge_marker(consumed):
                self._mark(consumed.position)
            elif is_notice(consumed) and consumed.position.offset >= self._floor.get(consumed.position.partition, 0):
                self._add(consumed)
        self._trim()

    def _mark(self, marker: Position) -> None:
        """Forget what the partition of the marker of a purge holds before it."""
        self._floor[marker.partition] = max(marker.offset, self._floor.get(marker.partition, 0))
        for index in self._graphs.values():
            self._drop_expired(index, {})

    def _limits(self, start: Mapping[int, int]) -> Mapping[int, int]:
        """Return, by partition, the offset of the first record that counts."""
        return {number: max(start.get(number, 0), self._floor.get(number, 0)) for number in {*start, *self._floor}}

    def _add(self, consumed: ConsumedRecord) -> None:
        try:
            notice = decode_notice(consumed.record.value or b"")
        except Rejected:
            return
        if not isinstance(notice, DeltaNotice) or not notice.version:
            return
        origin = commit_origin(consumed.record.headers)
        lowest: dict[int, int] = {}
        for document in origin.documents if origin else ():
            number = document.revision & (MAX_PARTITIONS - 1)
            lowest[number] = min(document.revision, lowest.get(number, document.revision))
        position = consumed.position
        place = NoticePlace(position.partition, position.offset, tuple(lowest.values()))
        complete = (notice.replaced and not notice.deleted) or (origin is not None and notice.parts > 0)
        self._graphs.setdefault(notice.graph, _Graph()).add(notice, place, complete=complete)

    def _drop_expired(self, index: _Graph, start: Mapping[int, int]) -> None:
        limits = self._limits(start)
        expired = [number for number, place in index.places.items() if place.offset < limits.get(place.partition, 0)]
        for number in expired:
            del index.places[number]

    def _trim(self) -> None:
        """Keep the newest versions of each graph, and of the largest graphs fewer while there are too many in all."""
        share = self._commits
        while share > 1 and sum(min(len(index.places), share) for index in self._graphs.values()) > MAX_PLACES:
            share //= 2
        for index in self._graphs.values():
            if len(index.places) > share:
                newest = sorted(index.places)[len(index.places) - share :]
                index.floor = max(index.floor, max(index.places) - share)
                index.places = {number: index.places[number] for number in newest}
