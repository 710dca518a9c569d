"""Cost of standing questions: CPU of a document at 0, 100 and 10,000 of them, latency of events, share evaluated again.

Two streams: the MuSiQue passages with the extraction of a language model, of which a tenth is edited and a twentieth
deleted; and the chats of LiHua-World in the order of their dates, read by the rules of the local extractor. A document
goes through extraction, write model, SQLite and view; the evaluators of the question sets then run on the same view, so
that all levels see the same documents. Questions are registered at the half of the stream, and figures are of the rest.
Every question is different. Times are CPU seconds of the process, apart from latencies: those are from the commit,
which the view shows, to the stored event. The interpreter is set as in the service. It asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from graphtide.graph.records import DocumentInfo, GraphDelta
from graphtide.graph.retrieval.types import Question
from graphtide.graph.standing.evaluator import GraphEvaluator
from graphtide.graph.standing.types import EvidenceChange
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.standing.questions import SqliteQuestionStore
from graphtide.services.process.interpreter import spare_the_collector, tune_interpreter
from graphtide.streams.extract.pipeline import ExtractionModels
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.model_ports import Embedder
from graphtide.streams.standing.records import Cause, EvaluatedQuestion, QuestionDefinition
from tests.bench.musique_stream import GRAPH, KnownVectors, TimedGraph, WholeText, messages
from tests.support.bench_data import bench_data

SEED = 11
STEPS = ("extract", "message", "consolidate", "store", "encode a delta", "decode a delta", "follow")
MANY = 10_000
LAST: dict[str, GraphDelta] = {}
"""The last delta of the graph."""


@dataclass
class Level:
    """A set of questions, and what their evaluation cost."""

    name: str
    mode: str
    questions: Sequence[Question]
    evaluator: GraphEvaluator = field(default_factory=GraphEvaluator)
    cpu_s: list[float] = field(default_factory=list)
    latency_s: list[float] = field(default_factory=list)
    events: int = 0


@dataclass(frozen=True)
class Stream:
    """Documents in order, with the models that read them, and texts that serve as questions."""

    name: str
    documents: Sequence[DocumentMessage]
    models: ExtractionModels
    texts: Sequence[str]
    edits: bool


def musique(count: int) -> Stream:
    """Return the MuSiQue passages; every text of the set that has a vector and several words may be a question."""
    vectors = KnownVectors()
    texts = sorted(text for text in vectors._vectors if 4 <= len(text.split()) <= 30)
    models = ExtractionModels(WholeText(), _no_extractor(), vectors)
    return Stream("MuSiQue, edited", messages()[:count], models, texts, True)


def lihua(count: int) -> Stream:
    """Return the chats by date. The questions of the set come first, then single messages of the chats."""
    folder, documents, lines = bench_data() / "lihua", [], list[str]()
    with zipfile.ZipFile(folder / "LiHuaWorld.zip") as chats:
        names = sorted((n for n in chats.namelist() if n.endswith(".txt")), key=lambda n: n.rpartition("/")[2])
        for name in names[:count]:
            text, stem = chats.read(name).decode(), Path(name).stem
            day = f"{stem[:4]}-{stem[4:6]}-{stem[6:8]}"
            documents.append(DocumentMessage(GRAPH, stem, text, DocumentInfo(stem, "chat", day)))
            lines += [line.partition(": ")[2] for line in text.splitlines()[1:]]
    asked = [row["question"] for row in json.loads((folder / "query_set.json").read_text()).values()]
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), StaticEmbedder())
    texts = [*asked, *sorted(line for line in set(lines) if len(line.split()) >= 4)]
    return Stream("LiHua-World", documents, models, texts, False)


def _no_extractor() -> OfflineExtractor:
    return OfflineExtractor()


async def questions_of(texts: Sequence[str], count: int, mode: str, embedder: Embedder) -> list[Question]:
    """Return so many different questions: texts, and after the last the same with another number of passages."""
    chosen = texts[:count] if len(texts) <= count else random.Random(SEED).sample(list(texts), count)
    vectors = await embedder.embed(list(chosen))
    made = [Question(text, vector, 5, mode) for text, vector in zip(chosen, vectors, strict=True)]
    for number in range(count - len(made)):
        again = made[number % len(chosen)]
        made.append(Question(again.text, again.vector, 5 + 1 + number // len(chosen), mode))
    return made


async def run(stream: Stream, small: int, many: int, graph_modes: int) -> None:
    """Stream the documents, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        backend = await SqliteBackend.open(Path(folder))
        graph = TimedGraph(backend)
        graph._models = stream.models
        _fit_indexes(graph, stream)
        await graph.open()
        store = SqliteQuestionStore(backend.database)
        await store.create()
        half = len(stream.documents) // 2
        for number, document in enumerate(stream.documents[:half]):
            await graph.publish(document, number)
        embedder = stream.models.embedder
        levels = [
            Level(f"{small:,} questions", "vector", await questions_of(stream.texts, small, "vector", embedder)),
            Level(f"{many:,} questions", "vector", await questions_of(stream.texts, many, "vector", embedder)),
            Level(
                f"{graph_modes:,} questions", "local", await questions_of(stream.texts, graph_modes, "local", embedder)
            ),
        ]
        registered = {level.name + level.mode: await _register(graph, store, level) for level in levels}
        for seconds in graph.clock.seconds.values():
            seconds.clear()
        spare_the_collector()
        exact = _timed_exact(graph)
        changes = 0
        for step in _steps(stream, half):
            await _change(graph, *step)
            for level in levels:
                await _evaluate(graph, store, level)
            changes += 1
        _print(stream, graph, levels, exact, changes, registered)
        graph.close()
        await backend.close()


