"""The evaluation of standing questions: once for every version of a graph, in order, in one process.

After a commit is durable and the view shows it, in this order:
1. evaluate the questions that the commit can affect, under the view's read lock
2. store their events and their evidence in one step
3. wake the readers of events
The next version is applied to the view only after that, so a crash leaves at most one version without an evaluation.
`load` evaluates every question at the view's version before the first new one: what differs from the stored evidence is
the change by the version that was not evaluated.

Invariant: a version is evaluated completely before the view shows the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from graphtide.graph.records import GraphDelta
from graphtide.graph.standing.evaluator import GraphEvaluator
from graphtide.graph.standing.types import Evidence, EvidenceChange, same_evidence
from graphtide.graph.view import LiveView
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import NotFound, Retryable
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.model_ports import Embedder
from graphtide.streams.retry import outcome_of
from graphtide.streams.standing.question_vectors import RETRY_S, Asked, QuestionEmbedding
from graphtide.streams.standing.records import (
    Cause,
    EvaluatedQuestion,
    QuestionDefinition,
    QuestionEvent,
    StoredQuestion,
)
from graphtide.streams.standing.replay import MAX_REPLAYED, EvaluationHistory, MissedQuestion, MissedVersions
from graphtide.streams.standing.store import QuestionStore
from graphtide.streams.usage import BillingContext, paid_by

log = logging.getLogger("graphtide.streams")

PAGE = 500
CATCH_UP_S = 10.0

Causes = Callable[[str, int, GraphDelta | None], Awaitable[tuple[Cause, ...]]]
"""Returns the revisions that the commit to a version of a graph applied; the delta is None after a restart."""


class StandingObserver(Protocol):
    """Receiver of the figures of evaluations."""

    def evaluated(self, graph: str, questions: int, evaluations: int, events: int, seconds: float) -> None: ...


@dataclass(slots=True)
class _Graph:
    """The questions of one graph in this process. `lock` is held while they change or are evaluated."""

    evaluator: GraphEvaluator = field(default_factory=GraphEvaluator)
    definitions: dict[str, QuestionDefinition] = field(default_factory=dict)
    encoded: dict[str, tuple[QuestionDefinition, str]] = field(default_factory=dict)
    """The encoded definitions of questions that had an event, each with the definition: hundreds are needed at once."""
    version: int = 0
    """The version that the evidence is of."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    evaluated: asyncio.Event = field(default_factory=asyncio.Event)
    loaded: bool = False

    def encode(self, definition: QuestionDefinition) -> str:
        """Return the encoded definition, which is made once."""
        known = self.encoded.get(definition.id)
        if known is None or known[0] is not definition:
            known = self.encoded[definition.id] = definition, definition.encode()
        return known[1]

    def forget(self, question_id: str) -> None:
        """Drop the definition of a question, if there is one."""
        self.definitions.pop(question_id, None)
        self.encoded.pop(question_id, None)

    def reach(self, version: int) -> None:
        """Note that the evidence is that of the version, and wake those that wait for it."""
        self.version = max(self.version, version)
        self.evaluated.set()
        self.evaluated = asyncio.Event()


