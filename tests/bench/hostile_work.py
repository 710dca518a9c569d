"""Measures the latency of /healthz under heavy but legitimate requests, and the time of a document of another graph.

Each case runs against a service of its own with the offline models. The probe is a process of its own, so the load of
the clients is not counted into its latency. It asserts nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.processes import Service, service

PROBE_INTERVAL_S = 0.02
SEED = 7
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class ProbeLatency:
    """Latencies of /healthz in seconds."""

    samples: int
    median_s: float
    p99_s: float
    worst_s: float


@dataclass(slots=True)
class CaseResult:
    """The latency of /healthz during one case, its length, and figures of its own."""

    name: str
    probe: ProbeLatency
    seconds: float
    figures: dict[str, object] = field(default_factory=dict)


def _probe(netloc: str, stop: Event, latencies: Any) -> None:
    found = []
    while not stop.is_set():
        started = time.monotonic()
        try:
            connection = http.client.HTTPConnection(netloc, timeout=120)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            connection.close()
        except OSError:
            found.append(120.0)
        else:
            found.append(time.monotonic() - started)
        time.sleep(PROBE_INTERVAL_S)
    latencies.put(found)


@contextmanager
def probed(url: str) -> Iterator[Callable[[], ProbeLatency]]:
    """Probe /healthz during the block; the yielded function ends the probe and returns its latencies."""
    context = multiprocessing.get_context("spawn")
    stop, queue = context.Event(), context.Queue()
    process = context.Process(target=_probe, args=(urlsplit(url).netloc, stop, queue), daemon=True)
    process.start()

    def end() -> ProbeLatency:
        stop.set()
        found = sorted(queue.get())
        process.join()
        median_s, p99_s = (found[min(len(found) - 1, int(len(found) * share))] for share in (0.5, 0.99))
        return ProbeLatency(len(found), median_s, p99_s, found[-1])

    try:
        yield end
    finally:
        stop.set()
        process.join(5)


class Client:
    """A client of one service."""

    def __init__(self, url: str) -> None:
        limits = httpx.Limits(max_connections=200)
        self.http = httpx.Client(base_url=url, timeout=LIMIT_S, limits=limits)

    def put(self, graph: str, doc_id: str, body: dict[str, object]) -> None:
        self.http.put(f"/v1/graphs/{graph}/documents/{doc_id}", json=body).raise_for_status()

    def put_and_wait(self, graph: str, doc_id: str, body: dict[str, object]) -> tuple[float, str]:
        """Publish and wait for the document's end; return the seconds and the state."""
        started = time.monotonic()
        self.put(graph, doc_id, body)
        while time.monotonic() - started < LIMIT_S:
            said = self.http.get(f"/v1/graphs/{graph}/documents/{doc_id}").json()
            if said["state"] != "accepted":
                return time.monotonic() - started, said["state"]
            time.sleep(0.05)
        return time.monotonic() - started, "accepted"

    def storm(self, count: int, request: Callable[[httpx.Client], httpx.Response]) -> dict[str, object]:
        """Send `count` equal requests at once; return the number of responses by status."""
        with ThreadPoolExecutor(count) as pool:
            statuses = [one.status_code for one in pool.map(lambda _: request(self.http), range(count))]
        return {str(status): statuses.count(status) for status in sorted(set(statuses))}


def prose(rng: random.Random, size: int) -> str:
    """Return English-looking sentences with names, dates and statements."""
    names = [
        f"{a}{b}" for a in ("Mar", "Lor", "Ken", "Ald", "Bri", "Tol") for b in ("na", "vik", "ston", "gard", "mer")
    ]
    verbs = ("founded", "visited", "acquired", "moved to", "was born in", "works for", "wrote about", "opposed")
    lines, length = [], 0
    while length < size:
        a, b = rng.sample(names, 2)
        line = f"{a} {rng.choice(names)} {rng.choice(verbs)} {b} in {rng.randint(1800, 2020)}, near the old harbour. "
        lines.append(line)
        length += len(line)
    return "".join(lines)


def answers(client: Client, rng: random.Random) -> dict[str, object]:
    """Request 60 parallel offline answers with top_k 100."""
    for number in range(40):
        client.put("answers", f"d{number}", {"text": prose(rng, 6_000), "facts": []})
    client.put_and_wait("answers", "last", {"text": prose(rng, 6_000), "facts": []})
    question = {"question": "Who founded Marvik near the old harbour?", "top_k": 100, "mode": "vector"}
    return client.storm(60, lambda http: http.post("/v1/graphs/answers/query", json=question))


