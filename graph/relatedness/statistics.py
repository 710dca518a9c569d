"""Sufficient statistics of the examples: exact, invertible sums, and the weights that fit them.

Invariant: the sums are integers, so they are a function of the multiset of examples, whatever was added and retracted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.relatedness.features import FEATURES, SCALE, Encoded, pair_features

RIDGE = 1e-2
TEMPERATURE = 8.0
BLOCK = 1 << 11

Sums = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The last layer, (FEATURES,): a pair's score is near 1 for those that belong together, near 0 for the others."""

    last: NDArray[np.float64]
    trained_on: tuple[int, int]

    def score(self, one: Encoded, other: Encoded) -> NDArray[np.float64]:
        """Return the scores of the pairs (one[i], other[i]), (n,)."""
        found: NDArray[np.float64] = np.einsum("nf,f->n", pair_features(one, other), self.last / SCALE)
        return found

    def edges(self, one: Encoded, other: Encoded) -> NDArray[np.float64]:
        """Return the edge weights e_ij in (0, 1) of the pairs (one[i], other[i]), (n,): equation 1 with T = 8.

        The temperature multiplies the score's distance to the middle of its two targets.
        """
        found: NDArray[np.float64] = 1 / (1 + np.exp(-TEMPERATURE * (self.score(one, other) - 0.5)))
        return found


UNTRAINED = Weights(np.eye(FEATURES)[1], (0, 0))
"""The weights without any example: the cosine."""


class SufficientStatistics:
    """The sums over one kind of example: the count, the features, and the products of the features."""

    def __init__(self) -> None:
        self.count = 0
        self.sums: Sums = np.zeros(FEATURES, np.int64)
        self.products: Sums = np.zeros((FEATURES, FEATURES), np.int64)

    def add(self, one: Encoded, other: Encoded, sign: int = 1) -> None:
        """Add the pairs (one[i], other[i]), or with `sign` -1 retract them. Cost O(n (d + FEATURES^2)).

        A feature is below 2^21, so the products of a BLOCK are exact in float64; at their usual size, 2^11, int64 holds
        those of 2^40 pairs.
        """
        features = pair_features(one, other)
        self.count += sign * len(features)
        self.sums += sign * features.sum(axis=0).astype(np.int64)
        self.products += sign * (features.T @ features).astype(np.int64)


def fit_weights(together: SufficientStatistics, chance: SufficientStatistics) -> Weights:
    """Return the least-squares last layer: target 1 on pairs that belong together, 0 on pairs of chance.

    Both kinds have the same weight however many examples each has; RIDGE keeps the weights of collinear features
    bounded. Cost O(FEATURES^3), a tenth of a millisecond: each caller solves it anew, and no result becomes stale.
    """
    if not together.count or not chance.count:
        return UNTRAINED
    kinds = (together, chance)
    products = sum(kind.products / (kind.count * float(SCALE) ** 2) for kind in kinds)
    wanted = together.sums / (together.count * float(SCALE))
    last: NDArray[np.float64] = np.linalg.solve(products + RIDGE * np.eye(FEATURES), wanted).astype(np.float64)
    return Weights(last, (together.count, chance.count))
