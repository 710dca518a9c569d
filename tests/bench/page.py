"""Weight of the page, time until a question can be typed, and frames per second of a graph of 5,000 nodes.

Chromium runs without a window and without a graphics card, so WebGL is drawn by the processor; the time of the page's
own thread per frame does not depend on that. The table is written into docs/page.md.
"""

from __future__ import annotations

import gzip
import os
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, expect

from graphtide.services.page.bundle import ASSETS, DIST
from tests.support.chromium import chromium
from tests.support.marked_page import write_part
from tests.support.page_client import page_user
from tests.support.processes import service

PAGE = Path(__file__).parents[2] / "docs" / "page.md"
BEGIN, END = "<!-- bench-page:begin -->", "<!-- bench-page:end -->"
GRAPH = "large"
HUBS = 8
NODES_PER_HUB = 700
DOCUMENT_FACTS = 100
TARGET_NODES = 5_000
LOADS = 7
WARM_UP_S = 4.0
MOVES_S = 6.0
SEED = 20261122

WATCH_FRAMES = """() => {
  const own = window.requestAnimationFrame.bind(window);
  window.work = []; window.frames = [];
  window.requestAnimationFrame = (callback) => own((now) => {
    const start = performance.now();
    callback(now);
    window.work.push([now, performance.now() - start]);
  });
  const count = (now) => { window.frames.push(now); own(count); };
  own(count);
}"""


@dataclass(frozen=True, slots=True)
class Motion:
    """Frames while the drawing is moved and zoomed."""

    frames_per_s: float
    worst_frame_ms: float
    script_ms: float
    worst_script_ms: float


