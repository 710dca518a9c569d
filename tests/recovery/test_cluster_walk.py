"""The random walk of a cluster at the length of a CI run; see `cluster_walk.py` for longer ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.recovery.cluster_walk import walk
from tests.support.cluster import Cluster
from tests.support.disturbing import disturbed
from tests.support.kafka_server import KafkaServer
from tests.support.neo4j_server import GraphServer

SEED = 1
STEPS = 40
pytestmark = [pytest.mark.timeout(900), pytest.mark.thorough]
"""The walk takes a minute and a half; five where processes wait for a busy machine to start them."""


@pytest.fixture
def cluster(kafka: KafkaServer, graph_server: GraphServer) -> Iterator[Cluster]:
    with disturbed(kafka, graph_server) as one:
        yield one


def test_cluster_agrees_with_the_model_after_a_random_walk(cluster: Cluster) -> None:
    """Publish, edit, delete, kill, freeze, restart, query, rebuild, recount: the graphs are the model's."""
    print(f"seed {SEED}")
    one = walk(SEED, cluster, lambda steps: steps >= STEPS)
    assert one.deaths >= 1 and len(one.taken) >= 6, one.taken
