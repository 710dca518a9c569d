"""The modes without some of their parts, or with parts that were rejected: `VARIANTS` by mode and name.

A variant is a method like a mode. The first of each mode is the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from graphtide.graph.retrieval.darag.mode import retrieve_da_rag
from graphtide.graph.retrieval.darag.settings import COURSE, DaRagSettings
from graphtide.graph.retrieval.dynagrag.mode import retrieve_dynagrag
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag, Mask, Traversal
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.nakg.mode import retrieve_nakg
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.scoring import candidates
from graphtide.graph.retrieval.scoring import pair_reranking as paired
from graphtide.graph.retrieval.scoring.candidates import CandidatePool
from graphtide.graph.retrieval.scoring.links import HUB, bridge_strength, entities_of
from graphtide.graph.retrieval.scoring.pair_scoring import WEIGHTING, Scores, Weighting, inclusion
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import Seeds, find_seeds, restart
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph
from graphtide.graph.view import LiveView
from tests.bench.retrieval_asking import Method

Extra = Callable[[LiveView, Seeds, CandidatePool], Scores]


def by_pairs(weighting: Weighting, extra: Extra | None = None, weight: float = 1.0) -> Method:
    """Return mode `passages` with other weights, and with a further term of the pair scores."""

    def method(view: LiveView, question: Question) -> RetrievalResult:
        seeds = find_seeds(view, question.vector, None, max(PairSettings().near, question.top_k))
        mass = personalised_pagerank(view.walk, restart(view, seeds))
        pool = candidates.gather(view, question, seeds, mass, weighting=weighting)
        if pool is None:
            return RetrievalResult((), Subgraph(), view.version, "passages")
        scores = paired.rerank_scores(pool, weighting) + (weight * extra(view, seeds, pool) if extra else 0.0)
        included = inclusion(pool.opening, scores, pool.firsts, weighting.temperature)
        ranked = candidates.best_first(included, len(included)).tolist()
        if weighting.greedy:
            ranked = paired.better_ranks(ranked, paired.set_coverage(pool, ranked[: paired.OPENING], weighting))
        chunks = [(view.chunks[pool.numbers[place]], float(included[place])) for place in ranked[: question.top_k]]
        passages = tuple(RetrievedPassage(chunk.chunk_id, chunk.doc_id, score, chunk.text) for chunk, score in chunks)
        return RetrievalResult(passages, Subgraph(), view.version, "passages")

    return method


def trussness(view: LiveView, _: Seeds, pool: CandidatePool) -> Scores:
    """Return the strongest relation between two passages' entities: log2(trussness - 1), 0 outside triangles."""
    holders = _holders(view, pool)
    found = np.zeros((len(pool.firsts), len(pool.numbers)))
    for row, first in enumerate(pool.firsts.tolist()):
        for node in entities_of(view, pool.numbers[first]):
            for other, edge in view.neighbours.get(node, {}).items():
                if edge.trussness > 2 and len(view.entities[other].chunks) <= HUB:
                    places = holders.get(other, [])
                    found[row, places] = np.maximum(found[row, places], math.log2(edge.trussness - 1))
    return found


def path_from_seed(view: LiveView, seeds: Seeds, pool: CandidatePool) -> Scores:
    """Return the strength of the best shared entity that is at most one relation from a named entity."""
    named = {hit.number for hit in seeds.entities} | {end for hit in seeds.statements for end in view.ends(hit.number)}
    near = named.union(*(view.neighbours.get(node, {}) for node in named))
    holders = _holders(view, pool)
    found = np.zeros((len(pool.firsts), len(pool.numbers)))
    for row, first in enumerate(pool.firsts.tolist()):
        for node in entities_of(view, pool.numbers[first]) & near:
            places = holders[node]
            found[row, places] = np.maximum(found[row, places], bridge_strength(view, node))
    return found


def _holders(view: LiveView, pool: CandidatePool) -> dict[int, list[int]]:
    """Return the candidates that mention each entity."""
    holders: dict[int, list[int]] = {}
    for place, number in enumerate(pool.numbers):
        for node in entities_of(view, number):
            holders.setdefault(node, []).append(place)
    return holders


def da_rag(course: DaRagSettings) -> Method:
    return lambda view, question: retrieve_da_rag(view, question, course)


def dynagrag(settings: Dynagrag) -> Method:
    return lambda view, question: retrieve_dynagrag(view, question, settings)


def _without(term: str) -> Weighting:
    """Return the weights without a passage's own term."""
    first, second = (replace(weights, **{term: 0.0}) for weights in (WEIGHTING.first, WEIGHTING.second))
    return replace(WEIGHTING, first=first, second=second)


def nakg(settings: Nakg) -> Method:
    return lambda view, question: retrieve_nakg(view, question, settings)


VARIANTS: Mapping[str, Mapping[str, Method]] = {
    "passages": {
        "whole": by_pairs(WEIGHTING),
        "no aboutness links": by_pairs(replace(WEIGHTING, about=0.0)),
        "no names of the question": by_pairs(_without("named")),
        "no shared entities": by_pairs(replace(WEIGHTING, bridge=0.0)),
        "no coverage": by_pairs(replace(WEIGHTING, coverage=0.0)),
        "no walk": by_pairs(_without("walk")),
        "no words of the question": by_pairs(_without("words")),
        "pairs alone, no set": by_pairs(replace(WEIGHTING, greedy=0)),
        "no pairs": by_pairs(replace(WEIGHTING, bridge=0.0, coverage=0.0, about=0.0, greedy=0)),
        "with trussness, 2": by_pairs(WEIGHTING, trussness, 2.0),
        "with paths from seeds, 1": by_pairs(WEIGHTING, path_from_seed, 1.0),
    },
    "da-rag": {
        "whole": da_rag(COURSE),
        "no chunk layer": da_rag(replace(COURSE, chunk_layer=False)),
        "no similarity layer": da_rag(replace(COURSE, similarity_layer=False)),
        "1-hop, no community search": da_rag(replace(COURSE, community_search=False)),
    },
    "dynagrag": {
        "whole": dynagrag(Dynagrag()),
        "no diversity": dynagrag(Dynagrag(diversity=False)),
        "no pruning": dynagrag(Dynagrag(pruning=False)),
        "fixed mask": dynagrag(Dynagrag(mask=Mask.FIXED)),
        "plain traversal": dynagrag(Dynagrag(traversal=Traversal.BREADTH)),
    },
    "nakg": {
        "whole": nakg(Nakg()),
        "no propagation": nakg(Nakg(relevance_layers=0)),
        "3 layers of relevance": nakg(Nakg(relevance_layers=3)),
        "1 layer of vectors": nakg(Nakg(relevance_layers=0, layers=1)),
        "3 layers of vectors, as in the source": nakg(Nakg(relevance_layers=0, layers=3)),
    },
}


def mode(name: str) -> Method:
    """Return a registered mode as a method of its own."""
    return lambda view, question: retrieve(view, replace(question, mode=name))
