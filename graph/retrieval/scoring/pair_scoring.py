"""Pair scoring of passages: a multi-hop question is answered by passages together, not by each alone.

It scores how well a second passage continues a first one, and gives every candidate its share of the good pairs. The
candidates come from elsewhere (candidates.py).

A passage opens a pair when it is near the question, reached by the walk from its seeds, about a thing that the question
names, and has its words. A second one continues it when, besides, it covers words of the question that the first does
not, shares an entity with it that few passages mention, and is about something that the first mentions and the question
does not name. A link counts by how far it exceeds the mean of the links from all openings: what continues any passage
says nothing about this one. Similarities are measured on the scale of the question's own candidates, so that the
weights hold for any embedder; the weights are fitted (`Weighting`).

Pure, on arrays. Invariant: no result depends on the order of the candidates, except that ties keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.scoring.terms import Occurrences
from graphtide.graph.vector_index import Vectors

Scores = NDArray[np.float64]
Positions = NDArray[np.intp]

DECADES = 3
MIN_SPAN = 0.1  # of cosine: a few candidates that are all alike must not appear to differ
WALK_SHARE = 0.5
"""The weight of the walk beside nearness where no pair is scored: in the choice of the passages that links start from,
and in mode `pipeline`."""


@dataclass(frozen=True, slots=True)
class UnaryWeights:
    """The weights of a passage's own terms: nearness, the walk's reach, being named, and the question's words."""

    nearness: float
    walk: float
    named: float
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class Weighting:
    """The weights of the score terms, as logarithms of odds, with the terms in units of a question's best candidate.

    Fitted by `python -m tests.bench.retrieval_fit`, a conditional logistic regression on the questions of
    2WikiMultiHopQA's training set and on fifty of MuSiQue's, and rounded. No weight may be negative, and that of
    nearness is at least 1: titles answer those questions so well that the fit would do without vectors. The similarity
    of the two passages, the relation's similarity to the question, trussness, and paths from the question's entities
    were tried as further terms and left out: they gain nothing on questions held out.
    """

    first: UnaryWeights = field(default_factory=lambda: UnaryWeights(nearness=1.0, walk=2.0, named=2.4, words=1.8))
    second: UnaryWeights = field(default_factory=lambda: UnaryWeights(nearness=1.0, walk=1.6, named=3.9))
    bridge: float = 4.7
    about: float = 5.3
    coverage: float = 7.2
    firsts: int = 20
    temperature: float = 0.4
    greedy: int = 6
    """The number of passages that the set coverage chooses; see `pair_reranking.py`."""


WEIGHTING = Weighting()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The features of n passages; `contained` (n, words) marks which of the question's words each has.

    `cosine`, `walk` (mass, 0 for an unreached passage) and `named` (the specificity of the question's name for what the
    passage is about, 0 without one) are (n,), `words` the words' weights summing to 1, `scale` the cosine of the worst
    and the best candidate that count as 0 and 1.
    """

    cosine: Scores
    walk: Scores
    named: Scores
    vectors: Vectors
    contained: Occurrences
    words: Scores
    scale: tuple[float, float]

    def __len__(self) -> int:
        return len(self.cosine)

    @property
    def span(self) -> float:
        return max(self.scale[1] - self.scale[0], MIN_SPAN)


@dataclass(frozen=True, slots=True)
class Links:
    """The strengths of the links from one passage, the strongest of a set, or the mean of a set, to n candidates.

    `bridges` (n,) are by a shared entity, `about` (n,) by what the candidate is about and the question does not name.
    """

    bridges: Scores
    about: Scores

    @classmethod
    def mean(cls, links: Sequence[Links]) -> Links:
        """Return the mean of the links from at least one passage."""
        return cls(
            *(np.mean(each, axis=0) for each in zip(*((link.bridges, link.about) for link in links), strict=True))
        )


def on_scale(values: Scores, lowest: float, span: float) -> Scores:
    """Return values as a share of the span from `lowest` up, not clipped at either end."""
    return (values - lowest) / span


def nearness(candidates: Candidates) -> Scores:
    """Return similarity to the question: 1 for the nearest passage, 0 for the last candidate of the search."""
    return on_scale(candidates.cosine, candidates.scale[0], candidates.span)


def reach(walk: Scores) -> Scores:
    """Return the walk's mass on a logarithmic scale, 1 for the best passage, 0 from DECADES below it, (n,).

    Stationary mass decreases geometrically with distance, so its logarithm is comparable with a similarity. A mass
    below the scale counts as not reached: there the walk's error is as large as the mass.
    """
    best = walk.max(initial=0.0)
    if best <= 0:
        return np.zeros(len(walk))
    with np.errstate(divide="ignore"):
        share: Scores = 1 + np.log10(walk / best) / DECADES
    return share.clip(0, 1)


def worth(candidates: Candidates) -> Scores:
    """Return each passage's worth by similarity and walk alone, (n,)."""
    found: Scores = nearness(candidates) + WALK_SHARE * reach(candidates.walk)
    return found


