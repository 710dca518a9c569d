"""The history of graphs for a worker that evaluates standing questions: it reads all of it from the topic `deltas`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from graphtide.graph.view import LiveView
from graphtide.services.changes.past_views import open_earlier
from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.changes.cluster_log import RELAY_POLL_S, RELAY_TIMEOUT_S
from graphtide.streams.changes.retained_deltas import RetainedDeltas
from graphtide.streams.errors import Expired
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.standing.store import SharedQuestionStore

PAGE = 32


class RetainedHistory:
    """See EvaluationHistory."""

    def __init__(self, retained: RetainedDeltas, views: ViewRegistry, questions: SharedQuestionStore) -> None:
        self._retained = retained
        self._views = views
        self._questions = questions

    async def evaluated(self, graph: str) -> int:
        """See EvaluationHistory.evaluated."""
        return await self._questions.evaluated(graph)

    async def read(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        """See ChangeReader.read."""
        return await self._retained.read(graph, after, limit, self._views.version(graph))

    async def open(self, graph: str, version: int) -> LiveView | None:
        """See EvaluationHistory.open. Cost: the commits since that version."""
        present = self._views.get(graph)
        if present is None or not await self._is_relayed(graph, present.version):
            return None
        try:
            return await open_earlier(present, version, self, asyncio.to_thread)
        except Expired:
            return None

    async def after(self, graph: str, version: int) -> AsyncIterator[ChangeRecord]:
        """See EvaluationHistory.after."""
        until = self._views.version(graph)
        while version < until:
            found = await self.read(graph, version, PAGE)
            if not found or found[0].replaced:
                raise Expired(f"version {version + 1} of graph {graph!r} is not retained")
            for record in found:
                yield record
            version = found[-1].version

    async def _is_relayed(self, graph: str, version: int) -> bool:
        """Return True once the topic has the commit to the version, which a relay may still have to send."""
        deadline = asyncio.get_running_loop().time() + RELAY_TIMEOUT_S
        while not await self.read(graph, version - 1, 1):
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(RELAY_POLL_S)
        return True
