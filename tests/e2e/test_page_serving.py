"""The page over HTTP: negotiation, policy, caching by content hash, access, the setting that turns it off."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.routes.page import accepts_html
from graphtide.services.page.bundle import ASSETS, DIST, load_bundle
from tests.support.application import InMemoryApplication
from tests.support.command import graphtide
from tests.support.guarded import KeyFile, gate
from tests.support.serving import http_service

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
MAX_GZIPPED_BYTES = 400_000

Client = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a function that makes clients of an application; they are closed after the test."""
    opened: list[httpx.AsyncClient] = []

    def make(has_page: bool = True, guard: AccessGate | None = None) -> httpx.AsyncClient:
        app = create_app(InMemoryApplication(), None, None, guard, has_page=has_page)
        opened.append(httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test"))
        return opened[-1]

    yield make
    for each in opened:
        await each.aclose()


async def test_root_is_the_page_for_browsers_and_a_redirect_for_others(client: Client) -> None:
    """A browser gets HTML; every other client is sent to the description of the interface."""
    http = client()
    shown = await http.get("/", headers={"accept": BROWSER})
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert shown.text == (DIST / "index.html").read_text()
    for accept in ("*/*", "application/json", "", "text/html;q=0"):
        sent = await http.get("/", headers={"accept": accept})
        assert (sent.status_code, sent.headers["location"]) == (307, "/docs"), accept
        assert "accept" in sent.headers["vary"]


def test_accept_header_is_read_by_media_ranges() -> None:
    """Only a range that names HTML counts, whatever its case and parameters."""
    assert all(accepts_html(each) for each in (BROWSER, "Text/HTML", "a/b, text/html;q=0.2", "application/xhtml+xml"))
    assert not any(
        accepts_html(each) for each in ("", "*/*", "text/*", "text/htmlx", "text/html; q=0", "a/b;x=text/html")
    )


async def test_page_has_a_policy_that_forbids_foreign_and_inline_code(client: Client) -> None:
    """The policy allows own files only; the document has no inline script or style and no foreign address."""
    shown = await client().get("/", headers={"accept": BROWSER})
    policy = dict(part.strip().partition(" ")[::2] for part in shown.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'" and policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in shown.headers["content-security-policy"]
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=|https?://", shown.text) == []
    assert shown.headers["x-content-type-options"] == "nosniff"


async def test_files_of_the_page_are_kept_by_content_hash_and_revalidated_by_tag(client: Client) -> None:
    """Assets never change under their name; the document is asked for again, and costs nothing while it is the same."""
    http, bundle = client(), load_bundle()
    assert bundle is not None
    for name, file in bundle.assets.items():
        assert re.search(r"-[\w-]{8}\.\w+$", name), name
        plain = await http.get(f"/{ASSETS}/{name}", headers={"accept-encoding": "identity"})
        packed = await http.get(f"/{ASSETS}/{name}", headers={"accept-encoding": "gzip"})
        assert plain.content == packed.content == file.content == gzip.decompress(file.compressed)
        assert (plain.headers.get("content-encoding"), packed.headers["content-encoding"]) == (None, "gzip")
        assert plain.headers["etag"] != packed.headers["etag"]
        assert "immutable" in plain.headers["cache-control"]
    first = await http.get("/", headers={"accept": BROWSER})
    assert first.headers["cache-control"] == "no-cache" and "accept" in first.headers["vary"]
    again = await http.get("/", headers={"accept": BROWSER, "if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    stale = await http.get("/", headers={"accept": BROWSER, "if-none-match": '"another"'})
    assert stale.status_code == 200
    assert (await http.get(f"/{ASSETS}/none.js")).status_code == 404
    assert (await http.get(f"/{ASSETS}/%2e%2e%2findex.html")).status_code == 404


async def test_page_needs_no_credential_and_its_data_does(client: Client, tmp_path: Path) -> None:
    """The page asks for the key, so it must load without one; what it reads is closed."""
    keys = KeyFile(tmp_path / "keys.toml")
    keys.add("reader", "notes", "read")
    http = client(guard=gate(keys, tmp_path))
    document = await http.get("/", headers={"accept": BROWSER})
    assert document.status_code == 200
    for name in re.findall(r'"\./(page/[^"]+)"', document.text):
        assert (await http.get(f"/{name}")).status_code == 200
    assert (await http.get("/v1/graphs")).status_code == 401


async def test_setting_turns_the_page_off(client: Client) -> None:
    """Without the page, browsers are redirected as other clients are, and no file of it is served."""
    http, bundle = client(has_page=False), load_bundle()
    assert bundle is not None
    assert (await http.get("/", headers={"accept": BROWSER})).status_code == 307
    for name in bundle.assets:
        assert (await http.get(f"/{ASSETS}/{name}")).status_code == 404


def test_page_is_small() -> None:
    """All files together, compressed, are far below what an installation may carry."""
    sizes = {file: len(gzip.compress(file.read_bytes())) for file in DIST.rglob("*") if file.is_file()}
    assert sum(sizes.values()) <= MAX_GZIPPED_BYTES, sizes
    assert not [file for file in sizes if file.suffix == ".map"]


async def test_ui_command_names_the_page_of_a_service_and_refuses_one_without() -> None:
    """The address has the graph and no credential; without a service or a page there is a remedy."""
    for has_page in (True, False):
        async with http_service(create_app(InMemoryApplication(), has_page=has_page)) as url:
            done = await asyncio.to_thread(
                graphtide, "ui", "--url", url, "--graph", "my notes", "--print", api_key="secret-key"
            )
        if has_page:
            assert (done.returncode, done.stdout.strip()) == (0, f"{url}/#/my%20notes/ask")
        else:
            assert done.returncode == 1 and "GRAPHTIDE_PAGE=true" in done.stderr
        assert "secret-key" not in done.stdout + done.stderr
    gone = await asyncio.to_thread(graphtide, "ui", "--url", url, "--print")
    assert gone.returncode == 4 and "graphtide serve" in gone.stderr
