"""Mode `nakg`: from a question to its passages; see the package for the steps.

Invariant: canonical names and values alone decide, so equal graphs give equal results on exact indexes.
"""

from __future__ import annotations

import numpy as np

from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.nakg import trace as shown
from graphtide.graph.retrieval.nakg.documents import Passages, best_documents, candidate_passages, links
from graphtide.graph.retrieval.nakg.edges import DECIMALS, DocumentGraph, connect
from graphtide.graph.retrieval.nakg.propagation import pass_relevance, propagate
from graphtide.graph.retrieval.nakg.scoring import Scoring, lexical, separated
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.scoring.candidates import NEAR, titled
from graphtide.graph.retrieval.scoring.pair_scoring import MIN_SPAN, Scores
from graphtide.graph.retrieval.seeds import find_seeds, searched_indexes
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph, Trace
from graphtide.graph.view import LiveView


def retrieve_nakg(view: LiveView, question: Question, settings: Nakg | None = None) -> RetrievalResult:
    """Return the `top_k` passages by words, order, meaning and links, and a part that relates their documents.

    Call under `view.lock.read()`. Cost: three searches, some two hundred passages read, a graph of at most
    `settings.documents` documents: each step is bounded, whatever the graph's size.
    """
    settings = settings or settings_from(Nakg, question.options)
    admits = admitted_chunks(view, question.filters)
    seeds = find_seeds(view, question.vector, admits, max(NEAR, question.top_k), searched_indexes(view, question))
    passages = candidate_passages(view, question.vector, seeds, admits)
    if not passages.numbers:
        return RetrievalResult((), Subgraph(), view.version, "nakg", Trace() if question.explain else None)
    graph = connect(best_documents(view, passages, settings), view.relatedness.weights(), settings)
    scoring = score(view, question, passages, graph, settings)
    ids = [view.chunks[number].chunk_id for number in passages.numbers]
    order = sorted(range(len(ids)), key=lambda place: (-scoring.total[place], ids[place]))
    pulled = separated(scoring.total[order], settings.temperature, settings.decay)
    chosen = order[: question.top_k]
    found = tuple(_passage(view, passages.numbers[place], float(pulled[rank])) for rank, place in enumerate(chosen))
    subgraph = supported_subgraph(view, [passages.numbers[place] for place in chosen])
    parts = shown.relations(view, graph, found)
    trace = Trace(shown.steps(view, graph, passages, scoring, chosen)) if question.explain else None
    return RetrievalResult(found, subgraph, view.version, "nakg", trace, parts)


def score(view: LiveView, question: Question, passages: Passages, graph: DocumentGraph, settings: Nakg) -> Scoring:
    """Return the three scores of each candidate, their weighted sum (section 7), and what linked passages add."""
    by_words = lexical(question.text, [titled(view, number) for number in passages.numbers])
    means = meaning(view, question.vector, passages, graph, settings)
    own = settings.words * by_words.words + settings.order * by_words.order + settings.meaning * means
    total = own
    if settings.relevance_layers:
        linked = links(view, passages.numbers, settings.title_link)
        total = pass_relevance(own, linked, settings.relevance_share, settings.relevance_layers)
    return Scoring(by_words, means, total - own, np.round(total, DECIMALS))


def meaning(
    view: LiveView, question: QuestionVector, passages: Passages, graph: DocumentGraph, settings: Nakg
) -> Scores:
    """Return similarity to the question after propagation, from 0 for the least similar candidate to 1 for the most,
    (n,).

    Messages run between documents; a passage is shifted as its document is. Passages of documents outside the graph
    keep their vectors.
    """
    own = graph.documents.vectors
    moved = propagate(own, graph.attention, settings.layers) - own
    row = {doc_id: place for place, doc_id in enumerate(graph.documents.ids)}
    places = np.array([row.get(view.chunks[number].doc_id, -1) for number in passages.numbers])
    vectors = passages.vectors + np.where((places >= 0)[:, None], moved[places], np.float32(0))
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors)) * float(np.linalg.norm(question))
    products = np.einsum("nd,d->n", vectors, question.astype(np.float32)).astype(np.float64)
    cosine = np.round(products / np.maximum(lengths, 1e-12), DECIMALS)
    found: Scores = (cosine - cosine.min()) / max(float(np.ptp(cosine)), MIN_SPAN)
    return found


def _passage(view: LiveView, number: int, value: float) -> RetrievedPassage:
    chunk = view.chunks[number]
    return RetrievedPassage(chunk.chunk_id, chunk.doc_id, value, chunk.text)
