"""Fit of the weights of pair scoring (`graph/retrieval/scoring/pair_scoring.py`):

    python -m tests.bench.retrieval_fit [--questions 300] [--penalty 0.1] [--minimum 1.0] [--seed 0]

A conditional logistic regression: from a state (the passages chosen so far), each supporting passage that is missing is
to be the next among all candidates. States are the empty one, every supporting passage, random sets of them, and what
the present weights choose first, right or wrong. It reads 2wiki-train and the fifty questions of MuSiQue, these with
extractions brought along and with rules, and no development set. Half of the questions fit and the other half report,
in turn; the weights printed last are of all of them, to be rounded by hand into `Weighting`. It changes nothing.

The penalty is on squares. No weight may be negative, and that of nearness is at least `--minimum`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.scoring import pair_reranking as paired
from graphtide.graph.retrieval.scoring.candidates import CandidatePool, best_first, gather
from graphtide.graph.retrieval.scoring.pair_scoring import (
    WEIGHTING,
    Links,
    UnaryWeights,
    Weighting,
    inclusion,
    next_terms,
    unary_scores,
    unary_terms,
)
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from tests.bench.retrieval_asking import DEPTHS
from tests.bench.retrieval_sets import MUSIQUE, Source, load
from tests.support.bench_data import MultiHop, recall

Features = NDArray[np.float64]
ONES = UnaryWeights(1.0, 1.0, 1.0, 1.0)
UNIT = replace(WEIGHTING, first=ONES, second=replace(ONES, words=0.0), bridge=1.0, about=1.0, coverage=1.0)
FIRST = ("nearness", "walk", "named", "words")
NEXT = ("nearness", "walk", "named", "bridge", "about", "coverage")


@dataclass(frozen=True, slots=True)
class Posed:
    """A question with its candidates, and the positions of the supporting ones."""

    one: MultiHop
    pool: CandidatePool
    documents: tuple[str, ...]
    supporting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A state: the features of the passages that may come next, and which of them are supporting.

    `share` is its weight in the fit: the states of a question that are not empty share one.
    """

    features: Features
    right: NDArray[np.bool_]
    share: float


def main() -> None:
    """Print the recall on the half held out, then the weights of all questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300, help="of 2wiki-train")
    parser.add_argument("--penalty", type=float, default=0.1)
    parser.add_argument("--minimum", type=float, default=1.0, help="the least weight of nearness")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sources = (Source("2wiki-train", limit=options.questions), Source(MUSIQUE), Source(MUSIQUE, "minilm", True))
    groups = {source.title: list(posed(source)) for source in sources}
    rng = np.random.default_rng(options.seed)
    for name, group in groups.items():
        rows = []
        for half in (0, 1):
            fitted = fit(
                [one for each in groups.values() for one in each[half::2]], options.penalty, options.minimum, rng
            )
            rows += [recalls(one, fitted) for one in group[1 - half :: 2]]
        print(f"{name}, held out:", " ".join(f"R@{k} {v:.3f}" for k, v in zip(DEPTHS, np.mean(rows, 0), strict=True)))
    print(fit([one for each in groups.values() for one in each], options.penalty, options.minimum, rng))


def posed(source: Source) -> Iterator[Posed]:
    """Yield the questions of a source with their candidates."""
    loaded = load(source)
    for one, question in zip(loaded.ask.questions, loaded.ask.each(), strict=True):
        pool = _pool(loaded.view, question)
        if pool is not None:
            documents = tuple(loaded.view.chunks[number].doc_id for number in pool.numbers)
            right = tuple(place for place, doc_id in enumerate(documents) if doc_id in one.supporting)
            yield Posed(one, pool, documents, right)


def _pool(view: LiveView, question: Question) -> CandidatePool | None:
    seeds = find_seeds(view, question.vector, None, PairSettings().near)
    return gather(view, question, seeds, personalised_pagerank(view.walk, restart(view, seeds)))


def fit(questions: Sequence[Posed], penalty: float, minimum: float, rng: np.random.Generator) -> Weighting:
    """Return the fitted weights, from the present ones."""
    opening, following = list[Choice](), list[Choice]()
    for one in questions:
        later = [state for state in states(one, rng) if state]
        opening += [_choice(one, (), 1.0)] if one.supporting else []
        following += [_choice(one, state, 1 / len(later)) for state in later]
    first = _solved(opening, penalty, minimum)
    second = _solved(following, penalty, minimum)
    return replace(
        WEIGHTING,
        first=UnaryWeights(*first),
        second=UnaryWeights(*second[:3]),
        bridge=second[3],
        about=second[4],
        coverage=second[5],
    )


def states(one: Posed, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Yield the states of a question from which a supporting passage is still missing."""
    right = one.supporting
    greedy = paired.set_coverage(one.pool, best_first(one.pool.opening, 1).tolist(), WEIGHTING).chosen
    sizes = rng.integers(2, len(right), 3).tolist() if len(right) > 2 else []
    drawn = [tuple(rng.choice(right, size, replace=False).tolist()) for size in sizes]
    every = [(), *((place,) for place in right), *drawn, *(tuple(greedy[:count]) for count in range(1, 5))]
    yield from (state for state in every if set(right) - set(state))


