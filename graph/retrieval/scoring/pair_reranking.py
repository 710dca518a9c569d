"""Pair reranking: the steps that modes `local` and `passages` share: seeds, walk, candidates, pairs, choice.

The mode sets the weight of novelty in the choice. Invariant: canonical names and values alone decide, so equal graphs
give equal results, to the last bit of a score where the indexes are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval import explain
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.scoring.candidates import NEAR, CandidatePool, best_first, gather
from graphtide.graph.retrieval.scoring.mmr import Order, mmr
from graphtide.graph.retrieval.scoring.pair_scoring import (
    WEIGHTING,
    Scores,
    Weighting,
    marginal_log_weight,
    pair_scores,
)
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import Seeds, find_seeds, restart, searched_indexes
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph, Trace
from graphtide.graph.view import LiveView


def retrieve_by_pairs(
    view: LiveView, question: Question, mode: str, trade_off: float, weighting: Weighting = WEIGHTING
) -> RetrievalResult:
    """Return the `top_k` passages by share of good pairs, weighted `trade_off` to 1 - `trade_off` against novelty
    (mmr.py).

    `score` is the share of good pairs, from 0 to 1 for the best candidate. Call under `view.lock.read()`. Cost: three
    searches, one walk, and some three hundred passages read: each step is bounded, whatever the graph's size.
    """
    found = rank_by_pairs(view, question, trade_off, weighting)
    pool = found.pool
    if pool is None:
        return RetrievalResult((), Subgraph(), view.version, mode, Trace() if question.explain else None)
    passages = tuple(_passage(view, pool.numbers[place], float(found.relevance[place])) for place in found.order)
    subgraph = supported_subgraph(view, [pool.numbers[place] for place in found.order], found.mass)
    if not question.explain:
        return RetrievalResult(passages, subgraph, view.version, mode)
    steps = (
        *explain.seed_steps(view, found.seeds),
        explain.walk_step(view, found.restart, found.mass),
        explain.word_step(pool),
        explain.pair_step(view, pool, found.scores, weighting),
        explain.choice_step(view, pool, found.relevance, found.order),
    )
    return RetrievalResult(passages, subgraph, view.version, mode, Trace(steps))


@dataclass(frozen=True, slots=True)
class PairRanking:
    """The ranking of a question's candidates, and the values that it was computed from. `pool` None: no candidate.

    `reached` is the mass of all nodes that the walk reached; `mass` is the same without the passages that a filter
    excludes. `order` holds positions in the pool, best first; `relevance` (n,) is by position, from 0 to 1.
    """

    seeds: Seeds
    restart: Mapping[int, float]
    reached: dict[int, float]
    mass: dict[int, float]
    pool: CandidatePool | None
    scores: Scores
    relevance: Scores
    order: list[int]


def rank_by_pairs(
    view: LiveView, question: Question, trade_off: float, weighting: Weighting = WEIGHTING
) -> PairRanking:
    """Return the ranking that `retrieve_by_pairs` shows. Call under `view.lock.read()`."""
    admits, indexes = admitted_chunks(view, question.filters), searched_indexes(view, question)
    seeds = find_seeds(view, question.vector, admits, max(NEAR, question.top_k), indexes)
    start = restart(view, seeds)
    reached = personalised_pagerank(view.walk, start)
    mass = admitted_mass(reached, admits)
    pool = gather(view, question, seeds, mass, admits, weighting)
    if pool is None:
        return PairRanking(seeds, start, reached, mass, None, np.zeros((0, 0)), np.zeros(0), [])
    scores = rerank_scores(pool, weighting)
    relevance = relative(marginal_log_weight(scores, pool.firsts, pool.worth, weighting.temperature))
    order: list[int] = _chosen(pool, relevance, question.top_k, trade_off).tolist()
    return PairRanking(seeds, start, reached, mass, pool, scores, relevance, order)


def admitted_mass(mass: dict[int, float], admits: ChunkPredicate | None) -> dict[int, float]:
    """Return the walk's mass without the passages that a filter excludes."""
    if admits is None:
        return mass
    return {node: share for node, share in mass.items() if node % 2 == 0 or admits(node // 2)}


def rerank_scores(pool: CandidatePool, weighting: Weighting) -> Scores:
    """Return the scores of all pairs, a row for each first, (firsts, n)."""
    rows = enumerate(pool.firsts.tolist())
    return np.stack(
        [pair_scores(pool.candidates, pool.worth, first, pool.bridges[row], weighting) for row, first in rows]
    )


def relative(values: Scores) -> Scores:
    """Return values scaled from 0 for the smallest to 1 for the greatest; all 1 when they are equal."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones(len(values))


def _chosen(pool: CandidatePool, relevance: Scores, count: int, trade_off: float) -> Order:
    if trade_off == 1.0:
        return best_first(relevance, count)
    return mmr(relevance, pool.candidates.vectors, count, trade_off)


def _passage(view: LiveView, number: int, score: float) -> RetrievedPassage:
    chunk = view.chunks[number]
    return RetrievedPassage(chunk.chunk_id, chunk.doc_id, score, chunk.text)
