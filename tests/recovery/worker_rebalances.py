"""Extraction workers that come, go and lose their broker: run by name, not by `make test`.

Known to be open: on a busy machine a worker now and then stalls in a rebalance (the group waits for a member that is
still in Faust's revocation), and the test runs into its patience. Run: pytest tests/recovery/worker_rebalances.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from streams.messages import EXTRACTIONS, DocumentMessage
from streams.ports import Record, State
from tests.support.extraction_cluster import Cluster, cluster
from tests.support.kafka_server import KafkaServer
from tests.support.logs import PATIENCE_S
from tests.support.stages import Minded

# Faust's own services end like that, now and then, when they are stopped while they begin to wait.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine 'sleep' was never awaited",
    "ignore:Exception ignored in. <coroutine object sleep:pytest.PytestUnraisableExceptionWarning",
)

TRACE = (("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),)


@pytest.fixture
async def one(kafka: KafkaServer) -> AsyncIterator[Cluster]:
    async with cluster(kafka) as made:
        yield made


def documents(count: int, graph: str = "g") -> list[Record]:
    made = [DocumentMessage(graph, f"d{i}", f"Ada Lovelace wrote letter {i}.") for i in range(count)]
    return [Record(message.key, message.encode(), TRACE) for message in made]


async def test_workers_share_the_partitions_when_one_comes_and_one_goes(one: Cluster) -> None:
    """One worker, then two, then the other alone, under load: every document comes out."""

    async def slowly(_: Sequence[str]) -> None:
        await asyncio.sleep(0.01)

    first, second = one.stage(Minded(slowly)), one.stage(Minded(slowly))
    async with one.working(first):
        await one.publish(documents(100))
        await one.extractions(30)
        async with one.working(second):
            await one.publish(documents(100, "h"))
            await one.extractions(150)
        await one.until_committed(200)
    # What was under way when a partition moved may be there twice, so the records may be more than the documents.
    count = sum((await one.log.end(EXTRACTIONS)).values())
    assert len({(each.graph, each.doc_id) for each in await one.extractions(count)}) == 200
    for graph in "gh":
        for i in range(100):
            entry = await one.ledger.latest(graph, f"d{i}")
            assert entry is not None
            assert entry.attempts <= 2


async def test_worker_that_is_stopped_while_the_model_is_slow_counts_nothing(one: Cluster) -> None:
    """Cancelled in the middle, many times more often than crashes are allowed: the document still comes through."""
    asked = asyncio.Event()

    async def hang(_: Sequence[str]) -> None:
        asked.set()
        await asyncio.Event().wait()

    await one.publish(documents(1))
    for _ in range(5):
        asked.clear()
        async with one.working(one.stage(Minded(hang))):
            async with asyncio.timeout(PATIENCE_S):
                await asked.wait()
        entry = await one.ledger.latest("g", "d0")
        assert entry is not None
        assert (entry.state, entry.attempts) == (State.ACCEPTED, 0)
    async with one.working(one.stage()):
        [found] = await one.extractions(1)
    assert found.doc_id == "d0"


async def test_worker_goes_on_when_the_broker_was_away(kafka: KafkaServer, one: Cluster) -> None:
    """Killed and started again under a worker that is supervised: everything that was published comes out."""
    from infra.faust.worker import WorkerSettings, run_extraction
    from streams.retrying import supervise
    from tests.support.extraction_cluster import SWEEP

    await one.publish(documents(20))
    stage = one.stage()

    async def run() -> None:
        await run_extraction(one.address, stage, one.log, one.ledger, WorkerSettings(6.0, SWEEP))

    task = asyncio.create_task(supervise("extract", run, lambda _: None))
    try:
        await one.extractions(20)
        await asyncio.to_thread(kafka.kill)
        await asyncio.to_thread(kafka.restart)
        await one.publish(documents(20, "h"))
        await one.until_committed(40)
        count = sum((await one.log.end(EXTRACTIONS)).values())
        assert len({(each.graph, each.doc_id) for each in await one.extractions(count)}) == 40
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
