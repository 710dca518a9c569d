"""Views of earlier versions of a graph: the present view, with the rows that the commits since overwrote.

An opened view answers questions like the present one, from exact indexes. The costs: opening reads the commits since
the version, and nothing else of the graph; an opened view holds what they overwrote, and a commit to the graph adds its
own, so all are dropped `idle_s` after the last request for one; memory holds at most `max_views` of them, of which the
least recently used one is dropped; one is opened at a time, and graphs take turns.

Invariant: the rows of `view_at(graph, version)` are those that the graph had at that version.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from graphtide.graph.earlier.undo_log import UndoLog
from graphtide.graph.earlier.view import EarlierView
from graphtide.graph.view import LiveView
from graphtide.services.changes.feed import resolve
from graphtide.services.runtime import Runtime
from graphtide.streams.changes.change_log import ChangeReader, ChangeRecord
from graphtide.streams.changes.changed_document import change_token
from graphtide.streams.errors import Expired, Invalid, NotFound
from graphtide.streams.scheduling.fair_queue import Slots

MAX_VIEWS = 2
IDLE_S = 60.0
_NUMBER = re.compile("[0-9]{1,15}")
PAGE = 32

Run = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs a function outside the event loop."""


class PastViews:
    """The opened views of earlier versions, of all graphs of a process."""

    def __init__(self, runtime: Runtime, max_views: int = MAX_VIEWS, idle_s: float = IDLE_S) -> None:
        self._runtime = runtime
        self._max_views = max_views
        self._idle_s = idle_s
        self._release: asyncio.TimerHandle | None = None
        self._opened: OrderedDict[tuple[str, int, int], EarlierView] = OrderedDict()
        self._opening = Slots(1)
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
        is no longer retained. Cost: the commits since that version.
        """
        async with self._opening.one(graph):
            present = await self._present(graph, version)
            key = (graph, version, id(present))
            view = self._opened.get(key)
            if view is None:
                purges = self._purges
                view = await open_earlier(present, version, self._runtime.changes, partial(self._run, graph))
                if self._runtime.views.get(graph) is not present or self._purges != purges:
                    return view  # the graph was deleted or rebuilt meanwhile, or purged: the view is not kept
                self._opened[key] = view
            self._opened.move_to_end(key)
            while len(self._opened) > self._max_views:
                self._opened.popitem(last=False)
            self._release_when_idle()
            return view

    def _release_when_idle(self) -> None:
        """Release all views `idle_s` after the last request for one; those in use end with their last reader."""
        if self._release is not None:
            self._release.cancel()
        self._release = asyncio.get_running_loop().call_later(self._idle_s, self._opened.clear)

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

    async def _run(self, graph: str, call: Callable[[], None]) -> None:
        await self._runtime.pool.run(call, graph)


async def open_earlier(present: LiveView, version: int, history: ChangeReader, run: Run) -> EarlierView:
    """Return the view of an earlier version. Raises Expired when the history does not reach back to it.

    Cost: the commits since the version, in time and memory.
    """
    log, later = UndoLog(present.graph, version), UndoLog(present.graph, version)

    def follow() -> None:
        with present.lock.read():
            later.version = present.version
            present.undo_logs.add(later)

    def note(records: Sequence[ChangeRecord]) -> None:
        for record in records:
            log.overwritten(record.delta(), record.old_rows().rows)

    opened: list[EarlierView] = []

    def finish() -> None:
        with present.lock.read():
            log.continue_with(later)
            present.undo_logs.discard(later)
            present.undo_logs.add(log)
            opened.append(EarlierView(present, log))

    await run(follow)
    at = version
    while at < later.version:
        records = await history.read(present.graph, at, min(PAGE, later.version - at))
        if not records or records[0].version != at + 1 or records[0].replaced:
            raise Expired(f"version {version} of graph {present.graph!r} is no longer retained")
        await run(partial(note, records))
        at = records[-1].version
    await run(finish)
    return opened.pop()
