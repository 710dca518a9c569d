"""How long ago the revisions were accepted that a view has come to show: what somebody who asks has of freshness.

A commit's notice carries in its header `accepted` when its revisions were accepted, and each process that answers
observes them by itself, once its own view shows that version. Not a ledger: notices without the header (those of early
versions, of rebuilds and of judges' verdicts) observe nothing, and neither does what stood when the process began.

Invariant: a process observes a version at most once, and never before its view shows it.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from graphtide.streams.tracing import Headers

ACCEPTED = "accepted"
MOST = 64
"""Revisions that a notice tells of, the newest: as many as a batch has, and never a header that grows."""
_TIMES = re.compile(rb"[0-9]{1,15}(,[0-9]{1,15}){0,%d}" % (MOST - 1))

Queryable = Callable[[str, float], None]
"""Takes a graph, and for how many seconds a revision had been accepted when questions saw it."""


def accepted(times_ms: Iterable[int]) -> Headers:
    """The header that says so (milliseconds since the epoch); none where nothing is known."""
    newest = sorted(filter(None, times_ms))[-MOST:]
    return ((ACCEPTED, b",".join(b"%d" % one for one in newest)),) if newest else ()


def accepted_in(headers: Headers) -> tuple[int, ...]:
    """What the header says; nothing where there is none, or one that no writer wrote: anybody may write to a topic."""
    found = dict(headers).get(ACCEPTED, b"")
    return tuple(map(int, found.split(b","))) if _TIMES.fullmatch(found) else ()


def seconds_since(accepted_ms: int) -> float:
    """By this machine's clock, which may be behind the broker's: then 0."""
    return max(0.0, time.time() - accepted_ms / 1000)


class Freshness:
    """What was announced to a process and is not yet shown by it. Cost: nothing but what a notice says."""

    def __init__(self, queryable: Queryable) -> None:
        self._queryable = queryable
        self._heard: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, tuple[int, ...]]]] = {}

    def begin(self, versions: Mapping[str, int]) -> None:
        """Of what stands when the process begins nobody can say when it became queryable here."""
        self._heard = dict(versions)

    def heard(self, graph: str, version: int, headers: Headers) -> None:
        """A notice came. What comes again is passed over."""
        if version > self._heard.get(graph, 0):
            self._heard[graph] = version
            if times := accepted_in(headers):
                self._waiting.setdefault(graph, deque()).append((version, times))

    def shown(self, graph: str, version: int) -> None:
        """The graph's view shows this version now."""
        waiting = self._waiting.get(graph)
        while waiting and waiting[0][0] <= version:
            for accepted_ms in waiting.popleft()[1]:
                self._queryable(graph, seconds_since(accepted_ms))
