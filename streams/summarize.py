"""The summarize stage: keeps the reports of communities true, and pays for none that did not change.

It follows `deltas`, notes which entities each version touched, and has what is due written once a burst is over
(`streams.reports` says what is). Reports are read from the view's shelf, which gives out none whose sources are gone.

A burst that does not end is cut after a while: a stream that never pauses gets its reports, too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streams.errors import Rejected
from streams.followers import Views
from streams.messages import DELTAS, decode_notice
from streams.observing import Observer
from streams.ports import Delivered, Log, Position
from streams.reports import ReportWriter

log = logging.getLogger("graphtide.streams")

STAGE = "summarize"
LOOK_S = 5.0
"""How often it is looked whether a question wants a report, while nothing changes."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Reports are written when no version came for `quiet_s`, and at the latest `longest_s` after the first."""

    quiet_s: float = 2.0
    longest_s: float = 60.0


@dataclass(slots=True)
class _Touched:
    """What notices said of one graph: the entities that changed, and the version that has all of it."""

    nodes: set[int] = field(default_factory=set)
    version: int = 0


class SummarizeStage:
    """See the module."""

    def __init__(
        self, log: Log, views: Views, writer: ReportWriter, observer: Observer, pace: Pace | None = None
    ) -> None:
        self._log = log
        self._views = views
        self._writer = writer
        self._observer = observer
        self._pace = pace or Pace()

    async def run(self) -> None:
        """Follow until cancelled. A position is committed once the reports it asks for are written."""
        consumer = self._log.consumer(DELTAS, STAGE)
        touched: dict[str, _Touched] = {}
        last: Position | None = None
        due = 0.0
        try:
            while True:
                delivered = await consumer.poll(256, self._pace.quiet_s if last else LOOK_S)
                if delivered:
                    due = due if last else time.monotonic() + self._pace.longest_s
                    last = delivered[-1].position
                    _note(delivered, touched)
                if last and (not delivered or time.monotonic() >= due):
                    await self._write_all(touched)
                    touched.clear()
                    await consumer.commit(last)
                    await self._log.trim(DELTAS, last)
                    last = None
                if not delivered:
                    await self._write_wanted()
        finally:
            await consumer.close()

    async def _write_all(self, touched: Mapping[str, _Touched]) -> None:
        started = time.monotonic()
        for graph, one in touched.items():
            await self._writer.write(await self._views.reach(graph, one.version), one.nodes)
        self._observer.worked(STAGE, time.monotonic() - started)

    async def _write_wanted(self) -> None:
        """Write what questions asked for meanwhile."""
        for graph in self._views.versions():
            view = self._views.get(graph)
            if view is not None and view.reports.has_wishes():
                await self._writer.write(view, ())


def _note(delivered: Sequence[Delivered], touched: dict[str, _Touched]) -> None:
    for one in delivered:
        try:
            notice = decode_notice(one.record.value or b"")
        except Rejected as error:
            log.error("notice at %s is passed over: %s", one.position, error)
            continue
        graph = touched.setdefault(notice.graph, _Touched())
        graph.nodes.update(notice.nodes)
        graph.version = max(graph.version, notice.version)
