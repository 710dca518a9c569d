"""The topic `graph-changes` of a cluster of real processes: after kill -9 of its publisher, and replayed into Neo4j."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from neo4j import Driver, GraphDatabase

from graphtide.infra.kafka.log import KafkaLog
from graphtide.streams.ports import Record
from tests.support.cluster import Cluster
from tests.support.disturbing import NO_PORTS, disturbed
from tests.support.graph_changes import Elements, compacted, cypher_of, digest_of, elements, read_topic
from tests.support.invariants import FRONT
from tests.support.kafka_server import KafkaServer
from tests.support.neo4j_server import GraphServer, clear

pytestmark = pytest.mark.thorough

ENDS_S = 180.0
PUBLISHER = ("worker", "summarize", *NO_PORTS)
ON = {"GRAPHTIDE_GRAPH_CHANGES_TOPIC": "true"}
PEOPLE = ("Ana Ruiz", "A. Ruiz", "Bo Lind", "Kessel AG", "Kessel", "Cy Moe")


@pytest.fixture
def cluster(kafka: KafkaServer, graph_server: GraphServer) -> Iterator[Cluster]:
    with disturbed(kafka, graph_server) as one:
        one.start("summarize", *PUBLISHER, settings=ON)
        yield one


def test_killed_publisher_loses_nothing_and_neo4j_gets_the_graph(cluster: Cluster, graph_server: GraphServer) -> None:
    """kill -9 between a commit and its records: the next publisher completes the topic, whose replay is the graph."""
    rng = random.Random(5)
    with httpx.Client(base_url=cluster.processes[FRONT].addresses["http"], timeout=60) as http:
        for number in range(2):
            for name in ("a", "b", "c", "d"):
                first, second = rng.sample(PEOPLE, 2)
                body = {"text": f"{first} met {second} in Oslo. {second} lives in Rome."}
                token = put(http, f"{name}{number}" if name == "d" else name, body)
            cluster.kill("summarize")
            token = http.delete("/v1/graphs/g/documents/a").raise_for_status().json()["token"]
            wait(http, token)
            cluster.start("summarize", *PUBLISHER, settings=ON)
            now = http.get("/v1/graphs/g/digest").raise_for_status().json()
            records = asyncio.run(published(cluster, now))
    cluster.end()
    clear(graph_server.address)
    at = graph_server.address
    with GraphDatabase.driver(at.uri, auth=(at.user, at.password)) as driver:
        for replayed in (records, compacted(records)):  # again, as a sink that begins anew
            replay(driver, replayed)
            assert digest_of(stored(driver)) == now["digest"]


def put(http: httpx.Client, name: str, body: dict[str, str]) -> str:
    return str(http.put(f"/v1/graphs/g/documents/{name}", json=body).raise_for_status().json()["token"])


def wait(http: httpx.Client, token: str) -> None:
    while not http.get(f"/v1/graphs/g/tokens/{token}", params={"wait_s": 30}).raise_for_status().json()["reached"]:
        continue


async def published(cluster: Cluster, now: dict[str, Any]) -> list[Record]:
    """Return the topic once it has the graph's version; compare the digests."""
    log, ends = KafkaLog(cluster.kafka), time.monotonic() + ENDS_S
    try:
        while True:
            records = await read_topic(log)
            found = elements(compacted(records), "g")
            if found.nodes.get("g|graph", ("", {}))[1].get("version") == now["version"]:
                break
            assert time.monotonic() < ends, cluster.processes["summarize"].logged()[-2000:]
            await asyncio.sleep(0.2)
    finally:
        await log.close()
    assert digest_of(found) == now["digest"]
    return records


def replay(driver: Driver, records: list[Record]) -> None:
    """Apply the operations in order, as a sink does: tombstones are no operations."""
    with driver.session() as session, session.begin_transaction() as change:
        for record in records:
            if record.value is not None:
                statement, parameters = cypher_of(json.loads(record.value))
                change.run(statement, parameters).consume()
        change.commit()


def stored(driver: Driver) -> Elements:
    """Return the elements that the database holds."""
    found = Elements()
    with driver.session() as session:
        for row in session.run("MATCH (n) WHERE n.key IS NOT NULL RETURN labels(n)[0] AS label, properties(n) AS own"):
            own: dict[str, Any] = dict(row["own"])
            found.nodes[own["key"]] = (row["label"], own)
        edges = session.run("MATCH (a)-[r]->(b) RETURN type(r) AS type, a.key AS a, b.key AS b, properties(r) AS own")
        found.relationships.extend((row["type"], row["a"], row["b"], dict(row["own"])) for row in edges)
    return found
