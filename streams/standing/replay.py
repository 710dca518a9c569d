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
from graphtide.graph.standing.types import Evidence, EvidenceChange, same_evidence
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
class MissedQuestion:
    """A question with the stored evidence, which is that of `version` and of the versions evaluated after it."""

    question: Question
    version: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class _EvaluatedView:
    """A view of an earlier version, and the evidence of all questions at it."""

    view: LiveView
    evaluator: GraphEvaluator
    evidence: Mapping[str, Evidence]

    @classmethod
    def of(cls, view: LiveView, asked: Mapping[str, MissedQuestion]) -> _EvaluatedView:
        evaluator = GraphEvaluator()
        with view.lock.read():
            found = evaluator.put_all(view, {question_id: each.question for question_id, each in asked.items()})
        return cls(view, evaluator, found)

    def outdated(self, asked: Mapping[str, MissedQuestion]) -> list[str]:
        """Return the questions whose stored evidence is older than this version, and differs from the present one."""
        return [
            question_id
            for question_id, each in asked.items()
            if each.version <= self.view.version and not same_evidence(each.evidence, self.evidence[question_id])
        ]


@dataclass(frozen=True, slots=True)
class MissedVersions:
    """The versions of a graph after `since`, up to that of its present view."""

    history: EvaluationHistory
    graph: str
    since: int
    max_s: float = MAX_REPLAY_S
    clock: Callable[[], float] = time.monotonic

    async def evaluate(self, asked: Mapping[str, MissedQuestion], settle: Settle) -> None:
        """Evaluate these questions at each of the versions, until `max_s` have passed. Does nothing when the versions
        are not retained.

        A question whose stored evidence is not that at `since` was unknown to the worker that noted `since`: the
        evaluation then begins at the version of that evidence.
        """
        until = self.clock() + self.max_s
        since, opened = self.since, await self._open(self.since, asked)
        if opened and (outdated := opened.outdated(asked)):
            since = min(asked[question_id].version for question_id in outdated)
            opened = await self._open(since, asked)
        if opened is None:
            log.warning("graph %s: the versions after %d are evaluated as one", self.graph, since)
            return
        view = opened.view
        async for record in self.history.after(self.graph, since):
            changes = await asyncio.to_thread(_step, opened.evaluator, view, record)
            if changes:
                await settle(record.version, changes, causes_of(record))
            if self.clock() >= until:
                log.warning("graph %s: out of time: versions after %d are evaluated as one", self.graph, record.version)
                return
        log.info("graph %s: evaluated the versions %d to %d", self.graph, since + 1, view.version)

    async def _open(self, version: int, asked: Mapping[str, MissedQuestion]) -> _EvaluatedView | None:
        view = await self.history.open(self.graph, version)
        return await asyncio.to_thread(_EvaluatedView.of, view, asked) if view is not None else None


def causes_of(record: ChangeRecord) -> tuple[Cause, ...]:
    """Return the revisions that a commit applied or deleted, by document."""
    found = {each.id: each.revision for each in record.documents if each.state in CAUSES}
    return tuple(Cause(doc_id, revision) for doc_id, revision in sorted(found.items()))


def _step(evaluator: GraphEvaluator, view: LiveView, record: ChangeRecord) -> tuple[EvidenceChange, ...]:
    delta = record.delta()
    with view.lock.read():  # the view is this evaluation's own: the lock keeps the present one as it is meanwhile
        view.apply(delta)
        return evaluator.advance(view, delta)
