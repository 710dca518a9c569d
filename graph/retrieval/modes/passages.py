"""Mode `passages`: all passages that a multi-hop question needs, as early in the list as possible.

The steps of `local` without the last one: a passage similar to an earlier one may be the very next hop. Only the
question's embedding calls a model.
"""

from __future__ import annotations

from graphtide.graph.retrieval.scoring.pair_reranking import retrieve_by_pairs
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView


def retrieve_passages(view: LiveView, question: Question) -> RetrievalResult:
    """Return the `top_k` passages by pairs and coverage alone. See pair_reranking.py."""
    return retrieve_by_pairs(view, question, "passages", 1.0)
