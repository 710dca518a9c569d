"""Mode `local`: from the question's seeds, out along the graph, and back to diverse passages.

Seeds among statements and entities (and the nearest passages), personalised PageRank over entities and passages, the
best passages, and maximal marginal relevance: article "graph-rag-algorithms", HNSW seeds, "Personalized PageRank (PPR)"
and "MMR". Deviations: the walk also runs over passages (Gutiérrez et al. 2024), so that it reaches the results; and the
best passages are found in pairs (pair_scoring.py), since the walk knows how far a passage is from the question's
entities, but not whether it states what was asked about them.
"""

from __future__ import annotations

from graphtide.graph.retrieval.scoring.pair_reranking import retrieve_by_pairs
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView

DIVERSITY = 0.8  # lambda of MMR: mostly relevance, since pair scores include redundancy already


def retrieve_local(view: LiveView, question: Question) -> RetrievalResult:
    """Return the `top_k` passages for a context: by their share of good pairs, without repetition. See
    pair_reranking.py.
    """
    return retrieve_by_pairs(view, question, "local", DIVERSITY)
