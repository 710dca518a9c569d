"""Faults of a cluster of real processes on a real broker and a real graph database; the invariants after each.

`e2e/test_cluster.py` has other faults: workers that start and stop, a frozen writer.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from graphtide.streams.messages import (
    DEAD_LETTERS,
    DOCUMENTS,
    EXTRACTIONS,
    DeadLetter,
    DocumentMessage,
    decode_dead_letter,
)
from graphtide.streams.ports import Record
from tests.recovery.walk import random_body
from tests.support.cluster import Cluster, Process, until
from tests.support.disturbing import (
    ROLES,
    apply_topics,
    arm,
    committed,
    disturbed,
    drop_topic,
    letters,
    produce,
    records,
    start,
)
from tests.support.invariants import FRONT, ModelledGraph
from tests.support.kafka_server import KafkaServer
from tests.support.llm_server import LlmServer
from tests.support.neo4j_server import GraphServer
from tests.support.wire import lose_answers_to_commits, wire

DEATHS = (
    ("attempt-counted:2", "claimed"),
    ("after-model:3", "in-transaction"),
    ("extraction-appended:2", "committed-not-relayed"),
    ("before-extract-position:2", "relayed-not-marked"),
)
"""Points of the extractor and of the consolidator. The random walk has the others, too."""


@pytest.fixture(scope="module")
def cluster(kafka: KafkaServer, graph_server: GraphServer) -> Iterator[Cluster]:
    with disturbed(kafka, graph_server) as one:
        yield one


def publish(course: ModelledGraph, seed: int, count: int = 8) -> None:
    """Publish documents, of which two are edited and one is deleted."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    for number in range(count):
        course.put(f"d{number}", random_body(rng))
    for number in (1, 2):
        course.put(f"d{number}", random_body(rng))
    course.delete("d3")


@pytest.mark.thorough
@pytest.mark.parametrize(("extractor", "consolidator"), DEATHS)
def test_cluster_loses_and_repeats_nothing_when_workers_die_at_points(
    cluster: Cluster, extractor: str, consolidator: str
) -> None:
    """Both workers kill themselves while documents are published; their successors finish the work."""
    course = ModelledGraph(cluster, f"die-{extractor.partition(':')[0]}-{consolidator.partition(':')[0]}")
    died = [arm(cluster, "extract", extractor), arm(cluster, "consolidate", consolidator)]
    publish(course, 1)
    died[0]()
    start(cluster, "extract")
    died[1]()
    start(cluster, "consolidate")
    course.check()


def test_replicas_start_from_checkpoints_after_a_stop_and_a_kill_and_new_ones_from_a_copy(
    cluster: Cluster, tmp_path: Path
) -> None:
    """They read what they missed from the log: their digest is that of the replica that was there all the time."""
    course = ModelledGraph(cluster, "checkpoint")
    publish(course, 6)
    course.check()
    shared = {"GRAPHTIDE_CHECKPOINTS_URL": str(tmp_path / "checkpoints")}
    cluster.start("late", *ROLES[FRONT], settings=shared)
    for number, end in enumerate((cluster.stop, cluster.kill)):
        end("late")
        course.put(f"missed-{number}", random_body(random.Random(number)))
        course.check()
        late = cluster.start("late", *ROLES[FRONT], settings=shared)
        check_restored(late, cluster)
    new = cluster.start("new", *ROLES[FRONT], settings=shared)
    assert "graph checkpoint: its checkpoint was copied from file://" in new.logged()
    check_restored(new, cluster)
    cluster.stop("late")
    cluster.stop("new")


def test_consolidator_continues_graphs_from_what_the_one_before_saved(cluster: Cluster, tmp_path: Path) -> None:
    """After SIGTERM the next one reads no rows of the graph; after kill -9 it does. The graph is the same."""
    course = ModelledGraph(cluster, "models")
    shared = {"GRAPHTIDE_CHECKPOINTS_URL": str(tmp_path)}
    cluster.stop("consolidate")
    cluster.start("consolidate", *ROLES["consolidate"], settings=shared)
    publish(course, 7)
    for number, (end, is_saved) in enumerate(((cluster.stop, True), (cluster.stop, True), (cluster.kill, False))):
        course.check()
        end("consolidate")
        saved = list(tmp_path.glob(".write-models/models.*.npz"))
        assert bool(saved) == is_saved and all(path.stat().st_mode & 0o077 == 0 for path in saved)
        writer = cluster.start("consolidate", *ROLES["consolidate"], settings=shared)
        course.put(f"after-{number}", random_body(random.Random(number)))
        course.check()
        assert ("graph models continues from its saved write model" in writer.logged()) == is_saved
        assert not any(tmp_path.glob(".write-models/models.*"))


def check_restored(replica: Process, cluster: Cluster) -> None:
    """Check that a replica started from a checkpoint, and shows what the front shows."""
    assert "graph checkpoint is restored at version" in replica.logged()
    assert "loading its snapshot" not in replica.logged()
    assert digest_at(replica) == digest_at(cluster.processes[FRONT])


def digest_at(process: Process) -> dict[str, object]:
    """Return the digest and version of the graph `checkpoint` as a replica shows it."""
    found = httpx.get(f"{process.addresses['http']}/v1/graphs/checkpoint/digest", timeout=60)
    assert found.status_code == 200, found.text
    return dict(found.json())


@pytest.mark.thorough
@pytest.mark.parametrize("point", ["appended-not-entered:3", "accepted:4"])
def test_publications_are_not_lost_when_the_front_dies_at_a_point(cluster: Cluster, point: str) -> None:
    """The answer is lost: between the log and the ledger, and after both. A repeated request counts again."""
    course = ModelledGraph(cluster, f"front-{point.partition(':')[0]}")
    died = arm(cluster, "front", point)

    def restart() -> None:
        died()
        start(cluster, "front")

    restarting = threading.Thread(target=restart)
    restarting.start()
    publish(course, 2)
    restarting.join()
    course.check()


