"""Mode `local`: from the question's seeds, out along the graph, and back to a few passages for an answer.

Seeds among statements and entities (and the nearest passages), personalised PageRank over entities and passages, and
the best passages: article "graph-rag-algorithms", HNSW seeds and "Personalized PageRank (PPR)". Deviations: the walk
also runs over passages (Gutiérrez et al. 2024), so that it reaches the results; the best passages are found in pairs
and as a set (pair_scoring.py), since the walk knows how far a passage is from the question's entities, but not whether
it states what was asked about them; and instead of weighing novelty for every passage ("MMR", which costs chains their
second hop), only repetitions are moved to the end.
"""

from __future__ import annotations

from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import LocalSettings
from graphtide.graph.retrieval.scoring.pair_reranking import retrieve_by_pairs
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView


def retrieve_local(view: LiveView, question: Question) -> RetrievalResult:
    """Return the `top_k` passages for a context: by pairs and coverage, without repetition. See pair_reranking.py.

    Near duplicates have a cosine above the default of `repetition`; two passages about one thing stay below it.
    """
    return retrieve_by_pairs(view, question, "local", settings_from(LocalSettings, question.options).repetition)