def unary_scores(candidates: Candidates, weights: UnaryWeights) -> Scores:
    """Return each passage's own score, (n,)."""
    return _total(unary_terms(candidates, weights))


def unary_terms(candidates: Candidates, weights: UnaryWeights) -> tuple[tuple[str, Scores], ...]:
    """Return the terms whose sum is the score of `unary_scores`, each (n,), by name."""
    return (
        ("nearness", weights.nearness * nearness(candidates)),
        ("walk", weights.walk * reach(candidates.walk)),
        ("named", weights.named * candidates.named),
        ("words", weights.words * (candidates.contained @ candidates.words)),
    )


def next_scores(
    candidates: Candidates, second: Scores, chosen: Sequence[int], links: Links, mean: Links, weighting: Weighting
) -> Scores:
    """Return each passage's score as the next one after those `chosen`, (n,); -inf for these themselves.

    `second` (n,) are the unary scores by `weighting.second`, `links` the strongest from any of `chosen`, `mean` those
    from all openings.
    """
    scores = second + _total(_added_terms(candidates, chosen, links, mean, weighting))
    scores[list(chosen)] = -np.inf
    return scores


def first_next_scores(
    candidates: Candidates, second: Scores, firsts: Positions, links: Sequence[Links], mean: Links, weighting: Weighting
) -> Scores:
    """Return the `next_scores` after each of `firsts` alone, (firsts, n), to the same bits; `links` are from each."""
    if not len(firsts):
        return np.zeros((0, len(candidates)))
    fresh = ~candidates.contained[firsts] * candidates.words
    contained = candidates.contained.astype(np.float64)
    terms = (
        weighting.bridge * (np.stack([each.bridges for each in links]) - mean.bridges),
        weighting.about * (np.stack([each.about for each in links]) - mean.about),
        # one product of matrices would round differently
        weighting.coverage * np.stack([contained @ words for words in fresh]),
    )
    scores: Scores = second + sum(terms)
    scores[np.arange(len(firsts)), firsts] = -np.inf
    return scores


def next_terms(
    candidates: Candidates, chosen: Sequence[int], links: Links, mean: Links, weighting: Weighting
) -> tuple[tuple[str, Scores], ...]:
    """Return the terms whose sum is the scores of `next_scores`, each (n,), by name."""
    return (*unary_terms(candidates, weighting.second), *_added_terms(candidates, chosen, links, mean, weighting))


def _added_terms(
    candidates: Candidates, chosen: Sequence[int], links: Links, mean: Links, weighting: Weighting
) -> tuple[tuple[str, Scores], ...]:
    fresh = ~candidates.contained[list(chosen)].any(axis=0) * candidates.words
    return (
        ("bridge", weighting.bridge * (links.bridges - mean.bridges)),
        ("about", weighting.about * (links.about - mean.about)),
        ("coverage", weighting.coverage * (candidates.contained @ fresh)),
    )


def _total(terms: Sequence[tuple[str, Scores]]) -> Scores:
    return np.asarray(sum(values for _, values in terms), dtype=np.float64)


def products(vectors: Vectors, other: Vectors) -> Scores:
    """Return the inner product of each of (n, d) vectors with (d,), (n,), independent of the row's position.

    A matrix product is faster, but its rounding depends on the row's position, and equal passages would get different
    values.
    """
    found: Scores = np.einsum("nd,d->n", vectors, other).astype(np.float64)
    return found


def shares(scores: Scores, temperature: float) -> Scores:
    """Return the shares exp(score / temperature) of n scores, summing to 1; -inf has none. All zero without a score."""
    best = scores.max(initial=-np.inf)
    if not np.isfinite(best):
        return np.zeros(len(scores))
    weight: Scores = np.exp((scores - best) / temperature)
    total: Scores = weight / weight.sum()
    return total


def row_shares(scores: Scores, temperature: float) -> Scores:
    """Return the `shares` of each row of (rows, n) scores, to the same bits."""
    best = scores.max(axis=1, initial=-np.inf, keepdims=True)
    known = np.isfinite(best)
    weights = np.exp((scores - np.where(known, best, 0.0)) / temperature)
    totals = weights.sum(axis=1, keepdims=True)
    found: Scores = np.where(known, weights / np.where(known, totals, 1.0), 0.0)
    return found


def inclusion(first: Scores, seconds: Scores, firsts: Positions, temperature: float) -> Scores:
    """Return each candidate's expected number of places in a pair, as a logarithm, (n,).

    `first` (n,) scores the opening passages, `seconds` (firsts, n) the continuations of each of `firsts`. A pair is
    drawn by `shares` of the first, and then of the second; the logarithm is scaled by the temperature.
    """
    opening = shares(first, temperature)
    part = opening.copy()
    for row in opening[firsts][:, None] * row_shares(seconds, temperature):
        part += row
    logs: Scores = temperature * np.log(np.maximum(part, np.finfo(np.float64).tiny))
    return logs + 1e-6 * first
