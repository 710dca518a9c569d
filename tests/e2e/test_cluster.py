"""A cluster of real processes on Kafka and a graph database: the same law, whatever process is started, stopped and
killed.

One set of processes serves the tests of this module in order: an extractor, a consolidator, a summarizer, a replica
with HTTP of its own (`serve`), and a replica behind a gateway.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from mcp import Client
from mcp_types import CallToolResult

from graphtide.infra.bolt.cypher import tables as cypher
from graphtide.streams.messages import DOCUMENTS
from tests.support.cluster import Cluster, until
from tests.support.examples import printed, promised
from tests.support.kafka_server import KafkaServer, fresh, make_topic
from tests.support.live_cluster import NO_PORTS, PARTITIONS, SERVE, SOURCES, Body, Live, ask, body, publish
from tests.support.neo4j_server import GraphServer, clear
from tests.support.other_producers import OtherProducer
from tests.support.ports import free_port
from tests.support.processes import start_service
from tests.support.source_records import change, encoded
from tests.support.wire import wire


@pytest.fixture(scope="module")
def live(kafka: KafkaServer, graph_server: GraphServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Yield the processes, on topics of their own and an empty database."""
    clear(graph_server.address)
    address, folder = fresh(kafka), tmp_path_factory.mktemp("cluster")
    make_topic(kafka, address.topic("rows"), 2)
    (folder / "sources.toml").write_text(SOURCES.format(topic=address.topic("rows")))
    settings = {"GRAPHTIDE_LAZY_REPORTS": "true", "GRAPHTIDE_SOURCES_FILE": str(folder / "sources.toml")}
    cluster = Cluster(address, graph_server, folder, settings)
    made = cluster.run("topics", "apply", "--partitions", str(PARTITIONS))
    assert made.returncode == 0, made.stderr
    try:
        [*_, one, two] = cluster.start_all(
            {
                "extract-1": ("worker", "extract", *NO_PORTS),
                "consolidate-1": ("worker", "consolidate", *NO_PORTS),
                "summarize": ("worker", "summarize", *NO_PORTS),
                "replica-1": SERVE,
                "replica-2": ("worker", "query", *NO_PORTS, "--grpc-port", "0"),
            }
        )
        asked = {"GRAPHTIDE_QUERY_TARGET": two.addresses["grpc"]}
        [gateway] = cluster.start_all({"gateway": ("worker", "gateway", *NO_PORTS, "--port", "0")}, asked)
        yield Live(cluster, (one.addresses["http"], gateway.addresses["http"]))
    finally:
        cluster.end()
        clear(graph_server.address)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=120) as one:
        yield one


def test_reader_sees_its_own_writes_on_each_replica(live: Live, client: httpx.Client) -> None:
    """Documents are written through one address and queried with the token at both, edits and deletions too."""
    rng = random.Random(1)
    for number in range(6):
        token = publish(client, f"{live[number % 2]}/own", f"d{number % 4}", body(rng))
        for face in range(2):
            answer = ask(client, f"{live[face]}/own", token)
            assert f"d{number % 4}" in {passage["doc_id"] for passage in answer["passages"]}
    token = publish(client, f"{live[0]}/own", "d1", None)
    for face in range(2):
        assert "d1" not in {passage["doc_id"] for passage in ask(client, f"{live[face]}/own", token)["passages"]}


def test_rows_and_events_in_kafka_are_documents(live: Live, client: httpx.Client) -> None:
    """A topic of another system; a CloudEvent and a Debezium envelope in `documents`, whose keys name them."""
    producer = OtherProducer(live.cluster.kafka)
    row = {"id": 7, "name": "Boiler", "signer": "Ana Ruiz"}
    event = {"specversion": "1.0", "id": "e", "source": "/crm", "type": "saved", "data": {"text": "Bo Lind came."}}
    producer.append("rows", [('{"id": 7}', encoded(change("c", row)))])
    direct = change("c", {"text": "Cleo went."})
    producer.append(DOCUMENTS, [("rows|event", encoded(event)), ("rows|row", encoded(direct))])

    def states(face: int) -> list[str]:
        found = [client.get(f"{live[face]}/rows/documents/{name}").json() for name in ("event", "row", "rows/7")]
        return [each.get("state", "none") for each in found]

    for face in range(2):
        until(lambda: states(face) == ["applied"] * 3)  # noqa: B023 - called before the next turn
    found = client.get(f"{live[1]}/rows/documents/rows/7").json()
    assert found["text"] == "Ana Ruiz signed Boiler."
    producer.append("rows", [('{"id": 7}', encoded(change("d", None, lsn=2)))])
    producer.append(DOCUMENTS, [("rows|row", encoded(change("d", None)))])
    for face in range(2):
        until(lambda: states(face) == ["applied", "deleted", "deleted"])  # noqa: B023 - called before the next turn


