"""The report writer: finds the community reports that are due and writes them, when the summarize stage calls it.

A report is due when its community changed and has none, when more than a share of the community's content changed
since it was written, or when it was withdrawn because a chunk that it cites was deleted. With lazy reports, only
reports that a query requested are written. Communities are processed from the finest level up, so that a parent reads
the new reports of its children.

Invariants: finished reports are saved before the next batch is requested, so a failure loses no report that was paid
for, and what was due remains due; a report that cites a deleted chunk is deleted from the store before any is written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphtide.graph.reports.cache import TOLERANCE
from graphtide.graph.reports.entity_summaries import split_rows
from graphtide.graph.reports.rows import ReportRow
from graphtide.graph.reports.subject import MIN_SIZE, CommunityContext, Report, community_context, row
from graphtide.graph.view import LiveView
from graphtide.streams.ports import GraphStore
from graphtide.streams.usage import BillingContext, paid_by

BATCH_SIZE = 16


class Reporter(Protocol):
    """Model that writes the report of a community."""

    @property
    def name(self) -> str: ...

    async def report(self, subject: CommunityContext) -> Report:
        """Return a report supported by the subject alone: every finding cites chunks of the subject.

        Raises Retryable when a model is unavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReportPolicy:
    """The rule when a report is due. `min_change`: share of changed entities; `lazy`: only requested reports."""

    min_change: float = TOLERANCE
    lazy: bool = False


class Shelves:
    """Loader of stored reports into the caches of the live views.

    With `every_s`, a view's reports are read again when they are older than that, for a process that does not write
    them. Without it they are read once per view: the writer adds new reports to the cache itself.
    """

    def __init__(self, store: GraphStore, due: ReportPolicy | None = None, every_s: float | None = None) -> None:
        self._store = store
        self._due = due or ReportPolicy()
        self._every_s = every_s
        self._read: dict[str, float] = {}

    async def fill(self, view: LiveView) -> bool:
        """Load the view's reports if they are not current. Returns True for the first load."""
        now, first = time.monotonic(), not view.reports.loaded
        if not first and (self._every_s is None or now - self._read.get(view.graph, 0.0) < self._every_s):
            return False
        self._read[view.graph] = now
        rows = await self._store.reports(view.graph)
        await asyncio.to_thread(_load, view, rows, self._due.min_change, self._every_s is not None)
        return first


class ReportWriter:
    """The report writer. One per process; one task calls `write`."""

    def __init__(self, store: GraphStore, reporter: Reporter, due: ReportPolicy | None = None) -> None:
        self._store = store
        self._reporter = reporter
        self._due = due or ReportPolicy()
        self._shelves = Shelves(store, self._due)
        self._owed: dict[str, set[int]] = {}
        self._lost: dict[str, set[int]] = {}

    async def write(self, view: LiveView, nodes: Iterable[int]) -> int:
        """Write the due reports of changed communities, of those above `nodes`, and of earlier failures.

        Returns the number of reports. Raises what the reporter raises; unwritten reports remain due. Cost: the
        communities above the nodes.
        """
        first = await self._shelves.fill(view)
        owed = self._owed.setdefault(view.graph, set())
        lost = self._lost.setdefault(view.graph, set())
        touched, dropped = await asyncio.to_thread(_take, view, nodes, lost, first)
        owed |= touched
        if dropped:
            await self._store.save_reports(view.graph, (), sorted(dropped))
        written = 0
        for level in range(view.hierarchy.levels()):
            stale = await asyncio.to_thread(_stale, view, owed, lost, level, self._due)
            for start in range(0, len(stale), BATCH_SIZE):
                subjects = await asyncio.to_thread(_subjects, view, stale[start : start + BATCH_SIZE])
                written += await self._write(view, subjects)
                lost.difference_update(subject.community for subject in subjects)
        owed.clear()
        return written

    async def _write(self, view: LiveView, subjects: Sequence[CommunityContext]) -> int:
        if not subjects:
            return 0
        with paid_by(BillingContext(view.graph)):
            tasks = [asyncio.ensure_future(self._reporter.report(subject)) for subject in subjects]
        try:
            await asyncio.wait(tasks)
            version = view.version
            failed = [error for task in tasks if (error := task.exception()) is not None]
            done = zip(subjects, tasks, strict=True)
            rows = [row(subject, task.result(), version) for subject, task in done if task.exception() is None]
            await self._store.save_reports(view.graph, rows, ())
            await asyncio.to_thread(_put, view, rows)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # they release their resources before storage closes
        if failed:
            raise failed[0]
        return len(rows)


def _load(view: LiveView, rows: Sequence[ReportRow], tolerance: float, follows: bool) -> None:
    """Put the store's rows into the caches. With `follows`, the caches keep only rows that the store has."""
    rows, summaries = split_rows(rows)
    with view.lock.write():
        if follows:
            view.reports.keep({row.community for row in rows})
            view.summaries.keep({summary.entity for summary in summaries})
        view.summaries.put(view, summaries)
        stored = {report.community: report for report in view.reports.reports(view)}
        view.reports.tolerance = tolerance
        view.reports.put(view, [row for row in rows if _newer(row, stored.get(row.community))])
        view.reports.loaded = True


def _newer(row: ReportRow, stored: ReportRow | None) -> bool:
    return stored is None or (row.version >= stored.version and row != stored)


def _put(view: LiveView, rows: Sequence[ReportRow]) -> None:
    with view.lock.write():
        view.reports.put(view, rows)


def _take(view: LiveView, nodes: Iterable[int], lost: set[int], everything: bool) -> tuple[set[int], set[int]]:
    """Return the communities to check, and those whose report is deleted. Adds to `lost` those that lost a report."""
    with view.lock.write():
        cache = view.reports
        withdrawn, gone = cache.drain_withdrawn(), cache.drain_removed()
        lost |= withdrawn | cache.drain_requested()
        communities = lost | view.contents.drain_changed()
        if everything:
            communities.update(view.hierarchy)
        for node in nodes:
            community = view.hierarchy.community(node)
            while community and community not in communities:
                communities.add(community)
                community = view.hierarchy.parent(community)
        small = {community for community in communities if view.contents.entities(community) < MIN_SIZE}
        empty = {community for community in small if cache.has_report(community)}
        cache.drop(empty)
        gone |= cache.drain_removed()
        lost -= small
        return communities - small, withdrawn | gone


def _stale(view: LiveView, communities: set[int], lost: set[int], level: int, due: ReportPolicy) -> list[int]:
    """Return the communities whose report is due at one level, the largest first: their reports matter most."""
    with view.lock.read():
        found = [community for community in communities if _is_due(view, community, lost, level, due)]
        found.sort(key=lambda community: (-view.contents.entities(community), view.contents.digest(community)))
        return found


def _subjects(view: LiveView, communities: Sequence[int]) -> list[CommunityContext]:
    """Return the input of their reports; communities that no longer exist are left out."""
    with view.lock.read():
        live = [community for community in communities if community in view.contents]
        return [community_context(view, community) for community in live]


def _is_due(view: LiveView, community: int, lost: set[int], level: int, due: ReportPolicy) -> bool:
    if community not in view.contents or view.hierarchy.level(community) != level:
        return False
    if not view.reports.has_report(community):
        return not due.lazy or community in lost
    return view.reports.changed(view, community) > due.min_change
