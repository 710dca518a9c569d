"""The pictures of docs/page.md: screens of the page with the demonstration's sample, as WebP files in docs/pictures.

`python -m tests.support.page_pictures` writes them.
"""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from graphtide.services import demo
from tests.support.chromium import chromium
from tests.support.page_client import PageUser, page_user
from tests.support.processes import service

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
SAMPLE = Path(demo.__file__).parent / "sample" / "documents.jsonl"
GRAPH = "kittiwake"
QUESTION = "Who is the captain of the ship that supplies Kittiwake Station?"
SIZE = (1200, 760)
PHONE = (360, 720)
QUALITY = 72


def write_pictures() -> None:
    """Start a service with the sample, and write a picture of each screen."""
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        service(Path(folder) / "data", log=Path(folder) / "log") as running,
        chromium() as browser,
    ):
        publish_sample(running.url)
        entity = entity_id(running.url, "Ida Moreau")
        for dark in (False, True):
            with page_user(browser, running.url, dark, *SIZE) as user:
                user.page.goto(f"{running.url}/#/{GRAPH}/ask")
                _ask(user)
                _write(user.page, "ask-dark" if dark else "ask")
                if not dark:
                    _write_screens(user, entity)
        with page_user(browser, running.url, False, *PHONE) as user:
            user.page.goto(f"{running.url}/#/{GRAPH}/ask")
            _ask(user)
            _write(user.page, "phone")


def publish_sample(url: str) -> None:
    """Publish the demonstration's documents and wait until the graph includes them."""
    lines = [line for line in SAMPLE.read_text().splitlines() if "text" in json.loads(line)]
    with httpx.Client(base_url=f"{url}/v1/graphs/{GRAPH}/", timeout=120) as http:
        while (sent := http.post("documents", content="\n".join(lines), headers=_NDJSON)).status_code == 503:
            pass
        token = sent.raise_for_status().json()["token"]
        while not http.get(f"tokens/{token}", params={"wait_s": 30}).json().get("reached"):
            pass


_NDJSON = {"content-type": "application/x-ndjson"}


def entity_id(url: str, name: str) -> str:
    """Return the id of the entity with that name."""
    found = httpx.get(f"{url}/v1/graphs/{GRAPH}/entities", params={"q": name}, timeout=60).json()["entities"]
    return str(next(each["id"] for each in found if each["name"] == name))


def _ask(user: PageUser) -> None:
    user.ask(QUESTION)
    user.page.get_by_role("button", name="Source 2").first.click()
    expect(user.page.locator("details[open] mark").first).to_be_visible()


def _write_screens(user: PageUser, entity: str) -> None:
    page = user.page
    for screen, id_ in (
        *(("documents", ""), ("documents", "meridian"), ("entities", entity), ("graph", entity)),
        *(("communities", ""), ("live", ""), ("operations", "")),
    ):
        user.open(GRAPH, screen, id_)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("main .busy")).to_have_count(0)
        if screen == "graph":
            expect(page.locator(".canvas[data-settled=true]")).to_be_visible()
        _write(page, "document" if id_ == "meridian" else "entity" if screen == "entities" else screen)


def _write(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    session = page.context.new_cdp_session(page)
    taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    (PICTURES / f"page-{name}.webp").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    write_pictures()
