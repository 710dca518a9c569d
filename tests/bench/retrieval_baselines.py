"""Baselines of the modes: word counts, and a plain random walk over passages and phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph
from graphtide.graph.view import LiveView
from tests.bench.retrieval_asking import Method
from tests.support.bench_data import Passage as Document
from tests.support.bench_data import lexical_words


def bm25(documents: Sequence[Document]) -> Method:
    """Rank by Okapi BM25 over titles and texts."""
    index = BM25Okapi([lexical_words(f"{one.title} {one.text}") for one in documents])

    def method(view: LiveView, question: Question) -> RetrievalResult:
        scores = index.get_scores(lexical_words(question.text))
        order = np.argsort(-scores, kind="stable")[: question.top_k].tolist()
        passages = tuple(RetrievedPassage("", documents[n].doc_id, float(scores[n]), documents[n].text) for n in order)
        return RetrievalResult(passages, Subgraph(), view.version, "BM25")

    return method


def pagerank(view: LiveView, question: Question) -> RetrievalResult:
    """Rank passages by the stationary mass of the walk that restarts at the question's seeds alone."""
    mass = personalised_pagerank(
        view.walk, restart(view, find_seeds(view, question.vector, None, max(NEAR, question.top_k)))
    )
    best = [(node // 2, share) for node, share in mass.items() if node % 2]
    order = sorted(best, key=lambda row: (-row[1], view.chunks[row[0]].chunk_id))[: question.top_k]
    chunks = [(view.chunks[number], share) for number, share in order]
    passages = tuple(RetrievedPassage(chunk.chunk_id, chunk.doc_id, share, chunk.text) for chunk, share in chunks)
    return RetrievalResult(passages, Subgraph(), view.version, "PageRank")


def baselines(documents: Sequence[Document]) -> dict[str, Callable[[LiveView, Question], RetrievalResult]]:
    return {"BM25": bm25(documents), "PageRank": pagerank}
