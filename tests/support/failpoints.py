"""The service with failpoints: named points around the steps of the stages and the storage at which it kills itself.

Not a part of the service: `python -m tests.support.failpoints serve …` wraps the steps before it starts, so what users
run has no such points and no setting for them. FAILPOINT=name or name:count selects the passage at which kill -9 comes.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import graphtide.infra.sqlite.ledger
import graphtide.services.local_application
import graphtide.streams.extract.stage
from graphtide.infra.hnsw.snapshot import Snapshot
from graphtide.infra.sqlite.graph_store.store import SqliteGraphStore
from graphtide.infra.sqlite.log import SqliteConsumer, SqliteLog
from graphtide.infra.sqlite.standing.questions import SqliteQuestionStore
from graphtide.streams.consolidate import graph_deletion
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DEAD_LETTERS, EXTRACTIONS

VARIABLE = "FAILPOINT"
Act = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Point:
    """A point before or after a call of `name` on `owner`; `topic` selects calls with that second argument."""

    owner: Any
    name: str
    before: bool = False
    topic: str = ""


POINTS = {
    "accepted": Point(graphtide.infra.sqlite.ledger.SqliteLedger, "accept"),
    "attempt-counted": Point(graphtide.infra.sqlite.ledger.SqliteLedger, "start_attempt"),
    "before-model": Point(graphtide.streams.extract.stage, "extract_slices", before=True),
    "after-model": Point(graphtide.streams.extract.stage, "extract_slices"),
    "extraction-appended": Point(SqliteLog, "append", topic=EXTRACTIONS),
    "before-position": Point(SqliteConsumer, "commit", before=True),
    "before-transaction": Point(SqliteGraphStore, "commit", before=True),
    "in-transaction": Point(SqliteGraphStore, "_commit"),
    "committed-not-followed": Point(ViewRegistry, "follow", before=True),
    "followed": Point(ViewRegistry, "follow"),
    "report-saved": Point(SqliteGraphStore, "save_reports"),
    "before-index-published": Point(Snapshot, "publish", before=True),
    "before-index-manifest": Point(Snapshot, "_write_manifest", before=True),
    "before-events": Point(SqliteQuestionStore, "record", before=True),
    "events-stored": Point(SqliteQuestionStore, "record"),
    "deletion-requested": Point(graphtide.services.local_application, "request_deletion"),
    "graph-ended": Point(ViewRegistry, "drop", before=True),
    "letters-marked": Point(GraphEraser, "leave_marks"),
    "portion-erased": Point(SqliteGraphStore, "erase"),
    "erased": Point(GraphEraser, "erase"),
    "dead-letter": Point(SqliteLog, "append", topic=DEAD_LETTERS),
    "before-dead-letter": Point(SqliteLog, "append", before=True, topic=DEAD_LETTERS),
}


def arm(name: str, act: Act) -> None:
    """Call `act` at every passage of the point, in the thread that passes it."""
    point = POINTS[name]
    original = getattr(point.owner, point.name)
    wrap = _awaiting if inspect.iscoroutinefunction(original) else _calling
    setattr(point.owner, point.name, wrap(point, original, act))


def _awaiting(point: Point, original: Callable[..., Any], act: Act) -> Callable[..., Any]:
    @functools.wraps(original)
    async def wrapped(*args: Any, **named: Any) -> Any:
        if point.before and _meant(point, args):
            act()
        result = await original(*args, **named)
        if not point.before and _meant(point, args):
            act()
        return result

    return wrapped


def _calling(point: Point, original: Callable[..., Any], act: Act) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(*args: Any, **named: Any) -> Any:
        if point.before and _meant(point, args):
            act()
        result = original(*args, **named)
        if not point.before and _meant(point, args):
            act()
        return result

    return wrapped


def _meant(point: Point, args: tuple[Any, ...]) -> bool:
    return not point.topic or args[1] == point.topic


def arm_to_kill(setting: str) -> None:
    """Send SIGKILL to this process at the count-th passage of `name` or `name:count`."""
    name, _, count = setting.partition(":")
    left = [int(count or 1)]

    def die() -> None:
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    arm(name, die)


if __name__ == "__main__":
    from graphtide.services.cli import main

    arm_to_kill(os.environ.pop(VARIABLE))
    graph_deletion.ERASE_BATCH_SIZE = 4  # the deletion of a small graph takes several portions
    sys.argv[0] = "graphtide"
    main()
