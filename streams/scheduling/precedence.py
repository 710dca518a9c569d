"""Precedence of questions over heavy work on other graphs in the same process.

The threads of a process share one interpreter lock in equal turns, so a question beside two threads that apply a large
document would take three times its time. Heavy work therefore waits at its yield points
(`graph/algorithms/yield_points.py`) while a question to another graph is in flight.

Invariants: heavy work waits for no question to its own graph, which may wait for it; it computes for `work_s` between
two waits, which the threads take one after another, each of at most `pause_s`, so that it advances under any load; and
it never waits on an event loop. A question counts for its first `counts_s` seconds: later it waits for a model or for a
graph, not for the interpreter.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE_S = 0.04
WORK_S = 0.005
"""With PAUSE_S: under continuous questions all heavy work together has a ninth of the time."""
COUNTS_S = 1.0


class Precedence:
    """The questions in flight. Thread-safe."""

    def __init__(
        self,
        pause_s: float = PAUSE_S,
        work_s: float = WORK_S,
        counts_s: float = COUNTS_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pause_s = pause_s
        self.work_s = work_s
        self._counts_s = counts_s
        self.now = clock
        self._asked: dict[object, tuple[str, float]] = {}
        self._ended = threading.Condition()
        self._turn = threading.Lock()
        """Held by the thread that waits: others wait after it, so that threads do not compute at the same time."""

    @contextmanager
    def question(self, graph: str) -> Iterator[None]:
        """Count a question to the graph as in flight during the block."""
        key = object()
        with self._ended:
            self._asked[key] = graph, self.now()
        try:
            yield
        finally:
            with self._ended:
                del self._asked[key]
                self._ended.notify_all()

    def is_due(self, graph: str) -> bool:
        """Return True if heavy work on the graph has to wait for a question. Cost: the questions in flight."""
        if not self._asked:
            return False
        since = self.now() - self._counts_s
        return any(asked != graph and at > since for asked, at in tuple(self._asked.values()))

    def hook(self, graph: str) -> Callable[[], None]:
        """Return the hook of heavy work on the graph, which waits at a yield point as long as it has to."""
        return _Hook(self, graph).reached

    def wait(self, graph: str) -> None:
        """Wait until no question to another graph is in flight, at most `pause_s` after the waits of other threads."""
        with self._turn, self._ended:
            self._ended.wait_for(lambda: not self.is_due(graph), self._pause_s)


class _Hook:
    def __init__(self, precedence: Precedence, graph: str) -> None:
        self._precedence = precedence
        self._graph = graph
        self._works_until = 0.0

    def reached(self) -> None:
        """Wait if a question is in flight, unless the work has just waited, or runs on an event loop."""
        precedence = self._precedence
        if precedence.is_due(self._graph) and precedence.now() >= self._works_until and not _is_in_event_loop():
            precedence.wait(self._graph)
            self._works_until = precedence.now() + precedence.work_s


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


QUESTIONS = Precedence()
"""The questions of this process: one for each interpreter lock."""
