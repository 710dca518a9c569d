"""The change log of a query replica: its memory for recent commits, the topic `deltas` for older ones.

A replica that has just started has no commit in memory, and reads all of them from the topic. Both give the same
records, so a reader continues at any replica, also at one that started later than the reader's position.

Invariant: a version is not retained only if the topic has lost or never had it: commits that the relay has still to
append are awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.changes.recent import RecentChanges
from graphtide.streams.changes.retained_deltas import RetainedDeltas
from graphtide.streams.errors import Retryable
from graphtide.streams.ports import GraphStore, Outbox

RELAY_POLL_S = 0.1
RELAY_TIMEOUT_S = 10.0
UNSENT_RECORDS = 256


class ClusterChangeLog:
    """See ChangeLog."""

    def __init__(self, recent: RecentChanges, retained: RetainedDeltas, store: GraphStore, outbox: Outbox) -> None:
        self._recent = recent
        self._retained = retained
        self._store = store
        self._outbox = outbox

    async def first(self, graph: str) -> int:
        """See ChangeLog.first. Cost: all records of the topic, at the first call."""
        return await self._retained.first(graph, await self._recent.first(graph))

    async def last(self, graph: str) -> int:
        """See ChangeLog.last."""
        return await self._recent.last(graph)

    async def retains(self, graph: str, version: int) -> bool:
        """See ChangeLog.retains. Raises Retryable while the relay has not sent the next commit."""
        last = await self._recent.last(graph)
        if version >= last or version >= await self._recent.first(graph):
            return version <= last
        if await self._retained.has(graph, version + 1):
            return True
        deadline = asyncio.get_running_loop().time() + RELAY_TIMEOUT_S
        while await self._is_unsent(graph):
            if asyncio.get_running_loop().time() > deadline:
                raise Retryable(f"the changes of graph {graph!r} after version {version} are not in the log yet")
            await asyncio.sleep(RELAY_POLL_S)
            if await self._retained.has(graph, version + 1):
                return True
        return await self._retained.has(graph, version + 1)

    async def read(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        """See ChangeLog.read."""
        if after >= await self._recent.first(graph):
            return await self._recent.read(graph, after, limit)
        found = await self._older(graph, after, limit)
        while not found and await self.retains(graph, after):
            is_unsent = await self._is_unsent(graph)
            found = await self._older(graph, after, limit)
            if not found and is_unsent:  # the last parts of the commit are on their way
                await asyncio.sleep(RELAY_POLL_S)
            elif not found:
                await self._retained.discard(graph, after + 1)
        return found

    async def version_of(self, graph: str, until: Mapping[int, int]) -> int:
        """See ChangeLog.version_of. Cost: the records since that version."""
        found = await self._recent.version_of(graph, until)
        return found or await self._retained.newest_with(graph, until, await self._recent.first(graph))

    async def wait(self, graph: str, version: int) -> None:
        """See ChangeLog.wait."""
        await self._recent.wait(graph, version)

    async def clear(self) -> None:
        """Forget all commits: they hold deleted content."""
        self._recent.clear()
        await self._retained.clear()

    async def _older(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        """Return commits of the topic, none that the view of this process does not show yet."""
        return await self._retained.read(graph, after, limit, await self._recent.last(graph))

    async def _is_unsent(self, graph: str) -> bool:
        """Return True if the outbox has records of the graph, or more records than are looked at."""
        partition = (await self._store.bindings([graph])).get(graph)
        if partition is None:
            return False
        waiting = await self._outbox.waiting(partition, UNSENT_RECORDS)
        return len(waiting) >= UNSENT_RECORDS or any(record.key == graph for _, record in waiting)
