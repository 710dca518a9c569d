"""Both stages on a log whose keys move: the graph is that of the last edit of each document, in acceptance order."""

from __future__ import annotations

import asyncio
import random
import zlib
from dataclasses import dataclass, field

import pytest

from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import Extraction
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceRequest
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.log.revisions import EPOCH_MS
from graphtide.streams.messages import DEAD_LETTERS, DOCUMENTS, EXTRACTIONS, DocumentMessage, GivenFact
from graphtide.streams.ports import Record, RevisionState
from tests.model.graph_oracle import GraphOracle
from tests.model.memory import MemoryBackend
from tests.support.backends import Clock
from tests.support.extractions import NAMES, PREDICATES
from tests.support.groups import Group
from tests.support.stages import Seen, eventually, running

HASHING = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder())

GRAPHS, DOC_IDS = ("g", "h"), ("a", "b", "c", "d")


@dataclass
class Cluster:
    """A partitioned log that is given partitions, a store, and the newest document of each key."""

    rng: random.Random
    clock: Clock = field(default_factory=lambda: Clock(EPOCH_MS + 10_000_000))
    partitions: int = 2
    live: dict[tuple[str, str], DocumentMessage | None] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)

    def __post_init__(self) -> None:
        self.backend = MemoryBackend(self.partitions, self.clock, by_time=True)
        self.group = Group(self.backend.log)

    def extractor(self) -> ExtractStage:
        return ExtractStage(
            self.backend.log, self.backend.ledger, HASHING, self.seen, bindings=self.backend.store.bindings
        )

    def consolidator(self, name: str) -> ConsolidateStage:
        settings = ConsolidateSettings(batch_size=self.rng.choice((1, 3, 20)))
        return ConsolidateStage(self.group.join(name), self.backend.store, None, self.seen, settings)

    def assign(self, *names: str) -> None:
        holders = {number: self.rng.choice(names) for number in range(self.partitions)}
        self.group.assign(**{name: [n for n, holder in holders.items() if holder == name] for name in names})

    async def publish(self) -> None:
        """Publish an edit or a deletion, by a producer with its own partitioner, or by the gateway."""
        graph, doc_id = self.rng.choice(GRAPHS), self.rng.choice(DOC_IDS)
        self.clock.now_ms += self.rng.randint(20, 200)
        document = None if self.rng.random() < 0.15 else _document(self.rng, graph, doc_id)
        self.live[graph, doc_id] = document
        key, value = f"{graph}|{doc_id}", None if document is None else document.encode()
        other = zlib.adler32(key.encode()) % self.rng.randint(1, self.partitions)  # as of some time before
        chosen = self.rng.choice((None, other, self.rng.randrange(self.partitions)))
        record = Record(key, value, (), chosen)
        if self.rng.random() < 0.5:
            await self.backend.ledger.accept([record])
        else:
            await self.backend.log.append(DOCUMENTS, [record])

    def add_partitions(self) -> None:
        self.partitions += self.rng.randint(1, 2)
        self.backend.log.add_partitions(self.partitions)

    async def settled(self) -> bool:
        ends, done = await self.backend.log.end(DOCUMENTS), await self.backend.log.committed(DOCUMENTS, "extract")
        if any(done.get(number, 0) < end for number, end in ends.items()):
            return False
        return not any([await self.backend.ledger.pending(graph) for graph in GRAPHS])

    async def check(self) -> None:
        """Check that each graph is that of the live documents, and no record was dead-lettered."""
        for graph in GRAPHS:
            documents = [one for (name, _), one in self.live.items() if name == graph and one is not None]
            extractions: list[Extraction] = [await extract(one, 1, HASHING, ExtractionLimits()) for one in documents]
            rows = await self.backend.store.snapshot(graph)
            assert sorted(canonical_lines(rows)) == sorted(GraphOracle(extractions).lines())
        assert sum((await self.backend.log.end(DEAD_LETTERS)).values()) == 0


def _document(rng: random.Random, graph: str, doc_id: str) -> DocumentMessage:
    a, b = rng.sample(NAMES, 2)
    predicate = rng.choice(PREDICATES)
    return DocumentMessage(graph, doc_id, f"{a} {predicate} {b}. {rng.random()}", facts=(GivenFact(a, predicate, b),))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
