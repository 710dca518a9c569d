"""A query process's way to follow graphs that are written elsewhere: snapshots from the store, then `deltas`.

In this order:
1. note where `deltas` ends
2. load the snapshot of every graph from the store: it has everything that was announced before 1
3. read on from there: versions that a view has are dropped, the next one is applied, and whatever does not fit (a gap,
   a delta that cannot be read, one that was not sent, a graph that was rebuilt) has that graph's snapshot loaded

A view that stays behind the store although nothing is announced is noticed too, by looking from time to time; and so is
a reader that brings nothing although there is something to read, which is made anew.

Invariant: a view shows one version of its graph, whole; it never goes back, and never skips what a version brought.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.maintenance_requests import MaintenanceReply, parse_reply
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.follow.delta_records import DeltaPart, assemble_delta, parse_record
from graphtide.streams.follow.freshness import Freshness, Queryable
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DeltaNotice
from graphtide.streams.ports import ConsumedRecord, GraphStore, Log
from graphtide.streams.retry import outcome_of
from graphtide.streams.tracing import Headers, continue_trace

log = logging.getLogger("graphtide.streams")

POLL_RECORDS = 256
POLL_INTERVAL_S = 2.0
TIMEOUT_S = 10.0
"""A view that lacks a version for so long, with nothing left to read, has missed it."""

Moved = Callable[[], None]
Replied = Callable[[MaintenanceReply], Awaitable[None]]


async def _nobody(_: MaintenanceReply) -> None:
    """Replies to what others asked for."""


def _unasked(_graph: str, _seconds: float) -> None:
    """For a process whose views nobody asks."""


@dataclass(slots=True)
class Incoming:
    """A delta whose parts are on their way, and what its notice brought along."""

    version: int
    count: int
    behind: Headers = ()
    parts: list[DeltaPart] = field(default_factory=list)

    def take(self, part: DeltaPart) -> bool:
        """Whether the part is the next one."""
        fits = (part.version, part.count, part.number) == (self.version, self.count, len(self.parts) + 1)
        if fits:
            self.parts.append(part)
        return fits


@dataclass(frozen=True, slots=True)
class ReplicaLag:
    """A view that is behind the store: what it showed, since when it is behind, and when it moved last."""

    shown: int
    since: float
    moved: float


class DeltaFollower:
    """See the module. `moved` is called whenever a view may show more, `replied` with each reply to a request,
    `queryable` with every revision that a view has come to show.
    """

    def __init__(
        self,
        log: Log,
        store: GraphStore,
        views: ViewRegistry,
        moved: Moved,
        replied: Replied = _nobody,
        queryable: Queryable = _unasked,
    ) -> None:
        self._log = log
        self._store = store
        self._views = views
        self._moved = moved
        self._replied = replied
        self._fresh = Freshness(queryable)
        self._next: dict[int, int] | None = None
        self._incoming: dict[str, Incoming] = {}
        self._behind: dict[str, ReplicaLag] = {}
        self._looked = 0.0
        self._read, self._moved_on = 0, 0.0
        self._stood: Mapping[str, int] = {}
        self.reloads = 0

    async def start(self) -> None:
        """Load what there is. The caller may answer from it, then `run`. Raises Broken as `Views.open` does."""
        ends = dict(await self._log.end(DELTAS))
        await self._views.open(self._store)
        self._fresh.begin(self._views.versions())
        self._next = ends
        self._moved()

    async def run(self) -> None:
        """Follow until cancelled. Raises what log and store raise; the next run goes on where this one was."""
        if self._next is None:
            await self.start()
        positions: dict[int, int] = self._next if self._next is not None else {}
        consumer = self._log.reader(DELTAS, positions)
        try:
            while True:
                for one in await consumer.poll(POLL_RECORDS, POLL_INTERVAL_S):
                    await self._take(one)
                    positions[one.position.partition] = one.position.offset + 1
                if time.monotonic() - self._looked >= POLL_INTERVAL_S:
                    await self._look(positions)
        finally:
            self._incoming.clear()
            await consumer.close()

    # -- staleness -----------------------------------------------------------------------------------------------------

    def behind(self) -> Mapping[str, tuple[int, float]]:
        """By graph: how many versions its view lacks of what the store had, and for how many seconds, by the last look.

        A graph that is up to date is (0, 0.0).
        """
        now = time.monotonic()
        lacking = {graph: max(0, version - self._views.version(graph)) for graph, version in self._stood.items()}
        return {
            graph: (count, now - self._behind[graph].since if count and graph in self._behind else 0.0)
            for graph, count in lacking.items()
        }

    async def _look(self, positions: Mapping[int, int]) -> None:
        """Compare the views with the store."""
        self._looked = now = time.monotonic()
        self._stood = await self._store.graphs()
        read_all = all(positions.get(number, 0) >= end for number, end in (await self._log.end(DELTAS)).items())
        if read_all or sum(positions.values()) != self._read:
            self._read, self._moved_on = sum(positions.values()), now
        elif now - self._moved_on >= TIMEOUT_S:
            self._moved_on = now
            raise Retryable(f"{DELTAS} has more than the reader brings: it is made anew", 0.0)
        for graph, version in self._stood.items():
            shown = self._views.version(graph)
            lack = self._behind.get(graph)
            if shown >= version:
                self._behind.pop(graph, None)
            elif lack is None:
                self._behind[graph] = ReplicaLag(shown, now, now)
            elif lack.shown != shown:
                self._behind[graph] = ReplicaLag(shown, lack.since, now)
            elif read_all and now - lack.moved >= TIMEOUT_S:
                await self._reload(graph, f"version {version} was not announced")

    # -- what is read --------------------------------------------------------------------------------------------------

    async def _take(self, one: ConsumedRecord) -> None:
        try:
            reply = parse_reply(one)
            said = parse_record(one) if reply is None else None
        except Rejected as error:
            await self._reload_if_behind(one.record.key, str(error))
            return
        if reply is not None:
            await self._replied(reply)
        elif isinstance(said, DeltaNotice):
            await self._notice(said, one.record.headers)
        elif said is not None:
            await self._part(said)

    async def _notice(self, said: DeltaNotice, behind: Headers) -> None:
        if not said.version:  # a wish, which may come between a notice and its parts
            return
        self._incoming.pop(said.graph, None)
        shown = self._views.version(said.graph)
        self._fresh.heard(said.graph, said.version, behind)
        if said.version <= shown:
            self._fresh.shown(said.graph, shown)
            return
        if said.version == shown + 1 and said.parts:
            self._incoming[said.graph] = Incoming(said.version, said.parts, behind)
        elif said.replaced:
            await self._reload(said.graph, "it was rebuilt")
        else:
            await self._reload(said.graph, f"version {said.version} came after version {shown}")

    async def _part(self, part: DeltaPart) -> None:
        incoming = self._incoming.get(part.graph)
        if part.version <= self._views.version(part.graph):
            return
        if incoming is None or not incoming.take(part):
            self._incoming.pop(part.graph, None)
            await self._reload_if_behind(part.graph, f"parts of version {part.version} are missing")
        elif len(incoming.parts) == incoming.count:
            del self._incoming[part.graph]
            await self._apply(incoming)

    async def _apply(self, incoming: Incoming) -> None:
        graph = incoming.parts[0].graph
        with continue_trace("follow", [incoming.behind], graph=graph, version=incoming.version):
            outcome = await outcome_of(self._applied(incoming))
            if outcome is not None:
                log.error("version %d cannot be applied", incoming.version, exc_info=outcome)
                await self._reload(graph, "the delta does not fit the view")
        self._fresh.shown(graph, self._views.version(graph))
        self._moved()

    async def _applied(self, incoming: Incoming) -> None:
        delta: GraphDelta = await asyncio.to_thread(assemble_delta, incoming.parts)
        await self._views.follow(delta)

    async def _reload_if_behind(self, graph: str, why: str) -> None:
        """Anybody may write to a topic: what cannot be read costs a snapshot only where one brings something."""
        stands = (await self._store.graphs()).get(graph, 0)
        if stands > self._views.version(graph):
            await self._reload(graph, why)
        else:
            log.warning("a record of %s with key %r is passed over: %s", DELTAS, graph[:80], why)

    async def _reload(self, graph: str, why: str) -> None:
        """Put the store's snapshot in the place of the view, unless it has nothing newer. Cost: the whole graph."""
        log.info("graph %s is loaded from its snapshot: %s", graph, why)
        self.reloads += 1
        self._incoming.pop(graph, None)
        snapshot = await self._store.snapshot(graph)
        if snapshot.version:
            await self._views.follow(snapshot)
        self._behind.pop(graph, None)
        self._fresh.shown(graph, self._views.version(graph))
        self._moved()
