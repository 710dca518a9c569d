"""Opening an earlier version while the graph changes, from a history that may have a gap."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from graphtide.graph.digest import digest
from graphtide.graph.records import GraphDelta
from graphtide.services.changes.past_views import open_earlier
from graphtide.streams.changes.change_log import ChangeRecord
from graphtide.streams.changes.old_rows import OldRows
from graphtide.streams.errors import Expired
from tests.support.graph_history import GraphHistory
from tests.support.worlds import RandomWorld

SEED = 20_261_125


@dataclass(frozen=True)
class Commit:
    """One commit as a reader of the history gets it."""

    forward: GraphDelta
    old: GraphDelta
    replaced: bool = False

    @property
    def version(self) -> int:
        return self.forward.version

    def delta(self) -> GraphDelta:
        return self.forward

    def old_rows(self) -> OldRows:
        return OldRows(self.old, ())


@dataclass
class Reader:
    """The history of a graph that changes at each read; without the versions up to `missing`."""

    history: GraphHistory
    missing: int = 0
    reads: list[int] = field(default_factory=list)

    async def read(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        history = self.history
        rows = zip(history.deltas, history.old, strict=True)
        found = [Commit(delta, old) for delta, old in rows if after < delta.version > self.missing]
        history.commit(history.world.step())
        self.reads.append(after)
        return cast(Sequence[ChangeRecord], found[: min(limit, 3)])


async def run(call: Callable[[], None]) -> None:
    call()


def random_history() -> GraphHistory:
    print("seed", SEED)
    history = GraphHistory(RandomWorld(random.Random(SEED)))
    for _ in range(10):
        history.commit(history.world.step())
    return history


async def test_version_is_as_it_was_when_commits_arrive_while_it_is_opened() -> None:
    """Commits between the reads of the history are noted after it, not before; each commit is read once."""
    history = random_history()
    reader = Reader(history)
    earlier = await open_earlier(history.view, 2, reader, run)
    assert (reader.reads, history.view.version) == ([2, 5, 8], 13)
    expected = digest(history.rebuilt(2).rows())
    assert earlier.digests.read(earlier) == (2, expected)
    history.commit(history.world.step())
    with earlier.lock.read():
        assert digest(earlier.rows()) == expected


async def test_version_beyond_a_gap_of_the_history_has_expired() -> None:
    history = random_history()
    with pytest.raises(Expired, match="version 2"):
        await open_earlier(history.view, 2, Reader(history, missing=4), run)
    assert not history.view.undo_logs


async def test_closed_version_is_freed_at_once_and_costs_commits_nothing() -> None:
    """No cycle keeps it, and the present view notes nothing for it any more."""
    history = random_history()
    gc.disable()
    try:
        earlier: Any = await open_earlier(history.view, 9, Reader(history), run)
        with earlier.lock.read():
            earlier.digests.note(earlier, GraphDelta("world", 10))
        freed = weakref.ref(earlier)
        assert len(history.view.undo_logs) == 1
        del earlier
        assert freed() is None and not history.view.undo_logs
    finally:
        gc.enable()
