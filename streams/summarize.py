"""The summarize stage: keeps the reports of communities true, and pays for none that did not change.

It follows `deltas`, notes which communities each version touched, and writes reports once a burst is over. A
community whose fingerprint is the one its report was written from is passed over. Reports are never read from here:
`current` leaves out those whose sources are gone, so no report outlives what it cites.

A burst that does not end is cut after a while: a stream that never pauses gets its reports, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graph.reporting import Subject, subject
from graph.view import LiveView
from streams.errors import Rejected
from streams.followers import Views
from streams.messages import DELTAS, decode_notice
from streams.observing import Observer
from streams.ports import Delivered, GraphStore, Log, Position, ReportRow
from streams.spending import Payer, paid_by

log = logging.getLogger("graphtide.streams")

STAGE = "summarize"
LEAST_SIZE = 3
"""Entities from which a community is worth a report."""


class Reporter(Protocol):
    """Writes a community's report."""

    @property
    def name(self) -> str: ...

    async def report(self, subject: Subject) -> tuple[str, str]:
        """(title, summary) that rest on the subject alone. Raises Retryable when a model is away."""
        ...


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
        self,
        log: Log,
        store: GraphStore,
        views: Views,
        reporter: Reporter,
        observer: Observer,
        pace: Pace | None = None,
    ) -> None:
        self._log = log
        self._store = store
        self._views = views
        self._reporter = reporter
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
                delivered = await consumer.poll(256, self._pace.quiet_s if last else 60.0)
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
        finally:
            await consumer.close()

    async def _write_all(self, touched: Mapping[str, _Touched]) -> None:
        started = time.monotonic()
        for graph, one in touched.items():
            await self._write(await self._views.reach(graph, one.version), one.nodes)
        self._observer.worked(STAGE, time.monotonic() - started)

    async def _write(self, view: LiveView, nodes: set[int]) -> None:
        held = {row.community: row for row in await self._store.reports(view.graph)}
        stale, gone, version = await asyncio.to_thread(_stale, view, nodes, held)
        rows = []
        for one in stale:
            with paid_by(Payer(view.graph)):
                title, summary = await self._reporter.report(one)
            sources = tuple(dict.fromkeys(finding.chunk_id for finding in one.findings))
            rows.append(ReportRow(one.community, one.level, one.fingerprint, version, title, summary, sources))
        if rows or gone:
            await self._store.save_reports(view.graph, rows, gone)


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


def current(view: LiveView, rows: Sequence[ReportRow]) -> list[ReportRow]:
    """The reports all of whose sources are still in the graph. Call under `view.lock.read()`."""
    return [row for row in rows if all(source in view.chunk_numbers for source in row.sources)]


def _stale(view: LiveView, nodes: set[int], held: dict[int, ReportRow]) -> tuple[list[Subject], list[int], int]:
    """Communities above the touched nodes whose report is missing or out of date, and reports to drop."""
    with view.lock.read():
        communities: set[int] = set()
        for node in nodes:
            community = view.hierarchy.community(node)
            while community:
                communities.add(community)
                community = view.hierarchy.parent(community)
        alive = {row.community for row in current(view, list(held.values())) if _exists(view, row.community)}
        subjects = [subject(view, community) for community in sorted(communities)]
        stale = [one for one in subjects if one.size >= LEAST_SIZE and _changed(one, held.get(one.community))]
        return stale, [community for community in held if community not in alive], view.version


def _changed(one: Subject, row: ReportRow | None) -> bool:
    return row is None or row.fingerprint != one.fingerprint


def _exists(view: LiveView, community: int) -> bool:
    try:
        view.hierarchy.level(community)
    except KeyError:
        return False
    return True
