"""Mode `vector`: passages by similarity to the question alone, the baseline of the other modes."""

from __future__ import annotations

from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.seeds import Hit, nearest_passages, searched_indexes
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Trace, TraceItem, TraceStep
from graphtide.graph.view import LiveView


def retrieve_vector(view: LiveView, question: Question) -> RetrievalResult:
    """Return the `top_k` nearest passages; `score` is the cosine. Call under `view.lock.read()`. Cost: one search."""
    admits, indexes = admitted_chunks(view, question.filters), searched_indexes(view, question)
    hits = nearest_passages(view, question.vector, admits, question.top_k, indexes)
    passages = tuple(_passage(view, hit) for hit in hits)
    shown = supported_subgraph(view, [hit.number for hit in hits])
    return RetrievalResult(passages, shown, view.version, "vector", _trace(hits) if question.explain else None)


def _passage(view: LiveView, hit: Hit) -> RetrievedPassage:
    chunk = view.chunks[hit.number]
    return RetrievedPassage(chunk.chunk_id, chunk.doc_id, hit.cosine, chunk.text)


def _trace(hits: tuple[Hit, ...]) -> Trace:
    items = tuple(TraceItem(hit.key, "", hit.cosine, (("cosine", hit.cosine),)) for hit in hits)
    return Trace((TraceStep("passages", "The passages most similar to the question, by cosine.", items),))
