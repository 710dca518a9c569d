"""The summary writer: finds the entities that are due a summary and writes it, for the summarize stage.

Only an entity whose descriptions exceed the size of one description gets a summary. It is due when it has none, when
its labels changed, when more than a share of its descriptions changed since, or when a chunk that the summary cites was
deleted.

Invariants: finished summaries are saved before the next batch is requested; what could not be written remains due; a
summary that cites a deleted chunk is deleted from the store before any is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from graphtide.graph.entity_descriptions import DescribedSentence, EntityProfile, profile, summary_of
from graphtide.graph.reports.entity_summaries import EntitySummary, storage_id, stored
from graphtide.graph.reports.fingerprint import Fingerprint
from graphtide.graph.view import LiveView
from graphtide.streams.ports import GraphStore
from graphtide.streams.summarize.report_writer import ReportPolicy, Shelves
from graphtide.streams.usage import BillingContext, paid_by

BATCH_SIZE = 16
READ_BATCH_SIZE = 32
"""Number of entities that are read under one lock."""


class Summarizer(Protocol):
    """Model that summarises the descriptions of an entity."""

    @property
    def name(self) -> str: ...

    async def summarize(self, described: EntityProfile) -> tuple[DescribedSentence, ...]:
        """Return at least one sentence, together at most `MAX_TOKENS`, each supported by the profile's descriptions.

        Raises Retryable when a model is unavailable.
        """
        ...


class SummaryWriter:
    """The summary writer. One per process; called by one task."""

    def __init__(self, store: GraphStore, summarizer: Summarizer, due: ReportPolicy | None = None) -> None:
        self._store = store
        self._summarizer = summarizer
        self._due = due or ReportPolicy()
        self._shelves = Shelves(store, self._due)
        self._owed: dict[str, set[str]] = {}

    async def touch(self, view: LiveView, nodes: Iterable[int]) -> None:
        """Note that these entities changed: the next successful `write` checks them."""
        owed = self._owed.setdefault(view.graph, set())
        owed |= await asyncio.to_thread(_names, view, set(nodes))

    async def write(self, view: LiveView) -> int:
        """Write the due summaries. Returns their number. The first call after a start checks every entity.

        Raises what the summarizer raises; unwritten summaries remain due. Cost: the descriptions of changed entities.
        """
        await self._shelves.fill(view)
        owed = self._owed.setdefault(view.graph, set())
        withdrawn, gone = await asyncio.to_thread(_take, view)
        owed |= withdrawn
        await self._delete(view, gone | {storage_id(entity) for entity in withdrawn})
        nodes = await asyncio.to_thread(_nodes, view, None if not view.summaries.scanned else owed)
        written = 0
        for start in range(0, len(nodes), READ_BATCH_SIZE):
            batch = nodes[start : start + READ_BATCH_SIZE]
            due, small = await asyncio.to_thread(_find_due, view, batch, self._due.min_change)
            if small:
                await self._delete(view, await asyncio.to_thread(_drop, view, small))
            for first in range(0, len(due), BATCH_SIZE):
                written += await self._write(view, due[first : first + BATCH_SIZE])
        view.summaries.scanned = True
        owed.clear()
        return written

    async def _delete(self, view: LiveView, numbers: set[int]) -> None:
        if numbers:
            await self._store.save_reports(view.graph, (), sorted(numbers))

    async def _write(self, view: LiveView, profiles: Sequence[EntityProfile]) -> int:
        with paid_by(BillingContext(view.graph)):
            tasks = [asyncio.ensure_future(self._summarizer.summarize(described)) for described in profiles]
        try:
            await asyncio.wait(tasks)
            pairs = zip(profiles, tasks, strict=True)
            done = [(described, task) for described, task in pairs if task.exception() is None]
            rows = [summary_of(described, task.result(), view.version) for described, task in done]
            await self._store.save_reports(view.graph, list(map(stored, rows)), ())
            await asyncio.to_thread(_put, view, rows)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # they release their resources before storage closes
        for failed in (task.exception() for task in tasks):
            if failed is not None:
                raise failed
        return len(rows)


def _names(view: LiveView, nodes: set[int]) -> set[str]:
    with view.lock.read():
        return {view.entities[node].id for node in nodes if node in view.entities}


def _nodes(view: LiveView, names: set[str] | None) -> list[int]:
    """Return the nodes of the existing entities with these names, or of all, by name."""
    with view.lock.read():
        wanted = view.entity_nodes if names is None else names
        return [view.entity_nodes[name] for name in sorted(wanted) if name in view.entity_nodes]


def _take(view: LiveView) -> tuple[set[str], set[int]]:
    with view.lock.write():
        return view.summaries.drain_withdrawn(), view.summaries.drain_removed()


def _drop(view: LiveView, entities: Sequence[str]) -> set[int]:
    with view.lock.write():
        view.summaries.drop(entities)
        return view.summaries.drain_removed()


def _put(view: LiveView, rows: Sequence[EntitySummary]) -> None:
    with view.lock.write():
        view.summaries.put(view, rows)


def _find_due(view: LiveView, nodes: Sequence[int], min_change: float) -> tuple[list[EntityProfile], list[str]]:
    """Return the entities that are due, and the names of those whose summary is no longer needed."""
    due, small = [], []
    with view.lock.read():
        for node in nodes:
            if node not in view.entities:
                continue
            described, written = profile(view, node), view.summaries.summary(view, node)
            if described is None:
                small += [view.entities[node].id] if view.summaries.has_summary(view.entities[node].id) else []
            elif written is None or _changed(written, described) > min_change:
                due.append(described)
    return due, small


def _changed(summary: EntitySummary, described: EntityProfile) -> float:
    written, now = Fingerprint.decode(summary.fingerprint), Fingerprint.decode(described.fingerprint)
    return 1.0 if written is None or now is None else written.changed(now)