def test_example_writes_documents_to_kafka_itself(live: Live, tmp_path: Path) -> None:
    """A program without Graphtide's client writes to the topic; the gateway's answers include its records."""
    settings = {
        "GRAPHTIDE_KAFKA": live.cluster.kafka.bootstrap,
        "GRAPHTIDE_KAFKA_PREFIX": live.cluster.kafka.prefix,
        "GRAPHTIDE_URL": live.urls[1],
    }
    assert printed("kafka_documents.py", tmp_path, settings) == promised("kafka_documents.py") != ""


async def test_agents_and_chat_front_ends_use_the_gateway(live: Live) -> None:
    """The Model Context Protocol, chat completions and the page work through the gateway as through a replica."""
    gateway = live.urls[1]
    async with Client(f"{gateway}/mcp") as agent, httpx.AsyncClient(base_url=gateway, timeout=120) as http:

        async def called(tool: str, **arguments: object) -> Body:
            result = await agent.call_tool(tool, {"graph": "agents", **arguments})
            assert isinstance(result, CallToolResult) and not result.is_error, result
            body: Body = result.structured_content
            return body

        added = await called("add_document", doc_id="a", text="Kenji Mori repaired pump 3.")
        given = await called("ask", question="Who repaired pump 3?", after=added["token"])
        assert "Kenji Mori" in given["answer"]
        message = {"role": "user", "content": "Who repaired pump 3?"}
        chat = await http.post("/v1/chat/completions", json={"model": "agents/auto", "messages": [message]})
        assert "Kenji Mori" in chat.json()["choices"][0]["message"]["content"], chat.text
        page = await http.get("/", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["content-type"][:9]) == (200, "text/html")


def test_each_process_that_answers_says_how_long_documents_took(live: Live, client: httpx.Client) -> None:
    """The time ends when questions see the revision: every revision is counted once, at both replicas and no other
    process; the writer reports when it committed. The times are those of this test.
    """
    rng, started = random.Random(2), time.time()
    for number in range(3):
        ask(client, f"{live[0]}/fresh", publish(client, f"{live[0]}/fresh", f"d{number}", body(rng)))
    ask(client, f"{live[0]}/fresh", publish(client, f"{live[1]}/fresh", "d0", None))
    name, ours = "graphtide_event_to_queryable_seconds", 'graph="fresh"'
    replicas = [live.cluster.processes[one] for one in ("replica-1", "replica-2")]
    until(lambda: all(one.metric(f"{name}_count", ours) == 4 for one in replicas))
    writer = live.cluster.processes["consolidate-1"]
    until(lambda: writer.metric("graphtide_event_to_commit_seconds_count", ours) == 4)
    took = writer.metric("graphtide_event_to_commit_seconds_sum", ours)
    for one in replicas:
        assert 0 < one.metric(f"{name}_sum", ours) < 4 * (time.time() - started)
    assert 0 < took < 4 * (time.time() - started)
    others = [live.cluster.processes[one] for one in ("consolidate-1", "summarize", "extract-1")]
    assert not any(one.metric(f"{name}_count") for one in others)


def test_reports_are_written_once_a_question_at_any_replica_wished_for_them(live: Live, client: httpx.Client) -> None:
    """No report is written without a question; those that were requested reach every replica."""
    rng = random.Random(3)
    for graph in ("themes", "silent"):
        token = [publish(client, f"{live[0]}/{graph}", f"d{number}", body(rng)) for number in range(6)][-1]
        ask(client, f"{live[1]}/{graph}", token)
    asked = {"question": "What are the main themes?", "mode": "global", "generate": False}
    assert client.post(f"{live[1]}/themes/query", json=asked).json()["context_parts"]
    for face in range(2):
        until(lambda: bool(_reports(client, f"{live[face]}/themes")))  # noqa: B023 - called before the next turn
    assert not _reports(client, f"{live[0]}/silent")


def _reports(client: httpx.Client, graph_url: str) -> list[Body]:
    found = client.get(f"{graph_url}/reports").json()
    return list(found["reports"])


