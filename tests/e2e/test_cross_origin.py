"""Requests of web pages from other origins: refused by the browser, unless the settings name the origin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from pydantic import ValidationError

from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.transport.cross_origin import allow_origins
from tests.support.application import InMemoryApplication

OURS = "https://app.example.com"
PREFLIGHT = {"access-control-request-method": "PUT", "access-control-request-headers": "authorization,content-type"}
DOCUMENT = "/v1/graphs/notes/documents/a"


@asynccontextmanager
async def client(origins: str) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(InMemoryApplication(), gate=AccessGate())
    allow_origins(app, origins)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        yield http


async def test_preflight_is_answered_for_a_named_origin() -> None:
    """It allows the method and the headers of a credential, and no cookies."""
    async with client(f"http://localhost:5173, {OURS}") as http:
        response = await http.options(DOCUMENT, headers={"origin": OURS, **PREFLIGHT})
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == OURS
        assert "PUT" in response.headers["access-control-allow-methods"]
        assert "authorization" in response.headers["access-control-allow-headers"].lower()
        assert "access-control-allow-credentials" not in response.headers


async def test_replies_and_errors_can_be_read_by_a_named_origin() -> None:
    """Also a refusal, whose reason the page may show; caches keep replies to different origins apart."""
    async with client(OURS) as http:
        for path in ("/healthz", "/v1/graphs/unknown/stats"):
            response = await http.get(path, headers={"origin": OURS})
            assert response.headers["access-control-allow-origin"] == OURS
            assert "origin" in response.headers["vary"].lower()


@pytest.mark.parametrize("origins", ["", "https://other.example.com"])
async def test_other_origins_are_not_allowed(origins: str) -> None:
    """Without the setting, and for an origin that it does not name, no reply has a header that admits the page."""
    async with client(origins) as http:
        for response in (
            await http.options(DOCUMENT, headers={"origin": OURS, **PREFLIGHT}),
            await http.get("/healthz", headers={"origin": OURS}),
        ):
            assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("wrong", ["*", "https://*", "app.example.com", "https://app.example.com/page", "null"])
def test_setting_refuses_what_is_no_origin(wrong: str) -> None:
    """A wildcard would admit every page on the Internet."""
    with pytest.raises(ValidationError, match="cors_origins"):
        Settings(cors_origins=wrong)


@asynccontextmanager
async def unguarded(*, on_loopback: bool = False) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(InMemoryApplication(), gate=AccessGate())
    app.state.loopback_names_only = on_loopback
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        yield http


@pytest.mark.parametrize("origin", [OURS, "null", "http://test.evil.example", "http://test:8080"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/purge"), ("DELETE", "/v1/graphs/notes"), ("GET", DOCUMENT)])
async def test_page_of_another_site_cannot_call_a_service_without_credentials(
    method: str, path: str, origin: str
) -> None:
    """A form's POST needs no preflight request, so the header Origin decides."""
    async with unguarded() as http:
        response = await http.request(method, path, headers={"origin": origin, "content-type": "text/plain"})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://test"},
        {"origin": "http://localhost:5173"},
        {"origin": OURS, "sec-fetch-site": "same-origin"},
    ],
    ids=["a program", "its own page", "a page of this machine", "its own page behind a proxy"],
)
async def test_programs_and_own_pages_call_a_service_without_credentials(headers: dict[str, str]) -> None:
    async with unguarded() as http:
        assert (await http.get("/v1/graphs", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example:8080", 403),
        ("127.0.0.1.evil.example", 403),
        ("[::2]:80", 403),
        ("127.0.0.1:8080", 200),
        ("localhost", 200),
        ("[::1]:8080", 200),
        ("notes.localhost:8080", 200),
    ],
)
async def test_service_on_loopback_answers_under_names_of_this_machine_only(host: str, status: int) -> None:
    """A name that a site binds to 127.0.0.1 does not reach it: the browser names it in Host."""
    async with unguarded(on_loopback=True) as http:
        assert (await http.get("/v1/graphs", headers={"host": host})).status_code == status
