"""The summarize stage: keeps reports of communities and summaries of entities true, and pays for none that stayed so.

It follows `deltas`, notes which entities each version touched, and has what is due written once a burst is over
(`streams.summarize.report_writer` and `streams.summarize.summary_writer` say what is). Both are read from the view's
shelves, which give out none
whose sources are gone.

A burst that does not end is cut after a while: a stream that never pauses gets its reports, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphtide.graph.view import LiveView
from graphtide.streams.errors import BudgetExceeded, Rejected
from graphtide.streams.extract.budget_pauses import BudgetPauses
from graphtide.streams.follow.delta_records import is_notice
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, decode_notice
from graphtide.streams.observer import Observer
from graphtide.streams.ports import ConsumedRecord, Consumer, Log, Position
from graphtide.streams.summarize.report_writer import ReportWriter
from graphtide.streams.summarize.summary_writer import SummaryWriter

log = logging.getLogger("graphtide.streams")

STAGE = "summarize"
TIMEOUT_S = 300.0
POLL_INTERVAL_S = 5.0
"""How often it is looked whether a question wants a report, while nothing changes."""


@dataclass(frozen=True, slots=True)
class DebounceSettings:
    """Reports are written when no version came for `quiet_s`, and at the latest `longest_s` after the first.

    `trims`: the log may forget what was read, because nobody else reads it.
    """

    quiet_s: float = 2.0
    longest_s: float = 60.0
    trims: bool = True


@dataclass(slots=True)
class _Touched:
    """What notices said of one graph: the entities that changed (`whole`: all), the version that has all of it, and the
    communities whose report was wished for elsewhere.
    """

    nodes: set[int] = field(default_factory=set)
    version: int = 0
    whole: bool = False
    wanted: set[int] = field(default_factory=set)


class SummarizeStage:
    """See the module."""

    def __init__(
        self,
        log: Log,
        views: ViewRegistry,
        writer: ReportWriter,
        observer: Observer,
        pace: DebounceSettings | None = None,
        entities: SummaryWriter | None = None,
        writing: asyncio.Lock | None = None,
    ) -> None:
        self.writing = writing or asyncio.Lock()
        self._log = log
        self._views = views
        self._writer = writer
        self._entities = entities
        self._observer = observer
        self._pace = pace or DebounceSettings()
        self._pauses = BudgetPauses()
        self._owing: set[str] = set()

    async def run(self) -> None:
        """Follow until cancelled. A position is committed once the reports it asks for are written."""
        consumer = self._log.consumer(DELTAS, STAGE)
        touched: dict[str, _Touched] = {}
        last: dict[int, Position] = {}
        due = 0.0
        try:
            while True:
                delivered = await consumer.poll(256, self._pace.quiet_s if last else POLL_INTERVAL_S)
                if delivered:
                    due = due if last else time.monotonic() + self._pace.longest_s
                    last.update((one.position.partition, one.position) for one in delivered)
                    _note(delivered, touched)
                if last and (not delivered or time.monotonic() >= due):
                    async with self.writing:
                        await self._write_all(touched)
                    touched.clear()
                    await self._done(consumer, last.values())
                    last.clear()
                if not delivered:
                    async with self.writing:
                        await self._write_wanted()
        finally:
            await consumer.close()

    async def _done(self, consumer: Consumer, positions: Iterable[Position]) -> None:
        for position in positions:
            await consumer.commit(position)
            if self._pace.trims:
                await self._log.trim(DELTAS, position)

    async def _write_all(self, touched: Mapping[str, _Touched]) -> None:
        started = time.monotonic()
        for graph, one in touched.items():
            if not one.version and self._views.get(graph) is None:  # a wish for what is not there
                continue
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    view = await self._views.reach(graph, one.version)
            except TimeoutError:  # anybody may write to a topic
                log.error("graph %s: version %d, of which a notice speaks, does not come", graph[:80], one.version)
                continue
            view.reports.request(one.wanted)
            await self._write(view, await asyncio.to_thread(_nodes, view) if one.whole else one.nodes)
        self._observer.worked(STAGE, time.monotonic() - started)

    async def _write_wanted(self) -> None:
        """Write what questions asked for meanwhile, and what a used-up budget left undone."""
        for graph in self._views.versions():
            view = self._views.get(graph)
            owes = graph in self._owing and not self._pauses.left_s(graph)
            if view is not None and (owes or view.reports.has_requests()):
                await self._write(view, ())

    async def _write(self, view: LiveView, nodes: Iterable[int]) -> None:
        """A graph whose budget is used up stays in debt, and holds up no other."""
        try:
            if self._entities is not None:
                await self._entities.touch(view, nodes)
            await self._writer.write(view, nodes)
            if self._entities is not None:
                await self._entities.write(view)
        except BudgetExceeded as refusal:
            if view.graph not in self._owing:
                log.warning("reports wait: %s", refusal)
            self._owing.add(view.graph)
            self._pauses.pause(view.graph, refusal)
        else:
            self._owing.discard(view.graph)


def _note(delivered: Sequence[ConsumedRecord], touched: dict[str, _Touched]) -> None:
    for one in delivered:
        try:
            if not is_notice(one):
                continue
            notice = decode_notice(one.record.value or b"")
        except Rejected as error:
            log.error("notice at %s is passed over: %s", one.position, error)
            continue
        graph = touched.setdefault(notice.graph, _Touched())
        graph.nodes.update(notice.nodes)
        graph.version = max(graph.version, notice.version)
        graph.whole = graph.whole or notice.replaced
        graph.wanted.update(notice.wanted)


def _nodes(view: LiveView) -> set[int]:
    with view.lock.read():
        return set(view.entities)
