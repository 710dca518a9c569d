"""The summarize stage: keeps community reports and entity summaries current, and rewrites only outdated ones.

It follows `deltas`, notes the entities that each version changed, and writes what is due after a burst of changes.
`streams.summarize.report_writer` and `streams.summarize.summary_writer` decide what is due. Queries read both from the
caches of the view, which return none whose sources were deleted.

A burst that does not end is interrupted after `longest_s`, so that a continuous stream gets its reports, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphtide.graph.view import LiveView
from graphtide.streams.errors import BudgetExceeded, NotFound, Rejected
from graphtide.streams.extract.budget_pauses import BudgetPauses
from graphtide.streams.follow.delta_records import is_notice
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DeltaNotice, ReportRequest, decode_notice
from graphtide.streams.observer import Observer
from graphtide.streams.ports import ConsumedRecord, Consumer, Log, Position
from graphtide.streams.summarize.report_writer import ReportWriter
from graphtide.streams.summarize.summary_writer import SummaryWriter

log = logging.getLogger("graphtide.streams")

STAGE = "summarize"
TIMEOUT_S = 300.0
LARGE_BYTES = 16 << 10
"""Size from which notices are decoded in a thread: a notice names each entity that changed."""
POLL_INTERVAL_S = 5.0
"""Interval of the checks for requested reports while nothing changes."""


@dataclass(frozen=True, slots=True)
class DebounceSettings:
    """Debounce times: reports are written `quiet_s` after the last version, at most `longest_s` after the first.

    `trims`: the log may delete what was read, because no other consumer reads it.
    """

    quiet_s: float = 2.0
    longest_s: float = 60.0
    trims: bool = True


@dataclass(slots=True)
class _Touched:
    """The changes of one graph: its changed entities (`whole`: all), its latest version, and the communities whose
    report another process requested.
    """

    nodes: set[int] = field(default_factory=set)
    version: int = 0
    whole: bool = False
    requested: set[int] = field(default_factory=set)


class SummarizeStage:
    """The stage. `writing` is held while reports are written."""

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
        """Follow until cancelled. A position is committed once the reports that it makes due are written."""
        consumer = self._log.consumer(DELTAS, STAGE)
        touched: dict[str, _Touched] = {}
        last: dict[int, Position] = {}
        due = 0.0
        try:
            while True:
                delivered = await consumer.poll(256, self._pace.quiet_s if last else POLL_INTERVAL_S)
                if delivered:
                    due = due if last else time.monotonic() + self._pace.longest_s
                    last.update((consumed.position.partition, consumed.position) for consumed in delivered)
                    if sum(len(each.record.value or b"") for each in delivered) > LARGE_BYTES:
                        await asyncio.to_thread(_note, delivered, touched)
                    else:
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
        for graph, changes in touched.items():
            if not changes.version and self._views.get(graph) is None:  # a request for an unknown graph
                continue
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    view = await self._views.reach(graph, changes.version)
            except NotFound:  # it was deleted meanwhile
                continue
            except TimeoutError:  # any producer may write to a topic
                log.error(
                    "graph %s: version %d was announced but did not arrive within %g s; its reports are skipped",
                    graph[:80],
                    changes.version,
                    TIMEOUT_S,
                )
                continue
            view.reports.request(changes.requested)
            await self._write(view, await asyncio.to_thread(_nodes, view) if changes.whole else changes.nodes)
        self._observer.worked(STAGE, time.monotonic() - started)

    async def _write_wanted(self) -> None:
        """Write the reports that queries requested, and those that a used-up budget delayed."""
        for graph in self._views.versions():
            view = self._views.get(graph)
            owes = graph in self._owing and not self._pauses.left_s(graph)
            if view is not None and (owes or view.reports.has_requests()):
                await self._write(view, ())

    async def _write(self, view: LiveView, nodes: Iterable[int]) -> None:
        """Write what is due of a graph. One whose budget is used up is retried later and does not delay others."""
        try:
            if self._entities is not None:
                await self._entities.touch(view, nodes)
            await self._writer.write(view, nodes)
            if self._entities is not None:
                await self._entities.write(view)
        except BudgetExceeded as refusal:
            if view.graph not in self._owing:
                log.warning("graph %s: its reports wait: %s", view.graph, refusal)
            self._owing.add(view.graph)
            self._pauses.pause(view.graph, refusal)
        else:
            self._owing.discard(view.graph)


def _note(delivered: Sequence[ConsumedRecord], touched: dict[str, _Touched]) -> None:
    for consumed in delivered:
        try:
            if not is_notice(consumed):
                continue
            notice = decode_notice(consumed.record.value or b"")
        except Rejected as error:
            log.error("ignoring the malformed notice at %s: %s", consumed.position, error)
            continue
        if isinstance(notice, DeltaNotice) and notice.deleted:
            touched.pop(notice.graph, None)
            continue
        graph = touched.setdefault(notice.graph, _Touched())
        if isinstance(notice, ReportRequest):
            graph.requested.update(notice.communities)
            continue
        graph.nodes.update(notice.nodes)
        graph.version = max(graph.version, notice.version)
        graph.whole = graph.whole or notice.replaced


def _nodes(view: LiveView) -> set[int]:
    with view.lock.read():
        return set(view.entities)