def _choice(one: Posed, state: tuple[int, ...], share: float) -> Choice:
    terms = next_terms(one.pool.candidates, state, _links(one.pool, state), one.pool.mean, UNIT) if state else ()
    named = dict(terms or unary_terms(one.pool.candidates, ONES))
    features = np.column_stack([named[term] for term in (NEXT if state else FIRST)])
    left = np.setdiff1d(np.arange(len(one.documents)), state)
    return Choice(features[left], np.isin(left, one.supporting), share)


def _links(pool: CandidatePool, state: Sequence[int]) -> Links:
    links = [pool.links_from(place) for place in state]
    return Links(np.max([each.bridges for each in links], axis=0), np.max([each.about for each in links], axis=0))


def _solved(choices: Sequence[Choice], penalty: float, minimum: float) -> list[float]:
    """Return the weights that maximise the mean log probability of the supporting passages, less the penalty."""

    def loss(weights: Features) -> tuple[float, Features]:
        value, slope = penalty * float(weights @ weights), 2 * penalty * weights
        for each in choices:
            scores = each.features @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            value -= each.share * float(np.log(np.maximum(chance[each.right], 1e-12)).mean())
            slope = slope - each.share * (each.features[each.right].mean(axis=0) - chance @ each.features)
        return value, slope

    width = choices[0].features.shape[1]
    bounds = [(minimum, None)] + [(0.0, None)] * (width - 1)
    found = minimize(loss, np.ones(width), jac=True, method="L-BFGS-B", bounds=bounds)
    return [float(weight) for weight in found.x]


def recalls(one: Posed, weighting: Weighting) -> list[float]:
    """Return the recall of a question by other weights, on the same candidates."""
    opening, second = (unary_scores(one.pool.candidates, each) for each in (weighting.first, weighting.second))
    firsts = np.sort(best_first(opening, weighting.firsts))
    links = tuple(one.pool.links_from(place) for place in firsts.tolist())
    pool = replace(one.pool, opening=opening, second=second, firsts=firsts, links=links, mean=Links.mean(links))
    included = inclusion(opening, paired.rerank_scores(pool, weighting), firsts, weighting.temperature)
    by_pairs = best_first(included, len(included)).tolist()
    ranked = paired.better_ranks(by_pairs, paired.set_coverage(pool, by_pairs[: paired.OPENING], weighting))
    documents = list(dict.fromkeys(one.documents[place] for place in ranked))
    return [recall(documents, one.one.supporting, depth) for depth in DEPTHS]


if __name__ == "__main__":
    main()
