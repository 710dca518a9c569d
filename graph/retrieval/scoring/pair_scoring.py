"""Pair scoring of passages: a multi-hop question is answered by passages together, not by each alone.

It scores how well every two candidates answer the question together, and gives every candidate its share of the good
pairs. The candidates come from elsewhere (candidates.py).

A pair is good when its passages are near the question and reached by the walk from its seeds; when an entity that few
passages mention links them; when the second adds what the first does not cover; and when together they cover the
question's words. No part is learned: similarities are measured on the scale of the question's own candidates, so that
the weights hold for any embedder.

Pure, on arrays. Invariant: no result depends on the order of the candidates, except that ties keep it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.scoring.terms import Held
from graphtide.graph.vector_index import Vectors

Scores = NDArray[np.float64]
Positions = NDArray[np.intp]

DECADES = 3
MIN_SPAN = 0.1  # of cosine: a few candidates that are all alike must not appear to differ


@dataclass(frozen=True, slots=True)
class Weighting:
    """The weights of a pair's score terms, each in units of "from the worst candidate's similarity to the best one's".

    Round numbers from the middle of a plateau on multi-hop questions. Bridge and coverage have the largest weights,
    redundancy the second, the walk a small one: its main use is to find candidates.

    Two further terms were tried and left out, since tests/bench/retrieval.py, which prints them, finds no gain: the
    trussness of the relation between the two passages' entities (at weight 0.5, recall@2 falls by 0.05 and recall@5 by
    0.01), and a shared entity on a path from the question's entities (at weight 0.25, recall@2 falls by 0.04 and
    recall@5 gains 0.01, within the noise). Nine edges in ten of such a graph are in no triangle.
    """

    walk: float = 0.5
    redundancy: float = 0.5
    bridge: float = 2.0
    coverage: float = 2.0
    firsts: int = 20
    temperature: float = 0.1


WEIGHTING = Weighting()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The features of n passages; `held` (n, words) marks which of the question's words each has.

    `cosine` and `walk` (mass, 0 for an unreached passage) are (n,), `vectors` (n, d) unit length, `words` the words'
    weights summing to 1, `scale` the cosine of the worst and the best candidate that count as 0 and 1.
    """

    cosine: Scores
    walk: Scores
    vectors: Vectors
    held: Held
    words: Scores
    scale: tuple[float, float]

    def __len__(self) -> int:
        return len(self.cosine)

    @property
    def span(self) -> float:
        return max(self.scale[1] - self.scale[0], MIN_SPAN)


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


def unary_scores(candidates: Candidates, weighting: Weighting) -> Scores:
    """Return each passage's own score: nearness and reach, (n,)."""
    worth: Scores = nearness(candidates) + weighting.walk * reach(candidates.walk)
    return worth


def pair_scores(candidates: Candidates, worth: Scores, first: int, bridges: Scores, weighting: Weighting) -> Scores:
    """Return the score of the pair (first, p) for every p, (n,); -inf for the first itself.

    `bridges` (n,) in [0, 1] is the specificity of the best entity that `first` and p share. The third term is the part
    of p's similarity to the question that `first` explains already, cos(q, first) * cos(first, p): subtracting all of
    it would compare p with the question's residual without the direction of `first` (the first step of orthogonal
    matching pursuit, Pati et al. 1993). Cost O(n * d).
    """
    score = sum(part for _, part in score_terms(candidates, worth, first, bridges, weighting))
    whole = np.asarray(score, dtype=np.float64)
    whole[first] = -np.inf
    return whole


def score_terms(
    candidates: Candidates, worth: Scores, first: int, bridges: Scores, weighting: Weighting
) -> tuple[tuple[str, Scores], ...]:
    """Return the terms whose sum is the scores of `pair_scores`, each (n,), by name."""
    explained = candidates.cosine[first] * products(candidates.vectors, candidates.vectors[first])
    covered = (candidates.held | candidates.held[first]) @ candidates.words
    return (
        ("first", np.full(len(candidates), worth[first])),
        ("second", worth),
        ("redundancy", -weighting.redundancy * explained / candidates.span),
        ("bridge", weighting.bridge * bridges),
        ("coverage", weighting.coverage * covered),
    )


def products(vectors: Vectors, other: Vectors) -> Scores:
    """Return the inner product of each of (n, d) vectors with (d,), (n,), independent of the row's position.

    A matrix product is faster, but its rounding depends on the row's position, and equal passages would get different
    values.
    """
    found: Scores = np.einsum("nd,d->n", vectors, other).astype(np.float64)
    return found


def marginal_log_weight(scores: Scores, firsts: Positions, worth: Scores, temperature: float) -> Scores:
    """Return each candidate's share of the pairs' weight, as a logarithm with 0 for all of it, (n,).

    `scores` (firsts, n). A pair weighs exp(score / temperature), so near-ties share the weight. The two passages of an
    isolated pair have equal shares: then the one with the higher unary score is first.
    """
    best = scores.max(initial=-np.inf)
    if not np.isfinite(best):
        return on_scale(worth, float(worth.max(initial=0.0)), 1.0)
    weight = np.exp((scores - best) / temperature)
    part = weight.sum(axis=0)
    part[firsts] += weight.sum(axis=1)
    tiny = np.finfo(np.float64).tiny
    logs: Scores = temperature * np.log(np.maximum(part, tiny) / weight.sum())
    return logs + 1e-6 * worth
