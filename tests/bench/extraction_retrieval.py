"""Recall of retrieval on the graph that an extractor makes, for the extraction bench: multi-hop questions, mode local.

Each set of questions is asked of its own whole corpus; only the number of questions is bounded.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.model_ports import Embedder, Extractor
from tests.bench.retrieval_asking import documents
from tests.support.bench_data import MultiHop, bench_data, recall

SETS = ("hotpot-dev", "2wiki-dev", "musique-dev")
DEPTHS = (2, 5)
_BATCH = 200


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """Recall at DEPTHS, and milliseconds of CPU per document to consolidate and follow its extraction."""

    questions: int
    recalls: tuple[float, ...]
    graph_ms: float


def measure(name: str, questions: int, extractor: Extractor, embedder: Embedder) -> RetrievalScore:
    """Build the graph of one set, ask its first questions, and return the recall."""
    messages = list(unextracted(name))
    extractions = asyncio.run(_extractions(messages, ExtractionModels(SemanticChunker(), extractor, embedder)))
    began = time.process_time()
    view = view_of(extractions, embedder.dimensions)
    graph_ms = 1000 * (time.process_time() - began) / len(messages)
    asked = multihop_questions(name)[:questions]
    vectors = asyncio.run(embedder.embed([one.question for one in asked]))
    rows = []
    for one, vector in zip(asked, vectors, strict=True):
        ranked = documents(retrieve(view, Question(one.question, vector, 20, "local")))
        rows.append([recall(ranked, one.supporting, depth) for depth in DEPTHS])
    return RetrievalScore(len(asked), tuple(float(value) for value in np.mean(rows, axis=0)), graph_ms)


def view_of(extractions: list[Extraction], dimensions: int) -> LiveView:
    consolidator = Consolidator("bench")
    view = LiveView("bench", VectorIndexes(*(ExactIndex(dimensions) for _ in range(3))))
    for start in range(0, len(extractions), _BATCH):
        batch = extractions[start : start + _BATCH]
        view.apply(consolidator.apply([DocumentChange(one.doc_id, None, one) for one in batch]))
    return view


async def _extractions(messages: list[DocumentMessage], models: ExtractionModels) -> list[Extraction]:
    limits = ExtractionLimits()
    return [await extract(message, number, models, limits) for number, message in enumerate(messages)]


def unextracted(name: str) -> Iterator[DocumentMessage]:
    for line in (bench_data() / "multihop" / name / "corpus.jsonl").read_text().splitlines():
        row = json.loads(line)
        yield DocumentMessage("bench", row["id"], row["text"], DocumentInfo(row["title"]))


def multihop_questions(name: str) -> list[MultiHop]:
    lines = (bench_data() / "multihop" / name / "questions.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [MultiHop(row["question"], row["answer"], frozenset(row["supporting"])) for row in rows]