def test_rebuild_and_verify_work_while_the_cluster_serves(live: Live, client: httpx.Client) -> None:
    """The command line, through either address: nothing differs, the digest stays, both replicas see the rebuild."""
    before = client.get(f"{live[0]}/own/digest").json()
    rebuilt = live.cluster.run("rebuild", "--graph", "own", "--url", live.urls[1], "--json")
    assert rebuilt.returncode == 0, rebuilt.stderr
    verified = live.cluster.run("verify", "--graph", "own", "--url", live.urls[0], "--json")
    assert verified.returncode == 0, verified.stderr

    def both_see_it() -> bool:
        digests = [client.get(f"{live[face]}/own/digest").json() for face in range(2)]
        return all(one["version"] == before["version"] + 1 and one["digest"] == before["digest"] for one in digests)

    until(both_see_it)


def test_law_holds_while_workers_come_go_and_are_killed(live: Live, client: httpx.Client, tmp_path: Path) -> None:
    """Three graphs under load: workers 1 -> 3 -> 1, a consolidator, an extractor and a replica killed with -9, one
    consolidator frozen past its session: the digests are those of the embedded runtime with the live documents.
    """
    seed = 7
    print(f"seed {seed}")
    rng = random.Random(seed)
    live_documents: dict[str, dict[str, Body]] = {graph: {} for graph in ("law", "law2", "law3")}
    tokens: dict[str, dict[str, str]] = {graph: {} for graph in live_documents}
    stop = threading.Event()

    def load() -> None:
        with httpx.Client(timeout=120) as own:
            while not stop.is_set():
                graph, doc_id = rng.choice(list(live_documents)), f"d{rng.randint(0, 14)}"
                document = None if doc_id in live_documents[graph] and rng.random() < 0.15 else body(rng)
                tokens[graph][doc_id] = publish(own, f"{live[rng.choice((0, 1))]}/{graph}", doc_id, document)
                if document is None:
                    del live_documents[graph][doc_id]
                else:
                    live_documents[graph][doc_id] = document

    loading = threading.Thread(target=load)
    loading.start()
    try:
        _disturb(live.cluster)
    finally:
        stop.set()
        loading.join()
    for graph, bodies in live_documents.items():
        last = ",".join(tokens[graph].values())  # a document's own token: the partitions are extracted side by side
        answers = [ask(client, f"{live[face]}/{graph}", last) for face in range(2)]
        assert {one["version"] for one in answers} == {answers[0]["version"]}
        stats = client.get(f"{live[0]}/{graph}/stats").json()
        assert stats["lag"] == 0 and stats["revisions"]["failed"] == 0
        digests = {client.get(f"{live[face]}/{graph}/digest").json()["digest"] for face in range(2)}
        assert digests == {embedded(bodies, tmp_path / graph)}
        assert client.post(f"{live[1]}/{graph}/verify").json()["differences"] == []


def _disturb(cluster: Cluster) -> None:
    started = cluster.start_all(
        {
            "consolidate-2": ("worker", "consolidate", *NO_PORTS),
            "consolidate-3": ("worker", "consolidate", *NO_PORTS),
            "extract-2": ("worker", "extract", *NO_PORTS),
        }
    )
    until(lambda: all(one.metric("graphtide_partition_assigned") >= 1 for one in started[:2]))
    zombie = cluster.processes["consolidate-1"]
    zombie.freeze()
    others = [cluster.processes[f"consolidate-{number}"] for number in (2, 3)]
    until(lambda: sum(one.metric("graphtide_partition_assigned") for one in others) == PARTITIONS)
    zombie.thaw()
    cluster.kill("consolidate-2")
    cluster.kill("extract-1")
    port = cluster.processes["replica-2"].addresses["grpc"].rpartition(":")[2]
    cluster.kill("replica-2")
    [again] = cluster.start_all({"replica-2": ("worker", "query", *NO_PORTS, "--grpc-port", port)})
    assert again.is_ready()
    assert cluster.stop("consolidate-3") == 0
    until(lambda: zombie.metric("graphtide_partition_assigned") == PARTITIONS)
    until(zombie.is_ready)


def embedded(bodies: Mapping[str, Body], data: Path) -> str:
    """Return the digest of a clean build of these documents in the embedded runtime."""
    running = start_service(data)
    try:
        with httpx.Client(base_url=f"{running.url}/v1/graphs/g", timeout=120) as own:
            batch = [{"id": doc_id, **document} for doc_id, document in sorted(bodies.items(), reverse=True)]
            token = own.post("/documents", json=batch).json()["token"]
            ask(own, f"{running.url}/v1/graphs/g", token)
            return str(own.get("/digest").json()["digest"])
    finally:
        running.stop()


