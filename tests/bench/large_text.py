"""A text of megabytes: memory of the service beyond an idle one, time, and latency of another graph.

It is published as one document, and to another service as a file in a folder, which `sync` publishes in parts.

    python -m tests.bench.large_text [--megabytes N] [--no-page] [--sync-only]

The text is the passages of the multi-hop question sets as paragraphs of chapters, extracted and embedded by the default
models. Memory is the sum of the peaks (VmHWM) of the service's process and its children, from the publication on, less
the resident memory of the service when it has no child: NetworKit's process of the small graph, some 90 MiB, has ended
then. It asserts nothing; docs/faults.md has its table.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event

import httpx

from tests.bench.cluster_table import Row, cpu_s, write
from tests.support.bench_data import ROOT, bench_data, corpus
from tests.support.loop_probe import ENTRY, FILE_VARIABLE, LONG_S, read_delays
from tests.support.processes import Service, service

MIB = 1 << 20
TIMEOUT_S = 7_200.0
ASK_INTERVAL_S = 0.1
PROBE_INTERVAL_S = 0.02
STATUS_INTERVAL_S = 2.0
PEAK_INTERVAL_S = 0.5
ALONE_S = 30.0
AFTER_S = 10.0
"""Measured beyond the commit: the reports are written, and the indexes are built."""
TARGET_S = 0.05
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


def own_bytes(pid: int, name: str) -> int:
    """Return VmRSS, VmHWM or RssAnon of the process, 0 if it has ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))
    return 0


def memory_bytes(pid: int, name: str) -> int:
    """Return the same of the process and its children."""
    return sum(own_bytes(member, name) for member in family(pid))


def await_last_child(pid: int) -> None:
    """Wait until the process has no children."""
    while len(family(pid)) > 1:
        time.sleep(1)


class Peak:
    """The largest memory of a process since this began, and beside it of its children at one time."""

    def __init__(self, pid: int) -> None:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        self._pid, self._children, self._ended = pid, 0, threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def end(self) -> tuple[int, int]:
        """Return that of the process and that of its children, in bytes. Children that live less than a second may be
        missed.
        """
        self._ended.set()
        self._watching.join()
        return own_bytes(self._pid, "VmHWM"), self._children

    def _watch(self) -> None:
        while not self._ended.wait(PEAK_INTERVAL_S):
            children = sum(own_bytes(child, "VmHWM") for child in family(self._pid)[1:])
            self._children = max(self._children, children)


@dataclass(slots=True)
class Latencies:
    """Seconds of each question to the small graph and of each probe of /healthz."""

    questions: list[float] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)


class Clients:
    """A process that asks the small graph and probes /healthz. (The publisher's process parses megabytes.)"""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_call, args=(url, theirs), daemon=True)
        self._process.start()

    def end(self) -> Latencies:
        """End the process, and return what it measured."""
        self._ours.send(None)
        found: Latencies = self._ours.recv()
        self._process.join()
        return found


def _call(url: str, pipe: Connection) -> None:
    found, ended = Latencies(), threading.Event()
    rows = ((_ask, found.questions, ASK_INTERVAL_S), (_probe, found.probes, PROBE_INTERVAL_S))
    threads = [threading.Thread(target=_repeat, args=(url, *row, ended)) for row in rows]
    for thread in threads:
        thread.start()
    pipe.recv()
    ended.set()
    for thread in threads:
        thread.join()
    pipe.send(found)


def _repeat(
    url: str, call: Callable[[httpx.Client, int], httpx.Response], into: list[float], wait_s: float, ended: Event
) -> None:
    with httpx.Client(base_url=url, timeout=600) as http:
        call(http, 0).raise_for_status()
        for number in count(1):
            began = time.perf_counter()
            call(http, number).raise_for_status()
            into.append(time.perf_counter() - began)
            if ended.wait(wait_s):
                return


def _ask(http: httpx.Client, number: int) -> httpx.Response:
    return http.post("/v1/graphs/small/query", json={"question": f"What is {_titles()[number % SMALL]}?"})


def _probe(http: httpx.Client, _: int) -> httpx.Response:
    return http.get("/healthz")


