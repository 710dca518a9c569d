"""Behaviour of faust-streaming 0.15 that the extraction worker relies on or avoids.

A failure here after an upgrade shows that a workaround has become unnecessary, or that another one is needed. The
worker's own tests show cancelled starts and stuck rebalances: tests/recovery/test_worker_rebalances.py.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import faust
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from faust.transport.consumer import Consumer
from faust.types import TP

from graphtide.infra.faust.app import extraction_app, start, stop
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Record
from tests.support.extraction_cluster import Cluster, cluster
from tests.support.kafka_server import KafkaServer
from tests.support.logs import TIMEOUT_S

# Faust's own services sometimes end like that when they are stopped while they begin to wait.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine 'sleep' was never awaited",
    "ignore:Exception ignored in. <coroutine object sleep:pytest.PytestUnraisableExceptionWarning",
)

GROUP = "trap"
RECORDS = [Record("one key", f"{i}".encode()) for i in range(6)]
PLACE = TP("t", 0)


class AgentError(Exception):
    """The error that the agents of these tests raise."""


@pytest.fixture
async def one(kafka: KafkaServer) -> AsyncIterator[Cluster]:
    async with cluster(kafka) as made:
        await made.publish(RECORDS)
        yield made


class Seen:
    """The values that reached an agent, in their order, and a wait for a number of them."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self._came = asyncio.Event()

    def note(self, *values: bytes) -> None:
        self.values += values
        self._came.set()

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while len(self.values) < count:
                self._came.clear()
                await self._came.wait()


@asynccontextmanager
async def running(app: faust.App) -> AsyncIterator[None]:
    try:
        await start(app)
        yield
    finally:
        await stop(app)


def app_on(one: Cluster) -> faust.App:
    app = extraction_app(one.address, GROUP, 6.0)
    app.conf.broker_commit_interval = 0.1
    return app


async def committed(one: Cluster) -> int:
    return sum((await one.log.committed(DOCUMENTS, GROUP)).values())


async def until_committed(one: Cluster, count: int) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while await committed(one) < count:  # noqa: ASYNC110 - a broker sets no event
            await asyncio.sleep(0.02)


async def test_event_of_an_agent_that_raises_is_taken_as_done_and_not_delivered_again(one: Cluster) -> None:
    """This is the reason for acks=False: with Faust's acks the position passes a record that failed, and it is lost."""
    app, seen = app_on(one), Seen()
    topic = app.topic(one.address.topic(DOCUMENTS), key_serializer="raw", value_serializer="raw")

    @app.agent(topic, concurrency=1)
    async def failing(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            seen.note(event.value)
            if event.value == b"2":
                raise AgentError

    async with running(app):
        await seen.reach(len(RECORDS))
        await until_committed(one, len(RECORDS))
    assert seen.values == [record.value for record in RECORDS], "the one that failed came once"


async def test_batch_whose_handler_raises_is_taken_as_done_as_a_whole(one: Cluster) -> None:
    """With `take` and gather, the usual way to process several at once, one failure marks the whole batch as done."""
    app, seen = app_on(one), Seen()
    topic = app.topic(one.address.topic(DOCUMENTS), key_serializer="raw", value_serializer="raw")

    async def work(value: bytes) -> None:
        if value == b"1":
            raise AgentError

    @app.agent(topic, concurrency=1)
    async def taking(stream: faust.StreamT[bytes]) -> None:
        async for batch in stream.take(3, within=5.0):
            seen.note(*batch)
            await asyncio.gather(*map(work, batch))

    async with running(app):
        await until_committed(one, 3)
    assert seen.values[:3] == [b"0", b"1", b"2"]


async def test_topic_without_acks_commits_nothing_by_itself(one: Cluster) -> None:
    """The worker relies on this: only its own commits move the position, and another worker reads all records again."""
    for _ in range(2):
        app, seen = app_on(one), Seen()
        topic = app.topic(one.address.topic(DOCUMENTS), key_serializer="raw", value_serializer="raw", acks=False)

        @app.agent(topic, concurrency=1)
        async def reading(stream: faust.StreamT[bytes], seen: Seen = seen) -> None:
            async for event in stream.events():
                seen.note(event.value)

        async with running(app):
            await seen.reach(len(RECORDS))
            await app.commit(None)  # type: ignore[arg-type]  # it means all topics
        assert seen.values == [record.value for record in RECORDS]
        assert await committed(one) == 0


def new_offset(acked: list[int], position: int | None) -> int | None:
    """Return the offset that Faust would commit, with these acknowledged after the committed position."""
    consumer = SimpleNamespace(
        _acked={PLACE: list(acked)},
        _acked_index={PLACE: set(acked)},
        _gap=defaultdict(list),
        _committed_offset={PLACE: position},
    )
    offset: int | None = Consumer._new_offset(consumer, PLACE)  # type: ignore[arg-type]
    return offset


def test_faust_commits_past_a_record_that_is_under_way() -> None:
    """Faust's counting is therefore not used: of 5, 6 and 7 the first is in flight, and the last is committed."""
    assert new_offset([5, 6, 7], 5) == 8
    assert new_offset([5, 7], 5) == 6, "a gap in the middle is seen"
    assert new_offset([7], 5) is None
    assert new_offset([6, 7], 5) == 8, "one at the head is not: 5 is lost if the process dies now"
    assert new_offset([6], None) == 7, "nor is any, before the first commit"


async def test_application_listens_to_nobody_and_makes_no_topic(kafka: KafkaServer, one: Cluster) -> None:
    """By default Faust serves HTTP on every address, and creates topics: a leader's, and those of its agents."""
    app = app_on(one)
    conf = app.conf
    assert (conf.web_enabled, conf.topic_allow_declare, conf.topic_disable_leader) == (False, False, True)
    seen = Seen()
    topic = app.topic(one.address.topic(DOCUMENTS), key_serializer="raw", value_serializer="raw", acks=False)

    @app.agent(topic, concurrency=1)
    async def reading(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            seen.note(event.value)

    async with running(app):
        await seen.reach(1)
    assert await topics_of(kafka, one.address.prefix) == {
        one.address.topic(name) for name in ("documents", "extractions", "deltas", "documents.dlq")
    }


async def topics_of(kafka: KafkaServer, prefix: str) -> set[str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.address)
    await admin.start()
    try:
        return {name for name in await admin.list_topics() if name.startswith(prefix)}
    finally:
        await admin.close()