class StandingStage:
    """The evaluator of all graphs of a process. `committed` is called after each delta that a view has applied."""

    def __init__(
        self,
        store: QuestionStore,
        views: ViewRegistry,
        embedder: Embedder,
        causes: Causes,
        observer: StandingObserver,
        recorded: Callable[[str, Sequence[QuestionEvent]], None] = lambda graph, events: None,
    ) -> None:
        self._store = store
        self._views = views
        self._questions = QuestionEmbedding(embedder)
        self._causes = causes
        self._observer = observer
        self._recorded = recorded
        self.history: EvaluationHistory | None = None
        """The history of the graphs, where versions may pass while no process evaluates."""
        self._graphs: dict[str, _Graph] = {}

    async def caught_up(self, graph: str) -> None:
        """Return once the questions are evaluated at the version that the view shows now, at most after CATCH_UP_S."""
        state, view = self._graphs.get(graph), self._views.get(graph)
        if state is None or view is None:
            return
        wanted = view.version
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):
                while state.definitions and state.version < wanted:
                    await state.evaluated.wait()

    async def open(self) -> None:
        """Note the graphs that have questions. They are evaluated by `load`, before their next version is applied."""
        for graph in await self._store.graphs():
            self._graphs[graph] = _Graph()

    def counts(self) -> Mapping[str, int]:
        """Return the number of questions by graph."""
        return {graph: len(state.definitions) for graph, state in self._graphs.items()}

    def version(self, graph: str) -> int:
        """Return the version up to which the questions of a graph are evaluated; 0 before the first evaluation."""
        return self._graphs[graph].version if graph in self._graphs else 0

    async def load_all(self) -> None:
        """Load the questions of every graph, before a version needs them."""
        for graph in list(self._graphs):
            await self.load(graph)

    async def evaluate_again(self) -> None:
        """Evaluate every question at the version of its view: the model of the vectors has changed."""
        for graph, state in list(self._graphs.items()):
            async with state.lock:
                state.loaded = False
                await self._load(graph, state, None)

    async def load(self, graph: str) -> None:
        """Evaluate all questions of a graph at the version of its view, unless that was done. Call before a delta."""
        state = self._graphs.get(graph)
        if state is None or state.loaded:
            return
        async with state.lock:
            if not state.loaded:
                await self._load(graph, state, None)

    async def _load(self, graph: str, state: _Graph, delta: GraphDelta | None) -> None:
        view = self._views.get(graph)
        if view is None:
            return
        await self._evaluate_missed(graph, state, view)
        state.evaluator, state.definitions, state.encoded, after = GraphEvaluator(), {}, {}, ""
        while page := await self._store.page(graph, after, PAGE):
            after = page[-1].definition.id
            asked = await self._questions.until_done(view, page)
            version, found = await asyncio.to_thread(_evaluate_at, view, state.evaluator, asked)
            state.definitions |= {each.definition.id: each.definition for each in page}
            rows = [_recovered(each, evidence) for each, evidence in found if _is_news(each, evidence)]
            await self._settle(graph, version, rows, delta)
        state.loaded = True
        state.reach(view.version)

    async def _evaluate_missed(self, graph: str, state: _Graph, view: LiveView) -> None:
        """Evaluate the versions that no process has evaluated, where the history has them."""
        if self.history is None:
            return
        if (noted := max(state.version, await self.history.evaluated(graph))) >= view.version:
            return
        asked, answers, after = dict[str, MissedQuestion](), dict[str, bool](), ""
        while page := await self._store.page(graph, after, PAGE):
            after = page[-1].definition.id
            found = await self._questions.until_done(view, [each for each in page if each.version])
            asked |= {e.definition.id: MissedQuestion(question, e.version, e.evidence) for e, question in found}
            answers |= {each.definition.id: each.definition.answer for each, _ in found}
        # Workers that died soon have noted no version; the oldest stored evidence bounds what they may have missed.
        since = max(noted, min((each.version for each in asked.values()), default=0))
        if not asked or not 0 < view.version - since <= MAX_REPLAYED:
            return

        async def settle(version: int, changes: Sequence[EvidenceChange], causes: tuple[Cause, ...]) -> None:
            rows = [EvaluatedQuestion(e.question_id, e.after, causes, answers[e.question_id]) for e in changes]
            await self._settle(graph, version, rows, None, causes)

        failure = await outcome_of(MissedVersions(self.history, graph, since).evaluate(asked, settle))
        if failure is not None:
            log.error("graph %s: versions after %d are evaluated as one", graph, since, exc_info=failure)

    async def committed(self, delta: GraphDelta) -> None:
        """Evaluate the version that the view of the graph has just reached. Costs nothing without questions.

        The questions of a deleted graph are forgotten: the store deletes them with the graph.
        """
        if delta.deleted and self._graphs.pop(delta.graph, None) is not None:
            self._recorded(delta.graph, ())
        state = self._graphs.get(delta.graph)
        if state is None or (state.loaded and not state.definitions):
            return
        async with state.lock:
            view = self._views.get(delta.graph)
            if view is None or view.version != delta.version:
                return
            if delta.snapshot and self.history is not None:  # the view skipped versions
                state.loaded = False
            if not state.loaded:
                await self._load(delta.graph, state, delta)
                return
            await self._advance(view, state, delta)

    async def _advance(self, view: LiveView, state: _Graph, delta: GraphDelta) -> None:
        started, before = asyncio.get_running_loop().time(), state.evaluator.counters.evaluated
        changes = await outcome_of(asyncio.to_thread(_advance, view, state.evaluator, delta))
        if isinstance(changes, Exception):
            log.error("graph %s: evaluating standing questions failed; starting over", view.graph, exc_info=changes)
            state.loaded = False
            await self._load(view.graph, state, delta)
            return
        rows = [_changed(state, change) for change in changes]
        events = await self._settle(view.graph, view.version, rows, delta)
        state.reach(view.version)
        seconds = asyncio.get_running_loop().time() - started
        evaluations = state.evaluator.counters.evaluated - before
        self._observer.evaluated(view.graph, len(state.evaluator), evaluations, events, seconds)

    async def _settle(
        self,
        graph: str,
        version: int,
        rows: Sequence[EvaluatedQuestion],
        delta: GraphDelta | None,
        causes: tuple[Cause, ...] | None = None,
    ) -> int:
        """Store evaluations; a failure of the storage delays the next version. Returns the number of events."""
        if not rows:
            return 0
        while True:
            stored = await outcome_of(self._record(graph, version, rows, delta, causes))
            if not isinstance(stored, Exception):
                break
            log.error("graph %s: events at version %d could not be stored", graph, version, exc_info=stored)
            if not isinstance(stored, Retryable):
                return 0  # the next start finds them: the stored evidence is older
            await asyncio.sleep(RETRY_S)
        if stored:
            self._recorded(graph, stored)
        return len(stored)

    async def _record(
        self,
        graph: str,
        version: int,
        rows: Sequence[EvaluatedQuestion],
        delta: GraphDelta | None,
        known: tuple[Cause, ...] | None,
    ) -> Sequence[QuestionEvent]:
        causes = known or ()
        if known is None and any(row.causes is not None for row in rows):
            causes = await self._causes(graph, version, delta)
        return await self._store.record(graph, version, now_ms(), [_with_causes(row, causes) for row in rows])

    # -- registration --------------------------------------------------------------------------------------------------

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion:
        """Register or replace a question, and evaluate it. Raises NotFound for a graph without a document."""
        view = self._views.get(graph)
        if view is None:
            raise NotFound(f"graph {graph!r} has no document applied yet; publish one, then register the question")
        with paid_by(BillingContext(graph, question=True)):
            question = await self._questions.of(view, definition)
        state = self._graphs.setdefault(graph, _Graph(loaded=True))
        await self.load(graph)
        async with state.lock:
            view = self._views.get(graph) or view
            stored = await self._store.put(graph, definition)
            if not stored.version or definition.id not in state.evaluator:
                version, found = await asyncio.to_thread(_evaluate_at, view, state.evaluator, [(stored, question)])
                if not state.definitions:  # otherwise the other questions are evaluated at this version by `committed`
                    state.reach(version)
                state.definitions[definition.id] = definition
                rows = [
                    EvaluatedQuestion(definition.id, evidence, definition=definition.encode()) for _, evidence in found
                ]
                await self._store.record(graph, version, now_ms(), rows)
            return await self._store.get(graph, definition.id) or stored

    async def refresh(self, graph: str) -> bool:
        """Take over the questions that another process registered or deleted. Returns False without a view."""
        if self._views.get(graph) is None:
            return False
        state = self._graphs.setdefault(graph, _Graph())
        async with state.lock:
            view = self._views.get(graph)
            if not state.loaded:
                await self._load(graph, state, None)
            elif view is not None:
                await self._refresh(graph, view, state)
            return state.loaded

    async def _refresh(self, graph: str, view: LiveView, state: _Graph) -> None:
        seen, after = set[str](), ""
        while page := await self._store.page(graph, after, PAGE):
            after = page[-1].definition.id
            seen.update(each.definition.id for each in page)
            fresh = [e for e in page if not e.version or state.definitions.get(e.definition.id) != e.definition]
            if not fresh:
                continue
            asked = await self._questions.of_all(view, fresh)
            version, found = await asyncio.to_thread(_evaluate_at, view, state.evaluator, asked)
            if not state.definitions:
                state.reach(version)
            state.definitions |= {each.definition.id: each.definition for each in fresh}
            rows = [_recovered(each, evidence) for each, evidence in found if _is_news(each, evidence)]
            await self._settle(graph, version, rows, None)
        for gone in state.definitions.keys() - seen:
            state.evaluator.drop(gone)
            state.forget(gone)

    async def delete(self, graph: str, question_id: str) -> bool:
        """Delete a question with its events. Returns False when it does not exist."""
        state = self._graphs.get(graph)
        if state is None:
            return await self._store.delete(graph, question_id)
        async with state.lock:
            state.evaluator.drop(question_id)
            state.forget(question_id)
            return await self._store.delete(graph, question_id)


