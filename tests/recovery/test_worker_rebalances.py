"""Extraction workers that join, leave, are cancelled at bad moments and lose their broker: the group continues."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import pytest
from faust.types import EventT
from mode.threads import WorkerThread

from graphtide.infra.faust.app import extraction_app, register_agent, start, stop
from graphtide.infra.faust.consumer import FaustConsumer
from graphtide.infra.faust.worker import WorkerSettings, run_extraction
from graphtide.infra.kafka.address import KafkaAddress
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import DOCUMENTS, EXTRACTIONS, DocumentMessage
from graphtide.streams.ports import Record, RevisionState
from graphtide.streams.retry import supervise
from tests.support.extraction_cluster import SWEEP, Cluster, cluster
from tests.support.kafka_server import KafkaServer, fresh, make_topic
from tests.support.logs import TIMEOUT_S
from tests.support.stages import Minded

# Faust's own services sometimes end like that when they are stopped while they begin to wait.
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
    """One worker, then two, then the other alone run under load: every document is extracted."""

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
    # Records in flight when a partition moved may be there twice, so the records may exceed the documents.
    count = sum((await one.log.end(EXTRACTIONS)).values())
    assert len({(each.graph, each.doc_id) for each in await one.extractions(count)}) == 200
    for graph in "gh":
        for i in range(100):
            entry = await one.ledger.latest(graph, f"d{i}")
            assert entry is not None
            # One, and one for each time that its partition moved after its extraction and before its commit.
            assert entry.attempts <= 3


async def test_records_that_faust_dropped_are_read_again_without_a_committed_offset(one: Cluster) -> None:
    """Faust seeks to the committed offsets after it dropped what a fetch returned during a rebalance."""
    app, offered = extraction_app(one.address, "extract", 6.0), asyncio.Queue[str]()

    async def offer(event: EventT[bytes]) -> None:
        offered.put_nowait((event.message.key or b"").decode())

    register_agent(app, one.address.topic(DOCUMENTS), offer)
    published = documents(5)
    await one.publish(published)
    try:
        await start(app)
        async with asyncio.timeout(TIMEOUT_S):
            first = [await offered.get() for _ in published]
            await app.consumer.perform_seek()
            again = [await offered.get() for _ in published]
    finally:
        await stop(app)
    assert sorted(first) == sorted(again) == [record.key for record in published]


async def test_worker_that_is_cancelled_while_a_commit_completes_ends(
    one: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many steps of the event loop lie between the two, the caller of the commit sees its cancellation."""
    app = extraction_app(one.address, "extract", 6.0)
    consumer = FaustConsumer(app, one.address.topic(DOCUMENTS))
    await one.publish(documents(1))
    try:
        await consumer.open()
        async with asyncio.timeout(TIMEOUT_S):
            while not (records := await consumer.poll(1, 1.0)):
                pass
        for steps in range(5):
            completed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            begun = asyncio.Event()

            async def complete(*_: object, begun: asyncio.Event = begun, at: asyncio.Future[bool] = completed) -> bool:
                begun.set()
                return await at

            monkeypatch.setattr(app.consumer, "_commit_offsets", complete)
            committing = asyncio.create_task(consumer.commit(records[0].position))
            await begun.wait()
            completed.set_result(True)
            for _ in range(steps):
                await asyncio.sleep(0)
            cancelled = committing.cancel()
            await asyncio.wait({committing})
            assert committing.cancelled() == cancelled
    finally:
        await consumer.close()


async def test_workers_cancelled_while_they_start_leave_the_partitions_to_others(one: Cluster) -> None:
    """It is cancelled as soon as the thread of Faust's client runs; no thread stays, and another worker takes over."""
    await one.publish(documents(20))
    before = set(threading.enumerate())
    for _ in range(3):
        settings = WorkerSettings(6.0, SWEEP)
        task = asyncio.create_task(run_extraction(one.address, one.stage(), one.log, one.ledger, settings))
        async with asyncio.timeout(TIMEOUT_S):
            while not clients(before):  # noqa: ASYNC110 - a thread sets no event
                await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not clients(before)
    async with one.working(one.stage()):
        await one.until_committed(20)