@cache
def _titles() -> list[str]:
    return [passage.title for passage in corpus()[-SMALL:]]


def percentile_ms(seconds: list[float], percent: int) -> float:
    """Return a percentile in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def prepare(running: Service) -> None:
    """Fill the small graph, and load the models and the reading paths by questions."""
    with httpx.Client(base_url=running.url, timeout=600) as http:
        rows = [{"id": passage.doc_id, "title": passage.title, "text": passage.text} for passage in corpus()[-SMALL:]]
        token = http.post("/v1/graphs/small/documents", json=rows).raise_for_status().json()["token"]
        asked = {"question": "Who is it?", "after": token}
        while http.post("/v1/graphs/small/query", json=asked).status_code != httpx.codes.OK:
            time.sleep(1)


@dataclass(slots=True)
class Publication:
    """The course of a publication: seconds until the final state, progress reports, seconds of each status."""

    seconds: float = 0.0
    state: str = "accepted"
    shown: set[str] = field(default_factory=set)
    statuses: list[float] = field(default_factory=list)


def publish(running: Service, text: str, show: bool) -> Publication:
    """Publish the text, wait for its end, and read the status of the applied document."""
    began, course = time.monotonic(), Publication()
    with httpx.Client(base_url=running.url, timeout=600) as http:
        http.put("/v1/graphs/large/documents/text", json={"text": text}).raise_for_status()
        while course.state == "accepted" and time.monotonic() - began < TIMEOUT_S:
            asked = time.monotonic()
            reply = http.get("/v1/graphs/large/documents/text")
            course.statuses.append(time.monotonic() - asked)
            if reply.status_code == httpx.codes.OK:
                status = reply.json()
                course.state = status["state"]
                if status.get("progress"):
                    course.shown.add(str(status["progress"]))
            if show:
                resident, peak = (memory_bytes(running.process.pid, name) // MIB for name in ("VmRSS", "VmHWM"))
                print(
                    f"{time.monotonic() - began:6.0f} s  {resident} MiB  peak {peak} MiB  {reply.status_code}",
                    flush=True,
                )
            time.sleep(STATUS_INTERVAL_S)
    course.seconds = time.monotonic() - began
    return course


@dataclass(frozen=True, slots=True)
class Observed:
    """Bytes beyond the idle service (of its own process at most, and with its children) and seconds of CPU that a
    service used from the beginning of an act until AFTER_S after it; latencies of questions to the small graph alone
    and beside the act.
    """

    idle: int
    own_peak: int
    peak: int
    after: int
    anonymous: int
    cpu_s: float
    alone: Latencies
    beside: Latencies

    def at_most(self, name: str) -> Row:
        """Return the row of the memory."""
        note = f"{self.own_peak / MIB:.0f} MiB of it in the service's own process; idle: {self.idle / MIB:.0f} MiB"
        return Row(name, f"{self.peak / MIB:.0f} MiB", note)

    def p95(self) -> Row:
        """Return the row of the questions to the small graph."""
        beside_ms, alone_ms = (percentile_ms(each.questions, 95) for each in (self.beside, self.alone))
        return Row("p95 of another graph's questions", f"{beside_ms:.0f} ms", f"alone {alone_ms:.0f} ms")


def observed(running: Service, act: Callable[[], None]) -> Observed:
    """Measure the service alone, then during the act."""
    pid = running.process.pid
    prepare(running)
    clients = Clients(running.url)
    time.sleep(ALONE_S)
    alone = clients.end()
    await_last_child(pid)
    peak = Peak(pid)
    idle, anonymous, used = memory_bytes(pid, "VmRSS"), memory_bytes(pid, "RssAnon"), cpu_s(pid)
    clients = Clients(running.url)
    act()
    time.sleep(AFTER_S)
    beside = clients.end()
    own_peak, children = peak.end()
    return Observed(
        idle,
        own_peak=own_peak - idle,
        peak=own_peak + children - idle,
        after=memory_bytes(pid, "VmRSS") - idle,
        anonymous=memory_bytes(pid, "RssAnon") - anonymous,
        cpu_s=cpu_s(pid) - used,
        alone=alone,
        beside=beside,
    )


def synced(megabytes: float) -> list[Row]:
    """Measure a service whose graph follows a folder with the text as one file."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "folder"
        folder.mkdir()
        (folder / "text.md").write_text(long_text(int(megabytes * 1e6)))
        took: list[float] = []
        with service(Path(made) / "data", {}, log=Path(made) / "log") as running:

            def sync() -> None:
                began = time.monotonic()
                command = [sys.executable, "-m", "graphtide.services.cli", "sync", str(folder), "--graph", "large"]
                subprocess.run([*command, "--url", running.url], check=True, stdout=subprocess.DEVNULL)
                took.append(time.monotonic() - began)

            seen = observed(running, sync)
    name = "the same as a file, by `sync`: memory at most"
    return [
        seen.at_most(name),
        Row(
            "of it afterwards",
            f"{seen.after / MIB:.0f} MiB",
            f"{seen.anonymous / MIB:.0f} MiB anonymous, the rest in files",
        ),
        Row("until all parts are applied", f"{took[0]:.0f} s", f"{seen.cpu_s:.0f} s of CPU"),
        seen.p95(),
    ]


