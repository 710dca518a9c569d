"""The evaluation of missed versions: each version by itself, for a bounded time."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from graphtide.graph.records import GraphDelta
from graphtide.graph.retrieval.types import Question
from graphtide.graph.standing.types import EvidenceChange
from graphtide.graph.view import LiveView
from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.follow import delta_codec
from graphtide.streams.standing.records import Cause
from graphtide.streams.standing.replay import MissedVersions
from tests.support.extractions import vector
from tests.support.worlds import RandomWorld, empty_view

SEED = 20_261_122
VERSIONS = 12


@dataclass
class History:
    """The history of a graph: a view of its first version, and the deltas after it."""

    view: LiveView = field(default_factory=empty_view)
    deltas: list[GraphDelta] = field(default_factory=list)

    @classmethod
    def random(cls) -> History:
        world, made = RandomWorld(random.Random(SEED)), cls()
        made.view.apply(world.step())
        made.deltas = [world.step() for _ in range(VERSIONS)]
        return made

    async def evaluated(self, graph: str) -> int:
        return self.view.version

    async def open(self, graph: str, version: int) -> LiveView | None:
        return self.view

    async def after(self, graph: str, version: int) -> AsyncIterator[ChangeRecord]:
        for delta in self.deltas:
            encoded = zlib.compress(delta_codec.encode(delta, sums=False))
            yield ChangeRecord(graph, delta.version, 0, (), encoded)


@pytest.mark.parametrize(("most_s", "evaluated"), [(float("inf"), VERSIONS), (5.0, 5)])
async def test_versions_are_evaluated_until_the_time_is_up(most_s: float, evaluated: int) -> None:
    """The events are those of a worker that was there, up to the version at which the time was up."""
    print("seed", SEED)
    history, ticks = History.random(), itertools.count()
    text = "how does Ada know Bob"
    question = Question(text, vector(text).astype(np.float32), 2, "vector")
    asked = {name: replace(question, top_k=count) for name, count in (("one", 1), ("five", 5))}
    found: list[int] = []

    async def settle(version: int, changes: Sequence[EvidenceChange], causes: tuple[Cause, ...]) -> None:
        found.append(version)
        assert all(change.before != change.after for change in changes)

    missed = MissedVersions(history, "world", history.view.version, most_s, lambda: float(next(ticks)))
    first = history.view.version
    await missed.evaluate(asked, settle)
    assert history.view.version == first + evaluated
    assert found == sorted(set(found)) and found and found[-1] <= first + evaluated
