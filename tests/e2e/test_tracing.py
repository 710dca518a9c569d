"""Spans as a collector gets them: of a document from the request to the view, of a question, in one process or many."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import grpc
import httpx
import pytest

from graphtide.infra.settings import Settings
from graphtide.services.api.grpc.server import SERVICE
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.application import QueryRequest
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.tracing import traced
from graphtide.services.wiring import open_application
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records
from graphtide.streams.follow.freshness import accepted_in
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DOCUMENTS, EXTRACTIONS, DocumentMessage
from graphtide.streams.ports import Record
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.collector import Collector, Seen
from tests.support.extraction_cluster import cluster as broker_of
from tests.support.kafka_server import KafkaServer
from tests.support.llm_server import LlmServer
from tests.support.openai_server import OpenAIServer
from tests.support.processes import Service, service
from tests.support.serving import grpc_service, http_service
from tests.support.stages import ExactKeeper, running
from tests.support.stages import Seen as Unobserved
from tests.support.watched import watched_roles

MARK = "Zyxomma"
"""A word that occurs only in the documents and the questions."""
TEXT = f"Marie Curie discovered polonium in Paris. {MARK} met Marie Curie in Sceaux."
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{CALLER}-01"
DOCUMENT = "/v1/graphs/g/documents/curie"
SERVER = 2


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as one:
        yield one


def has(names: Iterable[str], spans: list[Seen], trace: str = TRACE) -> bool:
    return set(names) <= {one.name for one in spans if one.trace == trace}


def parents(spans: list[Seen], trace: str = TRACE) -> dict[str, str]:
    """Return the name of each span's parent in the trace, "" for the caller's. Fails when a parent is missing."""
    ours = {one.id: one for one in spans if one.trace == trace}
    assert {one.parent for one in ours.values()} <= {*ours, CALLER}, "the trace is not connected"
    return {one.name: ours[one.parent].name if one.parent in ours else "" for one in ours.values()}


def attributes_of(spans: list[Seen], name: str, trace: str = TRACE) -> Mapping[str, object]:
    return next(one.attributes for one in spans if (one.name, one.trace) == (name, trace))


def url(service_url: str) -> httpx.Client:
    return httpx.Client(base_url=service_url, headers={"traceparent": TRACEPARENT}, timeout=120)


def models(llm: LlmServer, embeddings: OpenAIServer) -> dict[str, str]:
    return {
        "GRAPHTIDE_LLM_BASE_URL": llm.base_url,
        "GRAPHTIDE_LLM_MODEL": "m",
        "GRAPHTIDE_LLM_API_KEY": "sk-llm-SECRETMARK",
        "GRAPHTIDE_EMBEDDING_BASE_URL": embeddings.base_url,
        "GRAPHTIDE_EMBEDDING_MODEL": "e",
        "GRAPHTIDE_EMBEDDING_API_KEY": "sk-emb-SECRETMARK",
    }


PUT = "PUT /v1/graphs/{graph}/documents/{id:document_id}"
WAY = {
    PUT: "",
    "publish": PUT,
    "extract": "publish",
    "llm": "extract",
    "embed": "extract",
    "embedding call": "embed",
    "consolidate": "extract",
    "follow": "consolidate",
    "apply": "extract",
}
ASK = "POST /v1/graphs/{graph}/query"
QUESTION = {ASK: "", "query": ASK, "wait": "query", "embed": "query", "retrieve": "query", "generate": "query"}


def test_document_is_one_trace_from_the_request_to_the_view(tmp_path: Path, collector: Collector) -> None:
    """With real model calls: the caller's trace continues, the answer names it, and so do the log's lines."""
    log = tmp_path / "log"
    with LlmServer() as llm, OpenAIServer() as embeddings:
        ours = {"GRAPHTIDE_OTLP_ENDPOINT": collector.endpoint, "GRAPHTIDE_LOG_FORMAT": "json"}
        with service(tmp_path / "data", models(llm, embeddings) | ours, log) as running, url(running.url) as http:
            answer = http.put(DOCUMENT, json={"text": TEXT})
            assert answer.headers["x-trace-id"] == TRACE
            spans = collector.until(lambda spans: has(WAY, spans))
    assert parents(spans) == WAY and {one.service for one in spans} == {"graphtide-serve"}
    assert attributes_of(spans, "extract") == {"graph": "g", "doc_id": "curie", "revision": 0}
    assert attributes_of(spans, "apply") == {"graph": "g", "doc_id": "curie", "revision": 0, "state": "applied"}
    assert attributes_of(spans, "follow") == {"graph": "g", "version": 1}
    assert attributes_of(spans, "llm")["stage"] == "extract" and attributes_of(spans, "llm")["prompt_tokens"]
    ends = {one.name: one.ended_ns for one in spans if one.trace == TRACE}
    assert ends["publish"] < ends["extract"] < ends["follow"] <= ends["apply"]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["trace_id"] for line in lines if line["message"] == "request" and line["method"] == "PUT"] == [TRACE]
    check_secrecy(collector)


def check_secrecy(collector: Collector) -> None:
    """Check that no exported byte contains a text, a question or a secret."""
    assert collector.paths == {"/v1/traces"}
    for hidden in (MARK, "polonium", "SECRETMARK", "Traceback"):
        assert not [body for body in collector.bodies if hidden.encode() in body], hidden
    assert not [one for one in collector.spans if one.events]


@pytest.mark.parametrize("streamed", [False, True])
def test_question_is_one_trace_with_its_steps(tmp_path: Path, collector: Collector, streamed: bool) -> None:
    """The steps are waiting, embedding, retrieval, writing with its calls; at once or in pieces; the same over gRPC."""
    with LlmServer() as llm, OpenAIServer() as embeddings:
        ours = {"GRAPHTIDE_OTLP_ENDPOINT": collector.endpoint}
        with service(tmp_path / "data", models(llm, embeddings) | ours) as running, url(running.url) as http:
            token = httpx.put(running.url + DOCUMENT, json={"text": TEXT}, timeout=120).json()["token"]
            body = {"question": f"Who met {MARK}?", "mode": "local", "after": token}
            accept = {"accept": "text/event-stream"} if streamed else {}
            answer = http.post("/v1/graphs/g/query", json=body, headers=accept)
            assert answer.status_code == 200 and answer.headers["x-trace-id"] == TRACE
            http.post("/v1/graphs/g/query", json=body | {"mode": MARK})
            spans = collector.until(lambda spans: has({*QUESTION, "llm"}, spans))
            check_refused(collector)
            check_grpc(running, collector, token)
    asked = [one for one in spans if one.trace == TRACE]
    assert parents(asked) == QUESTION | {"llm": "generate", "embedding call": "embed"}
    assert attributes_of(spans, "query").items() >= {"graph": "g", "mode": "local", "version": 1}.items()
    assert attributes_of(spans, "retrieve") == {"mode": "local"}
    check_secrecy(collector)


def check_refused(collector: Collector) -> None:
    """Check that a refused question has a span, which does not contain the question."""
    spans = collector.until(lambda spans: any(one.error == "Invalid" for one in spans))
    assert next(one.attributes["mode"] for one in spans if one.error == "Invalid") == "unknown"


def check_grpc(running: Service, collector: Collector, token: str) -> None:
    trace = "1" * 32
    with grpc.insecure_channel(running.grpc) as channel:
        query = channel.unary_unary(f"/{SERVICE}/Query", pb.QueryRequest.SerializeToString, pb.Answer.FromString)
        metadata = (("traceparent", f"00-{trace}-{CALLER}-01"),)
        request = pb.QueryRequest(graph="g", question=f"Who met {MARK}?", mode="local", after=token)
        _, call = query.with_call(request, metadata=metadata)
        assert dict(call.initial_metadata())["x-trace-id"] == trace
    spans = collector.until(lambda spans: has({"query", f"{SERVICE}/Query"}, spans, trace))
    assert parents(spans, trace)["query"] == f"{SERVICE}/Query"


async def test_trace_goes_through_every_process_of_a_cluster(tmp_path: Path, collector: Collector) -> None:
    """It covers gateway, replica, topics of three partitions, extraction, the writer, the outbox and the view."""
    async with (
        traced(Settings(otlp_endpoint=collector.endpoint), "test"),
        watched_roles(tmp_path) as cluster,
        grpc_service(cluster.replica) as channel,
        http_service(create_app(RemoteApplication(lambda: channel))) as at,
        httpx.AsyncClient(base_url=at, headers={"traceparent": TRACEPARENT}, timeout=120) as http,
    ):
        token = (await http.put(DOCUMENT, json={"text": TEXT})).json()["token"]
        other = f"00-{'2' * 32}-{CALLER}-01"
        body = {"question": f"Who met {MARK}?", "mode": "local", "after": token}
        await http.post("/v1/graphs/g/query", json=body, headers={"traceparent": other})
        way = {*WAY} - {"llm", "embedding call"}
        spans = await asyncio.to_thread(
            collector.until, lambda spans: has(way, spans) and has(QUESTION, spans, "2" * 32)
        )
    assert parents(spans) == {name: above for name, above in WAY.items() if name in way} | {
        "publish": f"{SERVICE}/PublishAll",
        f"{SERVICE}/PublishAll": PUT,
    }
    assert parents(spans, "2" * 32) == QUESTION | {"query": f"{SERVICE}/Query", f"{SERVICE}/Query": ASK}
    check_secrecy(collector)


async def test_trace_lies_in_the_headers_of_each_topic_of_a_broker(kafka: KafkaServer, collector: Collector) -> None:
    """A record of `documents` carries a trace: its records in `extractions` and `deltas` continue that trace, each with
    the span that wrote it, and the notice has the time of acceptance, too.
    """
    outbox = MemoryOutbox()
    store = MemoryBackend(3, outbox=outbox).store
    settings = ConsolidateSettings(announce=full_records, outbox=outbox)
    document = DocumentMessage("g", "curie", TEXT)
    brought = Record(document.key, document.encode(), (("traceparent", TRACEPARENT.encode()),))
    async with traced(Settings(otlp_endpoint=collector.endpoint), "test"), broker_of(kafka) as broker:
        stage = ConsolidateStage(broker.log, store, None, Unobserved(), settings)
        follower = DeltaFollower(broker.log, store, ViewRegistry(ExactKeeper()), lambda: None)
        await follower.start()
        async with broker.working(broker.stage()), running(stage.run), running(follower.run):
            await broker.publish([brought])
            topics = [(await broker.read(topic, 1))[0] for topic in (DOCUMENTS, EXTRACTIONS, DELTAS)]
            way = ("extract", "consolidate", "follow")
            spans = await asyncio.to_thread(collector.until, lambda spans: has(way, spans))
    ids = {one.name: one.id for one in spans if one.trace == TRACE}
    headers = [dict(one.record.headers) for one in topics]
    traces = [one["traceparent"].decode().split("-") for one in headers]
    assert [one[1] for one in traces] == [TRACE] * 3
    assert [one[2] for one in traces] == [CALLER, ids["extract"], ids["consolidate"]]
    assert parents(spans)["follow"] == "consolidate"
    assert accepted_in(topics[2].record.headers) == (topics[0].timestamp_ms,)


async def test_batch_is_linked_to_the_trace_of_each_document(tmp_path: Path, collector: Collector) -> None:
    """The batch is in the trace of one document and linked to the others; each trace has its document's end."""
    traces = [f"{number:032x}" for number in range(1, 9)]
    settings = Settings(data=tmp_path, otlp_endpoint=collector.endpoint)
    async with (
        open_application(settings) as application,
        http_service(create_app(application)) as at,
        httpx.AsyncClient(base_url=at, timeout=120) as http,
    ):
        first = await http.put(
            "/v1/graphs/g/documents/first", json={"text": TEXT}, headers={"traceparent": TRACEPARENT}
        )
        await application.query("g", QueryRequest("?", after=first.json()["token"]))
        async with application._runtime.maintenance.consolidate.paused():  # type: ignore[attr-defined]
            for number, trace in enumerate(traces):
                headers = {"traceparent": f"00-{trace}-{CALLER}-01"}
                body = {"text": f"{MARK} met Ada number {number}."}
                await http.put(f"/v1/graphs/g/documents/d{number}", json=body, headers=headers)
            await asyncio.to_thread(
                collector.until, lambda spans: all(has({"extract"}, spans, trace) for trace in traces)
            )
        spans = await asyncio.to_thread(
            collector.until, lambda spans: all(has({"apply"}, spans, trace) for trace in traces)
        )
    spans = [one for one in spans if one.trace in traces]
    batches = [one for one in spans if one.name == "consolidate"]
    extracted = {(one.trace, one.id) for one in spans if one.name == "extract"}
    followed = [{*one.links, (one.trace, one.parent)} for one in batches]
    assert set().union(*followed) == extracted and sum(map(len, followed)) == len(traces) > len(batches)
    for one in (one for one in spans if one.name == "apply"):
        assert one.attributes["state"] == "applied" and (one.trace, one.parent) in extracted
        assert len(one.links) == 1 and one.links[0] in {(batch.trace, batch.id) for batch in batches}


