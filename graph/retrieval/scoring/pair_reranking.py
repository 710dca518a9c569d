"""Pair reranking: the steps that modes `local` and `passages` share: seeds, walk, candidates, pairs, set, choice.

Four rankings are made: by each candidate's share of the good pairs; by a greedy choice that starts with the best two
and adds whatever continues the whole set best, which is what questions of three and four hops need; and by how well
each candidate continues the best two, and the whole choice. A passage takes the best of its ranks (CombMAX by rank; Fox
& Shaw 1994). The mode decides about repetitions. Invariant:
canonical names and values alone decide, so equal graphs give equal results, to the last bit of a score where the
indexes are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphtide.graph.retrieval import explain
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.scoring.candidates import CandidatePool, best_first, gather
from graphtide.graph.retrieval.scoring.pair_scoring import (
    WEIGHTING,
    Links,
    Scores,
    Weighting,
    first_next_scores,
    inclusion,
    next_scores,
    products,
)
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.search.walk_mass import WalkMass
from graphtide.graph.retrieval.seeds import SeedCounts, Seeds, restart, search_seeds, searched_indexes
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph, Trace
from graphtide.graph.view import LiveView

OPENING = 2
"""The number of passages that the greedy choice takes over from the best pairs."""


def retrieve_by_pairs(
    view: LiveView, question: Question, mode: str, repetition: float, weighting: Weighting = WEIGHTING
) -> RetrievalResult:
    """Return the `top_k` passages by pairs and coverage; a passage whose cosine to a better one is above `repetition`
    comes after all others.

    `score` falls from 1 to 0 along the whole ranking: the i-th passage has the i-th largest share of good pairs, on a
    logarithmic scale. Call under `view.lock.read()`. Cost: three searches, one walk, and some two hundred passages
    read: each step is bounded, whatever the graph's size.
    """
    weighting = question_weighting(question, weighting)
    found = rank_by_pairs(view, question, repetition, weighting)
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
        explain.named_step(view, pool),
        explain.word_step(pool),
        explain.pair_step(view, pool, found.scores, weighting),
        explain.choice_step(view, pool, found.relevance, found.order),
    )
    return RetrievalResult(passages, subgraph, view.version, mode, Trace(steps))


@dataclass(frozen=True, slots=True)
class PairRanking:
    """The ranking of a question's candidates, and the values that it was computed from. `pool` None: no candidate.

    `reached` is the mass of all nodes that the walk reached; `mass` is the same without the passages that a filter
    excludes. `order` holds positions in the pool, best first; `relevance` (n,) is by position, from 0 to 1. `greedy`
    are the positions that the set coverage chose, in its order. `searched` are the seeds with all ties.
    """

    searched: Seeds
    seeds: Seeds
    restart: Mapping[int, float]
    reached: WalkMass
    mass: WalkMass
    pool: CandidatePool | None
    scores: Scores
    relevance: Scores
    order: list[int]
    greedy: tuple[int, ...] = ()


def rank_by_pairs(
    view: LiveView,
    question: Question,
    repetition: float,
    weighting: Weighting = WEIGHTING,
    searched: Seeds | None = None,
) -> PairRanking:
    """Return the ranking that `retrieve_by_pairs` shows. Call under `view.lock.read()`.

    `searched` are the seeds with all ties where the caller knows them: nothing is searched then.
    """
    settings, weighting = settings_from(PairSettings, question.options), question_weighting(question, weighting)
    admits, indexes = admitted_chunks(view, question.filters), searched_indexes(view, question)
    counts = SeedCounts(settings.statements, settings.entities)
    depth = max(settings.near, question.top_k)
    if searched is None:
        searched = search_seeds(view, question.vector, admits, depth, indexes, counts)
    seeds = searched.cut(depth, counts)
    start = restart(view, seeds)
    reached = personalised_pagerank(view.walk, start, settings.restart)
    mass = admitted_mass(reached, admits)
    pool = gather(view, question, seeds, mass, admits, weighting)
    if pool is None:
        return PairRanking(searched, seeds, start, reached, mass, None, np.zeros((0, 0)), np.zeros(0), [])
    scores = rerank_scores(pool, weighting)
    included = inclusion(pool.opening, scores, pool.firsts, weighting.temperature)
    by_pairs = best_first(included, len(included)).tolist()
    coverage = set_coverage(pool, by_pairs[:OPENING], weighting)
    ranked = without_repetition(pool, better_ranks(by_pairs, coverage), question.top_k, repetition)
    relevance = np.empty(len(included))
    relevance[ranked] = np.sort(relative(included))[::-1]
    order, greedy = ranked[: question.top_k], tuple(coverage.chosen)
    return PairRanking(searched, seeds, start, reached, mass, pool, scores, relevance, order, greedy)


def question_weighting(question: Question, weighting: Weighting) -> Weighting:
    """Return the weighting with the numbers of passages that the question's options set."""
    if not question.options:
        return weighting
    settings = settings_from(PairSettings, question.options)
    return replace(weighting, firsts=settings.firsts, greedy=settings.coverage)