async def test_graph_is_that_of_the_last_edits_when_producers_disagree_and_partitions_are_added(seed: int) -> None:
    """Gateway and other producers, partitions added, workers killed, copies of extractions in wrong partitions."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    cluster, names = Cluster(rng), ("one", "two")
    workers = {"extract": asyncio.create_task(cluster.extractor().run())}
    workers |= {name: asyncio.create_task(cluster.consolidator(name).run()) for name in names}
    cluster.assign(*names)
    for _ in range(60):
        await cluster.publish()
        for _ in range(rng.choice((0, 0, 20))):
            await asyncio.sleep(0)
        if rng.random() < 0.05:
            cluster.add_partitions()
        if rng.random() < 0.1:
            cluster.assign(*names)
        if rng.random() < 0.1:
            name = rng.choice(sorted(workers))
            await _kill(workers.pop(name))
            stage = cluster.extractor() if name == "extract" else cluster.consolidator(name)
            workers[name] = asyncio.create_task(stage.run())
        if rng.random() < 0.1:
            await _copy_extraction(cluster)
    for task in workers.values():
        await _kill(task)
    extractor, consolidator = cluster.extractor(), cluster.consolidator("last")
    cluster.group.assign(last=range(cluster.partitions))
    async with running(extractor.run), running(consolidator.run):
        await eventually(cluster.settled)
    await cluster.check()


async def _copy_extraction(cluster: Cluster) -> None:
    """Append some extraction again, in any partition, as a producer with stale metadata does."""
    delivered = await cluster.backend.log.reader(EXTRACTIONS, {}).poll(1_000, 0)
    if delivered:
        record = cluster.rng.choice(delivered).record
        partition = cluster.rng.randrange(cluster.partitions)
        await cluster.backend.log.append(EXTRACTIONS, [Record(record.key, record.value, (), partition)])


async def test_record_of_a_graph_of_another_partition_is_forwarded_and_counted() -> None:
    """The graph is bound to partition 1; records from partition 0 are applied by the writer of 1, requests too."""
    cluster = Cluster(random.Random(3))
    cluster.group.join("one")
    async with running(cluster.extractor().run):
        stage = cluster.consolidator("one")
        cluster.group.assign(one=range(2))
        async with running(stage.run):
            await cluster.publish()
            await eventually(cluster.settled)
            [(graph, _)] = cluster.live
            bound = (await cluster.backend.store.bindings([graph]))[graph]
            wrong = 1 - bound
            request = MaintenanceRequest(graph, MaintenanceKind.REBUILD, "x").record()
            await cluster.backend.log.append(EXTRACTIONS, [Record(request.key, request.value, request.headers, wrong)])
            await eventually(lambda: _at_version(cluster, graph, 2))
    assert cluster.seen.forwards == [graph]
    await cluster.check()


async def test_record_that_cannot_be_forwarded_is_dead_lettered() -> None:
    """The graph is bound to a partition that the topic lacks: the topic was created again with fewer."""
    cluster = Cluster(random.Random(4))
    cluster.backend.store._bindings["g"] = 7
    while ("g", "a") not in cluster.live:
        await cluster.publish()
    cluster.live = {key: one for key, one in cluster.live.items() if key[0] == "h"}
    stage = cluster.consolidator("one")
    cluster.group.assign(one=range(2))
    extractor = ExtractStage(cluster.backend.log, cluster.backend.ledger, HASHING, cluster.seen)
    async with running(extractor.run), running(stage.run):
        await eventually(cluster.settled)
    entry = await cluster.backend.ledger.latest("g", "a")
    assert entry is not None and entry.state is RevisionState.FAILED and "bound to partition 7" in entry.reason
    assert await cluster.backend.store.standings("g", ["a"]) == {}


@pytest.mark.parametrize("damage", ["unreadable", "stale"])
async def test_graph_with_damaged_rows_is_stopped_and_writes_no_dead_letter_until_it_is_rebuilt(
    damage: str,
) -> None:
    """Its documents wait; a graph of another partition continues; a request to rebuild after them repairs it."""
    cluster = Cluster(random.Random(5))
    store = cluster.backend.store
    for _ in range(12):
        await cluster.publish()
    cluster.group.join("one")
    async with running(cluster.extractor().run):
        first = cluster.consolidator("one")
        cluster.group.assign(one=range(2))
        async with running(first.run):
            await eventually(cluster.settled)
        rows = store._rows["g"]
        if damage == "unreadable":
            rows._labels.clear()
        else:
            rows._edges.clear()
        stage = cluster.consolidator("one")
        async with running(stage.run):
            for _ in range(20):
                await cluster.publish()
            await eventually(lambda: _is(stage.stopped.keys() == {"g"}))
            assert "graphtide rebuild --graph g" in "".join(stage.troubles.values())
            await cluster.backend.log.append(
                EXTRACTIONS, [MaintenanceRequest("g", MaintenanceKind.REBUILD, "x").record()]
            )
            await eventually(cluster.settled)
            assert not stage.stopped
    await cluster.check()


async def _at_version(cluster: Cluster, graph: str, version: int) -> bool:
    return (await cluster.backend.store.graphs()).get(graph, 0) >= version


async def _is(value: bool) -> bool:
    return value


async def _kill(task: asyncio.Task[None]) -> None:
    task.cancel()
    [ended] = await asyncio.gather(task, return_exceptions=True)
    if isinstance(ended, Exception):
        raise ended
