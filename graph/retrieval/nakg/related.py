"""Documents related to a document, by the learned edges, without a question.

Invariant: the order is by edge weight plus the strength of the shared entity, equal ones by document id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval.nakg.documents import documents
from graphtide.graph.retrieval.nakg.edges import DECIMALS, edge_weights
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.scoring.links import linked_passages
from graphtide.graph.retrieval.scoring.pair_scoring import products
from graphtide.graph.retrieval.seeds import nearest_passages
from graphtide.graph.view import LiveView

NEAREST = 50


@dataclass(frozen=True, slots=True)
class Related:
    """A document, the learned edge weight to it, the strength of the rarest entity shared (0: none), and their sum."""

    doc_id: str
    weight: float
    shared: float
    score: float


def related_documents(view: LiveView, doc_id: str, count: int, settings: Nakg | None = None) -> tuple[Related, ...]:
    """Return the `count` documents most related to one, best first; fewer if there are not enough candidates.

    Candidates are the documents of the nearest passages, and those that share an entity of at most HUB passages. Raises
    KeyError for a document that is not live. Call under `view.lock.read()`. Cost: a search, and the passages of some
    hundred documents.
    """
    settings = settings or Nakg()
    own = documents(view, [doc_id], settings)
    found = {view.chunks[hit.number].doc_id for hit in nearest_passages(view, own.vectors[0], None, NEAREST)}
    for chunk in view.documents[doc_id].chunks[: settings.passages]:
        found.update(view.chunks[number].doc_id for number in linked_passages(view, chunk, None))
    ids = [doc_id, *sorted(found - {doc_id})]
    all_of_them = documents(view, ids, settings)
    cosine = np.round(products(all_of_them.vectors, all_of_them.vectors[0]), DECIMALS)
    weights = edge_weights(cosine, all_of_them.titled[0], view.relatedness.weights()).tolist()
    rows = zip(ids[1:], weights[1:], all_of_them.shared[0].tolist()[1:], strict=True)
    related = [Related(other, weight, shared, weight + shared) for other, weight, shared in rows]
    return tuple(sorted(related, key=lambda each: (-each.score, each.doc_id))[:count])
