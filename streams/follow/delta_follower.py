"""The delta follower of a replica: loads snapshots from the store, then follows `deltas`.

In this order:
1. note where `deltas` ends
2. make a view of every graph: from its checkpoint, or else from its snapshot in the store, which includes everything
   that was announced before 1
3. read `deltas` from the earliest offset that a checkpoint names, up to where it ended in 1
4. continue reading from there: drop versions that a view has, apply the next one, and load the graph's snapshot in all
   other cases (a gap, a malformed delta, one that was not sent, a rebuilt graph)

The follower also compares the views with the store at intervals. This detects a view that lags although nothing is
announced, and a reader that returns no records although the log has some, which is then created anew.

Invariant: a view shows one version of its graph, whole; it never goes back, and never skips the changes of a version.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from graphtide.graph.records import GraphDelta
from graphtide.streams.changes.purge_marker import PurgeMarkers, is_purge_marker
from graphtide.streams.checkpoints.view_checkpoints import Retained
from graphtide.streams.consolidate.maintenance_requests import MaintenanceReply, parse_reply
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.follow.delta_records import DeltaPart, assemble_delta, parse_record, part_label
from graphtide.streams.follow.freshness import Freshness, Queryable
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DeltaNotice
from graphtide.streams.ports import ConsumedRecord, Consumer, GraphStore, Log, Position, SnapshotUse
from graphtide.streams.retry import outcome_of
from graphtide.streams.tracing import Headers, continue_trace

log = logging.getLogger("graphtide.streams")

POLL_RECORDS = 256
POLL_INTERVAL_S = 2.0
TIMEOUT_S = 10.0
"""Seconds after which a view that lacks a version, with no record left to read, has missed it."""

Moved = Callable[[], None]
Replied = Callable[[MaintenanceReply], Awaitable[None]]


async def _ignore_reply(_: MaintenanceReply) -> None:
    """Ignore the reply to a request of another process."""


async def _ignore_purge() -> None:
    """Ignore a purge, in a process that retains nothing."""


def _ignore_queryable(_graph: str, _seconds: float) -> None:
    """Ignore freshness, in a process that serves no queries."""


@dataclass(slots=True)
class Incoming:
    """A delta whose parts are arriving, and the headers and position of its notice (`behind`, `at`)."""

    version: int
    count: int
    behind: Headers = ()
    at: Position | None = None
    parts: list[DeltaPart] = field(default_factory=list)

    def take(self, part: DeltaPart) -> bool:
        """Add the part if it is the next one. Returns False otherwise."""
        fits = (part.version, part.count, part.number) == (self.version, self.count, len(self.parts) + 1)
        if fits:
            self.parts.append(part)
        return fits


@dataclass(frozen=True, slots=True)
class ReplicaLag:
    """The lag of a view behind the store: the version shown, when the lag began, and when the view last advanced."""

    shown: int
    since: float
    moved: float


class DeltaFollower:
    """The follower of a process. It calls `moved` whenever a view may have advanced, `replied` with each reply to a
    maintenance request, `queryable` for every revision that a view now shows, and `purged` once everything that the
    topic held before a purge is applied: the process then forgets its copies of earlier commits.
    """

    def __init__(
        self,
        log: Log,
        store: GraphStore,
        views: ViewRegistry,
        moved: Moved,
        replied: Replied = _ignore_reply,
        queryable: Queryable = _ignore_queryable,
        purged: Callable[[], Awaitable[object]] = _ignore_purge,
    ) -> None:
        self._log = log
        self._store = store
        self._views = views
        self._moved = moved
        self._replied = replied
        self._fresh = Freshness(queryable)
        self._purged = purged
        self._markers = PurgeMarkers()
        self._next: dict[int, int] | None = None
        self._incoming: dict[str, Incoming] = {}
        self._behind: dict[str, ReplicaLag] = {}
        self._compared = 0.0
        self._read, self._advanced = 0, 0.0
        self._stored: Mapping[str, int] = {}
        self._positions: dict[int, int] = {}
        self._is_catching_up = False
        self._missed_purge = False
        self.reloads = 0

    async def start(self) -> None:
        """Make the views of the stored graphs, with all that is announced by now. The caller may serve them, then call
        `run`.

        A graph whose rows cannot be shown is noted as damaged (`ViewRegistry.damaged`), and all others are served.
        """
        ends = dict(await self._log.end(DELTAS))
        stored = await self._store.graphs()
        checkpoints = self._views.saved.checkpoints
        retained = None if checkpoints is None else Retained(await self._log.start(DELTAS), ends)
        resumed = await self._views.open(self._store, without_damaged=True, retained=retained)
        self._fresh.begin({**stored, **self._views.evicted, **self._views.versions()})
        self._positions = positions = {
            partition: min([end, *(offsets.get(partition, 0) for offsets in resumed)])
            for partition, end in ends.items()
        }
        if checkpoints is not None:
            checkpoints.offsets = self.offsets
        if not await self._catch_up(positions, ends):
            for graph in stored:
                await self._reload_if_missed(graph, stored[graph])
        self._next = positions
        self._moved()

    async def run(self) -> None:
        """Follow until cancelled. Raises what log and store raise; the next run continues where this one was."""
        if self._next is None:
            await self.start()
        self._positions = positions = self._next if self._next is not None else {}
        if self._missed_purge:
            await self._purged()
            self._missed_purge = False
        consumer = self._log.reader(DELTAS, positions)
        try:
            while True:
                await self._read_on(consumer, positions)
                if time.monotonic() - self._compared >= POLL_INTERVAL_S:
                    await self._compare(positions)
        finally:
            positions.update(self.offsets())
            self._incoming.clear()
            await consumer.close()

    def offsets(self) -> dict[int, int]:
        """Return offsets of `deltas`, by partition, such that the views include every delta before them."""
        offsets = dict(self._positions)
        for at in (incoming.at for incoming in self._incoming.values()):
            if at is not None:
                offsets[at.partition] = min(at.offset, offsets.get(at.partition, at.offset))
        return offsets

    async def _catch_up(self, positions: dict[int, int], ends: Mapping[int, int]) -> bool:
        """Read the records before `ends`. Returns False if the log returned none for TIMEOUT_S."""
        if positions == ends:
            return True
        consumer = self._log.reader(DELTAS, positions)
        self._is_catching_up = True
        try:
            advanced = time.monotonic()
            while left := sum(max(0, end - positions[partition]) for partition, end in ends.items()):
                self._views.catching_up = f"reading the changes since the last checkpoint: {left} records left"
                if await self._read_on(consumer, positions):
                    advanced = time.monotonic()
                elif time.monotonic() - advanced >= TIMEOUT_S:
                    return False
            return True
        finally:
            self._is_catching_up = False
            self._views.catching_up = ""
            await consumer.close()

    async def _read_on(self, consumer: Consumer, positions: dict[int, int]) -> int:
        """Take the records of one poll. Returns their number."""
        records = await consumer.poll(POLL_RECORDS, POLL_INTERVAL_S)
        for delivered in records:
            await self._take(delivered)
            positions[delivered.position.partition] = delivered.position.offset + 1
        return len(records)

    async def _reload_if_missed(self, graph: str, version: int) -> None:
        """Load a graph whose view lacks a version that the store had at the start."""
        shown = self._views.version(graph)
        if shown < version and graph not in self._views.evicted and not self._views.is_damaged_at(graph, version):
            await self._reload(graph, f"version {version} did not come after version {shown}")

    # -- staleness -----------------------------------------------------------------------------------------------------

    def behind(self) -> Mapping[str, tuple[int, float]]:
        """Return, by graph, how many stored versions its view lacks, and for how many seconds, at the last comparison.

        A current graph is (0, 0.0). Evicted graphs are left out.
        """
        now = time.monotonic()
        stored = {graph: version for graph, version in self._stored.items() if graph not in self._views.evicted}
        lacking = {graph: max(0, version - self._views.version(graph)) for graph, version in stored.items()}
        return {
            graph: (count, now - self._behind[graph].since if count and graph in self._behind else 0.0)
            for graph, count in lacking.items()
        }

    @property
    def damaged(self) -> Mapping[str, str]:
        """Return the graphs whose stored rows cannot be shown, with the reason and the remedy."""
        return self._views.damaged

    def shown(self) -> Mapping[str, int]:
        """Return the version of each graph that queries see."""
        return self._views.versions()

    async def _compare(self, positions: Mapping[int, int]) -> None:
        """Compare the views with the store."""
        self._compared = now = time.monotonic()
        self._stored = await self._store.graphs()
        read_all = all(positions.get(number, 0) >= end for number, end in (await self._log.end(DELTAS)).items())
        if read_all or sum(positions.values()) != self._read:
            self._read, self._advanced = sum(positions.values()), now
        elif now - self._advanced >= TIMEOUT_S:
            self._advanced = now
            raise Retryable(f"the reader of {DELTAS} returns no records although there are some: reopening it", 0.0)
        for graph, shown in {**self._views.evicted, **self._views.versions()}.items():
            if graph not in self._stored and read_all:  # its deletion was announced before this process read
                await self._drop(graph, shown + 1)
        for graph, version in self._stored.items():
            shown = self._views.version(graph)
            lag = self._behind.get(graph)
            if shown >= version or self._views.skip(graph, version):
                self._behind.pop(graph, None)
            elif lag is None:
                self._behind[graph] = ReplicaLag(shown, now, now)
            elif lag.shown != shown:
                self._behind[graph] = ReplicaLag(shown, lag.since, now)
            elif read_all and now - lag.moved >= TIMEOUT_S and not self._views.is_damaged_at(graph, version):
                await self._reload(graph, f"version {version} was not announced")
        await self._views.evict_idle()

    # -- records -------------------------------------------------------------------------------------------------------

    async def _take(self, delivered: ConsumedRecord) -> None:
        if is_purge_marker(delivered):
            is_complete = self._markers.complete(delivered)
            if self._is_catching_up:  # some markers of this purge may be before the first record that is read
                self._missed_purge = True
            elif is_complete:
                log.info("a purge was announced: forgetting earlier commits")
                await self._purged()
            return
        if part_label(delivered) is not None and delivered.record.key in self._views.evicted:
            return
        try:
            reply = parse_reply(delivered)
            message = parse_record(delivered) if reply is None else None
        except Rejected as error:
            if delivered.record.key not in self._views.evicted:
                await self._reload_if_behind(delivered.record.key, str(error))
            return
        if reply is not None:
            await self._replied(reply)
        elif isinstance(message, DeltaNotice):
            await self._notice(message, delivered)
        elif isinstance(message, DeltaPart):
            await self._part(message)

    async def _notice(self, notice: DeltaNotice, delivered: ConsumedRecord) -> None:
        headers = delivered.record.headers
        if not notice.version:  # it announces nothing
            return
        self._incoming.pop(notice.graph, None)
        if not notice.deleted and self._views.skip(notice.graph, notice.version):
            return
        shown = self._views.version(notice.graph)
        self._fresh.announced(notice.graph, notice.version, headers)
        if notice.version <= shown:
            self._fresh.shown(notice.graph, shown)
            return
        if notice.deleted:
            await self._drop(notice.graph, notice.version)
            return
        if notice.version == shown + 1 and notice.parts:
            self._incoming[notice.graph] = Incoming(notice.version, notice.parts, headers, delivered.position)
        elif notice.replaced:
            await self._reload(notice.graph, "it was rebuilt")
        else:
            await self._reload(notice.graph, f"version {notice.version} came after version {shown}")

    async def _part(self, part: DeltaPart) -> None:
        incoming = self._incoming.get(part.graph)
        if part.overwritten or part.version <= self._views.version(part.graph):
            return
        if incoming is None or not incoming.take(part):
            self._incoming.pop(part.graph, None)
            await self._reload_if_behind(part.graph, f"parts of version {part.version} are missing")
        elif len(incoming.parts) == incoming.count:
            await self._apply(incoming)
            self._incoming.pop(part.graph, None)

    async def _apply(self, incoming: Incoming) -> None:
        graph = incoming.parts[0].graph
        with continue_trace("follow", [incoming.behind], graph=graph, version=incoming.version):
            outcome = await outcome_of(self._applied(incoming))
            if outcome is not None:
                log.error("graph %s: version %d cannot be applied", graph, incoming.version, exc_info=outcome)
                await self._reload(graph, "the delta does not fit the view")
        self._fresh.shown(graph, self._views.version(graph))
        self._moved()

    async def _applied(self, incoming: Incoming) -> None:
        delta: GraphDelta = await asyncio.to_thread(assemble_delta, incoming.parts)
        await self._views.follow(delta, incoming.behind)

    async def _reload_if_behind(self, graph: str, why: str) -> None:
        """Reload the graph only if the store has a newer version: any producer may write malformed records."""
        stored = await self._store.version(graph)
        if stored > self._views.version(graph):
            await self._reload(graph, why)
        else:
            log.warning("ignoring a record of %s with key %r: %s", DELTAS, graph[:80], why)

    async def _drop(self, graph: str, version: int) -> None:
        log.info("graph %s was deleted", graph)
        self._behind.pop(graph, None)
        await self._views.drop(graph, version)
        self._moved()

    async def _reload(self, graph: str, why: str) -> None:
        """Replace the view by the store's snapshot, unless that is not newer. Cost: the whole graph."""
        log.info("graph %s: loading its snapshot: %s", graph, why)
        self.reloads += 1
        self._incoming.pop(graph, None)
        snapshot = await self._store.snapshot(graph, SnapshotUse.VIEW)
        if snapshot.version:
            await self._views.load(snapshot)
        self._behind.pop(graph, None)
        self._fresh.shown(graph, self._views.version(graph))
        self._moved()
