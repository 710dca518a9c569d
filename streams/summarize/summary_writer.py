"""Which entities are due a summary, and writing it: the part of the summarize stage for entities, beside `reports.py`.

Due is an entity of whom the documents say more than a description holds, when it has no summary, when it is made of
other labels than the summary's, when more than a share of what is said of it changed since, or when a chunk that the
summary cites is gone.

Invariants: what is done is saved before the next is asked for; what could not be written is still owed; a summary that
rests on what is gone is dropped from the store before anything is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from graphtide.graph.entity_descriptions import DescribedSentence, EntityProfile, profile, summary_row
from graphtide.graph.reports.cache import ReportRow
from graphtide.graph.reports.entity_summaries import storage_id
from graphtide.graph.reports.fingerprint import Fingerprint
from graphtide.graph.view import LiveView
from graphtide.streams.ports import GraphStore
from graphtide.streams.summarize.report_writer import ReportPolicy, Shelves
from graphtide.streams.usage import BillingContext, paid_by

BATCH_SIZE = 16
LOOKED_AT_ONCE = 32
"""Entities that are read under one lock."""


class Summarizer(Protocol):
    """Writes what an entity is, from what documents say of it."""

    @property
    def name(self) -> str: ...

    async def summarize(self, said: EntityProfile) -> tuple[DescribedSentence, ...]:
        """At least one sentence, together at most `MOST_TOKENS`, each resting on descriptions of the profile.

        Raises Retryable when a model is away.
        """
        ...


class SummaryWriter:
    """See the module. One a process; called by one task."""

    def __init__(self, store: GraphStore, summarizer: Summarizer, due: ReportPolicy | None = None) -> None:
        self._store = store
        self._summarizer = summarizer
        self._due = due or ReportPolicy()
        self._shelves = Shelves(store, self._due)
        self._owed: dict[str, set[str]] = {}

    async def touch(self, view: LiveView, nodes: Iterable[int]) -> None:
        """These entities changed: they are owed a look, whatever fails until then."""
        owed = self._owed.setdefault(view.graph, set())
        owed |= await asyncio.to_thread(_names, view, set(nodes))

    async def write(self, view: LiveView) -> int:
        """Write what is due; how many summaries. After a start, every entity is looked at.

        Raises as the summarizer does; what was not written is owed then. Cost: what is said of the entities touched.
        """
        await self._shelves.fill(view)
        owed = self._owed.setdefault(view.graph, set())
        withdrawn, gone = await asyncio.to_thread(_take, view)
        owed |= withdrawn
        await self._forget(view, gone | {storage_id(one) for one in withdrawn})
        nodes = await asyncio.to_thread(_nodes, view, None if not view.summaries.looked else owed)
        written = 0
        for start in range(0, len(nodes), LOOKED_AT_ONCE):
            some = nodes[start : start + LOOKED_AT_ONCE]
            due, small = await asyncio.to_thread(_look, view, some, self._due.least_change)
            if small:
                await self._forget(view, await asyncio.to_thread(_drop, view, small))
            for first in range(0, len(due), BATCH_SIZE):
                written += await self._write(view, due[first : first + BATCH_SIZE])
        view.summaries.looked = True
        owed.clear()
        return written

    async def _forget(self, view: LiveView, numbers: set[int]) -> None:
        if numbers:
            await self._store.save_reports(view.graph, (), sorted(numbers))

    async def _write(self, view: LiveView, profiles: Sequence[EntityProfile]) -> int:
        with paid_by(BillingContext(view.graph)):
            tasks = [asyncio.ensure_future(self._summarizer.summarize(one)) for one in profiles]
        try:
            await asyncio.wait(tasks)
            done = [(one, task) for one, task in zip(profiles, tasks, strict=True) if task.exception() is None]
            rows = [summary_row(one, task.result(), view.version) for one, task in done]
            await self._store.save_reports(view.graph, rows, ())
            await asyncio.to_thread(_put, view, rows)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # what they hold open is closed before the storage is
        for failed in (task.exception() for task in tasks):
            if failed is not None:
                raise failed
        return len(rows)


def _names(view: LiveView, nodes: set[int]) -> set[str]:
    with view.lock.read():
        return {view.entities[node].id for node in nodes if node in view.entities}


def _nodes(view: LiveView, names: set[str] | None) -> list[int]:
    """The entities of these names that are there, or all, by name."""
    with view.lock.read():
        wanted = view.entity_nodes if names is None else names
        return [view.entity_nodes[one] for one in sorted(wanted) if one in view.entity_nodes]


def _take(view: LiveView) -> tuple[set[str], set[int]]:
    with view.lock.write():
        return view.summaries.drain_withdrawn(), view.summaries.drain_removed()


def _drop(view: LiveView, entities: Sequence[str]) -> set[int]:
    with view.lock.write():
        view.summaries.drop(entities)
        return view.summaries.drain_removed()


def _put(view: LiveView, rows: Sequence[ReportRow]) -> None:
    with view.lock.write():
        view.summaries.put(view, rows)


def _look(view: LiveView, nodes: Sequence[int], least_change: float) -> tuple[list[EntityProfile], list[str]]:
    """Those that are due, and the names of those that have a summary and need none any more."""
    due, small = [], []
    with view.lock.read():
        for node in nodes:
            if node not in view.entities:
                continue
            said, held = profile(view, node), view.summaries.summary(view, node)
            if said is None:
                small += [view.entities[node].id] if view.summaries.held(view.entities[node].id) else []
            elif held is None or _changed(held, said) > least_change:
                due.append(said)
    return due, small


def _changed(held: ReportRow, said: EntityProfile) -> float:
    written, now = Fingerprint.decode(held.fingerprint), Fingerprint.decode(said.fingerprint)
    return 1.0 if written is None or now is None else written.changed(now)
