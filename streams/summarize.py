"""The summarize stage: keeps the reports of communities true, and pays for none that did not change.

It follows `deltas`, notes which communities each version touched, and writes reports once a burst is over. A
community whose fingerprint is the one its report was written from is passed over. Reports are never read from here:
`current` leaves out those whose sources are gone, so no report outlives what it cites.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol

from graph.reporting import Subject, subject
from graph.view import LiveView
from streams.followers import Views
from streams.messages import DELTAS, decode_notice
from streams.observing import Observer
from streams.ports import Delivered, GraphStore, Log, Position, ReportRow

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


class SummarizeStage:
    """See the module. `quiet_s` is how long no version must have come before reports are written."""

    def __init__(
        self, log: Log, store: GraphStore, views: Views, reporter: Reporter, observer: Observer, quiet_s: float = 2.0
    ) -> None:
        self._log = log
        self._store = store
        self._views = views
        self._reporter = reporter
        self._observer = observer
        self._quiet_s = quiet_s

    async def run(self) -> None:
        """Follow until cancelled. A position is committed once the reports it asks for are written."""
        consumer = self._log.consumer(DELTAS, STAGE)
        touched: dict[str, set[int]] = {}
        last: Position | None = None
        try:
            while True:
                delivered = await consumer.poll(256, self._quiet_s if touched else 60.0)
                if delivered:
                    self._note(delivered, touched)
                    last = delivered[-1].position
                elif touched and last is not None:
                    started = time.monotonic()
                    for graph, nodes in touched.items():
                        await self._write(graph, nodes)
                    touched.clear()
                    await consumer.commit(last)
                    await self._log.trim(DELTAS, last)
                    self._observer.worked(STAGE, time.monotonic() - started)
        finally:
            await consumer.close()

    def _note(self, delivered: Sequence[Delivered], touched: dict[str, set[int]]) -> None:
        for one in delivered:
            notice = decode_notice(one.record.value or b"")
            touched.setdefault(notice.graph, set()).update(notice.nodes)

    async def _write(self, graph: str, nodes: set[int]) -> None:
        view = self._views.get(graph)
        if view is None:
            return
        held = {row.community: row for row in await self._store.reports(graph)}
        stale, gone, version = await asyncio.to_thread(_stale, view, nodes, held)
        rows = []
        for one in stale:
            title, summary = await self._reporter.report(one)
            sources = tuple(dict.fromkeys(finding.chunk_id for finding in one.findings))
            rows.append(ReportRow(one.community, one.level, one.fingerprint, version, title, summary, sources))
        if rows or gone:
            await self._store.save_reports(graph, rows, gone)


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