@pytest.mark.thorough
def test_replica_says_how_far_it_is_while_it_loads_and_a_gateway_asks_another(
    live: Live, client: httpx.Client, graph_server: GraphServer
) -> None:
    """Its graph database stalls during a snapshot: the replica answers probes and refuses questions, and a gRPC gateway
    always asks the ready replica instead. Then the replica becomes ready, too.
    """
    bolt = urlsplit(graph_server.address.uri)
    token = publish(client, f"{live[0]}/own", "shown", body(random.Random(7)))
    ask(client, f"{live[0]}/own", token)
    metrics, late = free_port(), free_port()
    two = {"GRAPHTIDE_QUERY_TARGET": f"ipv4:127.0.0.1:{late},{live.cluster.processes['replica-2'].addresses['grpc']}"}
    with wire(bolt.netloc.rpartition("@")[2]) as between:

        def fall_silent(data: bytes) -> bool:
            if cypher.CHUNK.read.encode()[:40] in data:
                between.stall()
            return False

        between.on_bytes = fall_silent
        silent = {"GRAPHTIDE_BOLT": f"{bolt.scheme}://{between.address}"}
        arguments = ("worker", "query", "--metrics-port", str(metrics), "--grpc-port", str(late))
        live.cluster.begin("late", *arguments, settings=silent)
        until(lambda: "loading the graphs: " in start_message(client, metrics))
        assert client.get(f"http://127.0.0.1:{metrics}/healthz").status_code == 200
        live.cluster.start("gateway-2", "worker", "gateway", *NO_PORTS, "--port", "0", settings=two)
        face = live.cluster.processes["gateway-2"].addresses["http"]
        for _ in range(10):
            assert client.get(f"{face}/v1/graphs/own/digest").status_code == 200
        between.on_bytes = None
        between.resume()
        assert live.cluster.await_ready("late").is_ready()
        with grpc.insecure_channel(f"127.0.0.1:{late}") as channel:
            check = health_pb2.HealthCheckRequest()
            assert health_pb2_grpc.HealthStub(channel).Check(check, timeout=120).status == 1
    assert live.cluster.stop("gateway-2") == live.cluster.stop("late") == 0


def start_message(client: httpx.Client, port: int) -> str:
    """Return the start message of a worker that is not ready."""
    try:
        answer = client.get(f"http://127.0.0.1:{port}/readyz")
    except httpx.ConnectError:
        return ""
    assert answer.status_code == 503, answer.text
    return str(answer.json()["components"]["worker"])


@pytest.mark.thorough
def test_cluster_goes_on_when_the_graph_database_was_away(
    live: Live, client: httpx.Client, graph_server: GraphServer
) -> None:
    """While it is down, publishing is answered with 503 and a retry time, and queries are answered. After its restart a
    document is published and read.
    """
    _survives(live, client, graph_server)


@pytest.mark.thorough
def test_cluster_goes_on_when_the_broker_was_away(live: Live, client: httpx.Client, kafka: KafkaServer) -> None:
    """The same holds for the broker."""
    _survives(live, client, kafka)


def _survives(live: Live, client: httpx.Client, server: GraphServer | KafkaServer) -> None:
    rng = random.Random(3)
    token = publish(client, f"{live[1]}/away", "first", body(rng))
    ask(client, f"{live[0]}/away", token)
    server.kill()
    try:
        refused = client.put(f"{live[0]}/away/documents/lost", json=body(rng))
        assert refused.status_code == 503 and float(refused.headers["retry-after"]) > 0
        answered = client.post(f"{live[0]}/away/query", json={"question": "Who knew whom?", "mode": "vector"})
        assert answered.status_code == 200 and answered.json()["passages"]
    finally:
        server.restart()
    token = publish(client, f"{live[1]}/away", "after", body(rng))
    for face in range(2):
        assert "after" in {passage["doc_id"] for passage in ask(client, f"{live[face]}/away", token)["passages"]}
    assert client.post(f"{live[1]}/away/verify").json()["differences"] == []


def test_every_role_ends_in_order_when_it_is_told_to(live: Live) -> None:
    """Each process exits with code 0 on SIGTERM."""
    codes = {name: live.cluster.stop(name) for name in list(live.cluster.processes)}
    assert set(codes.values()) == {0}, codes