@pytest.mark.thorough
def test_records_that_come_ten_times_late_and_in_any_order_change_nothing(cluster: Cluster) -> None:
    """Documents are produced to the broker directly, ten times each; then their extractions again, shuffled: the graph
    is that of the last revisions, and a replay creates no version.
    """
    seed = 3
    print(f"seed {seed}")
    rng, course = random.Random(seed), ModelledGraph(cluster, "again")
    bodies = {f"d{number}": {"text": random_body(rng)["text"]} for number in range(6)}
    old = {doc_id: {"text": random_body(rng)["text"]} for doc_id in bodies}
    sent = [_record(course, doc_id, one[doc_id]) for one in (old, bodies) for doc_id in bodies for _ in range(10)]
    produce(cluster, DOCUMENTS, sent)
    course.live.update(bodies)
    course.accepted += len(sent)
    course.delete("d0")
    stats = course.check()
    own = [one.record for one in records(cluster, EXTRACTIONS) if one.record.key == course.graph]
    replay = [Record(one.key, one.value, one.headers) for one in own] * 2
    rng.shuffle(replay)
    produce(cluster, EXTRACTIONS, replay)
    assert course.check()["version"] <= stats["version"] + 1, "only the document that settles may make a version"


def _record(course: ModelledGraph, doc_id: str, body: dict[str, str]) -> Record:
    message = DocumentMessage(course.graph, doc_id, body["text"])
    return Record(message.key, message.encode())


def test_poison_is_one_dead_letter_each_and_holds_nothing_up(cluster: Cluster) -> None:
    """Records that are neither documents nor extractions are mixed with valid ones."""
    course = ModelledGraph(cluster, "poison")
    course.put("before", {"text": "Ada Lovelace knew Charles Babbage."})
    produce(cluster, DOCUMENTS, [Record("poison|bad", b"\xff\x00 no document"), Record("poison|worse", b'{"text": 7}')])
    produce(cluster, EXTRACTIONS, [Record("poison", b"no extraction"), Record("poison", b'{"schema": 99}')])
    course.put("after", {"text": "Mary Somerville taught Ada Lovelace."})
    course.failed = 2
    course.check()
    found = letters(cluster, "poison")
    assert sorted(one.doc_id for one in found) == ["?", "?", "bad", "worse"], found
    assert {one.original for one in found} >= {b"\xff\x00 no document", b'{"text": 7}'}
    originals = [one.original for one in _all_letters(cluster)]
    assert originals.count(b"no extraction") == originals.count(b'{"schema": 99}') == 1


def _all_letters(cluster: Cluster) -> list[DeadLetter]:
    return [decode_dead_letter(one.record.value or b"") for one in records(cluster, DEAD_LETTERS)]


@pytest.mark.thorough
def test_position_does_not_advance_while_dead_letters_have_nowhere_to_go(cluster: Cluster) -> None:
    """The topic is deleted, then created again: the worker reports it, waits, and writes each dead letter once."""
    course = ModelledGraph(cluster, "nowhere")
    course.put("before", {"text": "Ada Lovelace knew Charles Babbage."})
    course.check()
    done = committed(cluster, DOCUMENTS, "extract")
    drop_topic(cluster, DEAD_LETTERS)
    produce(cluster, DOCUMENTS, [Record("nowhere|bad", b"\xff no document")])
    until(lambda: not cluster.processes["extract"].is_ready())
    assert committed(cluster, DOCUMENTS, "extract") == done
    apply_topics(cluster)
    course.failed = 1
    course.check()
    assert [one.doc_id for one in letters(cluster, "nowhere")] == ["bad"]
    until(cluster.processes["extract"].is_ready)


@pytest.mark.thorough
def test_commits_whose_answers_are_lost_are_applied_once(cluster: Cluster, graph_server: GraphServer) -> None:
    """Consolidator and extractor reach the database through a proxy that loses the answer to every third COMMIT."""
    course = ModelledGraph(cluster, "lost")
    place = graph_server.address.uri.rpartition("//")[2]
    with wire(place) as between:
        lost = lose_answers_to_commits(between, every=3, limit=12)
        through = {"GRAPHTIDE_BOLT": f"bolt://{between.address}"}
        for role in ("extract", "consolidate"):
            cluster.stop(role)
            start(cluster, role, through)
        publish(course, 8)
        course.check()
        assert lost[0] >= 6, "too few answers were lost for this to say anything"
        for role in ("extract", "consolidate"):
            assert cluster.stop(role) == 0
    for role in ("extract", "consolidate"):
        start(cluster, role)
    course.check()


@pytest.mark.thorough
def test_worker_that_is_stopped_while_the_model_is_slow_leaves_its_documents_to_the_next(cluster: Cluster) -> None:
    """SIGTERM comes with model requests in flight: exit code 0 at once, and the next worker extracts the documents."""
    course = ModelledGraph(cluster, "slow")
    with LlmServer(hold=threading.Event()) as server:
        cluster.stop("extract")
        start(cluster, "extract", {"GRAPHTIDE_LLM_BASE_URL": server.base_url, "GRAPHTIDE_LLM_MODEL": "fake"})
        for number in range(3):
            course.put(f"d{number}", {"text": f"Ada Lovelace knew Charles Babbage in {1840 + number}."})
        server.arrived.get(timeout=60)
        begun = time.monotonic()
        assert cluster.stop("extract") == 0
        assert time.monotonic() - begun < 30, "it waited for the model"
    start(cluster, "extract")
    course.check()
