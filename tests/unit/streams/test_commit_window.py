"""The commit window: under load a partition's documents share commits; a document that arrives alone does not wait."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceRequest
from graphtide.streams.consolidate.partition_buffer import PartitionBuffer
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Commit, ConsumedRecord, Position, Record, RevisionState
from tests.model.memory import MemoryBackend
from tests.support.extractions import random_extraction
from tests.support.stages import Seen, eventually, running

LONG_S = 3600.0
"""A window that does not end within a test."""


def _record(offset: int, size: int = 10) -> ConsumedRecord:
    return ConsumedRecord(Position(0, offset), 0, Record("g", b"x" * size))


def _later() -> float:
    return asyncio.get_running_loop().time() + LONG_S


@pytest.fixture
def buffer() -> PartitionBuffer:
    return PartitionBuffer(heavy_bytes=1000)


async def _waits(buffer: PartitionBuffer, limit: int) -> asyncio.Task[list[ConsumedRecord]]:
    """Start a read within a window, and return once it waits."""

    async def read() -> list[ConsumedRecord]:
        return list(await buffer.next(limit, _later()))

    task = asyncio.create_task(read())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    return task


async def test_a_record_after_the_window_is_returned_at_once(buffer: PartitionBuffer) -> None:
    buffer.take(_record(0))
    taken = await buffer.next(64, asyncio.get_running_loop().time() - 1)
    assert [each.position.offset for each in taken] == [0]


async def test_records_within_the_window_wait_for_a_full_batch(buffer: PartitionBuffer) -> None:
    """The batch is returned when it is full, in the order of the log."""
    buffer.take(_record(0))
    reading = await _waits(buffer, 3)
    buffer.take(_record(1))
    buffer.take(_record(2))
    assert [each.position.offset for each in await reading] == [0, 1, 2]


async def test_records_within_the_window_are_returned_at_its_end(buffer: PartitionBuffer) -> None:
    buffer.take(_record(0))
    assert len(await buffer.next(64, asyncio.get_running_loop().time() + 0.01)) == 1


async def test_a_heavy_record_or_a_request_ends_the_wait(buffer: PartitionBuffer) -> None:
    """Neither a large document nor an operator waits for the window."""
    request = MaintenanceRequest("g", MaintenanceKind.VERIFY, "1").record()
    urgent = (_record(1, 2000), ConsumedRecord(Position(0, 1), 0, request))
    for one in urgent:
        buffer.restart(0)
        buffer.take(_record(0))
        reading = await _waits(buffer, 64)
        buffer.take(one)
        assert (await reading)[0].position.offset == 0


class _Commits:
    """A store's commits, counted."""

    def __init__(self, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.documents: list[int] = []
        commit = backend.store.commit

        async def counted(one: Commit) -> None:
            await commit(one)
            self.documents.append(len(one.outcomes))

        monkeypatch.setattr(backend.store, "commit", counted)


@pytest.fixture
async def backend() -> AsyncIterator[MemoryBackend]:
    yield MemoryBackend(1)


async def _publish(backend: MemoryBackend, names: str) -> None:
    for name in names:
        [position] = await backend.ledger.accept([Record(f"g|{name}", b"{}")])
        extraction = random_extraction(random.Random(name), name, position.offset)
        message = ExtractionMessage("g", name, position.offset, extraction)
        await backend.log.append(EXTRACTIONS, [Record("g", message.encode())])


async def test_a_stage_groups_the_documents_that_follow_a_commit(
    backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first document is committed alone and at once; the next ones of the window share a commit."""
    commits, seen = _Commits(backend, monkeypatch), Seen()

    async def follow(_: GraphDelta) -> None:
        """Ignore the delta."""

    async def applied(count: int) -> bool:
        return (await backend.ledger.counts("g"))[RevisionState.APPLIED] == count

    stage = ConsolidateStage(
        backend.log, backend.store, follow, seen, ConsolidateSettings(batch_size=4, window_s=LONG_S)
    )
    async with running(stage.run):
        await _publish(backend, "a")
        await eventually(lambda: applied(1))
        await _publish(backend, "bcde")
        await eventually(lambda: applied(5))
    assert commits.documents == [1, 4]