def admitted_mass(mass: WalkMass, admits: ChunkPredicate | None) -> WalkMass:
    """Return the walk's mass without the passages that a filter excludes."""
    if admits is None:
        return mass
    return mass.only(np.array([node % 2 == 0 or admits(node // 2) for node in mass], bool))


def rerank_scores(pool: CandidatePool, weighting: Weighting) -> Scores:
    """Return the scores of all continuations, a row for each first, (firsts, n)."""
    return first_next_scores(pool.candidates, pool.second, pool.firsts, pool.links, pool.mean, weighting)


@dataclass(frozen=True, slots=True)
class SetCoverage:
    """The positions that the greedy choice took, in its order, and all positions by how well each continues a set.

    `continued` are the rankings after the opening and after the whole choice, each with its set first; none without a
    choice.
    """

    chosen: list[int]
    continued: tuple[list[int], ...]


def set_coverage(pool: CandidatePool, opening: Sequence[int], weighting: Weighting) -> SetCoverage:
    """Return the passages of `opening`, then greedily the best continuation of all before it, and the rankings.

    A link counts from any passage of the set, the strongest one; a word counts once for the set.
    """
    count = min(weighting.greedy, len(pool.numbers))
    chosen, none = list[int](), np.zeros(len(pool.numbers))
    links, continued = Links(none, none), list[list[int]]()
    for place in opening[:count]:
        links = _with_place(pool, chosen, links, place)
    while chosen:
        scores = next_scores(pool.candidates, pool.second, chosen, links, pool.mean, weighting)
        if len(chosen) in (len(opening), count):
            others = best_first(scores, len(scores) - len(chosen)).tolist()
            continued.append([*chosen, *others])
        if len(chosen) == count:
            break
        links = _with_place(pool, chosen, links, int(np.argmax(scores)))
    return SetCoverage(chosen, tuple(continued))


def _with_place(pool: CandidatePool, chosen: list[int], links: Links, place: int) -> Links:
    """Append a position to the chosen ones, and return the strongest links from them all."""
    chosen.append(place)
    more = pool.links_from(place)
    return Links(np.maximum(links.bridges, more.bridges), np.maximum(links.about, more.about))


def better_ranks(by_pairs: Sequence[int], coverage: SetCoverage) -> list[int]:
    """Return the positions by the best of their ranks in all rankings; of equal ranks that of the latest comes first:
    the pairs, the continuations of the opening and of the choice, the choice itself.
    """
    rankings = (coverage.chosen, *reversed(coverage.continued), by_pairs)
    best = np.full(len(by_pairs), len(by_pairs) * len(rankings))
    for last, ranking in enumerate(rankings):
        places = np.array(ranking, np.intp)
        best[places] = np.minimum(best[places], len(rankings) * np.arange(len(ranking)) + last)
    order: list[int] = np.argsort(best).tolist()  # every value is another one
    return order


def without_repetition(pool: CandidatePool, ranked: list[int], count: int, repetition: float) -> list[int]:
    """Return the ranking with repetitions last, of its first `count`: a passage repeats those before it when its
    cosine to one of them is above `repetition`. Cost: candidates * count * d at most.
    """
    if repetition >= 1.0:
        return ranked
    kept: list[int] = []
    repeated: list[int] = []
    for number, place in enumerate(ranked):
        if len(kept) == count:
            return [*kept, *ranked[number:], *repeated] if repeated else ranked
        close = products(pool.candidates.vectors[kept], pool.candidates.vectors[place]).max(initial=-1.0)
        (repeated if close > repetition else kept).append(place)
    return [*kept, *repeated]


def relative(values: Scores) -> Scores:
    """Return values scaled from 0 for the smallest to 1 for the greatest; all 1 when they are equal."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones(len(values))


def _passage(view: LiveView, number: int, score: float) -> RetrievedPassage:
    chunk = view.chunks[number]
    return RetrievedPassage(chunk.chunk_id, chunk.doc_id, score, chunk.text)
