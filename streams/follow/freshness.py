"""Freshness measurement: the time from the acceptance of a revision until a view shows it.

The header `accepted` of a commit's notice holds the acceptance times of its revisions, and each query process observes
them once its own view shows that version. Some versions are not observed: those whose notice lacks the header (of
earlier releases, rebuilds and judges' verdicts), and those that were stored before the process started.

Invariant: a process observes a version at most once, and never before its view shows it.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from graphtide.streams.tracing import Headers

ACCEPTED = "accepted"
MAX_TIMES = 64
"""Maximum number of acceptance times in a notice, the newest ones: a batch has as many, and the header is bounded."""
_TIMES = re.compile(rb"[0-9]{1,15}(,[0-9]{1,15}){0,%d}" % (MAX_TIMES - 1))

Queryable = Callable[[str, float], None]
"""Receives a graph, and the seconds from a revision's acceptance until queries saw it."""


def accepted(times_ms: Iterable[int]) -> Headers:
    """Return the header with the acceptance times (milliseconds since the epoch); none when no time is known."""
    newest = sorted(filter(None, times_ms))[-MAX_TIMES:]
    return ((ACCEPTED, b",".join(b"%d" % time_ms for time_ms in newest)),) if newest else ()


def accepted_in(headers: Headers) -> tuple[int, ...]:
    """Return the acceptance times in the header; none without a well-formed one: any producer may write to a topic."""
    found = dict(headers).get(ACCEPTED, b"")
    return tuple(map(int, found.split(b","))) if _TIMES.fullmatch(found) else ()


def seconds_since(accepted_ms: int) -> float:
    """Return the seconds since then by the local clock; 0 when that is behind the broker's."""
    return max(0.0, time.time() - accepted_ms / 1000)


class Freshness:
    """The versions that were announced to a process and are not shown by it yet. Memory: the announced times."""

    def __init__(self, queryable: Queryable) -> None:
        self._queryable = queryable
        self._announced: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, tuple[int, ...]]]] = {}

    def begin(self, versions: Mapping[str, int]) -> None:
        """Exclude the versions loaded at the start: when they became queryable in this process is unknown."""
        self._announced = dict(versions)

    def announced(self, graph: str, version: int, headers: Headers) -> None:
        """Note a notice. A repeated notice is ignored."""
        if version > self._announced.get(graph, 0):
            self._announced[graph] = version
            if times := accepted_in(headers):
                self._waiting.setdefault(graph, deque()).append((version, times))

    def shown(self, graph: str, version: int) -> None:
        """Observe the announced versions up to this one, which the graph's view now shows."""
        waiting = self._waiting.get(graph)
        while waiting and waiting[0][0] <= version:
            for accepted_ms in waiting.popleft()[1]:
                self._queryable(graph, seconds_since(accepted_ms))
