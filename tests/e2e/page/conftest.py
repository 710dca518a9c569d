"""The fixtures of the page's tests: the tests of a file share one browser and one service."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser

from tests.support.chromium import chromium, chromium_path
from tests.support.guarded import KeyFile
from tests.support.maven import Unavailable
from tests.support.page_client import PageUser, page_user
from tests.support.page_service import GRAPH, SAMPLE, PageService
from tests.support.ports import free_port
from tests.support.processes import start_service


@pytest.fixture(scope="module")
def page_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageService]:
    folder = tmp_path_factory.mktemp("page")
    keys = KeyFile(folder / "keys.toml")
    key = keys.add("page", "*", "read write metrics")
    settings, port = {"GRAPHTIDE_API_KEYS_FILE": str(keys.path)}, free_port()
    service = start_service(folder / "data", settings, folder / "service.log", port)
    opened = PageService(folder / "data", port, settings, key, service)
    try:
        opened.publish(GRAPH, *({"id": name, "text": text, "title": name.title()} for name, text in SAMPLE.items()))
        yield opened
    finally:
        if opened.service.process.poll() is None:
            opened.service.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        chromium_path()
    except Unavailable as missing:
        pytest.skip(str(missing))
    with chromium() as browser:
        yield browser


@pytest.fixture
def user(browser: Browser, page_service: PageService) -> Iterator[PageUser]:
    """Yield a user who is signed in; afterwards no script failed and nothing violated the policy."""
    with page_user(browser, page_service.url) as user:
        user.sign_in(page_service.key)
        yield user
        assert (user.problems, user.violations()) == ([], [])
        assert not any(page_service.key in address for address in user.addresses)
        assert {httpx.URL(address).host for address in user.addresses} == {"127.0.0.1"}
