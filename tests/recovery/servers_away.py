"""Broker and graph database unreachable for a minute each, under load: too long for every run (`make faults`).

In `e2e/test_cluster.py` they are unreachable only for the time of a restart.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest

from tests.recovery.test_cluster_faults import publish
from tests.recovery.walk import random_body
from tests.support.cluster import Cluster, until
from tests.support.disturbing import disturbed
from tests.support.invariants import ModelledGraph
from tests.support.kafka_server import KafkaServer
from tests.support.neo4j_server import GraphServer

AWAY_S = 60.0
pytestmark = pytest.mark.timeout(1200)
"""Each of two courses has a minute without a server; a busy machine may take minutes to start the servers, too."""


@pytest.fixture(scope="module")
def cluster(kafka: KafkaServer, graph_server: GraphServer) -> Iterator[Cluster]:
    with disturbed(kafka, graph_server) as one:
        yield one


class Load:
    """Publications to a course, one after the other, for the duration of a block; at least one after its end."""

    def __init__(self, course: ModelledGraph, seed: int) -> None:
        self.course = course
        self._rng = random.Random(seed)
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert not self._failed, self._failed

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._one()
            self._one()
        except BaseException as error:  # noqa: BLE001 - it is the test's, which is in another thread
            self._failed.append(error)

    def _one(self) -> None:
        doc_id = f"d{self._rng.randrange(12)}"
        if doc_id in self.course.live and self._rng.random() < 0.2:
            self.course.delete(doc_id)
        else:
            self.course.put(doc_id, random_body(self._rng))


def test_cluster_goes_on_when_the_broker_was_away(cluster: Cluster, kafka: KafkaServer) -> None:
    """The broker gets kill -9 under load and restarts after a while: no process restarts, and nothing is lost."""
    course = ModelledGraph(cluster, "broker")
    publish(course, 4)
    with Load(course, 5):
        kafka.kill()
        _be_away()
        kafka.restart()
        until(lambda: _entered(course))
    course.check()
    assert all(cluster.processes[name].process.poll() is None for name in cluster.processes)


def test_cluster_goes_on_when_the_graph_database_was_away(cluster: Cluster, graph_server: GraphServer) -> None:
    """The graph database gets kill -9 in the middle of commits: no process restarts, and nothing is lost."""
    course = ModelledGraph(cluster, "database")
    publish(course, 6)
    with Load(course, 7):
        graph_server.kill()
        _be_away()
        graph_server.restart()
        until(lambda: _entered(course))
    course.check()
    assert all(cluster.processes[name].process.poll() is None for name in cluster.processes)


def _be_away() -> None:
    time.sleep(AWAY_S)  # the time without a server is the fault itself


def _entered(course: ModelledGraph) -> bool:
    """Return whether a publication succeeded since the last call."""
    before = course.accepted
    until(lambda: course.accepted > before)
    return True