# A thread that is ended by force reports it when it ends.
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:Exception in thread:pytest.PytestUnhandledThreadExceptionWarning")
async def test_worker_that_is_stuck_in_a_rebalance_gives_up_and_lets_the_others_go_on(
    one: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faust's revocation never returns: poll reports it, close ends it, and another worker gets the partitions."""
    monkeypatch.setattr("graphtide.infra.faust.app.STOP_S", 1.0)
    hangs = asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        hangs.set()
        await asyncio.Event().wait()

    await one.publish(documents(20))
    before = set(threading.enumerate())
    app = extraction_app(one.address, "extract", 6.0)
    app.conf.broker_rebalance_timeout = 1.0
    stuck = FaustConsumer(app, one.address.topic(DOCUMENTS))
    await stuck.open()
    async with asyncio.timeout(TIMEOUT_S):
        while not stuck.assigned():
            await stuck.poll(1, 1.0)
    app.on_partitions_revoked.connect(hang, weak=False)
    async with one.working(one.stage()):
        with pytest.raises(Retryable, match="did not settle"):
            async with asyncio.timeout(TIMEOUT_S):
                while True:
                    await stuck.poll(1, 1.0)
        assert hangs.is_set()
        await one.until_committed(20)
        hung = clients(before)
        await stuck.close()
        assert len(hung - clients(before)) == 1


async def test_worker_whose_group_was_told_of_no_partitions_gets_them_soon(kafka: KafkaServer) -> None:
    """A leader that reads metadata while the broker has none assigns nothing until its next metadata refresh."""
    address = fresh(kafka)
    consumer = FaustConsumer(extraction_app(address, "extract", 6.0), address.topic(DOCUMENTS))
    assigned = asyncio.Event()

    async def tell(*_: object, **__: object) -> None:
        assigned.set()

    try:
        consumer._app.on_partitions_assigned.connect(tell, weak=False)
        await consumer.open()
        async with asyncio.timeout(TIMEOUT_S):
            await assigned.wait()
        assert not await consumer.poll(1, 0.0) and not consumer.assigned()
        await asyncio.to_thread(make_topic, kafka, address.topic(DOCUMENTS), 3)
        async with asyncio.timeout(TIMEOUT_S):
            while consumer.assigned() != {0, 1, 2}:
                await consumer.poll(1, 1.0)
    finally:
        await consumer.close()


async def test_worker_whose_broker_is_not_there_says_so_and_leaves_nothing_behind(kafka: KafkaServer) -> None:
    """The start fails; the application is stopped all the same."""
    before = set(threading.enumerate())
    nowhere = KafkaAddress("127.0.0.1:1", prefix="x-")
    consumer = FaustConsumer(extraction_app(nowhere, "extract", 6.0), nowhere.topic(DOCUMENTS))
    with pytest.raises(Retryable):
        await consumer.open()
    await consumer.close()
    assert not clients(before)


def clients(before: set[threading.Thread]) -> set[threading.Thread]:
    """Return the threads of Kafka clients that Faust has started since."""
    return {one for one in set(threading.enumerate()) - before if isinstance(one, WorkerThread) and one.is_alive()}


async def test_worker_that_is_stopped_while_the_model_is_slow_counts_nothing(one: Cluster) -> None:
    """The worker is cancelled more often than crashes are allowed: the document is still extracted."""
    asked = asyncio.Event()

    async def hang(_: Sequence[str]) -> None:
        asked.set()
        await asyncio.Event().wait()

    await one.publish(documents(1))
    for _ in range(5):
        asked.clear()
        async with one.working(one.stage(Minded(hang))):
            async with asyncio.timeout(TIMEOUT_S):
                await asked.wait()
        entry = await one.ledger.latest("g", "d0")
        assert entry is not None
        assert (entry.state, entry.attempts) == (RevisionState.ACCEPTED, 0)
    async with one.working(one.stage()):
        [found] = await one.extractions(1)
    assert found.doc_id == "d0"


async def test_worker_goes_on_when_the_broker_was_away(kafka: KafkaServer, one: Cluster) -> None:
    """The broker is killed and restarted under a supervised worker: every published document is extracted."""
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
