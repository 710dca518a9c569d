"""Question sets of the retrieval benches: documents, extractions, graphs and question vectors, by set and by source.

A graph is made by the extract stage itself: from what a language model extracted beforehand (`brought along`, MuSiQue's
fifty questions only), or by the rules that need no model (`rules`), and with static vectors or MiniLM. Extractions are
kept in the folder of fetched files, since they take minutes; delete `bench` there after a change of the rules.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import Extraction
from graphtide.graph.view import LiveView
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.minilm_embedder import MiniLmEmbedder
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.model_ports import Embedder
from tests.bench.extraction_retrieval import multihop_questions, unextracted, view_of
from tests.bench.retrieval_asking import Asked
from tests.bench.retrieval_graph import message_of
from tests.support.bench_data import MultiHop, Passage, corpus, questions
from tests.support.maven import cache_folder

MUSIQUE = "musique"


@dataclass(frozen=True, slots=True)
class Source:
    """A question set, and how its graph is made. `limit` bounds the questions; the graph is always whole."""

    name: str
    vectors: str = "static"
    brought_along: bool = False
    limit: int = 1_000

    @property
    def title(self) -> str:
        extraction = "brought along" if self.brought_along else "rules"
        return f"{self.name}, {extraction}, {'MiniLM' if self.vectors == 'minilm' else 'static vectors'}"


@dataclass(slots=True)
class Remembering:
    """An Embedder that embeds each text once: corpora repeat names."""

    inner: Embedder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, await self.inner.embed(new), strict=True))
        return np.stack([self.known[text] for text in texts])


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A graph, the questions about it, and its documents for baselines that count words."""

    source: Source
    view: LiveView
    ask: Asked
    documents: tuple[Passage, ...]


def load(source: Source) -> QuestionSet:
    """Return a question set with its graph. Cost: minutes for the first time, then the building of the graph."""
    path = cache_folder() / "bench" / f"{source.title.replace(', ', '-')}.pickle"
    if path.exists():
        extractions, vectors = pickle.loads(path.read_bytes())  # noqa: S301 - written below, by this user
    else:
        extractions, vectors = asyncio.run(_extracted(source))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps((extractions, vectors)))
    asked = _questions(source)[: source.limit]
    view = view_of(extractions, vectors.shape[1])
    documents = tuple(Passage(one.doc_id, one.info.title, one.text, (), ()) for one in extractions)
    return QuestionSet(source, view, Asked(asked, list(vectors[: len(asked)])), documents)


async def _extracted(source: Source) -> tuple[list[Extraction], NDArray[np.float32]]:
    embedder = Remembering(MiniLmEmbedder() if source.vectors == "minilm" else StaticEmbedder())
    models, limits = ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder), ExtractionLimits()
    if source.brought_along:
        messages = [message_of(one) for one in corpus()]
    elif source.name == MUSIQUE:
        messages = [message_of(one, bare=True) for one in corpus()]
    else:
        messages = list(unextracted(source.name))
    found = [await extract(message, number, models, limits) for number, message in enumerate(messages)]
    return found, await embedder.embed([one.question for one in _questions(source)])


def _questions(source: Source) -> list[MultiHop]:
    return questions() if source.name == MUSIQUE else multihop_questions(source.name)
