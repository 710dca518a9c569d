"""The roles of a cluster in one process: readers, the gateway, administration, readiness."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from graphtide.infra.hnsw import HnswIndex
from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.app import create_app
from graphtide.services.application import Answer, AnswerChunk, Health, QueryRequest, Verification
from graphtide.services.cluster.backing import check_model
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.component_state import WELL, degraded
from graphtide.services.process.startup_proxy import StartupProxy
from graphtide.services.wiring import open_application
from graphtide.streams.consolidate import verification as recounting
from graphtide.streams.errors import Broken, DeadlineExceeded, Invalid, NotFound, Retryable
from graphtide.streams.messages import ANSWERS
from graphtide.streams.ports import ConsumedRecord, RevisionState
from graphtide.streams.standing.records import QuestionDefinition
from tests.support.role_cluster import TEXTS, Cluster, after, document, opened
from tests.support.serving import grpc_server, grpc_service, http_service


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with opened(tmp_path) as one:
        yield one


async def test_readers_see_their_own_writes_on_every_replica(cluster: Cluster) -> None:
    """A document is published through one replica and queried at once at the other; so is a deletion."""
    replicas = [await cluster.replica("one"), await cluster.replica("two")]
    for number, (doc_id, text) in enumerate(TEXTS.items()):
        receipt = await replicas[number % 2].publish([document(doc_id, text)])
        answers = [await one.query("g", after(receipt.token)) for one in replicas]
        assert all(doc_id in {passage.doc_id for passage in answer.passages} for answer in answers)
        assert answers[0].version == answers[1].version
    receipt = await replicas[0].delete("g", "curie")
    for one in replicas:
        answer = await one.query("g", after(receipt.token))
        assert "curie" not in {passage.doc_id for passage in answer.passages}
    assert (await replicas[0].document("g", "curie")).state is RevisionState.DELETED


async def test_cluster_and_embedded_runtime_give_the_same_digest(cluster: Cluster, tmp_path: Path) -> None:
    """The same stream goes into both, edits and deletions included, through a gateway: one SHA-256."""
    remote = await cluster.gateway(await cluster.replica("one"))
    async with open_application(Settings(data=tmp_path / "embedded")) as embedded:
        digests = []
        for application in (embedded, remote):
            await application.publish([document(*one) for one in TEXTS.items()])
            await application.publish([document("lab", TEXTS["lab"] + " Frederic Joliot married Irene Curie.")])
            receipt = await application.delete("g", "pierre")
            await application.query("g", after(receipt.token))
            digests.append((await application.digest("g")).digest)
        assert digests[0] == digests[1]
        ours, theirs = [await one.document("g", "lab") for one in (embedded, remote)]
        assert (theirs.text, theirs.facts, theirs.metadata["year"]) == (ours.text, ours.facts, 1911)


async def test_gateway_answers_as_the_replica_behind_it_does(cluster: Cluster) -> None:
    """Every method returns the same values over gRPC; streamed pieces make the answer."""
    replica = await cluster.replica("one")
    remote = await cluster.gateway(replica)
    receipt = await remote.publish([document(*one) for one in TEXTS.items()])
    ask = QueryRequest("Who discovered polonium?", after=receipt.token, explain=True)
    local, there = await replica.query("g", ask), await remote.query("g", ask)
    assert (local.answer, local.citations, local.passages) == (there.answer, there.citations, there.passages)
    assert (local.nodes, local.edges, local.version, local.mode) == (
        there.nodes,
        there.edges,
        there.version,
        there.mode,
    )
    assert there.trace and [step["step"] for step in there.trace] == [step["step"] for step in local.trace or ()]
    plain = await remote.query("g", QueryRequest("Who discovered polonium?"))
    assert plain.trace is None
    steps = [step async for step in remote.stream("g", ask)]
    assert isinstance(steps[0], Answer) and isinstance(steps[-1], Answer) and not steps[0].answer
    assert "".join(step.text for step in steps if isinstance(step, AnswerChunk)) == steps[-1].answer == local.answer
    assert await remote.graphs() == await replica.graphs()
    assert await remote.digest("g") == await replica.digest("g")
    assert await remote.entity("g", local.nodes[0].id) == await replica.entity("g", local.nodes[0].id)
    assert await remote.document("g", "lab") == await replica.document("g", "lab")
    assert await remote.related("g", "lab", 3) == await replica.related("g", "lab", 3)
    assert list(await remote.reports("g")) == list(await replica.reports("g"))
    stats, own = await remote.stats("g"), await replica.stats("g")
    assert (stats.counts, stats.revisions, stats.models, stats.lag) == (own.counts, own.revisions, own.models, own.lag)
    assert (await remote.health()).ready


async def test_gateway_raises_what_the_replica_raised(cluster: Cluster) -> None:
    """Each error has its class and field; an unreachable replica is Retryable."""
    replica = await cluster.replica("one")
    remote = await cluster.gateway(replica)
    with pytest.raises(NotFound, match="nowhere"):
        await remote.digest("nowhere")
    receipt = await remote.publish([document(*one) for one in TEXTS.items()])
    await remote.query("g", after(receipt.token))
    with pytest.raises(Invalid) as caught:
        await remote.query("g", QueryRequest("?", mode="dance"))
    assert caught.value.field == "mode"
    with pytest.raises(Invalid, match="not a token of graph 'g'"):
        await remote.query("g", after("0:9999"))
    with pytest.raises(DeadlineExceeded):
        await remote.query("g", QueryRequest("?", timeout_s=0.0))
    async with RemoteApplication.open(Settings(query_target="127.0.0.1:9")) as lost:
        with pytest.raises(Retryable):
            await lost.digest("g")
        assert not (await lost.health()).ready


async def test_gateway_serves_http(cluster: Cluster) -> None:
    """HTTP over a gateway: publish, query, look up, and the errors' statuses."""
    remote = await cluster.gateway(await cluster.replica("one"))
    async with (
        http_service(create_app(remote)) as url,
        httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=120) as client,
    ):
        body = [{"id": doc_id, "text": text} for doc_id, text in TEXTS.items()]
        published = await client.post("/documents", json=body)
        assert published.status_code == 202 and published.json()["accepted"] == 3
        asked = {"question": "Who discovered polonium?", "after": published.json()["token"]}
        answer = (await client.post("/query", json=asked)).json()
        assert answer["answer"] and answer["citations"]
        streamed = await client.post("/query", json=asked, headers={"accept": "text/event-stream"})
        assert streamed.text.count("event: answer") == 1 and "event: token" in streamed.text
        assert (await client.get("/documents/nobody")).status_code == 404
        assert (await client.post("/query", json={"question": "?", "mode": "dance"})).status_code == 422


