"""The history of graphs on a real broker and graph database: readers behind, earlier versions, deletion; kill -9."""

from __future__ import annotations

import json
import queue
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

import graphtide
from tests.recovery.test_standing_questions import random_document
from tests.recovery.walk import random_body
from tests.support import failpoints
from tests.support.cluster import Cluster, ProcessEnded, until
from tests.support.disturbing import ROLES, arm, disturbed, start
from tests.support.invariants import FRONT, ModelledGraph
from tests.support.kafka_server import KafkaServer
from tests.support.neo4j_server import GraphServer
from tests.support.standing import QUESTIONS, Json, StandingOracle, events_in

pytestmark = pytest.mark.thorough

WAIT_S = 120
LATE = "late"


@pytest.fixture(scope="module")
def cluster(kafka: KafkaServer, graph_server: GraphServer) -> Iterator[Cluster]:
    with disturbed(kafka, graph_server) as one:
        yield one


def follow(url: str, opened: queue.Queue[str]) -> None:
    """Read a feed to its end: the first item is its first line, the last item its last one."""
    headers = {"accept": "application/x-ndjson"}
    last = ""
    with httpx.stream("GET", f"{url}/changes?after=v0", headers=headers, timeout=WAIT_S) as feed:
        for line in filter(None, feed.iter_lines()):
            if not last:
                opened.put(line)
            last = line
    opened.put(last)


def put_all(course: ModelledGraph, rng: random.Random, names: str) -> None:
    for name in names:
        course.put(name, random_body(rng))


def read(course: ModelledGraph, copy: graphtide.GraphReplica, token: str) -> str:
    """Apply what the feed has after a token to the copy, every version once; return the token of the last change."""
    answer = course.request("GET", f"/changes?detail=rows&follow=false&after={token}")
    assert answer.status_code == 200, answer.text
    for line in filter(None, answer.text.split("\n\n")):
        fields = dict(part.split(": ", 1) for part in line.split("\n") if ": " in part)
        event = json.loads(fields.get("data", "{}"))
        if event:
            assert event["version"] > copy.version, "a commit is repeated"
            copy.apply(event)
            token = event["token"]
    return token


def settled_digest(course: ModelledGraph, token: str) -> tuple[int, str]:
    """Return the version and the digest once the token is included."""
    asked = {"question": "?", "after": token, "generate": False, "mode": "vector", "top_k": 1}
    assert course.request("POST", "/query", asked).status_code == 200
    found = course.request("GET", "/digest").json()
    return found["version"], found["digest"]


def test_reader_continues_when_the_replica_and_the_writer_were_killed(cluster: Cluster) -> None:
    """A copy that follows with the token of its last change has the digest after each kill; so have earlier versions.

    The replica that answers has started later than the reader's position, and has none of these commits in memory.
    """
    rng, course, copy, token = random.Random(8), ModelledGraph(cluster, "past"), graphtide.GraphReplica(), "v0"
    digests: dict[int, str] = {}
    for victims in ((), ("consolidate",), (FRONT,), ("consolidate", FRONT)):
        last = ""
        for name in rng.sample("abcdef", 3):
            last = course.put(name, random_body(rng))
        for victim in victims:
            cluster.kill(victim)
            start(cluster, victim)
        version, digest = settled_digest(course, last)
        digests[version] = digest
        if FRONT in victims or not victims:
            token = read(course, copy, token)
            assert (copy.version, copy.digest()) == (version, digest)
    for version, digest in digests.items():
        assert course.request("GET", f"/digest?at={version}").json()["digest"] == digest
    course.check()


def test_standing_questions_miss_nothing_when_all_workers_are_killed(cluster: Cluster) -> None:
    """Every event is there once, as by asking again after every commit, although no worker ran at some of them."""
    rng, course = random.Random(9), ModelledGraph(cluster, "asked")
    oracle = StandingOracle(lambda method, path, body=None: course.request(method, path, body).json())
    cluster.worker("summarize", "summarize")
    settled_digest(course, course.put("a", random_document(rng)))
    for name in ("vector", "local"):
        oracle.register(name, QUESTIONS[name])
    for step in range(8):
        if step in (1, 5):
            cluster.kill("summarize")
        if step == 2:
            cluster.kill("consolidate")
            start(cluster, "consolidate")
        if step in (4, 7):
            cluster.worker("summarize", "summarize")
        doc_id = rng.choice("abcd")
        oracle.committed(course.put(doc_id, random_document(rng)), doc_id)
    for name, wanted in oracle.expected.items():
        until(lambda name=name, wanted=wanted: oracle.send("GET", f"/questions/{name}")["seq"] >= len(wanted))  # type: ignore[misc]
        oracle.check(name, events_of(course, name, len(wanted)))
    assert sum(map(len, oracle.expected.values())) > 1, "too few events: the stream proves nothing"
    cluster.kill("summarize")


def events_of(course: ModelledGraph, name: str, count: int) -> list[Json]:
    """Return the first `count` events of a question."""
    url, text = f"{cluster_url(course)}/questions/{name}/events", ""
    with httpx.stream("GET", url, timeout=WAIT_S) as response:
        for piece in response.iter_text():
            text += piece
            if len(events_in(text[: text.rfind("\n\n") + 1])) >= count:
                break
    return events_in(text[: text.rfind("\n\n") + 1])


def cluster_url(course: ModelledGraph) -> str:
    """Return the URL of the course's graph."""
    return f"{course.cluster.processes[FRONT].addresses['http']}/v1/graphs/{course.graph}"


def test_graph_is_deleted_while_its_writer_dies_twice_and_documents_come(cluster: Cluster) -> None:
    """Documents accepted before the request are deleted, those after it are the next graph, on every replica.

    A replica that was down the whole time shows the next graph, and a reader of the feed is notified of the deletion.
    """
    rng, course = random.Random(7), ModelledGraph(cluster, "gone")
    put_all(course, rng, "abcdef")
    cluster.start(LATE, *ROLES[FRONT])
    course.check()
    assert cluster.stop(LATE) == 0
    url = cluster_url(course)
    lines: queue.Queue[str] = queue.Queue()
    reader = threading.Thread(target=follow, args=(url, lines))
    reader.start()
    assert json.loads(lines.get(timeout=WAIT_S))["version"] == 1
    died = arm(cluster, "consolidate", "letters-marked")
    put_all(course, rng, "agh")
    httpx.delete(f"{url}?wait_s=0", timeout=WAIT_S).raise_for_status()
    course.live.clear()
    course.accepted = 0
    put_all(course, rng, "ax")
    died()
    with suppress(ProcessEnded):
        start(cluster, "consolidate", {failpoints.VARIABLE: "portion-erased:2"})
    assert cluster.processes["consolidate"].process.wait(timeout=WAIT_S) == -signal.SIGKILL
    cluster.kill("consolidate")
    start(cluster, "consolidate")
    course.check()
    assert f"graph '{course.graph}' was deleted" in lines.get(timeout=WAIT_S)
    reader.join()
    late = cluster.start(LATE, *ROLES[FRONT]).addresses["http"]
    wanted = course.request("GET", "/digest").json()
    assert httpx.get(f"{late}/v1/graphs/{course.graph}/digest", timeout=WAIT_S).json() == wanted
    assert httpx.post(f"{late}/v1/graphs/{course.graph}/verify", timeout=WAIT_S).json()["differences"] == []
    assert cluster.stop(LATE) == 0
