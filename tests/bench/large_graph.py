"""One graph of many relations in one process: `python -m tests.bench.large_graph [--relations 1000000]`.

An embedded service with its default model receives documents of a synthetic stream (topics, skew, hubs, new entities
throughout) in lists over HTTP, each with its text and about EDGES facts. At each size: the service's resident memory,
CPU per document since the size before, and the latency of questions whose names are spread over the whole stream. It
asserts nothing; docs/scaling.md has its table.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from tests.bench.cluster_documents import Body, bodies
from tests.bench.cluster_table import Row, in_ms, quantiles, write
from tests.bench.large_text import memory_bytes
from tests.support.bench_data import ROOT
from tests.support.processes import Service, service

GRAPH = "large"
EDGES = 24
LIST_SIZE = 50
AHEAD = 8
"""Lists that are sent before the bench waits for their documents."""
QUESTIONS = 60
SIZES = (20_000, 100_000, 250_000, 500_000, 1_000_000)
SEED = 7
KIB = 1024
GIB = 1 << 30


class Client:
    """The connection to the service, and the CPU that it has used at the size before."""

    def __init__(self, running: Service, http: httpx.Client) -> None:
        self.running = running
        self.http = http

    def publish(self, lists: Sequence[Sequence[Body]]) -> None:
        """Publish lists of documents, and wait until they are applied."""
        for documents in lists:
            sent = self.http.post(f"/v1/graphs/{GRAPH}/documents", json=documents)
            sent.raise_for_status()
        token, reached = sent.json()["token"], False
        while not reached:
            waited = self.http.get(f"/v1/graphs/{GRAPH}/tokens/{token}", params={"wait_s": 30})
            waited.raise_for_status()
            reached = waited.json()["reached"]

    def relations(self) -> int:
        """Return the number of relations, 0 while the graph does not exist."""
        found = self.http.get(f"/v1/graphs/{GRAPH}/stats")
        return 0 if found.status_code == 404 else int(found.raise_for_status().json()["counts"]["relations"])

    def latencies(self, asked: Sequence[str], mode: str) -> list[float]:
        """Return the seconds of each question, after a few that are not counted."""
        found = []
        for question in [*asked[:5], *asked]:
            body = {"question": question, "mode": mode, "top_k": 5, "generate": False}
            started = time.perf_counter()
            self.http.post(f"/v1/graphs/{GRAPH}/query", json=body).raise_for_status()
            found.append(time.perf_counter() - started)
        return found[5:]


def stream(count: int) -> Iterator[tuple[Body, ...]]:
    """Yield the documents in lists."""
    documents = bodies(count, edges=EDGES)
    while chosen := tuple(itertools.islice(documents, LIST_SIZE)):
        yield chosen


def question_of(body: Body) -> str:
    fact = body["facts"][0]
    return f"Who {fact['predicate']} {fact['object']}?"


def measure(client: Client, sizes: Sequence[int]) -> Iterator[Row]:
    """Yield a row for each size, as it is reached."""
    rng = random.Random(SEED)
    idle, documents, asked = memory_bytes(client.running.process.pid, "VmRSS"), 0, list[str]()
    lists = stream(max(sizes))
    counted, spent = 0, client.running.cpu_s()
    for size in sizes:
        while (relations := client.relations()) < size:
            wanted = max(1, min(AHEAD, (size - relations) // (EDGES * LIST_SIZE)))
            some = tuple(itertools.islice(lists, wanted))
            client.publish(some)
            documents += sum(map(len, some))
            asked += [question_of(rng.choice(published)) for published in some]
        now = client.running.cpu_s()
        cost = (now - spent) / (documents - counted)
        chosen = rng.sample(asked, min(QUESTIONS, len(asked)))
        times = {mode: client.latencies(chosen, mode) for mode in ("vector", "local")}
        counted, spent = documents, client.running.cpu_s()
        yield _row(client.running.process.pid, idle, relations, documents, cost, times)


def _row(pid: int, idle: int, relations: int, documents: int, cost: float, times: dict[str, list[float]]) -> Row:
    kinds = {name: memory_bytes(pid, name) for name in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}
    mapped = kinds["RssFile"] + kinds["RssShmem"]
    grown = (kinds["VmRSS"] - idle) / relations / KIB
    memory = f"{kinds['VmRSS'] / GIB:.2f} GiB resident, of it {mapped / GIB:.2f} of files; {grown:.1f} KiB a relation"
    latency = "; ".join(f"`{mode}` {quantiles(taken)}" for mode, taken in times.items())
    return Row(f"{relations:,} relations, {documents:,} documents", memory, f"{in_ms(cost)}; {latency}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relations", type=int, default=SIZES[-1])
    parser.add_argument("--no-page", action="store_true", help="print the table, leave docs/scaling.md alone")
    chosen = parser.parse_args()
    sizes = [*(size for size in SIZES if size < chosen.relations), chosen.relations]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        settings = {"GRAPHTIDE_LOG_LEVEL": "ERROR"}
        with (
            service(Path(folder) / "data", settings) as running,
            httpx.Client(base_url=running.url, timeout=600) as http,
        ):
            for row in measure(Client(running, http), sizes):
                rows.append(row)
                print(row.line(), flush=True)
    if not chosen.no_page:
        note = f"lists of {LIST_SIZE} documents of about {EDGES} relations over HTTP; static vectors of 256 dimensions"
        head = "CPU a document since the row before; latency of questions without an answer's text"
        write(ROOT / "docs" / "scaling.md", "bench-large-graph", rows, note, head)


if __name__ == "__main__":
    main()
