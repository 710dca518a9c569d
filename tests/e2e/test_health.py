"""Readiness by dependency, as probes and operators see it: over HTTP and gRPC, and during shutdown."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.app import create_app
from graphtide.services.application import Health
from graphtide.services.component_state import DRAINING, RUNNING, WELL, degraded
from graphtide.services.health import Dependency, disk, readiness, with_dependencies
from graphtide.streams.errors import Broken
from tests.support.application import InMemoryApplication
from tests.support.openai_server import OpenAIServer
from tests.support.processes import service
from tests.support.serving import http_service


async def well() -> str:
    return ""


async def ill() -> str:
    return "the cable is out"


async def stuck() -> str:
    await asyncio.Event().wait()
    return ""


async def broken() -> str:
    raise Broken("the database is closed")


async def test_process_is_ready_exactly_when_what_it_needs_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dispensable dependency is only named; one that hangs or raises is not well."""
    monkeypatch.setattr("graphtide.services.health.TIMEOUT_S", 0.05)
    stage = Health(True, {"extract": RUNNING})
    optional = await with_dependencies(stage, [Dependency("a", well), Dependency("b", ill, needed=False)])
    assert optional == Health(True, {"extract": RUNNING, "a": WELL, "b": degraded("the cable is out")})
    for check, reason in ((ill, "the cable is out"), (stuck, "did not answer"), (broken, "the database is closed")):
        needed = await with_dependencies(stage, [Dependency("a", well), Dependency("b", check)])
        assert (needed.ready, reason in needed.components["b"].text) == (False, True)
    assert not (await with_dependencies(Health(False, {}), [Dependency("a", well)])).ready


async def test_disk_is_named_when_it_is_nearly_full(tmp_path: Path) -> None:
    """A deleted folder is named, too."""
    assert await disk(tmp_path).trouble() == ""
    assert "publishing stops" in await disk(tmp_path, min_bytes=1 << 62).trouble()
    assert "cannot be read" in await disk(tmp_path / "none").trouble()


async def test_head_is_answered_like_get_without_a_body() -> None:
    """This holds for every route that has GET; elsewhere the answer is 405 with Allow."""
    app = create_app(InMemoryApplication())
    async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        for path in ("/healthz", "/readyz", "/metrics", "/v1/graphs", "/docs"):
            head, get = await http.head(path), await http.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"] == get.headers["content-type"]
        refused = await http.head("/v1/graphs/notes/query")
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert (await http.patch("/healthz")).headers["allow"] == "GET, HEAD"
        metrics = (await http.get("/metrics")).text
        assert 'graphtide_http_requests_total{method="HEAD",route="/healthz",status="200"}' in metrics


async def test_draining_process_is_not_ready_and_still_serves() -> None:
    """A request that a load balancer sent earlier is answered."""
    application, gate = InMemoryApplication(), AccessGate()
    gate.draining = True
    assert await readiness(application, gate) == Health(False, {"service": DRAINING})
    app = create_app(application, None, None, gate)
    async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/v1/graphs")).status_code == 200


def test_service_says_it_drains_before_it_ends(tmp_path: Path) -> None:
    """After SIGTERM /readyz and gRPC health fail; after `shutdown_delay_s` or a second signal it exits with code 0."""
    with service(tmp_path / "data", {"GRAPHTIDE_SHUTDOWN_DELAY_S": "600"}) as running:
        with grpc.insecure_channel(running.grpc) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
            running.process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 30
            while httpx.get(f"{running.url}/readyz", timeout=120).status_code == 200:
                assert time.monotonic() < deadline
            assert httpx.get(f"{running.url}/readyz", timeout=120).json()["components"] == {"service": "draining"}
            assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            assert httpx.get(f"{running.url}/v1/graphs", timeout=120).status_code == 200
        assert running.stop() == 0


def test_service_stays_ready_while_an_endpoint_is_away_and_names_it(tmp_path: Path) -> None:
    """Storage and disk are well; the endpoint is named after the first failed call, and is well after its recovery."""
    server = OpenAIServer()
    with server:
        address = server.base_url
        settings = {"GRAPHTIDE_EMBEDDING_BASE_URL": address, "GRAPHTIDE_EMBEDDING_MODEL": "e"}
        with service(tmp_path / "data", settings) as running:
            http = httpx.Client(base_url=running.url, timeout=60)
            with http:
                parts = http.get("/readyz").json()["components"]
                assert (parts["storage"], parts["disk"], parts["embedding endpoint"]) == ("well", "well", "well")
                server.__exit__(None, None, None)
                http.put("/v1/graphs/notes/documents/a", json={"text": "Ada met Bob."})
                deadline = time.monotonic() + 30
                while (answer := http.get("/readyz")).json()["components"]["embedding endpoint"] == "well":
                    assert time.monotonic() < deadline
                assert answer.status_code == 200
                assert address.rpartition("/")[0] in answer.json()["components"]["embedding endpoint"]


async def test_docs_page_lists_every_route_and_loads_nothing() -> None:
    """The page loads no script, style or picture from elsewhere; the contents of the description are text."""
    app = create_app(InMemoryApplication())
    async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        shown, described = await http.get("/docs"), (await http.get("/openapi.json")).json()
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    for path in described["paths"]:
        assert f"</span> {path}</code>" in shown.text
    for loading in ("<script", "src=", "//", "<link", "@import", "url("):
        assert loading not in shown.text