Step = tuple[DocumentMessage, str]


def _steps(stream: Stream, half: int) -> list[Step]:
    """Return the second half of the stream; with edits, of documents of both halves."""
    rng, steps = random.Random(SEED), list[Step]()
    for number, document in enumerate(stream.documents[half:], start=half):
        steps.append((document, "publish"))
        if stream.edits and number % 10 == 0:
            steps.append((stream.documents[rng.randrange(number)], "edit"))
        if stream.edits and number % 20 == 0:
            steps.append((stream.documents[rng.randrange(number)], "delete"))
    return steps


async def _change(graph: TimedGraph, document: DocumentMessage, kind: str) -> None:
    live = graph.live.get(document.doc_id)
    if kind == "delete" and live is not None:
        await graph.change(document.doc_id, None)
    elif kind == "edit" and live is not None and live.units:
        from tests.bench.musique_stream import edited

        other = next(iter(graph.live.values()))
        await graph.change(document.doc_id, edited(live, other))
    else:
        await graph.publish(document, graph.view.version)


async def _register(graph: TimedGraph, store: SqliteQuestionStore, level: Level) -> float:
    """Register the questions of a level; return the CPU seconds of each."""
    started = time.process_time()
    rows = []
    with graph.view.lock.read():
        for number, question in enumerate(level.questions):
            evidence = level.evaluator.put(graph.view, f"{level.mode}{len(level.questions)}-{number}", question)
            rows.append(EvaluatedQuestion(f"{level.mode}{len(level.questions)}-{number}", evidence))
    taken = (time.process_time() - started) / max(len(level.questions), 1)
    named = zip(rows, level.questions, strict=True)
    made = (QuestionDefinition(row.question_id, asked.text, asked.mode, asked.top_k) for row, asked in named)
    await asyncio.gather(*(store.put(GRAPH, definition) for definition in made))
    await store.record(GRAPH, graph.view.version, 0, rows)
    return taken


async def _evaluate(graph: TimedGraph, store: SqliteQuestionStore, level: Level) -> None:
    """Evaluate the last commit and store its events, as the stage does."""
    delta = LAST[GRAPH]
    cpu, wall = time.process_time(), time.perf_counter()
    changes: tuple[EvidenceChange, ...] = ()
    with graph.view.lock.read():
        changes = level.evaluator.advance(graph.view, delta)
    if changes:
        causes = tuple(Cause(row.doc_id, row.revision) for row in delta.documents)
        rows = [EvaluatedQuestion(change.question_id, change.after, causes) for change in changes]
        await store.record(GRAPH, delta.version, 0, rows)
    level.cpu_s.append(time.process_time() - cpu)
    level.latency_s.append(time.perf_counter() - wall)
    level.events += len(changes)


def _fit_indexes(graph: TimedGraph, stream: Stream) -> None:
    """Give the view indexes of the embedder's dimensions, and keep its last delta."""
    from graphtide.graph.view import LiveView, VectorIndexes
    from graphtide.infra.hnsw import HnswIndex

    dimensions = stream.models.embedder.dimensions
    graph.view = LiveView(GRAPH, VectorIndexes(*(HnswIndex(dimensions) for _ in range(3))))
    follow = graph._follow

    def kept(delta: GraphDelta) -> None:
        LAST[GRAPH] = delta
        follow(delta)

    graph._follow = kept  # type: ignore[method-assign]


def _timed_exact(graph: TimedGraph) -> list[float]:
    """Time the upkeep of the exact indexes, which the step `follow` includes."""
    seconds: list[float] = []
    follow = graph.view.exact.follow

    def timed(delta: GraphDelta) -> None:
        started = time.process_time()
        follow(delta)
        seconds.append(time.process_time() - started)

    graph.view.exact.follow = timed  # type: ignore[method-assign]
    return seconds


def _print(
    stream: Stream,
    graph: TimedGraph,
    levels: Sequence[Level],
    exact: Sequence[float],
    changes: int,
    registered: dict[str, float],
) -> None:
    exact_cost = sum(exact) / changes
    base = sum(sum(graph.clock.seconds[step]) for step in STEPS) / changes - exact_cost
    view = graph.view
    print(f"\n{stream.name}: {changes} commits of one document, at last {len(view.documents)} documents,")
    print(
        f"{len(view.chunks)} passages, {len(view.entities)} entities. 0 questions: {base * 1e3:.1f} ms CPU a document."
    )
    print(
        "| questions | mode | CPU a document | ratio | evaluated | events a commit | event p50 / p99 | registration |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for level in levels:
        cost = base + exact_cost + statistics.mean(level.cpu_s)
        counters = level.evaluator.counters
        share = counters.evaluated / max(counters.registered, 1)
        p50, p99 = np.quantile(level.latency_s, [0.5, 0.99]) * 1e3
        print(
            f"| {level.name} | {level.mode} | {cost * 1e3:.1f} ms | {cost / base:.2f} | {share:.3%} |"
            f" {level.events / changes:.1f} | {p50:.0f} / {p99:.0f} ms |"
            f" {registered[level.name + level.mode] * 1e3:.2f} ms |"
        )


def main() -> None:
    """Run both streams."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1890)
    parser.add_argument("--questions", type=int, default=MANY)
    parser.add_argument("--local", type=int, default=10, help="how many questions of the mode local")
    parser.add_argument("--stream", choices=["musique", "lihua"], action="append")
    given = parser.parse_args()
    tune_interpreter()
    for name, make in (("musique", musique), ("lihua", lihua)):
        if not given.stream or name in given.stream:
            asyncio.run(run(make(given.documents), 100, given.questions, given.local))


if __name__ == "__main__":
    main()