def _evaluate_at(
    view: LiveView, evaluator: GraphEvaluator, asked: Iterable[Asked]
) -> tuple[int, list[tuple[StoredQuestion, Evidence]]]:
    with view.lock.read():
        questions = [(stored, question) for stored, question in asked]
        found = evaluator.put_all(view, {stored.definition.id: question for stored, question in questions})
        return view.version, [(stored, found[stored.definition.id]) for stored, _ in questions]


def _advance(view: LiveView, evaluator: GraphEvaluator, delta: GraphDelta) -> tuple[EvidenceChange, ...]:
    with view.lock.read():
        return evaluator.advance(view, delta)


def _recovered(stored: StoredQuestion, evidence: Evidence) -> EvaluatedQuestion:
    """Return the evaluation of a stored question at the start; a question without evidence has its first one."""
    causes = () if stored.version else None
    definition = stored.definition
    return EvaluatedQuestion(definition.id, evidence, causes, definition.answer, definition.encode())


def _is_news(stored: StoredQuestion, evidence: Evidence) -> bool:
    return not stored.version or not same_evidence(stored.evidence, evidence)


def _changed(state: _Graph, change: EvidenceChange) -> EvaluatedQuestion:
    definition = state.definitions[change.question_id]
    return EvaluatedQuestion(change.question_id, change.after, (), definition.answer, state.encode(definition))


def _with_causes(row: EvaluatedQuestion, causes: tuple[Cause, ...]) -> EvaluatedQuestion:
    return row if row.causes is None else replace(row, causes=causes)
