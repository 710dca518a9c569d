"""Documents and graphs that move between partitions: other producers' partitioners, added partitions, stale producers.

The producers here are librdkafka's, whose default partitioner differs from the gateway's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from graphtide.streams.messages import EXTRACTIONS, decode_extraction
from tests.recovery.walk import expected_digest, random_body
from tests.support.cluster import Cluster, until
from tests.support.disturbing import PARTITIONS, ROLES, disturbed, letters, records, start
from tests.support.invariants import ModelledGraph
from tests.support.kafka_server import KafkaServer
from tests.support.neo4j_server import GraphServer
from tests.support.other_producers import DEFAULT, MURMUR2, OtherProducer

DOCUMENTS = 12
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def cluster(kafka: KafkaServer, graph_server: GraphServer) -> Iterator[Cluster]:
    with disturbed(kafka, graph_server) as one:
        yield one


def published(course: ModelledGraph, producer: OtherProducer, rng: random.Random) -> None:
    """Publish documents by another producer, and add them to the model."""
    for number in range(DOCUMENTS):
        course.put_by(producer, f"d{number}", random_body(rng))


@pytest.mark.thorough
def test_edits_through_the_gateway_replace_what_another_partitioner_published(cluster: Cluster) -> None:
    """Twelve documents are published by librdkafka, edited by HTTP, then by librdkafka: the graph has the last text."""
    print("seed 11")
    rng, course = random.Random(11), ModelledGraph(cluster, "mixed")
    other = OtherProducer(cluster.kafka)
    published(course, other, rng)
    for number in range(DOCUMENTS):
        course.put(f"d{number}", random_body(rng))
    course.check()
    published(course, other, rng)
    course.check()


@pytest.mark.thorough
def test_edits_replace_documents_whose_key_moved_when_partitions_were_added(cluster: Cluster) -> None:
    """After partitions are added, edits come from the gateway and from a producer with stale metadata."""
    print("seed 12")
    rng, course = random.Random(12), ModelledGraph(cluster, "added")
    stale = OtherProducer(cluster.kafka)
    published(course, stale, rng)
    for number in range(DOCUMENTS):
        course.put(f"d{number}", random_body(rng))
    course.settle()
    added = cluster.run("topics", "apply", "--partitions", str(3 * PARTITIONS))
    assert added.returncode == 0, added.stderr
    fresh = OtherProducer(cluster.kafka)
    for number in range(DOCUMENTS):
        course.put_by(fresh if number % 2 else stale, f"d{number}", random_body(rng))
    course.check()


def test_document_of_another_producer_is_deleted_once_extraction_has_read_it(cluster: Cluster) -> None:
    """Until then the gateway does not know the document: it refuses the deletion, and nothing is deleted."""
    print("seed 16")
    course, other = ModelledGraph(cluster, "unread"), OtherProducer(cluster.kafka)
    course.put("known", random_body(random.Random(16)))
    course.settle()
    cluster.stop("extract")
    course.put_by(other, "d0", random_body(random.Random(16)))
    refused = course.request("DELETE", "/documents/d0")
    start(cluster, "extract")
    course.delete("d0")
    course.check()
    assert refused.status_code == 404
    assert course.request("GET", "/documents/d0").json()["state"] == "deleted"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [14, 15])
def test_graph_is_that_of_the_last_edits_whatever_producers_and_partitions_do(cluster: Cluster, seed: int) -> None:
    """Random edits by two partitioners, chosen partitions and the gateway; added partitions; kill -9."""
    print(f"seed {seed}")
    rng, course = random.Random(seed), ModelledGraph(cluster, f"random-{seed}")
    producers = [OtherProducer(cluster.kafka, one) for one in (DEFAULT, MURMUR2)]
    partitions = PARTITIONS
    for _ in range(60):
        doc_id, body = f"d{rng.randrange(8)}", None if rng.random() < 0.2 else random_body(rng)
        if body is not None and rng.random() < 0.3:
            course.put(doc_id, body)
        else:
            chosen = rng.randrange(PARTITIONS) if rng.random() < 0.4 else -1
            course.put_by(rng.choice(producers), doc_id, body, chosen)
        if rng.random() < 0.05:
            partitions += rng.randint(1, 3)
            added = cluster.run("topics", "apply", "--partitions", str(partitions))
            assert added.returncode == 0, added.stderr
            producers.append(OtherProducer(cluster.kafka, rng.choice((DEFAULT, MURMUR2))))
        if rng.random() < 0.05:
            role = rng.choice(("extract", "consolidate"))
            cluster.kill(role)
            start(cluster, role)
    course.check()
    assert letters(cluster, course.graph) == []


@pytest.mark.thorough
def test_a_graph_has_one_writer_when_its_records_come_through_two_partitions(cluster: Cluster) -> None:
    """There are two consolidators, and a producer that spreads the extractions of a graph over their partitions.

    The extractions are those of another graph, under another name, so that only the topic delivers them.
    """
    print("seed 13")
    rng, source, course = random.Random(13), ModelledGraph(cluster, "whole"), ModelledGraph(cluster, "spread")
    cluster.start_all({"consolidate-2": ROLES["consolidate"]})
    for _ in range(2):
        for number in range(DOCUMENTS):
            source.put(f"d{number}", random_body(rng))
    source.settle()
    other = OtherProducer(cluster.kafka)
    for place, one in enumerate(records(cluster, EXTRACTIONS)):
        if one.record.key == source.graph:
            moved = replace(decode_extraction(one.record.value or b""), graph=course.graph)
            other.append(EXTRACTIONS, [(course.graph, moved.encode())], place % PARTITIONS)
    course.live.update(source.live)
    expected = expected_digest(course.live)
    until(lambda: course.request("GET", "/digest").json().get("digest") == expected)
    for number in range(DOCUMENTS):
        course.put(f"d{number}", random_body(rng))
    course.check()
    source.check()
    assert letters(cluster, course.graph) == []
    forwarded = sum(
        cluster.processes[name].metric("graphtide_records_forwarded_total", 'graph="spread"')
        for name in ("consolidate", "consolidate-2")
    )
    assert forwarded > 0
