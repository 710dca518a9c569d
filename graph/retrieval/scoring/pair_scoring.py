"""Passages judged in pairs: a question of several hops is answered by passages together, not by each alone.

What it is: for every two candidates, how well they answer the question between them; and from that, for every
candidate, the share of good pairs it belongs to. What it is not: a search; the candidates come from elsewhere.

A pair is good when its passages are near the question, and reached by the walk from its seeds; when an entity that
few passages mention leads from one to the other; when the second says what the first left open; and when together
they cover the question's words. No part is learned: similarities are measured on the scale that the question's own
candidates span, so that the weights hold for any embedder.

Pure, on arrays. Invariant: no result depends on the order of the candidates, but for ties, which keep it.
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
MIN_SPAN = 0.1  # of cosine: a handful of candidates all alike must not look as if they differed


@dataclass(frozen=True, slots=True)
class Weighting:
    """What a pair is scored by, each in units of "from the worst candidate's similarity to the best one's".

    Round numbers from the middle of a plateau on multi-hop questions. Bridge and coverage carry the most, redundancy
    the second place, the walk a little beside them: its own part is to find candidates.

    Two further terms were tried and left out, since tests/bench/retrieval.py, which prints them, finds no gain: the
    trussness of the relation between the two passages' entities (at weight 0.5, recall@2 falls by 0.05 and recall@5
    by 0.01), and a shared entity on a path from what the question names (at weight 0.25, recall@2 falls by 0.04 and
    recall@5 gains 0.01, within the noise). Nine edges in ten of such a graph lie in no triangle.
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
    """n passages and what is known of them; `held` (n, words) says which of the question's words each has.

    `cosine` and `walk` (mass, 0 where the walk did not come) are (n,), `vectors` (n, d) unit length, `words` the
    words' weights summing to 1, `scale` the cosine of the worst and the best candidate that count as 0 and 1.
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
    """Values as a share of the way from `lowest` up, not cut off at either end."""
    return (values - lowest) / span


def nearness(candidates: Candidates) -> Scores:
    """Similarity to the question: 1 for the nearest passage, 0 for the last that was looked at."""
    return on_scale(candidates.cosine, candidates.scale[0], candidates.span)


def reach(walk: Scores) -> Scores:
    """The walk's mass on a logarithmic scale, 1 for the best passage, 0 from DECADES below it, (n,).

    Stationary mass falls off geometrically with distance, so its logarithm is what compares with a similarity. What
    lies below the scale counts as not reached: there the walk's error is as large as the mass.
    """
    best = walk.max(initial=0.0)
    if best <= 0:
        return np.zeros(len(walk))
    with np.errstate(divide="ignore"):
        share: Scores = 1 + np.log10(walk / best) / DECADES
    return share.clip(0, 1)


def unary_scores(candidates: Candidates, weighting: Weighting) -> Scores:
    """What each passage is worth by itself: nearness and reach, (n,)."""
    worth: Scores = nearness(candidates) + weighting.walk * reach(candidates.walk)
    return worth


def pair_scores(candidates: Candidates, worth: Scores, first: int, bridges: Scores, weighting: Weighting) -> Scores:
    """The score of the pair (first, p) for every p, (n,); -inf for the first itself.

    `bridges` (n,) in [0, 1] says how specific the best entity is that `first` and p share. The third term is the part
    of p's similarity to the question that `first` explains already, cos(q, first) * cos(first, p): subtracting all of
    it would compare p with what is left of the question when the direction of `first` is taken out (the first step
    of orthogonal matching pursuit, Pati et al. 1993). Cost O(n * d).
    """
    score = sum(part for _, part in score_terms(candidates, worth, first, bridges, weighting))
    whole = np.asarray(score, dtype=np.float64)
    whole[first] = -np.inf
    return whole


def score_terms(
    candidates: Candidates, worth: Scores, first: int, bridges: Scores, weighting: Weighting
) -> tuple[tuple[str, Scores], ...]:
    """What the scores of `pair_scores` are the sum of, each (n,), by name."""
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
    """The inner product of each of (n, d) vectors with (d,), (n,): each the same wherever it stands among the others.

    A matrix product is quicker still, but rounds a row by its place, and passages that are alike would be told apart.
    """
    found: Scores = np.einsum("nd,d->n", vectors, other).astype(np.float64)
    return found


def marginal_log_weight(scores: Scores, firsts: Positions, worth: Scores, temperature: float) -> Scores:
    """How much of the pairs' weight each candidate has part in, as a logarithm with 0 for all of it, (n,).

    `scores` (firsts, n). A pair weighs exp(score / temperature), so near-ties share and nothing hangs on one winner.
    Equal for both of a pair that stands alone: then the one worth more by itself comes first.
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