def main() -> None:
    """Measure, print the table and write it into the documentation."""
    random.seed(SEED)
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        service(Path(folder) / "data", log=Path(folder) / "log") as running,
    ):
        publish_graph(running.url)
        loads = [time_to_question(browser, running.url) for _ in range(LOADS)]
        nodes, edges, motion = graph_motion(browser, running.url)
    rows = [*weights(), ("first visit until a question can be typed, median", f"{statistics.median(loads):.0f} ms")]
    rows += [(f"graph of {nodes:,} nodes and {edges:,} edges, moved and zoomed", f"{motion.frames_per_s:.0f} frames/s")]
    rows += [("the same: longest interval between frames", f"{motion.worst_frame_ms:.0f} ms")]
    rows += [("the same: median time of the page's thread per drawn frame", f"{motion.script_ms:.1f} ms")]
    rows += [("the same: longest time of the page's thread in a frame", f"{motion.worst_script_ms:.0f} ms")]
    rows += [("load average of the machine meanwhile, on its cores", f"{os.getloadavg()[1]:.0f} on {os.cpu_count()}")]
    table = "\n".join(["| figure | measured |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)])
    print(table)
    write_part(PAGE, BEGIN, END, f"\n{table}\n")


def weights() -> list[tuple[str, str]]:
    """Return the compressed sizes: of the first visit, of the graph screen, and of everything in the wheel."""
    files = {file: len(gzip.compress(file.read_bytes(), mtime=0)) for file in DIST.rglob("*") if file.is_file()}
    later = [file for file in files if file.parent.name == ASSETS and file.name.startswith(("graph-", "layout"))]
    first = sum(size for file, size in files.items() if file not in later and file.suffix != ".md")
    return [
        ("first visit, compressed", f"{first / 1000:.0f} kB"),
        ("the graph screen in addition", f"{sum(files[file] for file in later) / 1000:.0f} kB"),
        ("all files, with licences", f"{sum(files.values()) / 1000:.0f} kB"),
    ]


def publish_graph(url: str) -> None:
    """Publish facts of hubs with many neighbours each, some of them shared, and wait until the graph has them."""
    facts: list[dict[str, str]] = []
    for hub in range(HUBS):
        names = [f"Node {hub}-{index}" for index in range(NODES_PER_HUB)]
        for index, name in enumerate(names):
            facts.append({"subject": f"Hub {hub}", "predicate": "links", "object": name})
            facts.append({"subject": name, "predicate": "meets", "object": names[index * 7 % NODES_PER_HUB]})
        other = f"Node {(hub + 1) % HUBS}-{random.randrange(NODES_PER_HUB)}"
        facts.append({"subject": names[0], "predicate": "crosses", "object": other})
    documents: list[dict[str, Any]] = [
        {
            "id": f"part-{start}",
            "text": f"Part {start}.",
            "entities": [],
            "facts": facts[start : start + DOCUMENT_FACTS],
        }
        for start in range(0, len(facts), DOCUMENT_FACTS)
    ]
    with httpx.Client(base_url=f"{url}/v1/graphs/{GRAPH}/", timeout=300) as http:
        while (sent := http.post("documents", json=documents)).status_code == 503:
            time.sleep(0.2)
        token = sent.raise_for_status().json()["token"]
        while not http.get(f"tokens/{token}", params={"wait_s": 30}).json().get("reached"):
            pass


def time_to_question(browser: Browser, url: str) -> float:
    """Return the milliseconds from the navigation until the question's field can be used, with an empty cache."""
    with page_user(browser, url) as user:
        user.page.add_init_script(
            """new MutationObserver(() => {
              const isUsable = document.querySelector("input[name=question]");
              if (isUsable && !window.usableAt) window.usableAt = performance.now();
            }).observe(document, { childList: true, subtree: true });"""
        )
        user.page.goto(f"{url}/#/{GRAPH}/ask")
        expect(user.page.get_by_label("Question", exact=True)).to_be_visible()
        return float(user.page.evaluate("window.usableAt"))


def graph_motion(browser: Browser, url: str) -> tuple[int, int, Motion]:
    """Load the whole graph on the graph screen; return its size, and the frames while it is moved."""
    with page_user(browser, url) as user:
        page = user.page
        page.add_init_script(f"({WATCH_FRAMES})()")
        user.open(GRAPH, "graph")
        for hub in range(HUBS):
            if int(page.locator("[data-nodes]").get_attribute("data-nodes") or 0) >= TARGET_NODES:
                break
            page.get_by_label("Find an entity").last.fill(f"Hub {hub}")
            page.locator(".found button", has_text=f"Hub {hub}").first.click()
            expect(page.get_by_role("heading", name=f"Hub {hub}", level=2)).to_be_visible()
            page.get_by_role("button", name="Add a wide area").click()
            expect(page.locator(".canvas-frame .busy")).to_have_count(0)
            expect(page.locator(".canvas[data-settled=true]")).to_be_visible()
        nodes = int(page.locator("[data-nodes]").get_attribute("data-nodes") or 0)
        edges = int(
            str(page.locator(".canvas").get_attribute("aria-label")).split(" and ")[1].split()[0].replace(",", "")
        )
        return nodes, edges, _move(page)


def _move(page: Page) -> Motion:
    frame = page.locator(".canvas").bounding_box()
    assert frame is not None
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    page.mouse.move(x, y)
    _drag(page, x, y, WARM_UP_S)
    page.evaluate("() => { window.frames = []; window.work = []; }")
    _drag(page, x, y, MOVES_S)
    frames: list[float] = page.evaluate("window.frames")
    work: list[tuple[float, float]] = page.evaluate("window.work")
    by_frame: dict[float, float] = {}
    for at, duration in work:
        by_frame[at] = by_frame.get(at, 0.0) + duration
    gaps = [after - before for before, after in pairwise(frames)]
    return Motion(1000 * len(gaps) / sum(gaps), max(gaps), statistics.median(by_frame.values()), max(by_frame.values()))


def _drag(page: Page, x: float, y: float, duration_s: float) -> None:
    """Drag the drawing around, and zoom now and then."""
    end, step = time.monotonic() + duration_s, 0
    page.mouse.down()
    while time.monotonic() < end:
        step += 1
        page.mouse.move(x + 120 * ((step % 40) / 20 - 1), y + 60 * ((step % 30) / 15 - 1))
        if step % 25 == 0:
            page.mouse.up()
            page.mouse.wheel(0, 120 if step % 50 else -120)
            page.mouse.down()
    page.mouse.up()


if __name__ == "__main__":
    main()
