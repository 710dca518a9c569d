"""Sufficient statistics of the examples: exact, invertible sums, and the weights that fit them.

Invariant: the sums are integers, so they are a function of the multiset of examples, whatever was added and retracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.relatedness.features import SCALE, is_titled, whole_cosines
from graphtide.graph.relatedness.pairs import Pair

READ_PAIRS = 32
"""Pairs whose vectors are read at a time: each may be in a file, where a read maps 64 KiB."""
MIN_VARIANCE = 1e-2
PRIOR = -2.0
"""Log odds that two candidates of a question belong together: one in eight."""
TEMPERATURE = 2.0
"""Divisor of the log odds: naive Bayes is too certain, since the features are not independent."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The log odds that two passages belong together: a line over their cosine, and a term for a mentioned title."""

    bias: float
    cosine: float
    titled: float
    untitled: float
    trained_on: tuple[int, int]

    def log_odds(self, cosine: Values, titled: NDArray[np.bool_]) -> Values:
        """Return the log odds of pairs by their features, as examples of both kinds are equally frequent."""
        found: Values = self.bias + self.cosine * cosine + np.where(titled, self.titled, self.untitled)
        return found

    def edges(self, cosine: Values, titled: NDArray[np.bool_]) -> Values:
        """Return the edge weights e_ij in (0, 1) of pairs: equation 1.

        Deviation: the temperature divides calibrated log odds; the paper multiplies an unscaled score by 8.
        """
        found: Values = 1 / (1 + np.exp(-(self.log_odds(cosine, titled) + PRIOR) / TEMPERATURE))
        return found


UNTRAINED = Weights(-2.0, 8.0, 0.0, 0.0, (0, 0))
"""The weights without any example: a cosine of 1/2 gives an edge of 1/2."""


@dataclass(slots=True)
class SufficientStatistics:
    """The sums over one kind of example: the count, cosines in units of 1 / SCALE, their squares, mentioned titles."""

    count: int = 0
    cosines: int = 0
    squares: int = 0
    titled: int = 0

    def add(self, pairs: Sequence[Pair], sign: int = 1) -> None:
        """Add the pairs, or with `sign` -1 retract them. Cost: linear in the pairs."""
        if pairs:
            self._add(pairs, pair_cosines(pairs), sign)

    def _add(self, pairs: Sequence[Pair], cosines: NDArray[np.int64], sign: int) -> None:
        self.count += sign * len(pairs)
        self.cosines += sign * int(cosines.sum())
        self.squares += sign * int((cosines * cosines).sum())
        self.titled += sign * sum(map(pair_is_titled, pairs))

    @property
    def mean(self) -> float:
        return self.cosines / (self.count * SCALE)

    @property
    def variance(self) -> float:
        return self.squares / (self.count * SCALE**2) - self.mean**2


Change = tuple[SufficientStatistics, Sequence[Pair], int]
"""Examples, the pairs to add to them or to retract, and the sign."""


def add_all(changes: Sequence[Change]) -> None:
    """Apply the changes with one computation of cosines: that of a few pairs costs as much as that of one.

    Cost: linear in the pairs, all of which are in memory at once.
    """
    if not changes:
        return
    cosines = pair_cosines([pair for _, pairs, _ in changes for pair in pairs])
    start = 0
    for examples, pairs, sign in changes:
        examples._add(pairs, cosines[start : start + len(pairs)], sign)
        start += len(pairs)


def pair_cosines(pairs: Sequence[Pair]) -> NDArray[np.int64]:
    """Return the cosines of one or more pairs in units of 1 / SCALE, (n,). They are read READ_PAIRS at a time."""
    parts = (pairs[start : start + READ_PAIRS] for start in range(0, len(pairs), READ_PAIRS))
    return np.concatenate(
        [whole_cosines([one.vector for one, _, _ in part], [other.vector for _, other, _ in part]) for part in parts]
    )


def pair_is_titled(pair: Pair) -> bool:
    """Return whether one passage mentions the title of the other's document, names to disregard apart."""
    one, other, without = pair
    return is_titled(one.titles, other.names, without) or is_titled(other.titles, one.names, without)


def fit_weights(together: SufficientStatistics, chance: SufficientStatistics) -> Weights:
    """Return the log odds of pairs that belong together against pairs of chance, both kinds equally frequent.

    Naive Bayes: cosines are normal with the mean of their kind and a common variance, titles a share of each kind, with
    half a pair added to each count. In closed form: each caller fits anew, and no result becomes stale.
    """
    if not together.count or not chance.count:
        return UNTRAINED
    variance = max((together.variance + chance.variance) / 2, MIN_VARIANCE)
    slope = (together.mean - chance.mean) / variance
    bias = (chance.mean**2 - together.mean**2) / (2 * variance)
    ours, theirs = ((kind.titled + 0.5) / (kind.count + 1) for kind in (together, chance))
    return Weights(
        bias, slope, math.log(ours / theirs), math.log((1 - ours) / (1 - theirs)), (together.count, chance.count)
    )