async def test_rebuild_and_verify_are_done_by_the_writer_and_seen_by_every_replica(cluster: Cluster) -> None:
    """Documents arrive meanwhile: the digest stays, nothing differs, replicas and reports continue."""
    replicas = [await cluster.replica("one"), await cluster.replica("two")]
    await replicas[0].publish([document(*one) for one in TEXTS.items()])
    receipt = await replicas[0].publish([document("late", "Henri Becquerel knew Marie Curie.")])
    await replicas[1].query("g", after(receipt.token))
    verified = await replicas[1].verify("g")
    assert verified.differences == () and verified.digest == verified.recounted and verified.checked["documents"] == 4
    rebuilt, receipt = await asyncio.gather(
        replicas[0].rebuild("g"), replicas[1].publish([document("later", "Paul Langevin knew Pierre Curie.")])
    )
    assert rebuilt.switched
    answers = [await one.query("g", after(receipt.token)) for one in replicas]
    assert all("later" in {passage.doc_id for passage in answer.passages} for answer in answers)
    assert {(await one.digest("g")).digest for one in replicas} == {verified_digest(await replicas[0].verify("g"))}
    with pytest.raises(NotFound):
        await replicas[0].rebuild("nowhere")


async def test_writer_says_how_far_a_rebuild_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its health reports progress while it reads and before it writes; it stays ready."""
    healths: list[Health] = []
    monkeypatch.setattr(recounting, "BATCH_DOCUMENTS", 2)
    async with opened(tmp_path, ("extract",)) as cluster:
        writer, replica = await cluster.start("consolidate", "writer"), await cluster.replica("one")
        read = cluster.backing.store.extractions

        async def watched(graph: str) -> AsyncIterator[tuple[str, bytes]]:
            async for one in read(graph):
                yield one
                healths.append(await writer.health())

        monkeypatch.setattr(cluster.backing.store, "extractions", watched)
        receipt = await replica.publish([document(*one) for one in TEXTS.items()])
        await replica.query("g", after(receipt.token))
        await replica.rebuild("g")
        after_it = await writer.health()
    assert all(one.ready for one in healths)
    states = [state.text for one in healths for name, state in one.components.items() if name.startswith("partition ")]
    assert set(states) == {"rebuild of graph g: started", "rebuild of graph g: 2 documents built"}
    assert not [name for name in after_it.components if name.startswith("partition ")]


async def test_replica_names_what_its_view_differs_in(cluster: Cluster) -> None:
    """After damage in its memory, verify at the replica reports that its view differs from the store."""
    replica = await cluster.replica("one")
    receipt = await replica.publish([document(*one) for one in TEXTS.items()])
    await replica.query("g", after(receipt.token))
    view = replica._runtime.views.get("g")  # type: ignore[attr-defined]
    view.documents.pop("lab")
    assert (await replica.verify("g")).differences == ("queryable rows differ from the stored rows",)


async def test_replica_that_restarts_starts_from_its_saved_indexes_and_the_store(cluster: Cluster) -> None:
    """Documents arrive while it is down: afterwards it has all of them, at the version of the other replica."""
    stays = await cluster.replica("stays")
    async with AsyncExitStack() as life:
        worker = await cluster.start("query", "returns", life)
        assert worker.application is not None
        receipt = await worker.application.publish([document(*one) for one in TEXTS.items()])
        await worker.application.query("g", after(receipt.token))
    receipt = await stays.publish([document("late", "Henri Becquerel knew Marie Curie.")])
    await stays.query("g", after(receipt.token))
    back = await cluster.replica("returns")
    assert (await back.digest("g")) == (await stays.digest("g"))
    assert "late" in {one.doc_id for one in (await back.query("g", after(receipt.token))).passages}


async def test_processes_of_two_embedding_models_do_not_share_a_cluster(cluster: Cluster) -> None:
    """The store keeps the model's name: a process with another one is refused, with the remedy."""
    with pytest.raises(Broken, match="restore the"):
        await check_model(cluster.backing, "another model")