@pytest.mark.thorough
def test_service_goes_on_without_its_collector_and_says_so_once(tmp_path: Path, collector: Collector) -> None:
    """Documents and questions are served, spans that are refused cause one warning, and the process stops."""
    collector.status = 503
    log = tmp_path / "log"
    with service(tmp_path / "data", {"GRAPHTIDE_OTLP_ENDPOINT": collector.endpoint}, log) as running:
        with url(running.url) as http:
            for number in range(3):
                token = http.put(f"{DOCUMENT}-{number}", json={"text": TEXT}).json()["token"]
                asked = {"question": "Who discovered polonium?", "after": token}
                assert http.post("/v1/graphs/g/query", json=asked).json()["answer"]
                collector.until_asked(2 * number + 2)
        assert running.stop() == 0
    assert log.read_text().count("WARNING graphtide: the trace collector") == 1
    assert "opentelemetry" not in log.read_text()


@pytest.mark.thorough
def test_nothing_of_opentelemetry_is_loaded_without_an_endpoint(tmp_path: Path) -> None:
    """The stages, embedded and of a cluster, load no module of it. The HTTP server loads the API alone, because FastAPI
    does, and neither the SDK nor an exporter.
    """
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "data")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, behind_http = map(json.loads, done.stdout.splitlines())
    assert before == []
    assert not [name for name in behind_http if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]
    assert "graphtide.infra.observability.tracing" not in behind_http


SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage
import graphtide.services.cluster.wiring, graphtide.services.cluster.roles
import graphtide.services.cluster.remote_application, graphtide.services.api.grpc.server

OURS = "graphtide.infra.observability.tracing"


def loaded():
    return [name for name in sys.modules if name.partition(".")[0] == "opentelemetry" or name == OURS]


async def main():
    async with open_application(Settings(data=Path(sys.argv[1]))) as application:
        receipt = await application.publish([DocumentMessage("g", "d", "Marie Curie discovered polonium.")])
        await application.query("g", QueryRequest("Who discovered polonium?", after=receipt.token))
        print(json.dumps(loaded()))
        import graphtide.services.api.http.app
        graphtide.services.api.http.app.create_app(application)
        print(json.dumps(loaded()))

asyncio.run(main())
"""


async def test_share_bounds_what_begins_here_and_not_what_a_caller_began(tmp_path: Path, collector: Collector) -> None:
    """At a ratio of 0 only the trace of a caller that records it is exported; every answer still names its trace."""
    settings = Settings(data=tmp_path, otlp_endpoint=collector.endpoint, otlp_sample_ratio=0)
    async with (
        open_application(settings) as application,
        http_service(create_app(application)) as at,
        httpx.AsyncClient(base_url=at, timeout=120) as http,
    ):
        for sent in ({}, {"traceparent": "nonsense"}, {"traceparent": f"00-{'3' * 32}-{CALLER}-00"}):
            answer = await http.put(DOCUMENT, json={"text": TEXT}, headers=sent)
            assert len(answer.headers["x-trace-id"]) == 32 and answer.headers["x-trace-id"] != TRACE
        await http.put(DOCUMENT, json={"text": f"{TEXT} Again."}, headers={"traceparent": TRACEPARENT})
        assert "x-trace-id" not in (await http.get("/healthz")).headers
        spans = await asyncio.to_thread(collector.until, lambda spans: has({"apply", "follow"}, spans))
    assert {one.trace for one in spans} == {TRACE}
