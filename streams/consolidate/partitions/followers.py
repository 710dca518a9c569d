"""The followers in a process: views that apply each durable delta."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable

from graphtide.graph.records import GraphDelta
from graphtide.streams.ports import (
    GraphStore,
    SnapshotUse,
)
from graphtide.streams.retry import outcome_of
from graphtide.streams.tracing import span

Expect = Callable[[str, Collection[str]], None]
"""Receives the graph and the documents of a commit that the followers are about to take; none if they are not."""

log = logging.getLogger("graphtide.streams")


def expect_nothing(graph: str, doc_ids: Collection[str]) -> None:
    """Ignore the commit."""


class LocalFollowers:
    """The followers in this process, and the version of each graph that they have applied."""

    def __init__(
        self, follow: Callable[[GraphDelta], object] | None, store: GraphStore, expect: Expect = expect_nothing
    ) -> None:
        self._follow = follow
        self._store = store
        self._expect = expect
        self._expected = set[str]()
        self._versions: dict[str, int] | None = None
        self._lock = asyncio.Lock()

    @property
    def exist(self) -> bool:
        """Return True if this process has followers: queries to it see the versions that they have applied."""
        return self._follow is not None

    def expect(self, deltas: Iterable[GraphDelta]) -> None:
        """Note that these deltas are being committed: followers will take them unless `forget_expected` is called."""
        for delta in deltas:
            self._expected.add(delta.graph)
            self._expect(delta.graph, [row.doc_id for row in delta.documents])

    def forget_expected(self) -> None:
        """Note that no delta is being committed."""
        while self._expected:
            self._expect(self._expected.pop(), ())

    async def catch_up(self) -> None:
        """Bring the followers to the stored versions, where an earlier run ended between a commit and its `take`."""
        if self._follow is None:
            return
        async with self._lock:
            stored = await self._store.graphs()
            for graph, version in (self._versions or {}).items():
                if graph not in stored:
                    await self._apply(GraphDelta(graph, version + 1, snapshot=True, deleted=True))
            for graph, version in stored.items():
                if self._versions is not None and self._versions.get(graph, 0) < version:
                    await self._apply(await self._store.snapshot(graph, SnapshotUse.VIEW))
            self._versions = dict(stored)

    async def take(self, delta: GraphDelta) -> None:
        """Apply a durable delta. No record causes a failure here: the followers start over from a snapshot."""
        self._expected.discard(delta.graph)
        if self._follow is None:
            return
        async with self._lock:
            with span("follow", graph=delta.graph, version=delta.version):
                failure = await outcome_of(self._apply(delta))
            if failure is not None:
                log.error(
                    "graph %s: applying version %d failed; loading a snapshot instead",
                    delta.graph,
                    delta.version,
                    exc_info=failure,
                )
                await self._apply(await self._store.snapshot(delta.graph, SnapshotUse.VIEW))
            self._versions = {**(self._versions or {}), delta.graph: delta.version}
            if delta.deleted:
                del self._versions[delta.graph]

    async def _apply(self, delta: GraphDelta) -> None:
        if self._follow is not None:
            await self._follow(delta)  # type: ignore[misc]
