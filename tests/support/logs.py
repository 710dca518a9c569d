"""Every Log, opened the same way, and reads that wait as long as an adapter needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphtide.infra.kafka.log import KafkaLog, KafkaTuning
from graphtide.streams.ports import ConsumedRecord, Consumer, Log
from tests.model.memory import MemoryBackend
from tests.support.backends import opened
from tests.support.kafka_server import KafkaServer, fresh, make_topic

TIMEOUT_S = 120.0
QUIET_S = 0.5
TUNING = KafkaTuning(timeout_s=10.0, session_timeout_s=6.0)


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A log and its properties: a log in this process discards records on `trim` and uses the test's clock."""

    log: Log
    name: str

    @property
    def is_local(self) -> bool:
        return self.name != "kafka"

    @property
    def quiet_s(self) -> float:
        """Return how long to wait, in seconds, to be sure that no record arrives."""
        return 0.0 if self.is_local else QUIET_S


@asynccontextmanager
async def opened_log(
    name: str, request: pytest.FixtureRequest, clock: Callable[[], int], partitions: int = 1
) -> AsyncIterator[OpenLog]:
    """Yield a log with the topics t, u and other, empty."""
    if name == "kafka":
        server: KafkaServer = request.getfixturevalue("kafka")
        address = fresh(server)
        for topic in ("t", "u", "other"):
            make_topic(server, address.topic(topic), partitions)
        log = KafkaLog(address, TUNING)
        try:
            yield OpenLog(log, name)
        finally:
            await log.close()
    elif partitions > 1:
        yield OpenLog(MemoryBackend(partitions, clock).log, name)
    else:
        folder: Path = request.getfixturevalue("tmp_path")
        async with opened(name, folder, clock) as backend:
            yield OpenLog(backend.log, name)


async def taken(consumer: Consumer, count: int, limit: int = 100) -> list[ConsumedRecord]:
    """Return the next `count` records, in as many polls as needed; fewer when no record arrives in time."""
    found: list[ConsumedRecord] = []
    while len(found) < count:
        had = consumer.assigned()
        got = await consumer.poll(min(limit, count - len(found)), TIMEOUT_S)
        if not got and consumer.assigned() == had:
            break
        found += got
    return found


async def nothing(consumer: Consumer, quiet_s: float) -> bool:
    """Return whether no record arrives for a while, once the consumer holds its partitions."""
    while not consumer.assigned():
        if await consumer.poll(1, TIMEOUT_S):
            return False
    return not await consumer.poll(1, quiet_s)
