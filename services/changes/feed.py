"""The change feed: the commits of a graph in order, from a token on, for any number of readers.

Readers pull from the change log, so a reader that is slow or absent holds nothing but its position, and compressed rows
of the graph until it has them. The summary of a commit is computed once for all readers that are near each other, in
one thread beside the event loop, at which graphs take turns.

Invariant: a reader that follows a feed, or resumes it after the token of its last change, receives every selected
commit exactly once and in order, or an error when it needs a commit that is no longer retained.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from graphtide.graph.changes.rows import KINDS, rows_out
from graphtide.graph.changes.summary import summarise
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution.normalisation import normalise
from graphtide.infra.observability.metrics.readers import CHANGES, StreamReader
from graphtide.services.changes.packed_rows import RowPacker
from graphtide.services.changes.types import Change, ChangeQuery, FeedItem, FeedOpened, FeedProgress, size_of
from graphtide.services.runtime import Runtime
from graphtide.streams.changes.change_log import ChangeLog, ChangeRecord
from graphtide.streams.changes.changed_document import change_token, token_version
from graphtide.streams.errors import Expired, Invalid
from graphtide.streams.scheduling.fair_queue import Slots

T = TypeVar("T")
Commit = tuple[str, int, int]
"""A graph, a version, and the time of the commit."""

PAGE = 32
"""Records that a reader holds at a time."""
REMEMBERED, REMEMBERED_ITEMS = 256, 50_000
"""Summaries kept for other readers, and the entities and relations in them: some 20 MB."""
TOKEN_TIMEOUT_S = 30.0


class ChangeFeed:
    """The feeds of all graphs of a process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._log = runtime.changes
        self._thread, self._turns = ThreadPoolExecutor(1, "graphtide-feed"), Slots(1)
        self._rows = RowPacker()
        self._recent = RecentSummaries()
        runtime.views.on_purged.append(self._recent.clear)

    async def follow(self, graph: str, query: ChangeQuery) -> AsyncIterator[FeedItem]:
        """Yield `FeedOpened`, then the selected changes, without end if the query follows.

        Raises NotFound for an unknown graph, Invalid for a token that is not of this graph, and Expired when a commit
        that the reader needs is not retained, also later.
        """
        with self._runtime.views.in_use(graph):
            await self._runtime.known(graph)
            async with aclosing(self._opened(graph, query)) as items:  # type: ignore[type-var]
                async for item in items:
                    yield item

    async def _opened(self, graph: str, query: ChangeQuery) -> AsyncIterator[FeedItem]:
        if query.rows and not query.after:
            view = self._runtime.views.get(graph)
            packed = await self._run(graph, partial(self._rows.pack, graph, view))
            after = packed.version
            yield FeedOpened(after)
            for number in range(1, len(packed.parts) + 1):
                yield await self._run(graph, partial(packed.part, number))
            del packed
        else:
            after = await self._start(graph, query.after)
            yield FeedOpened(after)
        present = partial(self._runtime.views.version, graph)
        with self._runtime.metrics.readers.reading(CHANGES, present) as reader:
            async with aclosing(self._after(graph, query, after, reader)) as items:  # type: ignore[type-var]
                async for item in items:
                    yield item

    async def _after(self, graph: str, query: ChangeQuery, after: int, reader: StreamReader) -> AsyncIterator[FeedItem]:
        """Yield the selected changes after a version."""
        selected = partial(_selected, query)
        until = None if query.follow else await self._log.last(graph)
        reader.received(after)
        while until is None or after < until:
            skipped = 0
            for record in await self._page(graph, after):
                after = record.version
                change = await self._change(record, rows=query.rows)
                if change is not None and selected(change):
                    yield change
                    skipped = 0
                else:
                    skipped = after
                reader.received(after)
            if skipped:
                yield FeedProgress(change_token(skipped))

    async def _start(self, graph: str, token: str) -> int:
        """Return the version after which the feed begins. Raises Invalid, Expired."""
        if not token:
            return await self._log.last(graph)
        version = await resolve(self._runtime, graph, token, "after")
        if not await self._log.retains(graph, version):
            raise await self._refusal(graph, version)
        return version

    async def _page(self, graph: str, after: int) -> Sequence[ChangeRecord]:
        """Return the next records; wait for one if there is none. Raises Expired for a reader that is too far behind,
        or whose graph was deleted.
        """
        while True:
            found = await self._log.read(graph, after, PAGE)
            if found and found[0].version == after + 1:
                return found
            if found or not await self._log.retains(graph, after):
                raise await self._refusal(graph, after)
            await self._log.wait(graph, after)

    async def _refusal(self, graph: str, after: int) -> Expired:
        """Return the error of a reader whose commits are not retained: they are too old, or the graph was deleted."""
        known = (await self._runtime.store.deletions([graph])).get(graph)
        if known is not None and after < known.version:
            return Expired(f"graph {graph!r} was deleted after version {after}: begin without `after`")
        return _expired(after, await self._log.first(graph))

    async def _change(self, record: ChangeRecord, *, rows: bool) -> Change | None:
        """Return the change of a record, None for one that changes nothing that readers see."""
        key = (record.graph, record.version, record.committed_ms)
        if key in self._recent:
            change = self._recent.get(key)
        else:
            change = await self._run(record.graph, partial(_summary, record))
            self._recent.keep(key, change)
        if change is None or not rows or change.rebuilt:
            return change
        return replace(change, rows=await self._run(record.graph, lambda: rows_out(record.delta())))

    async def _run(self, graph: str, work: Callable[[], T]) -> T:
        """Return the result of `work`, done in the thread when it is the turn of the graph."""
        async with self._turns.one(graph):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class RecentSummaries:
    """The summaries of commits that were read last, by commit, at most REMEMBERED of at most REMEMBERED_ITEMS items."""

    def __init__(self) -> None:
        self._changes: OrderedDict[Commit, Change | None] = OrderedDict()
        self._items = 0

    def __contains__(self, commit: Commit) -> bool:
        return commit in self._changes

    def __len__(self) -> int:
        return len(self._changes)

    def get(self, commit: Commit) -> Change | None:
        return self._changes.get(commit)

    def keep(self, commit: Commit, change: Change | None) -> None:
        """Add a summary; remove the oldest ones beyond the bounds."""
        if commit in self._changes:
            return
        self._changes[commit] = change
        self._items += _items_of(change)
        while len(self._changes) > REMEMBERED or self._items > REMEMBERED_ITEMS:
            _, oldest = self._changes.popitem(last=False)
            self._items -= _items_of(oldest)

    def clear(self) -> None:
        self._changes.clear()
        self._items = 0


