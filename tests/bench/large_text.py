"""A text of megabytes in one document: memory of the service beyond an idle one, time, and latency of another graph.

    python -m tests.bench.large_text [--megabytes N] [--no-page]

The text is the passages of the multi-hop question sets as paragraphs of chapters, extracted and embedded by the default
models. Memory is the sum of the peaks (VmHWM) of the service's process and its children, from the publication on, less
their resident memory before it. It asserts nothing; docs/faults.md has its table.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx

from tests.bench.cluster_table import Row, cpu_s, write
from tests.support.bench_data import ROOT, bench_data, corpus
from tests.support.processes import Service, service

MIB = 1 << 20
TIMEOUT_S = 7_200.0
ASK_INTERVAL_S = 0.1
ALONE_QUESTIONS = 100
SETS = ("musique-dev", "2wiki-train", "hotpot-dev", "2wiki-dev")
CHAPTER = 40
"""Paragraphs of a chapter."""
SMALL = 150
"""Documents of the graph that answers questions meanwhile."""


def long_text(size: int) -> str:
    """Return at most `size` characters of chapters of paragraphs, without a repeated one."""
    parts = dict[str, None]()
    length = 0
    for number, paragraph in enumerate(_paragraphs()):
        heading = "" if number % CHAPTER else f"# Chapter {number // CHAPTER + 1}\n\n"
        part = f"{heading}{paragraph}\n\n"
        if part in parts:
            continue
        if (length := length + len(part)) > size:
            break
        parts[part] = None
    return "".join(parts)


def _paragraphs() -> Iterator[str]:
    for name in SETS:
        for line in (bench_data() / "multihop" / name / "corpus.jsonl").read_text().splitlines():
            yield json.loads(line)["text"]


def family(pid: int) -> list[int]:
    """Return the process and its children."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [child for each in children.read_text().split() for child in family(int(each))]
    return found


def memory_bytes(pid: int, name: str) -> int:
    """Return VmRSS or VmHWM of the process and its children."""
    total = 0
    for member in family(pid):
        with suppress(OSError):
            lines = Path(f"/proc/{member}/status").read_text().splitlines()
            total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))
    return total


def reset_peak(pid: int) -> None:
    """Start the peaks of the process and its children again."""
    for member in family(pid):
        Path(f"/proc/{member}/clear_refs").write_text("5")


class Asker(threading.Thread):
    """Asks the small graph one question after another, and keeps the latencies."""

    def __init__(self, url: str, questions: int = 0) -> None:
        super().__init__(daemon=True)
        self.http = httpx.Client(base_url=url, timeout=120)
        self.seconds: list[float] = []
        self._questions, self._ended = questions, threading.Event()

    def run(self) -> None:
        asked = self._asked()
        while not self._ended.is_set() and (not self._questions or len(self.seconds) < self._questions):
            began = time.perf_counter()
            self.http.post("/v1/graphs/small/query", json={"question": next(asked)}).raise_for_status()
            self.seconds.append(time.perf_counter() - began)
            self._ended.wait(ASK_INTERVAL_S)

    def end(self) -> list[float]:
        self._ended.set()
        self.join()
        return self.seconds

    def _asked(self) -> Iterator[str]:
        titles = [passage.title for passage in corpus()[-SMALL:]]
        while True:
            yield from (f"What is {title}?" for title in titles)


def p95_ms(seconds: list[float]) -> float:
    """Return the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]


def prepare(running: Service) -> None:
    """Fill the small graph, and load the models and the reading paths by questions."""
    with httpx.Client(base_url=running.url, timeout=600) as http:
        rows = [{"id": passage.doc_id, "title": passage.title, "text": passage.text} for passage in corpus()[-SMALL:]]
        token = http.post("/v1/graphs/small/documents", json=rows).raise_for_status().json()["token"]
        asked = {"question": "Who is it?", "after": token}
        while http.post("/v1/graphs/small/query", json=asked).status_code != httpx.codes.OK:
            time.sleep(1)


def publish(running: Service, text: str, show: bool) -> tuple[float, str, int]:
    """Publish the text and wait for its end; return the seconds, the state, and how many stages were shown."""
    began, shown, state = time.monotonic(), list[str](), "accepted"
    with httpx.Client(base_url=running.url, timeout=600) as http:
        http.put("/v1/graphs/large/documents/text", json={"text": text}).raise_for_status()
        while state == "accepted" and time.monotonic() - began < TIMEOUT_S:
            reply = http.get("/v1/graphs/large/documents/text")
            if reply.status_code != httpx.codes.OK:
                continue
            status = reply.json()
            state = status["state"]
            if status.get("progress") and str(status["progress"]) not in shown:
                shown.append(str(status["progress"]))
            if show:
                resident, peak = (memory_bytes(running.process.pid, name) // MIB for name in ("VmRSS", "VmHWM"))
                print(f"{time.monotonic() - began:6.0f} s  {resident} MiB  peak {peak} MiB  {shown[-1:]}", flush=True)
            time.sleep(2)
    return time.monotonic() - began, state, len(shown)


def measured(megabytes: float, show: bool) -> list[Row]:
    """Measure one service."""
    text = long_text(int(megabytes * 1e6))
    with tempfile.TemporaryDirectory() as made, service(Path(made) / "data", log=Path(made) / "log") as running:
        pid = running.process.pid
        prepare(running)
        alone = Asker(running.url, ALONE_QUESTIONS)
        alone.run()
        reset_peak(pid)
        idle, used = memory_bytes(pid, "VmRSS"), cpu_s(pid)
        beside = Asker(running.url)
        beside.start()
        seconds, state, shown = publish(running, text, show)
        busy = beside.end()
        peak, after = memory_bytes(pid, "VmHWM") - idle, memory_bytes(pid, "VmRSS") - idle
        counts = httpx.get(f"{running.url}/v1/graphs/large/stats", timeout=600).json()
        if show:
            print(counts, flush=True)
        before_ms, beside_ms = (p95_ms(rows) for rows in (alone.seconds, busy))
        return [
            Row("memory beyond the idle service, at most", f"{peak / MIB:.0f} MiB", f"idle: {idle / MIB:.0f} MiB"),
            Row("of it after the commit", f"{after / MIB:.0f} MiB", "write model, view and indexes of the graph"),
            Row(
                "until it is applied", f"{seconds:.0f} s", f"{cpu_s(pid) - used:.0f} s of CPU; {state}, {shown} reports"
            ),
            Row("p95 of another graph's questions", f"{beside_ms:.0f} ms", f"alone {before_ms:.0f} ms"),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=5.0)
    parser.add_argument("--no-page", action="store_true")
    parser.add_argument("--show", action="store_true", help="print memory while it works")
    chosen = parser.parse_args()
    rows = measured(chosen.megabytes, chosen.show)
    print("\n".join(row.line() for row in rows))
    if not chosen.no_page:
        note = f"{chosen.megabytes:g} MB of encyclopedia paragraphs as one document, default models"
        write(ROOT / "docs" / "faults.md", "bench-large-text", rows, note, "")


if __name__ == "__main__":
    main()
