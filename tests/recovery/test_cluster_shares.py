"""A cluster whose gateway routes by graph: each replica has its share of the graphs in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.cluster import Cluster, Process
from tests.support.kafka_server import KafkaServer, fresh
from tests.support.neo4j_server import GraphServer, clear
from tests.support.ports import free_port

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1800)]

NO_PORTS = ("--metrics-port", "0")
GRAPHS = [f"g{n}" for n in range(12)]
REPLICAS = ("one", "two", "three")


@pytest.fixture
def cluster(kafka: KafkaServer, graph_server: GraphServer, tmp_path: Path) -> Iterator[Cluster]:
    """Yield the processes: graphs enter the memory of a replica at their first use."""
    clear(graph_server.address)
    cluster = Cluster(fresh(kafka), graph_server, tmp_path, {"GRAPHTIDE_IDLE_GRAPH_S": "3600"})
    made = cluster.run("topics", "apply", "--partitions", "2")
    assert made.returncode == 0, made.stderr
    try:
        yield cluster
    finally:
        cluster.end()
        clear(graph_server.address)


def test_replicas_share_the_graphs_and_no_question_fails_while_they_come_and_go(cluster: Cluster) -> None:
    """One replica is killed and started again, another one is restarted. Questions wait for a new document each time.

    Each graph is in the memory of one replica until a replica changes.
    """
    ports = {name: free_port() for name in REPLICAS}
    stages = {role: ("worker", role, *NO_PORTS) for role in ("extract", "consolidate")}
    cluster.start_all(stages | {name: replica(ports[name]) for name in REPLICAS})
    target = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports.values())
    routed = {"GRAPHTIDE_QUERY_TARGET": target, "GRAPHTIDE_REPLICATION_FACTOR": "1"}
    gateway = cluster.start("gateway", "worker", "gateway", *NO_PORTS, "--port", "0", settings=routed)
    with httpx.Client(base_url=f"{gateway.addresses['http']}/v1/graphs", timeout=120) as client:
        ask_all(client, "first")
        before = loaded(cluster)
        assert sum(before.values()) == len(GRAPHS) and max(before.values()) < len(GRAPHS), before
        ask_all(client, "again")
        assert loaded(cluster) == before
        cluster.kill("two")
        ask_all(client, "killed")
        assert sum(loaded(cluster).values()) == len(GRAPHS)
        cluster.start("two", *replica(ports["two"]))
        ask_all(client, "returned")
        assert cluster.stop("three") == 0
        ask_all(client, "stopped")
        cluster.start("three", *replica(ports["three"]))
        ask_all(client, "started")


def replica(port: int) -> tuple[str, ...]:
    return ("worker", "query", *NO_PORTS, "--grpc-port", str(port))


def ask_all(client: httpx.Client, doc_id: str) -> None:
    """Publish a document to each graph; each answer includes it. A question whose graph still loads is repeated."""
    tokens = {}
    for graph in GRAPHS:
        body = {"text": f"Ana Ruiz wrote the note {doc_id} of {graph}."}
        published = client.put(f"/{graph}/documents/{doc_id}", json=body)
        assert published.status_code == 202, published.text
        tokens[graph] = published.json()["token"]
    for graph, token in tokens.items():
        asked = {"question": "Who wrote?", "after": token, "mode": "vector", "generate": False, "top_k": 50}
        for _ in range(10):
            answer = client.post(f"/{graph}/query", json=asked)
            if answer.status_code != 504:
                break
        assert answer.status_code == 200, answer.text
        assert doc_id in {passage["doc_id"] for passage in answer.json()["passages"]}


def loaded(cluster: Cluster) -> dict[str, int]:
    """Return the number of graphs in the memory of each running replica."""
    running: dict[str, Process] = {name: one for name, one in cluster.processes.items() if name in REPLICAS}
    return {name: int(one.metric("graphtide_views_loaded")) for name, one in running.items()}
