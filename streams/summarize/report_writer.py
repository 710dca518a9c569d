"""Which reports are due, and writing them: the working half of the summarize stage, which says when.

A report is due when its community was touched and it has none, when more than a share of the community's content
changed since it was written, or when it was withdrawn because a chunk it rests on is gone. Lazily kept, only reports
that a question once asked for are written. Communities are taken from the finest level up, so that a parent reads its
children's new reports.

Invariants: what is done is saved before the next is asked for, so a failure loses nothing that was paid for, and what
was owed is still owed; a report that rests on what is gone is dropped from the store before anything is written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphtide.graph.reports.cache import TOLERANCE, ReportRow
from graphtide.graph.reports.entity_summaries import ENTITY
from graphtide.graph.reports.subject import MIN_SIZE, CommunityContext, Report, community_context, row
from graphtide.graph.view import LiveView
from graphtide.streams.ports import GraphStore
from graphtide.streams.usage import BillingContext, paid_by

BATCH_SIZE = 16


class Reporter(Protocol):
    """Writes a community's report."""

    @property
    def name(self) -> str: ...

    async def report(self, subject: CommunityContext) -> Report:
        """A report that rests on the subject alone: every finding names chunks that stand in it.

        Raises Retryable when a model is away.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReportPolicy:
    """When a report is due: `least_change` is the share of a community's entities that must differ; `lazy`: above."""

    least_change: float = TOLERANCE
    lazy: bool = False


class Shelves:
    """Brings reports from the store to the live views that questions read.

    With `every_s` a view's reports are read again when they are older than that: for a process that does not write
    them. Without, once a view: whoever writes puts them on the shelf itself.
    """

    def __init__(self, store: GraphStore, due: ReportPolicy | None = None, every_s: float | None = None) -> None:
        self._store = store
        self._due = due or ReportPolicy()
        self._every_s = every_s
        self._read: dict[str, float] = {}

    async def fill(self, view: LiveView) -> bool:
        """Make the view's shelf as current as it has to be; whether this was the first time."""
        now, first = time.monotonic(), not view.reports.loaded
        if not first and (self._every_s is None or now - self._read.get(view.graph, 0.0) < self._every_s):
            return False
        self._read[view.graph] = now
        rows = await self._store.reports(view.graph)
        await asyncio.to_thread(_load, view, rows, self._due.least_change, self._every_s is not None)
        return first


class ReportWriter:
    """See the module. One a process; `write` is called by one task."""

    def __init__(self, store: GraphStore, reporter: Reporter, due: ReportPolicy | None = None) -> None:
        self._store = store
        self._reporter = reporter
        self._due = due or ReportPolicy()
        self._shelves = Shelves(store, self._due)
        self._owed: dict[str, set[int]] = {}
        self._lost: dict[str, set[int]] = {}

    async def write(self, view: LiveView, nodes: Iterable[int]) -> int:
        """Write what is due: where the graph changed, above these entities, and what is owed; how many reports.

        Raises as the reporter does; what was not written is owed then. Cost: the communities above the nodes.
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
                some = await asyncio.to_thread(_subjects, view, stale[start : start + BATCH_SIZE])
                written += await self._write(view, some)
                lost.difference_update(one.community for one in some)
        owed.clear()
        return written

    async def _write(self, view: LiveView, subjects: Sequence[CommunityContext]) -> int:
        if not subjects:
            return 0
        with paid_by(BillingContext(view.graph)):
            tasks = [asyncio.ensure_future(self._reporter.report(one)) for one in subjects]
        try:
            await asyncio.wait(tasks)
            version = view.version
            failed = [error for task in tasks if (error := task.exception()) is not None]
            done = zip(subjects, tasks, strict=True)
            rows = [row(one, task.result(), version) for one, task in done if task.exception() is None]
            await self._store.save_reports(view.graph, rows, ())
            await asyncio.to_thread(_put, view, rows)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # what they hold open is closed before the storage is
        if failed:
            raise failed[0]
        return len(rows)


def _load(view: LiveView, rows: Sequence[ReportRow], tolerance: float, follows: bool) -> None:
    """Put the store's rows on the shelves. One that only `follows` the store has what that has, and owes nothing."""
    of_entities = [one for one in rows if one.level == ENTITY]
    rows = [one for one in rows if one.level != ENTITY]
    with view.lock.write():
        if follows:
            view.reports.keep({one.community for one in rows})
            view.summaries.keep({one.community for one in of_entities})
        view.summaries.put(view, of_entities)
        held = {one.community: one for one in view.reports.reports(view)}
        view.reports.tolerance = tolerance
        view.reports.put(view, [one for one in rows if _newer(one, held.get(one.community))])
        view.reports.loaded = True


def _newer(row: ReportRow, held: ReportRow | None) -> bool:
    return held is None or (row.version >= held.version and row != held)


def _put(view: LiveView, rows: Sequence[ReportRow]) -> None:
    with view.lock.write():
        view.reports.put(view, rows)


def _take(view: LiveView, nodes: Iterable[int], lost: set[int], everything: bool) -> tuple[set[int], set[int]]:
    """The communities to look at, and those whose report goes. `lost` are those that had one, and lost it."""
    with view.lock.write():
        shelf = view.reports
        withdrawn, gone = shelf.drain_withdrawn(), shelf.drain_removed()
        lost |= withdrawn | shelf.drain_requested()
        communities = lost | view.contents.drain_changed()
        if everything:
            communities.update(view.hierarchy.hierarchy().ids.tolist())
        for node in nodes:
            community = view.hierarchy.community(node)
            while community and community not in communities:
                communities.add(community)
                community = view.hierarchy.parent(community)
        small = {one for one in communities if view.contents.entities(one) < MIN_SIZE}
        empty = {one for one in small if shelf.held(one)}
        shelf.drop(empty)
        gone |= shelf.drain_removed()
        lost -= small
        return communities - small, withdrawn | gone


def _stale(view: LiveView, communities: set[int], lost: set[int], level: int, due: ReportPolicy) -> list[int]:
    """What to write at one level, the largest first: what matters most is there soonest."""
    with view.lock.read():
        found = [one for one in communities if _is_due(view, one, lost, level, due)]
        found.sort(key=lambda one: (-view.contents.entities(one), view.contents.digest(one)))
        return found


def _subjects(view: LiveView, communities: Sequence[int]) -> list[CommunityContext]:
    """What to write about them; those that ended meanwhile are left out."""
    with view.lock.read():
        return [community_context(view, one) for one in communities if view.contents.fingerprint(one) is not None]


def _is_due(view: LiveView, community: int, lost: set[int], level: int, due: ReportPolicy) -> bool:
    if view.contents.fingerprint(community) is None or view.hierarchy.level(community) != level:
        return False
    if not view.reports.held(community):
        return not due.lazy or community in lost
    return view.reports.changed(view, community) > due.least_change
