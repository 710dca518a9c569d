"""Trace of mode `nakg`: how the documents of its passages are related, and the result of each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphtide.graph.retrieval.nakg.clustering import NOISE
from graphtide.graph.retrieval.nakg.documents import Passages
from graphtide.graph.retrieval.nakg.edges import DocumentGraph
from graphtide.graph.retrieval.nakg.scoring import Scoring
from graphtide.graph.retrieval.scoring.links import bridge_strength, entities_of
from graphtide.graph.retrieval.types import RetrievedPart, RetrievedPassage, TraceItem, TraceStep, quoted_part
from graphtide.graph.view import LiveView

SHOWN = 10
NAMED = 3  # maximum of shared entities named per pair


def relations(view: LiveView, graph: DocumentGraph, passages: Sequence[RetrievedPassage]) -> tuple[RetrievedPart, ...]:
    """Return one part: the edges between the documents of the passages, the strongest first; none without any edge."""
    first = {passage.doc_id: passage.chunk_id for passage in reversed(passages)}
    row = {doc_id: place for place, doc_id in enumerate(graph.documents.ids)}
    ids = sorted(doc_id for doc_id in first if doc_id in row)
    found = []
    for at, one in enumerate(ids):
        for other in ids[at + 1 :]:
            weight = float(graph.weights[row[one], row[other]])
            if weight and (graph.attention[row[one], row[other]] or graph.attention[row[other], row[one]]):
                found.append((-round(weight, 6), one, other))
    if not found:
        return ()
    lines = [_relation(view, one, other, -weight) for weight, one, other in sorted(found)[:SHOWN]]
    sources = sorted({first[end] for _, *ends in sorted(found)[:SHOWN] for end in ends})
    return (quoted_part("How the documents are related", "\n".join(lines), tuple(sources), -min(found)[0]),)


def _relation(view: LiveView, one: str, other: str, weight: float) -> str:
    names = ", ".join(shared_names(view, one, other))
    shared = f"; both mention {names}" if names else ""
    return f"- {_title(view, one)} and {_title(view, other)}: related {weight:.2f}{shared}"


def shared_names(view: LiveView, one: str, other: str) -> list[str]:
    """Return the rarest entities that two documents mention, by name; none of those in more than HUB passages."""
    ours, theirs = (
        set().union(*(entities_of(view, chunk) for chunk in view.documents[doc_id].chunks)) for doc_id in (one, other)
    )
    nodes = [node for node in ours & theirs if bridge_strength(view, node)]
    rarest = sorted(nodes, key=lambda node: (len(view.entities[node].chunks), view.entity_id(node)))[:NAMED]
    return [view.entities[node].name for node in rarest]


def _title(view: LiveView, doc_id: str) -> str:
    return view.documents[doc_id].info.title or doc_id


def steps(
    view: LiveView, graph: DocumentGraph, passages: Passages, scoring: Scoring, chosen: Sequence[int]
) -> tuple[TraceStep, ...]:
    """Return clusters, the strongest edges with attention, and the passages with the terms of their scores."""
    together, chance = view.relatedness.weights().trained_on
    terms = "Passages by words, order and meaning, and the relevance of linked ones."
    about = f"The strongest edges; learned on {together} pairs that share an entity and {chance} pairs of chance."
    return (
        TraceStep("clusters", "Documents by DBSCAN cluster, those in none left out.", _clusters(view, graph)),
        TraceStep("edges", about, _edges(view, graph)),
        TraceStep("passages", terms, _passages(view, passages, scoring, chosen)),
    )


def _clusters(view: LiveView, graph: DocumentGraph) -> tuple[TraceItem, ...]:
    rows = zip(graph.clusters.tolist(), graph.documents.ids, strict=True)
    return tuple(
        TraceItem(doc_id, _title(view, doc_id), float(cluster)) for cluster, doc_id in sorted(rows) if cluster != NOISE
    )


def _edges(view: LiveView, graph: DocumentGraph) -> tuple[TraceItem, ...]:
    upper = np.triu(np.round(graph.weights, 6))
    ids, items = graph.documents.ids, []
    for flat in np.argsort(-upper.ravel(), kind="stable")[:SHOWN].tolist():
        one, other = divmod(flat, len(ids))
        if upper[one, other] > 0:
            parts = (
                ("shared", float(graph.documents.shared[one, other])),
                ("attention there", float(graph.attention[one, other])),
                ("attention back", float(graph.attention[other, one])),
            )
            name = f"{_title(view, ids[one])} + {_title(view, ids[other])}"
            items.append(TraceItem(f"{ids[one]} + {ids[other]}", name, float(upper[one, other]), parts))
    return tuple(items)


def _passages(view: LiveView, passages: Passages, scoring: Scoring, chosen: Sequence[int]) -> tuple[TraceItem, ...]:
    return tuple(
        TraceItem(
            view.chunks[passages.numbers[place]].chunk_id,
            "",
            float(scoring.total[place]),
            (
                ("words", float(scoring.lexical.words[place])),
                ("order", float(scoring.lexical.order[place])),
                ("meaning", float(scoring.meaning[place])),
                ("linked", float(scoring.linked[place])),
                ("cosine", float(passages.cosine[place])),
            ),
        )
        for place in chosen
    )