def _items_of(change: Change | None) -> int:
    return 0 if change is None else size_of(change)


async def resolve(runtime: Runtime, graph: str, token: str, field: str) -> int:
    """Return the version that a token names: its own, or the first that includes everything up to a publisher's token.

    Waits up to 30 seconds for a publisher's token, until the graph includes it. Raises Invalid, Expired,
    DeadlineExceeded.
    """
    log: ChangeLog = runtime.changes
    version = token_version(token)
    if version is not None:
        last = await log.last(graph)
        if version > last:
            raise Invalid(field, f"graph {graph!r} has no version {version}; its newest is {last}")
        return version
    try:
        until = await runtime.progress.revisions(graph, token, TOKEN_TIMEOUT_S, runtime.maintenance.refusal)
    except Invalid as error:
        raise Invalid(field, error.message) from error
    found = await log.version_of(graph, until)
    if not found and (first := await log.first(graph)):
        raise _expired_token(token, first)
    return found


def _expired_token(token: str, first: int) -> Expired:
    return Expired(
        f"the version that first included token {token[:80]} is not retained; the oldest token to begin with is"
        f" {change_token(first)}"
    )


def _expired(version: int, first: int) -> Expired:
    return Expired(
        f"the changes after version {version} are not retained; the oldest token to begin with is"
        f" {change_token(first)}: begin without `after`, and read the graph as it is now"
    )


def _summary(record: ChangeRecord) -> Change | None:
    at = datetime.fromtimestamp(record.committed_ms / 1000, UTC).isoformat(timespec="milliseconds")
    head = Change(record.version, change_token(record.version), at.replace("+00:00", "Z"), record.documents)
    if record.replaced:
        return replace(head, rebuilt=True)
    delta = record.delta()
    if not record.documents and not _has_rows(delta):
        return None
    old = record.old_rows()
    found = summarise(delta, old.rows, old.context)
    return replace(head, entities=found.entities, relations=found.relations, merges=found.merges, splits=found.splits)


def _has_rows(delta: GraphDelta) -> bool:
    gone = delta.gone
    removed = (gone.documents, gone.chunks, gone.labels, gone.statements, gone.same_as, gone.entities, gone.edges)
    return any(getattr(delta, kind) for kind in KINDS) or any((*removed, gone.predicate_links))


def _selected(query: ChangeQuery, change: Change) -> bool:
    if change.rebuilt:
        return True
    if query.prefix and not any(document.id.startswith(query.prefix) for document in change.documents):
        return False
    if query.type and not any(entity.type == query.type for entity in change.entities.all()):
        return False
    return not query.entity or _names(change, query.entity)


def _names(change: Change, entity: str) -> bool:
    """Return True when the change names an entity by its id or its name."""
    name = normalise(entity)
    if any(each.id == entity or normalise(each.name) == name for each in change.entities.all()):
        return True
    for each in change.relations.all():
        if entity in (each.subject, each.object) or name in (normalise(each.subject_name), normalise(each.object_name)):
            return True
    ends = [end for merge in change.merges for end in (merge.into, *merge.sources)]
    ends += [end for split in change.splits for end in (split.source, *split.into)]
    return entity in ends
