"""The stage that publishes every graph to `graph-changes`, in one process at a time.

1. One process leads: the member of the group to which partition 0 of `deltas` is assigned.
2. It notes where `deltas` ends, and loads the rows of every graph from the store, without vectors.
3. A graph whose version in the topic is another one is compared with the topic, element by element, and the
   differences are published: after a crash, after the topic was created, or when a delta was not sent.
4. It follows `deltas`, and publishes the elements that each version changes.

Nothing is stored besides the topic, so a process that is killed anywhere leaves a state that step 3 completes. Delivery
is at least once; a record is the whole element, so a repeated one changes nothing.

Invariant: the newest record of every key, up to the record of the graph's node, is the graph at that node's version.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import islice

from graphtide.graph.changes.elements import ElementTables
from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.maintenance_requests import REPLY
from graphtide.streams.errors import Rejected
from graphtide.streams.follow.delta_follower import Incoming
from graphtide.streams.follow.delta_records import DeltaPart, assemble_delta, parse_record
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import DELTAS, GRAPH_CHANGES, DeltaNotice
from graphtide.streams.ports import ConsumedRecord, Consumer, GraphStore, Log, Record
from graphtide.streams.publish_changes.records import (
    GRAPH_KEY,
    VERSION,
    change_records,
    element_value,
    is_removal,
    partition_of,
    removal_of,
    version_in,
    version_record,
)

log = logging.getLogger("graphtide.streams")

GROUP = "graph-changes"
LEADER = 0
"""The partition of `deltas` whose owner publishes."""
POLL_INTERVAL_S = 2.0
COMPARE_INTERVAL_S = 10.0
BATCH_SIZE = 1_000

Places = dict[str, dict[int, bytes]]
"""By key and partition the value, or its digest. A key is in two partitions while partitions are being added."""


class GraphChangesStage:
    """The publisher of a process: waits until it leads, then publishes."""

    def __init__(
        self,
        log: Log,
        store: GraphStore,
        poll_interval_s: float = POLL_INTERVAL_S,
        compare_interval_s: float = COMPARE_INTERVAL_S,
    ) -> None:
        self._log = log
        self._store = store
        self._poll_interval_s = poll_interval_s
        self._compare_interval_s = compare_interval_s

    async def run(self) -> None:
        """Publish until cancelled. Raises what log and store raise; the next run compares again."""
        membership = self._log.consumer(DELTAS, GROUP)
        try:
            while True:
                await membership.poll(1, self._poll_interval_s, among=())
                if LEADER in membership.assigned():
                    await self._lead(membership)
        finally:
            await membership.close()

    async def _lead(self, membership: Consumer) -> None:
        ends = dict(await self._log.end(DELTAS))
        publisher = GraphPublisher(self._log, self._store)
        await publisher.open()
        reader = self._log.reader(DELTAS, ends)
        compared = time.monotonic()
        try:
            while LEADER in membership.assigned():
                for delivered in await reader.poll(256, self._poll_interval_s):
                    await publisher.take(delivered)
                if time.monotonic() - compared >= self._compare_interval_s:
                    await publisher.compare()
                    compared = time.monotonic()
                await membership.poll(1, 0.0, among=())
        finally:
            await reader.close()


class GraphPublisher:
    """The rows of all graphs as they were last published."""

    def __init__(self, log: Log, store: GraphStore) -> None:
        self._log = log
        self._store = store
        self._partitions = 0
        self._tables: dict[str, ElementTables] = {}
        self._incoming: dict[str, Incoming] = {}
        self._behind: dict[str, int] = {}
        self._ends: dict[int, int] = {}
        self._foreign: set[int] = set()

    async def open(self) -> None:
        """Load every graph, and publish what the topic lacks. Cost: the rows of all graphs, and the topic once or
        twice.
        """
        self._ends = dict(await self._log.end(GRAPH_CHANGES))
        self._partitions = len(self._ends)
        published = await self._versions()
        stale: dict[str, GraphDelta] = {}
        for graph in await self._store.graphs():
            snapshot = await self._store.snapshot(graph)
            self._tables[graph] = await asyncio.to_thread(ElementTables.of, snapshot)
            if published.get(graph) != {self._place(graph): snapshot.version}:
                stale[graph] = snapshot
        gone = [graph for graph in published if graph not in self._tables]
        await self._publish_whole([*stale, *gone])

    async def take(self, delivered: ConsumedRecord) -> None:
        """Publish the version that a record of `deltas` completes, if it does."""
        if REPLY in dict(delivered.record.headers):
            return
        try:
            message = parse_record(delivered)
            if isinstance(message, DeltaNotice):
                await self._notice(message)
            elif isinstance(message, DeltaPart):
                await self._part(message)
        except Rejected as error:
            await self._load(delivered.record.key, str(error))

    async def compare(self) -> None:
        """Load the graphs whose version was not announced, although it was stored before the last comparison.

        A partition with records of another producer, such as a publisher that was frozen and resumed, is compared, too.
        """
        await self._repair()
        stored = await self._store.graphs()
        for graph in [graph for graph in self._tables if graph not in stored]:
            await self._load(graph, "it was deleted")
        for graph, version in stored.items():
            if self._version(graph) < self._behind.get(graph, 0):
                await self._load(graph, f"version {self._behind[graph]} was not announced")
            self._behind[graph] = version

    def _version(self, graph: str) -> int:
        tables = self._tables.get(graph)
        return tables.version if tables else 0

    async def _notice(self, notice: DeltaNotice) -> None:
        self._incoming.pop(notice.graph, None)
        if not notice.version or notice.version <= self._version(notice.graph):
            return
        if notice.version == self._version(notice.graph) + 1 and notice.parts:
            self._incoming[notice.graph] = Incoming(notice.version, notice.parts)
        else:
            await self._load(notice.graph, "the delta was not sent, or does not follow")

    async def _part(self, part: DeltaPart) -> None:
        incoming = self._incoming.get(part.graph)
        if incoming is None or part.version != incoming.version:
            return
        if not incoming.take(part):
            await self._load(part.graph, "a part of a delta is missing")
            return
        if len(incoming.parts) < incoming.count:
            return
        del self._incoming[part.graph]
        delta = await asyncio.to_thread(assemble_delta, incoming.parts)
        tables = self._tables.setdefault(part.graph, ElementTables(part.graph))
        change = await asyncio.to_thread(tables.change, delta)
        await self._append(change_records(part.graph, delta.version, change, self._place(part.graph)))

    async def _load(self, graph: str, why: str) -> None:
        """Replace the rows of a graph by the stored ones, and publish the differences from the topic."""
        log.info("graph %s: comparing it with %s: %s", graph[:80], GRAPH_CHANGES, why)
        self._incoming.pop(graph, None)
        if await self._store.version(graph):
            self._tables[graph] = await asyncio.to_thread(ElementTables.of, await self._store.snapshot(graph))
        else:
            self._tables.pop(graph, None)
        await self._publish_whole([graph])

    # -- comparison with the topic -------------------------------------------------------------------------------------

    def _place(self, graph: str) -> int:
        return partition_of(graph, self._partitions)

    async def _versions(self) -> dict[str, dict[int, int]]:
        """Return the versions of the graphs in the topic, by partition; deleted graphs are left out."""
        found: dict[str, dict[int, int]] = {}
        async for consumed in read_up_to_end(self._log, GRAPH_CHANGES, {}):
            graph, _, key = consumed.record.key.partition("|")
            if key == GRAPH_KEY:
                versions, place = found.setdefault(graph, {}), consumed.position.partition
                versions.pop(place, None)
                if consumed.record.value is not None and not is_removal(consumed.record.value):
                    versions[place] = version_in(consumed.record.headers)
        return {graph: versions for graph, versions in found.items() if versions}

    async def _publish_whole(self, graphs: Sequence[str]) -> None:
        """Publish the differences between the rows of these graphs and the newest records of their keys."""
        if not graphs:
            return
        wanted = {graph: await asyncio.to_thread(self._values, graph) for graph in graphs}
        published: dict[str, Places] = {graph: {} for graph in graphs}
        surplus: dict[str, Places] = {graph: {} for graph in graphs}
        async for consumed in read_up_to_end(self._log, GRAPH_CHANGES, {}):
            self._note(consumed, wanted, published, surplus)
        for graph in graphs:
            await self._append(self._differences(graph, wanted[graph], published[graph], surplus[graph]))

    def _values(self, graph: str) -> dict[str, bytes]:
        tables = self._tables.get(graph)
        return {f"{graph}|{each.key}": element_value(graph, each) for each in tables.elements()} if tables else {}

    @staticmethod
    def _note(
        consumed: ConsumedRecord,
        wanted: Mapping[str, Mapping[str, bytes]],
        published: Mapping[str, Places],
        surplus: Mapping[str, Places],
    ) -> None:
        """Note the newest record of a key: the digest of one that the graph has, the value of one that it lacks."""
        key, value, place = consumed.record.key, consumed.record.value, consumed.position.partition
        graph, _, own = key.partition("|")
        if graph not in wanted:
            return
        is_wanted = key in wanted[graph] or own == GRAPH_KEY
        target = (published if is_wanted else surplus)[graph]
        if value is not None:
            target.setdefault(key, {})[place] = _digest(value) if is_wanted else value
        elif key in target:
            target[key].pop(place, None)

    def _differences(
        self,
        graph: str,
        wanted: Mapping[str, bytes],
        published: Places,
        surplus: Places,
    ) -> Iterable[Record]:
        tables, place = self._tables.get(graph), self._place(graph)
        version = tables.version if tables else 0
        headers = ((VERSION, str(version).encode()),)
        for key, value in wanted.items():
            if published.get(key, {}).get(place) != _digest(value):
                yield Record(key, value, headers, place)
        for key, places in surplus.items():
            for partition, value in places.items():
                removal = _removal(key, value)
                if removal is not None:
                    yield Record(key, removal, headers, partition)
                yield Record(key, None, headers, partition)
        for key, places in published.items():
            for partition in places:
                if partition != place:  # the element lives on in the graph's new partition
                    yield Record(key, None, headers, partition)
        yield version_record(graph, version, place, deleted=tables is None)

    async def _repair(self) -> None:
        """Compare the graphs of the partitions to which another producer has appended."""
        ends = await self._log.end(GRAPH_CHANGES)
        foreign = self._foreign | {number for number, end in ends.items() if end != self._ends.get(number, 0)}
        if not foreign:
            return
        self._ends.update((number, ends[number]) for number in foreign)
        self._foreign.clear()
        graphs = [graph for graph in self._tables if self._place(graph) in foreign]
        log.warning("another producer wrote to partitions %s of %s: comparing", sorted(foreign), GRAPH_CHANGES)
        await self._publish_whole(graphs)

    async def _append(self, records: Iterable[Record]) -> None:
        left = iter(records)
        while batch := list(islice(left, BATCH_SIZE)):
            for position in await self._log.append(GRAPH_CHANGES, batch):
                if position.offset != self._ends.get(position.partition, 0):
                    self._foreign.add(position.partition)
                self._ends[position.partition] = position.offset + 1


def _removal(key: str, value: bytes) -> bytes | None:
    """Return the value that deletes an element; None for a record of another producer that writes none."""
    try:
        return value if is_removal(value) else removal_of(value)
    except Rejected as error:
        log.warning("the key %s of %s gets a tombstone alone: %s", key[:80], GRAPH_CHANGES, error)
        return None


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=12).digest()
