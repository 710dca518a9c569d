"""The evaluation of missed versions: each version by itself, for a bounded time, whatever was noted before."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from graphtide.graph.records import GraphDelta
from graphtide.graph.retrieval.types import Question
from graphtide.graph.standing.evaluator import GraphEvaluator
from graphtide.graph.standing.types import EvidenceChange
from graphtide.graph.view import IndexVersions, LiveView, VectorIndexes
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.infra.observability.metrics.standing import StandingMetrics
from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.follow import delta_codec
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.standing.records import Cause, QuestionDefinition
from graphtide.streams.standing.replay import MissedQuestion, MissedVersions
from graphtide.streams.standing.stage import StandingStage
from tests.model.memory.questions import MemoryQuestionStore
from tests.support.extractions import vector
from tests.support.worlds import DIMENSIONS, RandomWorld, empty_view

SEED = 20_261_122
VERSIONS = 12
LAST = VERSIONS + 1
GRAPH = "world"
TEXT = "how does Ada know Bob"
QUESTION = Question(TEXT, vector(TEXT).astype(np.float32), 2, "vector")


@dataclass
class History:
    """The history of a graph from its first version on. `noted` is the version that workers have noted."""

    deltas: list[GraphDelta]
    noted: int = 0
    opened: list[LiveView] = field(default_factory=list)

    @classmethod
    def random(cls) -> History:
        world = RandomWorld(random.Random(SEED))
        return cls([world.step() for _ in range(LAST)])

    def view_at(self, version: int) -> LiveView:
        view = empty_view()
        for delta in self.deltas[:version]:
            view.apply(delta)
        return view

    async def evaluated(self, graph: str) -> int:
        return self.noted

    async def open(self, graph: str, version: int) -> LiveView | None:
        self.opened.append(self.view_at(version))
        return self.opened[-1]

    async def after(self, graph: str, version: int) -> AsyncIterator[ChangeRecord]:
        for delta in self.deltas[version:]:
            encoded = zlib.compress(delta_codec.encode(delta, sums=False))
            yield ChangeRecord(graph, delta.version, 0, (), encoded)


class NoIndexes:
    """The keeper of a process that saves no index."""

    def open(self, graph: str, dimensions: int, version: int) -> tuple[VectorIndexes, IndexVersions]:
        return empty_view(dimensions).indexes, IndexVersions()

    def save(self, graph: str, indexes: VectorIndexes, version: int) -> None: ...
    def compact(self, indexes: VectorIndexes) -> None: ...
    def drop(self, graph: str) -> None: ...
    def close(self, indexes: VectorIndexes) -> None: ...


async def no_causes(graph: str, version: int, delta: GraphDelta | None) -> tuple[Cause, ...]:
    return ()


@dataclass
class Workers:
    """The workers that evaluate the questions of one graph: at most one at a time, over one store."""

    history: History
    store: MemoryQuestionStore = field(default_factory=MemoryQuestionStore)

    async def start(self, version: int) -> StandingStage:
        """Return the stage of a new worker, which has loaded the graph at this version and evaluated the questions."""
        views = ViewRegistry(NoIndexes())
        for delta in self.history.deltas[:version]:
            await views.follow(delta)
        stage = StandingStage(
            self.store, views, HashingEmbedder(DIMENSIONS), no_causes, StandingMetrics(CollectorRegistry())
        )
        stage.history = self.history
        await stage.open()
        await stage.load_all()
        return stage

    async def versions(self, question_id: str) -> list[int]:
        """Return the versions of the question's events."""
        return [event.version for event in await self.store.events(GRAPH, question_id, 0, 1000)]


async def changes(history: History, top_k: int, first: int, last: int) -> list[int]:
    """Return the versions after `first` at which asking again gives another list of passages."""
    [embedded] = await HashingEmbedder(DIMENSIONS).embed([TEXT])
    asked = replace(QUESTION, vector=embedded, top_k=top_k, exact=True)
    found = {}
    for version in range(first, last + 1):
        evaluator = GraphEvaluator()
        found[version] = [e.chunk_id for e in evaluator.put_all(history.view_at(version), {"q": asked})["q"]]
    return [version for version in range(first + 1, last + 1) if found[version] != found[version - 1]]


async def test_each_version_has_its_event_when_the_workers_died_before_they_noted_one() -> None:
    """A worker that is killed within a second of the first registration has noted no version."""
    print("seed", SEED)
    workers = Workers(History.random())
    await (await workers.start(1)).put(GRAPH, QuestionDefinition("q", TEXT, "vector", 5))
    await workers.start(LAST)
    expected = await changes(workers.history, 5, 1, LAST)
    assert await workers.versions("q") == expected and len(expected) > 1


async def test_each_version_has_its_event_when_the_noting_worker_did_not_know_the_question() -> None:
    """A worker may note a version before it has seen a question that another one, now dead, has evaluated."""
    print("seed", SEED)
    workers = Workers(History.random())
    await (await workers.start(1)).put(GRAPH, QuestionDefinition("q", TEXT, "vector", 5))
    expected = await changes(workers.history, 5, 1, LAST)
    workers.history.noted = expected[0]
    await workers.start(LAST)
    assert await workers.versions("q") == expected
    assert [view.version for view in workers.history.opened] == [expected[0], LAST]


async def test_nothing_is_opened_when_no_version_was_missed() -> None:
    """A worker that starts at the version that was noted reads no history."""
    workers = Workers(History.random())
    await (await workers.start(LAST)).put(GRAPH, QuestionDefinition("q", TEXT, "vector", 5))
    workers.history.noted = LAST
    await workers.start(LAST)
    assert not workers.history.opened


@pytest.mark.parametrize(("max_s", "evaluated"), [(float("inf"), VERSIONS), (5.0, 5)])
async def test_versions_are_evaluated_until_the_time_is_up(max_s: float, evaluated: int) -> None:
    """The events are those of a worker that was there, up to the version at which the time was up."""
    print("seed", SEED)
    history, ticks = History.random(), itertools.count()
    asked = {name: MissedQuestion(replace(QUESTION, top_k=count), 2, ()) for name, count in (("one", 1), ("five", 5))}
    found: list[int] = []

    async def settle(version: int, changes: Sequence[EvidenceChange], causes: tuple[Cause, ...]) -> None:
        found.append(version)
        assert all(change.before != change.after for change in changes)

    await MissedVersions(history, GRAPH, 1, max_s, lambda: float(next(ticks))).evaluate(asked, settle)
    [view] = history.opened
    assert view.version == 1 + evaluated
    assert found == sorted(set(found)) and found and found[-1] <= 1 + evaluated