def measured(megabytes: float, show: bool) -> list[Row]:
    """Measure a service to which the text is published as one document."""
    text = long_text(int(megabytes * 1e6))
    with tempfile.TemporaryDirectory() as made:
        delays = Path(made) / "delays"
        probe = {FILE_VARIABLE: str(delays)}
        with service(Path(made) / "data", probe, log=Path(made) / "log", entry=ENTRY) as running:
            return _rows(running, text, delays, show)


def _rows(running: Service, text: str, delays: Path, show: bool) -> list[Row]:
    courses: list[Publication] = []
    known: list[int] = []

    def act() -> None:
        known.append(len(read_delays(delays)))
        courses.append(publish(running, text, show))

    seen = observed(running, act)
    [course] = courses
    late = read_delays(delays)[known[0] :]
    if show:
        print(httpx.get(f"{running.url}/v1/graphs/large/stats", timeout=600).json(), flush=True)
    longest_s = max((delay.late for delay in late), default=LONG_S)  # shorter ones are not recorded
    own_s = max((delay.own for delay in late), default=LONG_S)
    above = sum(delay.own > TARGET_S for delay in late)
    probe_ms, probe_max_ms = (percentile_ms(seen.beside.probes, percent) for percent in (99, 100))
    ended = f"{seen.cpu_s:.0f} s of CPU; {course.state}, {len(course.shown)} reports"
    return [
        seen.at_most("memory beyond the idle service, at most"),
        Row("of it after the commit", f"{seen.after / MIB:.0f} MiB", "write model, view and indexes of the graph"),
        Row("until it is applied", f"{course.seconds:.0f} s", ended),
        seen.p95(),
        Row("/healthz, p99", f"{probe_ms:.0f} ms", f"longest {probe_max_ms:.0f} ms, of {len(seen.beside.probes)}"),
        Row(
            "longest delay of the event loop",
            f"{1000 * longest_s:.0f} ms",
            f"with the process computing {1000 * own_s:.0f} ms at most; {above} above 50 ms",
        ),
        Row(
            "status of the document, p95",
            f"{percentile_ms(course.statuses, 95):.0f} ms",
            f"longest {percentile_ms(course.statuses, 100):.0f} ms, that of the applied document"
            f" {1000 * course.statuses[-1]:.0f} ms",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=5.0)
    parser.add_argument("--no-page", action="store_true")
    parser.add_argument("--sync-only", action="store_true", help="print the rows of `sync` alone")
    parser.add_argument("--show", action="store_true", help="print memory while it works")
    chosen = parser.parse_args()
    rows = ([] if chosen.sync_only else measured(chosen.megabytes, chosen.show)) + synced(chosen.megabytes)
    print("\n".join(row.line() for row in rows))
    if not (chosen.no_page or chosen.sync_only):
        note = f"{chosen.megabytes:g} MB of encyclopedia paragraphs, default models"
        write(ROOT / "docs" / "faults.md", "bench-large-text", rows, note, "")


if __name__ == "__main__":
    main()
