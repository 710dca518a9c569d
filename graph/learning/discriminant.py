"""Linear discriminant of two classes (Fisher 1936), fitted from integer sums over labelled rows of features.

The sums of a class are the Gram matrix of its rows with a column of ones: their number, their sum, and the sums of
products. Invariant: they are whole numbers below 2**53, so they are a function of the multiset of rows, adding has an
inverse, and equal sums give equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SCALE = 1 << 10
"""Units of a feature: features are rounded to multiples of 1 / SCALE."""
MIN_ROWS = 64
"""Rows of each class below which nothing is fitted."""
RIDGE = 1e-2
"""Share of its own variance that is added to the variance of each feature (Friedman 1989), which bounds the weights."""
FLOOR = 1e-4
"""Variance that is added to that of each feature, for those that are constant."""

Rows = NDArray[np.float64]
Sums = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Discriminant:
    """Weights (f,) and bias of the log odds of class 1, both classes equally frequent; and the rows of each class."""

    weights: tuple[float, ...]
    bias: float
    trained_on: tuple[int, int]

    def probabilities(self, rows: Rows) -> Rows:
        """Return the probability of class 1 of rows (n, f), as (n,): in (0, 1)."""
        log_odds = np.einsum("nf,f->n", rows, np.array(self.weights)) + self.bias
        found: Rows = 1 / (1 + np.exp(-np.clip(log_odds, -30.0, 30.0)))
        return found


def row_sums(rows: Rows, positive: NDArray[np.bool_]) -> Sums:
    """Return the sums of rows (n, f) of both classes, class 0 first, as (2, f + 1, f + 1)."""
    whole = np.concatenate((np.full((len(rows), 1), SCALE), np.rint(rows * SCALE)), axis=1).astype(np.int64)
    return np.stack([whole[chosen].T @ whole[chosen] for chosen in (~positive, positive)])


def fit_discriminant(sums: Sums) -> Discriminant | None:
    """Return the discriminant of the rows, or None with fewer than MIN_ROWS of a class. Cost O(f^3)."""
    counts = [int(each[0, 0]) // SCALE**2 for each in sums]
    if min(counts) < MIN_ROWS:
        return None
    scaled = sums.astype(np.float64) / SCALE**2
    means = [each[0, 1:] / count for each, count in zip(scaled, counts, strict=True)]
    within = sum(
        each[1:, 1:] / count - np.outer(mean, mean) for each, count, mean in zip(scaled, counts, means, strict=True)
    )
    covariance = np.asarray(within) / 2
    regular = covariance + np.diag(RIDGE * np.diag(covariance) + FLOOR)
    weights = np.linalg.solve(regular, means[1] - means[0])
    bias = -float(weights @ (means[0] + means[1])) / 2
    return Discriminant(tuple(weights.tolist()), bias, (counts[0], counts[1]))
