"""A process that receives requests while it starts: it reports its start over every protocol, and then answers."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from graphtide.services.api.grpc.server import SERVICE
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.process.startup_proxy import StartupProxy
from tests.support.application import InMemoryApplication
from tests.support.cluster import GRAPHTIDE, until
from tests.support.environment import plain_environment
from tests.support.ports import free_port
from tests.support.serving import grpc_service, http_service

NOBODY = "127.0.0.1:9"
ASKED = {"question": "Who met Bob?"}


@dataclass
class StartingServers:
    """The HTTP and gRPC servers of one application that is starting."""

    arriving: StartupProxy
    http: httpx.AsyncClient
    channel: grpc.aio.Channel


@pytest.fixture
async def servers() -> AsyncIterator[StartingServers]:
    arriving = StartupProxy()
    arriving.warming(lambda: "loading the graphs: notes, 1 of 2")
    application = arriving.application()
    async with (
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=url, timeout=120) as http,
        grpc_service(application) as channel,
    ):
        yield StartingServers(arriving, http, channel)


async def test_every_route_says_that_the_process_starts_and_when_to_come_back(servers: StartingServers) -> None:
    """The answer is 503 with Retry-After and the progress, streams too; probes and the description are answered."""
    described = (await servers.http.get("/openapi.json")).json()["paths"]
    tried = 0
    for path, methods in described.items():
        for method in methods:
            if not path.startswith("/v1/") or path == "/v1/caller":  # what a caller may do needs no application
                continue
            url = path.replace("{graph}", "g").replace("{id}", "a").replace("{entity}", "e").replace("{letter}", "0-1")
            body: object = {"text": "Ada met Bob."} if method == "put" else ASKED if path.endswith("query") else None
            body = body or ([{"id": "a", "text": "Ada met Bob."}] if path.endswith("documents") else None)
            answered = await servers.http.request(method, url, json=body)
            if answered.status_code in (400, 415, 422):  # an invalid request is refused first
                continue
            tried += 1
            assert answered.status_code == 503, (method, path, answered.text)
            assert (answered.headers["retry-after"], answered.json()["error"]["code"]) == ("2", "starting")
            assert "loading the graphs: notes, 1 of 2" in answered.json()["error"]["message"]
    assert tried >= 12
    streamed = await servers.http.post("/v1/graphs/g/query", json=ASKED, headers={"accept": "text/event-stream"})
    assert (streamed.status_code, streamed.json()["error"]["code"]) == (503, "starting")
    assert (await servers.http.get("/healthz")).status_code == 200
    ready = await servers.http.get("/readyz")
    assert (ready.status_code, ready.json()["components"]) == (503, {"start": "loading the graphs: notes, 1 of 2"})


async def test_calls_are_unavailable_until_the_application_is_there(servers: StartingServers) -> None:
    """The metadata has retry-after and allows another attempt; then both servers answer."""
    stub, health = GraphtideStub(servers.channel), health_pb2_grpc.HealthStub(servers.channel)
    check = health_pb2.HealthCheckRequest(service=SERVICE)
    assert (await health.Check(check)).status == health_pb2.HealthCheckResponse.NOT_SERVING
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.Stats(pb.GraphRef(graph="g"))
    trailing = dict(refused.value.trailing_metadata() or ())
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert trailing["retry-after"] == "2" and "grpc-retry-pushback-ms" not in trailing
    with pytest.raises(grpc.aio.AioRpcError) as broken_off:
        async for _ in stub.QueryStream(pb.QueryRequest(graph="g", question="Who met Bob?")):
            pass
    assert broken_off.value.code() is grpc.StatusCode.UNAVAILABLE
    servers.arriving.arrive(InMemoryApplication())
    assert (await health.Check(check)).status == health_pb2.HealthCheckResponse.SERVING
    assert (await servers.http.get("/readyz")).status_code == 200
    assert (await servers.http.put("/v1/graphs/g/documents/a", json={"text": "Ada met Bob."})).status_code == 202


@contextmanager
def alone(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process of a cluster whose servers are unreachable."""
    plain = plain_environment()
    settings = {"GRAPHTIDE_KAFKA": NOBODY, "GRAPHTIDE_BOLT": f"bolt://{NOBODY}", "GRAPHTIDE_DATA": str(folder)}
    with open(folder / "log", "wb") as log:  # noqa: PTH123 -- handed to the process
        process = subprocess.Popen([*GRAPHTIDE, *arguments], env={**plain, **settings}, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        sys.stdout.write((folder / "log").read_text()[-2000:])


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=120).status_code == 200
    except httpx.TransportError:
        return False


def test_replica_answers_probes_while_its_servers_are_away(tmp_path: Path) -> None:
    """In a cluster `serve` is live and not ready with the reason, questions get 503, and SIGTERM ends it at once."""
    port, calls = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    with alone(tmp_path, "serve", "--port", str(port), "--grpc-port", str(calls)) as process:
        until(lambda: answers(f"{url}/healthz"))
        until(lambda: "waiting for the graph database and Kafka" in httpx.get(f"{url}/readyz", timeout=120).text)
        asked = httpx.post(f"{url}/v1/graphs/g/query", json=ASKED, timeout=120)
        assert (asked.status_code, asked.headers["retry-after"]) == (503, "2")
        assert unavailable(calls) == (health_pb2.HealthCheckResponse.NOT_SERVING, grpc.StatusCode.UNAVAILABLE)
        ends_soon(process)


def test_query_worker_answers_probes_while_its_servers_are_away(tmp_path: Path) -> None:
    """The same holds for `worker query`: at its metrics port, and over gRPC."""
    port, calls = free_port(), free_port()
    arguments = ("worker", "query", "--metrics-port", str(port), "--grpc-port", str(calls))
    with alone(tmp_path, *arguments) as process:
        until(lambda: answers(f"http://127.0.0.1:{port}/metrics"))
        ready = f"http://127.0.0.1:{port}/readyz"
        until(lambda: "waiting for the graph database and Kafka" in httpx.get(ready, timeout=120).text)
        assert unavailable(calls) == (health_pb2.HealthCheckResponse.NOT_SERVING, grpc.StatusCode.UNAVAILABLE)
        ends_soon(process)


def unavailable(port: int) -> tuple[int, grpc.StatusCode]:
    """Return the health status, and the status of a call."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        status = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=120).status
        with pytest.raises(grpc.RpcError) as refused:
            GraphtideStub(channel).Stats(pb.GraphRef(graph="g"), timeout=120)
    return status, refused.value.code()


def ends_soon(process: subprocess.Popen[bytes]) -> None:
    """Assert that the signal ends it, rather than the time limit for its servers, which is a failure."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 0
