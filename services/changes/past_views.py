"""Views of earlier versions of a graph: the present view without the commits since, undone one by one.

An opened view answers questions like the present one, from exact indexes. The costs: opening copies the rows of the
present view and undoes the commits since; memory holds at most `most` opened views, of which the least recently used
one is dropped; one is opened at a time.

Invariant: the rows of `view_at(graph, version)` are those that the graph had at that version.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncIterator

from graphtide.graph.changes.tables import RowTables
from graphtide.graph.records import GraphDelta
from graphtide.graph.validity.predicates import FunctionalPredicates
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import IndexVersions, LiveView, VectorIndexes
from graphtide.services.changes.feed import resolve
from graphtide.services.runtime import Runtime
from graphtide.streams.changes.change_log import ChangeReader, ChangeRecord
from graphtide.streams.changes.changed_document import change_token
from graphtide.streams.errors import Expired, Invalid, NotFound
from graphtide.streams.follow.view_registry import dimensions

MAX_VIEWS = 2
_NUMBER = re.compile("[0-9]{1,15}")
PAGE = 32
NONE_INDEXED = IndexVersions(-1, -1, -1)
"""Every row with a vector is indexed: rows that a replica has restored have no version."""


class PastViews:
    """The opened views of earlier versions, of all graphs of a process."""

    def __init__(self, runtime: Runtime, most: int = MAX_VIEWS) -> None:
        self._runtime = runtime
        self._most = most
        self._opened: OrderedDict[tuple[str, int, int], LiveView] = OrderedDict()
        self._opening = asyncio.Lock()
        self._purges = 0
        runtime.views.on_ended = self.release
        runtime.views.on_purged.append(self.release_all)

    def release(self, graph: str) -> None:
        """Release the opened views of a graph that was deleted or rebuilt; those in use end with their last reader."""
        for key in [key for key in self._opened if key[0] == graph]:
            del self._opened[key]

    def release_all(self) -> None:
        """Release all opened views: they may show content that a purge erases."""
        self._purges += 1
        self._opened.clear()

    async def at(self, graph: str, token: str) -> LiveView:
        """Return the view at a version number, the token of a change, or a publisher's token. Raises as `view_at`."""
        named = change_token(int(token)) if _NUMBER.fullmatch(token) else token
        return await self.view_at(graph, await resolve(self._runtime, graph, named, "at"))

    async def view_at(self, graph: str, version: int) -> LiveView:
        """Return the view of the graph at `version`. It never changes.

        Raises NotFound for a graph without a view, Invalid for a later version than it has, and Expired for one that
        is no longer retained. Cost: the rows of the graph, and the commits since that version.
        """
        async with self._opening:
            present = await self._present(graph, version)
            key = (graph, version, id(present))
            view = self._opened.get(key)
            if view is None:
                purges = self._purges
                view = await self._open(present, version)
                if self._runtime.views.get(graph) is not present or self._purges != purges:
                    return view  # the graph was deleted or rebuilt meanwhile, or purged: the view is not kept
                self._opened[key] = view
            self._opened.move_to_end(key)
            while len(self._opened) > self._most:
                self._opened.popitem(last=False)
            return view

    async def _present(self, graph: str, version: int) -> LiveView:
        await self._runtime.known(graph)
        view = self._runtime.views.get(graph)
        if view is None:
            raise NotFound(f"graph {graph!r} has no document applied yet")
        if version > view.version:
            raise Invalid("at", f"graph {graph!r} has no version {version}; its newest is {view.version}")
        if not await self._runtime.changes.retains(graph, version):
            first = await self._runtime.changes.first(graph)
            raise Expired(
                f"version {version} of graph {graph!r} is no longer retained; the oldest is {change_token(first)}"
            )
        return view

    async def _open(self, present: LiveView, version: int) -> LiveView:
        tables = await self._runtime.pool.run(lambda: copy_of(present), present.graph)
        async for records in newest_first(self._runtime.changes, present.graph, version, tables.version):
            await self._runtime.pool.run(lambda records=records: undo(tables, records), present.graph)  # type: ignore[misc]
        if tables.version != version:
            raise Expired(f"version {version} of graph {present.graph!r} is no longer retained")
        predicates = present.functional_predicates
        return await self._runtime.pool.run(lambda: view_of(tables.snapshot(), predicates), present.graph)


def copy_of(view: LiveView) -> RowTables:
    """Return the rows of a view, vectors and communities included. Cost: the rows; vectors are not copied."""
    with view.lock.read():
        rows = view.rows(vectors=True)
    tables = RowTables(view.graph)
    tables.apply(rows)
    return tables


def undo(tables: RowTables, records: list[ChangeRecord]) -> None:
    """Undo the records, the newest first."""
    for record in records:
        tables.revert(record.delta(), record.old_rows().rows)


async def newest_first(log: ChangeReader, graph: str, after: int, until: int) -> AsyncIterator[list[ChangeRecord]]:
    """Yield the records of the versions `until` down to `after` + 1, a page at a time. Raises Expired for a gap."""
    top = until
    while top > after:
        start = max(after, top - PAGE)
        page: list[ChangeRecord] = []
        while start + len(page) < top:
            found = await log.read(graph, start + len(page), top - start - len(page))
            if not found or found[0].version != start + len(page) + 1 or found[0].replaced:
                raise Expired(f"version {after} of graph {graph!r} is no longer retained")
            page += found
        yield page[::-1]
        top = start


def view_of(snapshot: GraphDelta, predicates: FunctionalPredicates) -> LiveView:
    """Return a view of the rows, with exact indexes."""
    size = dimensions(snapshot)
    indexes = VectorIndexes(ExactIndex(size), ExactIndex(size), ExactIndex(size))
    view = LiveView(snapshot.graph, indexes, predicates)
    view.apply(snapshot, indexed=NONE_INDEXED)
    return view
