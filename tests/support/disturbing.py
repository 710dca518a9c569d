"""A cluster of one front, one extractor and one consolidator that tests disturb, and Kafka's records from outside."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from aiokafka.admin import AIOKafkaAdminClient

from graphtide.infra.kafka.log import KafkaLog
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter, decode_dead_letter
from graphtide.streams.ports import ConsumedRecord, Record
from tests.support import failpoints
from tests.support.cluster import Cluster, ProcessEnded
from tests.support.invariants import FRONT
from tests.support.kafka_server import KafkaServer, fresh
from tests.support.neo4j_server import GraphServer, clear

T = TypeVar("T")

PARTITIONS = 2
NO_PORTS = ("--metrics-port", "0")
ROLES = {
    FRONT: ("serve", "--port", "0", "--grpc-port", "0"),
    "extract": ("worker", "extract", *NO_PORTS),
    "consolidate": ("worker", "consolidate", *NO_PORTS),
}


@contextmanager
def disturbed(kafka: KafkaServer, graph_server: GraphServer, folder: Path | None = None) -> Iterator[Cluster]:
    """Yield the three processes on topics of their own and an empty database; kill those that still run at the end."""
    clear(graph_server.address)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        cluster = Cluster(fresh(kafka), graph_server, folder or Path(made))
        apply_topics(cluster)
        try:
            cluster.start_all(ROLES)
            yield cluster
        finally:
            cluster.end()
            clear(graph_server.address)


def apply_topics(cluster: Cluster) -> None:
    applied = cluster.run("topics", "apply", "--partitions", str(PARTITIONS))
    assert applied.returncode == 0, applied.stderr


def start(cluster: Cluster, role: str, settings: Mapping[str, str] | None = None) -> None:
    """Start the role's process again with the settings it had before it was stopped."""
    cluster.start_all({role: ROLES[role]}, settings)


def arm(cluster: Cluster, role: str, point: str) -> Callable[[], None]:
    """Replace the role's process by one that kills itself at the point; the returned function waits for its death."""
    cluster.stop(role)
    try:
        start(cluster, role, {failpoints.VARIABLE: point})
    except ProcessEnded as error:
        cluster.processes.pop(role)
        assert f"ended with {-signal.SIGKILL}" in str(error), error
        return lambda: None

    def died() -> None:
        process = cluster.processes[role].process
        assert process.wait(timeout=150) == -signal.SIGKILL, f"{role} did not die at {point}"
        cluster.kill(role)

    return died


# -- Kafka from outside ------------------------------------------------------------------------------------------------


def with_log(cluster: Cluster, work: Callable[[KafkaLog], Coroutine[Any, Any, T]]) -> T:
    """Run `work` in an event loop of its own, with a log that is closed at its end."""

    async def run() -> T:
        log = KafkaLog(cluster.kafka)
        try:
            return await work(log)
        finally:
            await log.close()

    return asyncio.run(run())


def produce(cluster: Cluster, topic: str, records: Sequence[Record]) -> None:
    async def work(log: KafkaLog) -> None:
        await log.append(topic, records)

    with_log(cluster, work)


def records(cluster: Cluster, topic: str) -> list[ConsumedRecord]:
    """Return all records of the topic."""

    async def work(log: KafkaLog) -> list[ConsumedRecord]:
        return [each async for each in read_up_to_end(log, topic, {})]

    return with_log(cluster, work)


def letters(cluster: Cluster, graph: str) -> list[DeadLetter]:
    """Return the dead letters of a graph, their reasons cut to what tests name."""
    found = [decode_dead_letter(consumed.record.value or b"") for consumed in records(cluster, DEAD_LETTERS)]
    return [replace(each, reason=each.reason[:200]) for each in found if each.graph == graph]


def committed(cluster: Cluster, topic: str, group: str) -> int:
    async def work(log: KafkaLog) -> int:
        return sum((await log.committed(topic, group)).values())

    return with_log(cluster, work)


def drop_topic(cluster: Cluster, topic: str) -> None:
    """Delete a topic from the broker."""

    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=cluster.kafka.bootstrap)
        await admin.start()
        try:
            await admin.delete_topics([cluster.kafka.topic(topic)])
        finally:
            await admin.close()

    asyncio.run(work())