@pytest.mark.parametrize("role", ["extract", "consolidate", "summarize", "query"])
async def test_role_names_the_broker_and_the_database_and_is_ready_without_them_only_to_answer(
    cluster: Cluster, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server hangs, one refuses: both are named within the timeout; a replica still answers from its view."""
    reasons: list[str] = []
    worker = await cluster.start(role, role + "-told", warming=lambda reason: reasons.append(reason()))
    well = await worker.health()
    assert well.ready and (well.components["kafka"], well.components["graph database"]) == (WELL, WELL)
    assert any("loading the graphs" in one for one in reasons) == (role in ("summarize", "query"))
    with monkeypatch.context() as broken:
        broken.setattr("graphtide.services.health.TIMEOUT_S", 0.05)
        broken.setattr(cluster.backing.log, "end", hangs)
        broken.setattr(cluster.backing.ledger, "unfinished", refuses)
        ill = await worker.health()
    assert (
        "did not answer within" in ill.components["kafka"].text
        and "the login is refused" in ill.components["graph database"].text
    )
    assert ill.ready == (role == "query")
    assert (await worker.health()).ready


async def test_gateway_is_ready_when_a_replica_is_and_says_why_not(cluster: Cluster) -> None:
    """One replica drains, one is unreachable; the gateway reports both within the timeout."""
    replica, gate = await cluster.replica("one"), AccessGate()
    async with grpc_service(replica, gate=gate) as channel:
        remote = RemoteApplication(lambda: channel)
        assert await remote.health() == Health(True, {"query": WELL})
        gate.draining = True
        assert await remote.health() == Health(False, {"query": degraded("the query replica is not ready")})
    async with RemoteApplication.open(Settings(query_target="127.0.0.1:9")) as lost:
        health = await lost.health()
    assert not health.ready and "no replica answers (UNAVAILABLE" in health.components["query"].text


async def test_gateway_is_ready_and_answers_while_one_replica_of_two_is_ready(cluster: Cluster) -> None:
    """The other one loads, or drains: it gets no probe and no call from the gateway."""
    ready, gate = await cluster.replica("one"), AccessGate()
    receipt = await ready.publish([document(*one) for one in TEXTS.items()])
    await ready.query("g", after(receipt.token))
    async with grpc_server(ready) as first, grpc_server(StartupProxy().application(), gate=gate) as second:
        addresses = ",".join(f"127.0.0.1:{port}" for port in (first, second))
        async with RemoteApplication.open(Settings(query_target=f"ipv4:{addresses}")) as remote:
            assert [(await remote.health()).ready for _ in range(20)] == [True] * 20
            assert {(await remote.stats("g")).graph for _ in range(20)} == {"g"}
        gate.draining = True  # the watch of its health ends, so that the server can stop


async def hangs(*_: object) -> None:
    await asyncio.Event().wait()


async def refuses(*_: object) -> None:
    raise Broken("the login is refused")


def verified_digest(verified: Verification) -> str:
    assert verified.differences == ()
    return str(verified.digest)


async def test_replica_tells_of_lag_and_waiting_when_no_worker_runs(tmp_path: Path) -> None:
    """Only the replica can export them: records, the age of the oldest document, and that the groups have no member."""
    async with opened(tmp_path, roles=()) as cluster:
        replica = await cluster.replica("one")
        await replica.publish([document(*one) for one in TEXTS.items()])
        extract = {"topic": "documents", "group": "extract"}

        def sample(name: str, **labels: str) -> float | None:
            return cluster.registries["one"].get_sample_value(name, labels or None)

        def lagging() -> bool:
            return sum(sample("graphtide_consumer_lag", **extract, partition=str(n)) or 0 for n in range(3)) == 3

        await until(lagging)
        await until(lambda: bool(sample("graphtide_oldest_pending_seconds")))
        assert sample("graphtide_consumer_members", **extract) == 0
        assert sample("graphtide_consumer_members", topic="extractions", group="consolidate") == 0
        await cluster.start("extract", "extract")
        await until(lambda: sample("graphtide_consumer_members", **extract) == 1)


async def test_replica_saves_its_indexes_at_its_end_and_builds_none_at_its_next_start(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The saved version is the one it showed last; the next start takes every vector from the files."""
    async with AsyncExitStack() as stack:
        worker = await cluster.start("query", "one", stack)
        assert worker.application is not None
        receipt = await worker.application.publish([document(*one) for one in TEXTS.items()])
        version = (await worker.application.query("g", after(receipt.token))).version
    for manifest in (cluster.folder / "one" / "indexes" / "g").glob("*/manifest.json"):
        assert json.loads(json.loads(manifest.read_text())["manifest"])["version"] >= version
    added: list[int] = []
    monkeypatch.setattr(HnswIndex, "add", lambda _, ids, __: added.extend(ids.tolist()))
    again = await cluster.replica("one")
    assert (await again.query("g", after(receipt.token))).version >= version
    assert added == []


async def until(holds: Callable[[], bool]) -> None:
    """Return when a periodically refreshed gauge has the value."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 -- gauges announce nothing
            await asyncio.sleep(0.05)


async def test_standing_questions_are_evaluated_by_another_process_and_reach_every_reader(cluster: Cluster) -> None:
    """Registered at one replica, read at another through a gateway; the events are in the topic `answers`, too."""
    one = await cluster.replica("one")
    remote = await cluster.gateway(await cluster.replica("two"))
    first = await one.publish([document("curie", TEXTS["curie"])])
    await one.query("g", after(first.token))
    registered = await one.put_question("g", QuestionDefinition("q", "Who discovered polonium?", "vector", 2))
    assert [passage.doc_id for passage in registered.passages] == ["curie"] * len(registered.passages)
    events = remote.question_events("g", "q", "")
    assert await anext(events) is None
    before = [passage.chunk_id for passage in registered.passages]
    for seq, (doc_id, text) in enumerate(
        (("lab", TEXTS["lab"]), ("again", "Who discovered polonium? Irene Curie.")), 1
    ):
        receipt = await one.publish([document(doc_id, text)])
        asked = replace(after(receipt.token), mode="vector", top_k=2, exact=True)
        wanted = [passage.chunk_id for passage in (await one.query("g", asked)).passages]
        assert wanted != before
        event = await anext(events)
        assert event is not None and (event.seq, [p.chunk_id for p in event.passages]) == (seq, wanted)
        assert [cause.doc_id for cause in event.causes] == [doc_id] and event.passages[0].text
        before = wanted
    reader = cluster.backing.log.reader(ANSWERS, {})
    records: list[ConsumedRecord] = []
    while len(records) < 2:
        records += await reader.poll(10, 5.0)
    assert [json.loads(each.record.value or b"")["seq"] for each in records] == [1, 2]
    assert {each.record.key for each in records} == {"g|q"}
    await remote.delete_question("g", "q")
    assert [event async for event in events] == []