def facts(client: Client, rng: random.Random) -> dict[str, object]:
    """Publish a document of 2.3 MB with 5,000 facts."""
    stated = [
        {"subject": f"subject {n}", "predicate": "knows", "object": f"object {n}", "description": "d" * 40}
        for n in range(5_000)
    ]
    seconds, state = client.put_and_wait("facts", "big", {"text": prose(rng, 1_800_000), "facts": stated})
    return {"state": state, "until_end_s": round(seconds, 1)}


def long_prose(client: Client, rng: random.Random) -> dict[str, object]:
    """Publish a prose document of 1.5 MB, extracted offline."""
    seconds, state = client.put_and_wait("prose", "big", {"text": prose(rng, 1_500_000)})
    return {"state": state, "until_end_s": round(seconds, 1)}


def statuses(client: Client, rng: random.Random) -> dict[str, object]:
    """Request 60 parallel statuses of a document of 400 KB."""
    client.put_and_wait("status", "big", {"text": prose(rng, 400_000)})
    return client.storm(60, lambda http: http.get("/v1/graphs/status/documents/big"))


def digests(client: Client, rng: random.Random) -> dict[str, object]:
    """Request 100 parallel digests of a graph of 400 KB of prose."""
    client.put_and_wait("digest", "big", {"text": prose(rng, 400_000)})
    return client.storm(100, lambda http: http.get("/v1/graphs/digest/digest"))


def clique(size: int) -> dict[str, object]:
    """Return facts that connect each of `size` entities to all others; each passage names two thirds of them."""
    names = [f"Node {number}x" for number in range(size)]
    cut = size * 62 // 100
    parts = (names[:cut], names[size - cut :], names[cut:] + names[: size - cut])
    text = "\n\n".join(", ".join(part) + ". " + "These words fill the passage. " * 30 for part in parts)
    stated = [{"subject": names[a], "predicate": "touches", "object": names[b]} for a in range(size) for b in range(a)]
    return {"text": text, "facts": stated}


def neighbour(client: Client, rng: random.Random) -> dict[str, object]:
    """Publish a one-line document, alone and while another graph's clique is consolidated."""
    line: dict[str, object] = {"text": f"Ada {rng.randint(0, 9)} met Bob in Paris."}
    client.put_and_wait("small", "warm", line)
    alone = sorted(client.put_and_wait("small", f"alone{n}", line)[0] for n in range(5))[2]
    client.put("heavy", "clique", clique(100))
    worst, until = 0.0, time.monotonic() + LIMIT_S
    number, state = 0, "accepted"
    while state == "accepted" and time.monotonic() < until:
        worst = max(worst, client.put_and_wait("small", f"beside{number}", line)[0])
        state = client.http.get("/v1/graphs/heavy/documents/clique").json()["state"]
        number += 1
    said = {"alone_s": round(alone, 2), "beside_worst_s": round(worst, 2), "documents": number, "heavy": state}
    return {**said, "ratio": round(worst / alone, 1)}


CASES: dict[str, Callable[[Client, random.Random], dict[str, object]]] = {
    "answers": answers,
    "facts": facts,
    "prose": long_prose,
    "statuses": statuses,
    "digests": digests,
    "neighbour": neighbour,
}


def measure(name: str) -> CaseResult:
    """Run one case against a service of its own."""
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder)) as running:
        client = Client(running.url)
        with probed(running.url) as end:
            started = time.monotonic()
            figures = CASES[name](client, random.Random(SEED))
            seconds = time.monotonic() - started
            return CaseResult(name, end(), seconds, figures)


@contextmanager
def _service(folder: Path) -> Iterator[Service]:
    with service(folder / "data", log=folder / "log") as running:
        yield running


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="which cases; all by default")
    for name in parser.parse_args().cases or CASES:
        result = measure(name)
        probe = result.probe
        milliseconds = " ".join(
            f"{label} {value * 1000:.0f}"
            for label, value in (("p50", probe.median_s), ("p99", probe.p99_s), ("max", probe.worst_s))
        )
        print(
            f"{name:10} /healthz ms {milliseconds} of {probe.samples}; {result.seconds:.1f} s;",
            json.dumps(result.figures),
            flush=True,
        )


if __name__ == "__main__":
    main()
