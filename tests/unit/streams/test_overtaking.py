"""Small documents of other graphs overtake a heavy one in their partition; nothing is lost or applied twice."""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from graphtide.graph.algorithms.yield_points import yield_point
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import DocumentChange, Extraction, GraphDelta
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceRequest
from graphtide.streams.consolidate.partition_buffer import PartitionBuffer
from graphtide.streams.consolidate.partitions import writer
from graphtide.streams.consolidate.partitions.writer import PartitionWriter
from graphtide.streams.consolidate.stage import STAGE, ConsolidateSettings, ConsolidateStage
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import ConsumedRecord, Position, Record, RevisionState
from graphtide.streams.scheduling.precedence import QUESTIONS
from tests.model.graph_oracle import GraphOracle
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.extractions import random_extraction
from tests.support.stages import Seen, dead_letters, eventually, running

HEAVY_BYTES = 20_000
WAITING_BYTES = 30_000
"""Room in the buffer for the value of one heavy record."""


@dataclass
class OvertakingHarness:
    """A stage without followers, and the extractions that were published, by graph and document."""

    backend: Backend
    seed: int
    seen: Seen = field(default_factory=Seen)
    live: dict[tuple[str, str], Extraction] = field(default_factory=dict)

    def stage(self) -> ConsolidateStage:
        settings = ConsolidateSettings(heavy_bytes=HEAVY_BYTES, max_waiting_bytes=WAITING_BYTES)
        return ConsolidateStage(self.backend.log, self.backend.store, None, self.seen, settings)

    async def publish(self, graph: str, doc_id: str, *, heavy: bool = False) -> None:
        """Publish a document: with thousands of characters of text, if it is a heavy one."""
        [position] = await self.backend.ledger.accept([Record(f"{graph}|{doc_id}", b"{}")])
        extraction = random_extraction(random.Random(f"{self.seed} {graph} {doc_id}"), doc_id, position.offset)
        if heavy:
            extraction = replace(extraction, info=replace(extraction.info, title="x" * HEAVY_BYTES))
        self.live[graph, doc_id] = extraction
        message = ExtractionMessage(graph, doc_id, position.offset, extraction)
        await self.backend.log.append(EXTRACTIONS, [Record(graph, message.encode())])

    async def applied(self, graph: str, *doc_ids: str) -> bool:
        """Return True if all of these documents are stored."""
        return set(doc_ids) <= {doc_id async for doc_id, _ in self.backend.store.extractions(graph)}

    async def consumed(self) -> bool:
        """Return True once the watermark is at the end of the log, and the observer knows of every document's end."""
        at_end = (await self.backend.log.committed(EXTRACTIONS, STAGE)) == (await self.backend.log.end(EXTRACTIONS))
        return at_end and await self.observed(len(self.live))

    async def observed(self, count: int) -> bool:
        """Return True once the observer knows of so many ends: they are stored before."""
        return len(self.seen.ends) >= count

    async def check(self) -> None:
        """Check that each graph is that of its documents, and that each revision ended once."""
        for graph in {graph for graph, _ in self.live}:
            expected = GraphOracle(each for (name, _), each in self.live.items() if name == graph).lines()
            assert sorted(canonical_lines(await self.backend.store.snapshot(graph))) == sorted(expected)
            ended = [state for name, state in self.seen.ends if name == graph]
            assert ended == [RevisionState.APPLIED] * len([name for name, _ in self.live if name == graph])


@pytest.fixture(params=NAMES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OvertakingHarness]:
    """Yield a harness over each storage."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    async with opened(request.param, tmp_path, Clock()) as backend:
        yield OvertakingHarness(backend, seed)


@contextmanager
def held_back(monkeypatch: pytest.MonkeyPatch, graph: str) -> Iterator[threading.Event]:
    """Hold back the application of documents to a graph until the yielded event is set, or the block ends."""
    apply, go = Consolidator.apply, threading.Event()

    def waiting(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        if self.graph == graph:
            go.wait()
        return apply(self, changes)

    monkeypatch.setattr(Consolidator, "apply", waiting)
    try:
        yield go
    finally:
        go.set()


async def test_small_documents_of_other_graphs_overtake_a_heavy_one(
    harness: OvertakingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are stored while the heavy one is applied, the watermark waits for it, and its own graph keeps its order."""
    with held_back(monkeypatch, "big") as go:
        async with running(harness.stage().run):
            await harness.publish("big", "heavy", heavy=True)
            for graph, doc_id in (("a", "x"), ("big", "later"), ("b", "y"), ("a", "z")):
                await harness.publish(graph, doc_id)
            await eventually(lambda: harness.applied("a", "x", "z"))
            await eventually(lambda: harness.applied("b", "y"))
            assert not await harness.applied("big", "heavy") and not await harness.applied("big", "later")
            assert (await harness.backend.log.committed(EXTRACTIONS, STAGE))[0] == 0
            go.set()
            await eventually(harness.consumed)
    await harness.check()


