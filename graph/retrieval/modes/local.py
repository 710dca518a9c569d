"""Mode `local`: from where the question touches the graph, out along it, and back to passages that differ.

Seeds among statements and entities (and the nearest passages), personalised PageRank over entities and passages, the
best passages, and maximal marginal relevance: article "graph-rag-algorithms", HNSW seeds, "Personalized PageRank
(PPR)" and "MMR". Deviations: the walk runs over passages too (Gutiérrez et al. 2024), so that it reaches what is
handed out; and the best passages are found in pairs (evidence.py), since the walk knows how far a passage is from the
question's entities, but not whether it says what was asked of them.
"""

from __future__ import annotations

from graphtide.graph.retrieval.scoring.pair_reranking import retrieve_by_pairs
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView

DIVERSITY = 0.8  # lambda of MMR: mostly relevance, since pairs look at redundancy already


def retrieve_local(view: LiveView, question: Question) -> RetrievalResult:
    """The `top_k` passages for a context: by their part in good pairs, and none that repeats another. See paired.py."""
    return retrieve_by_pairs(view, question, "local", DIVERSITY)
