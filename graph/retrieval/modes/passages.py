"""Mode `passages`: all that a question of several hops needs, as early in the list as can be.

The course of `local` without its last step: a passage that resembles one already taken may be the very next hop.
No model is called but for the question's own embedding, and nothing is learned from questions.
"""

from __future__ import annotations

from graphtide.graph.retrieval.scoring.pair_reranking import retrieve_by_pairs
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView


def retrieve_passages(view: LiveView, question: Question) -> RetrievalResult:
    """The `top_k` passages by their part in good pairs alone. See paired.py."""
    return retrieve_by_pairs(view, question, "passages", 1.0)