async def test_only_the_heavy_document_waits_for_questions(
    harness: OvertakingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that overtake it have no yield points, although they are applied beside it."""
    waited, due = set[str](), list[str]()

    def is_due(graph: str) -> bool:
        due.append(graph)
        return False

    monkeypatch.setattr(QUESTIONS, "is_due", is_due)
    monkeypatch.setattr(writer, "YIELDING_BYTES", HEAVY_BYTES)
    apply, go = Consolidator.apply, threading.Event()

    def watched(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        due.clear()
        yield_point()
        if due:
            waited.add(self.graph)
        if self.graph == "big":
            assert go.wait(120)
        return apply(self, changes)

    monkeypatch.setattr(Consolidator, "apply", watched)
    async with running(harness.stage().run):
        await harness.publish("big", "heavy", heavy=True)
        await harness.publish("a", "x")
        await eventually(lambda: harness.applied("a", "x"))
        go.set()
        await eventually(harness.consumed)
    assert waited == {"big"}
    await harness.check()


async def test_overtaking_documents_are_not_applied_again_after_a_restart(
    harness: OvertakingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage ends while the heavy document is applied; the next one reads the others again and changes nothing."""
    with held_back(monkeypatch, "big"):
        async with running(harness.stage().run):
            await harness.publish("big", "heavy", heavy=True)
            await harness.publish("a", "x")
            await eventually(lambda: harness.applied("a", "x"))
            await eventually(lambda: harness.observed(1))
    version = (await harness.backend.store.graphs())["a"]
    async with running(harness.stage().run):
        await eventually(harness.consumed)
    assert (await harness.backend.store.graphs())["a"] == version
    await harness.check()


async def test_a_record_that_cannot_be_read_waits_for_its_turn(
    harness: OvertakingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is dead-lettered once, after the heavy document, and those after it are applied."""
    with held_back(monkeypatch, "big") as go:
        async with running(harness.stage().run):
            await harness.publish("big", "heavy", heavy=True)
            await harness.publish("a", "x")
            await eventually(lambda: harness.applied("a", "x"))
            await harness.backend.log.append(EXTRACTIONS, [Record("a", b"{")])
            await harness.publish("b", "y")
            assert await dead_letters(harness.backend) == []
            go.set()
            await eventually(harness.consumed)
    assert len(await dead_letters(harness.backend)) == 1
    assert await harness.applied("b", "y") and await harness.applied("big", "heavy")


async def test_documents_whose_values_were_left_out_are_applied_in_their_order(
    harness: OvertakingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heavy ones of two graphs wait without values while small ones overtake; the first fetch fails, and the partition
    continues from its watermark.
    """
    fetch, windows = PartitionWriter.read_again, list[tuple[int, int]]()

    async def failing_once(self: PartitionWriter, first: int, after: int) -> Sequence[ConsumedRecord]:
        windows.append((first, after))
        if len(windows) == 1:
            raise Retryable("the log does not answer", 0.0)
        return await fetch(self, first, after)

    monkeypatch.setattr(PartitionWriter, "read_again", failing_once)
    with held_back(monkeypatch, "big") as go:
        async with running(harness.stage().run):
            for number in range(6):
                await harness.publish("big", f"heavy {number}", heavy=True)
                await harness.publish("large", f"heavy {number}", heavy=True)
                await harness.publish("small", f"{number}")
            await eventually(lambda: harness.applied("small", *map(str, range(6))))
            go.set()
            await eventually(harness.consumed)
    assert len(windows) > 1
    await harness.check()


def consumed(offset: int, graph: str, size: int = 10) -> ConsumedRecord:
    return ConsumedRecord(Position(0, offset), 0, Record(graph, b"x" * size))


def offsets(delivered: Sequence[ConsumedRecord]) -> list[int]:
    return [each.position.offset for each in delivered]


async def test_records_after_a_maintenance_request_do_not_overtake() -> None:
    """A rebuild or verification sees the graphs of the records before it."""
    buffer = PartitionBuffer(expected=0, heavy_bytes=100)
    request = MaintenanceRequest("a", MaintenanceKind.VERIFY, "1").record()
    buffer.take(consumed(1, "a"))
    buffer.take(ConsumedRecord(Position(0, 2), 0, request))
    buffer.take(consumed(3, "b"))
    assert offsets(await buffer.next_beside({"big"}, 16)) == [1]
    assert offsets(buffer.records) == [2, 3]


async def test_overtaking_keeps_the_order_of_each_graph() -> None:
    """A heavy record is skipped with the later ones of its graph; records that are put back have their old places."""
    buffer = PartitionBuffer(expected=0, heavy_bytes=100)
    for offset, (graph, size) in enumerate((("big", 10), ("a", 10), ("c", 200), ("c", 10), ("b", 10), ("a", 10))):
        buffer.take(consumed(offset, graph, size))
    taken = await buffer.next_beside({"big"}, 16)
    assert (offsets(taken), offsets(buffer.records)) == ([1, 4, 5], [0, 2, 3])
    buffer.put_back(taken)
    assert offsets(buffer.records) == [0, 1, 2, 3, 4, 5]


async def test_a_batch_ends_before_a_missing_record() -> None:
    """The writer checks that a batch begins at its watermark: it would skip a gap within a batch."""
    buffer = PartitionBuffer(expected=0, heavy_bytes=100)
    for offset in (0, 1, 4, 5):
        buffer.take(consumed(offset, "a"))
    assert offsets(await buffer.next(16)) == [0, 1]
    assert offsets(await buffer.next(16)) == [4, 5]
