"""The evaluation of versions that no process has evaluated: one by one, on a view of the graph before them.

Workers that were all down, or that fell behind and loaded a snapshot, find the commits in the history of the graph.

Invariant: the events are those of a worker that was there at each of these versions.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphtide.graph.retrieval.types import Question
from graphtide.graph.standing.evaluator import GraphEvaluator
from graphtide.graph.standing.types import EvidenceChange
from graphtide.graph.view import LiveView
from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.ports import RevisionState
from graphtide.streams.standing.records import Cause

log = logging.getLogger("graphtide.streams")

MAX_REPLAYED = 1_000
"""Versions that are evaluated one by one; the changes of more are one event, at the last version."""
MAX_REPLAY_S = 120.0
"""Seconds after which the versions that are left are evaluated as one: the follower of the process waits meanwhile."""
CAUSES = (RevisionState.APPLIED, RevisionState.DELETED)

Settle = Callable[[int, Sequence[EvidenceChange], tuple[Cause, ...]], Awaitable[None]]
"""Stores the changes by a version, with the revisions that caused them."""


class EvaluationHistory(Protocol):
    """The history of the graphs whose questions this process evaluates."""

    async def evaluated(self, graph: str) -> int:
        """Return a version up to which some process has evaluated all questions of the graph; 0 when unknown."""
        ...

    async def open(self, graph: str, version: int) -> LiveView | None:
        """Return the graph at an earlier version, for the caller to advance; None if that is not retained."""
        ...

    def after(self, graph: str, version: int) -> AsyncIterator[ChangeRecord]:
        """Yield the commits after a version up to that of the present view. Raises Expired for a gap."""
        ...


@dataclass(frozen=True, slots=True)
class MissedVersions:
    """The versions of a graph after `since`, up to that of its present view."""

    history: EvaluationHistory
    graph: str
    since: int
    most_s: float = MAX_REPLAY_S
    clock: Callable[[], float] = time.monotonic

    async def evaluate(self, asked: Mapping[str, Question], settle: Settle) -> None:
        """Evaluate these questions at each of the versions, until `most_s` have passed. Does nothing when the versions
        are not retained.
        """
        until = self.clock() + self.most_s
        view = await self.history.open(self.graph, self.since)
        if view is None:
            log.warning("graph %s: the versions after %d are evaluated as one", self.graph, self.since)
            return
        evaluator = GraphEvaluator()
        await asyncio.to_thread(_put_all, evaluator, view, asked)
        async for record in self.history.after(self.graph, self.since):
            changes = await asyncio.to_thread(_step, evaluator, view, record)
            if changes:
                await settle(record.version, changes, causes_of(record))
            if self.clock() >= until:
                log.warning("graph %s: out of time: versions after %d are evaluated as one", self.graph, record.version)
                return
        log.info("graph %s: evaluated the versions %d to %d", self.graph, self.since + 1, view.version)


def causes_of(record: ChangeRecord) -> tuple[Cause, ...]:
    """Return the revisions that a commit applied or deleted, by document."""
    found = {each.id: each.revision for each in record.documents if each.state in CAUSES}
    return tuple(Cause(doc_id, revision) for doc_id, revision in sorted(found.items()))


def _put_all(evaluator: GraphEvaluator, view: LiveView, asked: Mapping[str, Question]) -> None:
    evaluator.put_all(view, asked)


def _step(evaluator: GraphEvaluator, view: LiveView, record: ChangeRecord) -> tuple[EvidenceChange, ...]:
    delta = record.delta()
    view.apply(delta)
    return evaluator.advance(view, delta)
