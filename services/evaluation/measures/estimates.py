"""Means over questions and repetitions, with the deviation among repetitions and bootstrap intervals over questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

RESAMPLES = 2_000
LEVEL = 0.95

Values = Sequence[Mapping[str, float]]
"""The value of each question (by its id), for each repetition. A question without a value is left out."""


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean; the standard deviation among repetitions (None for one); the bootstrap interval over questions.

    `count` is the number of questions with a value.
    """

    mean: float
    deviation: float | None
    low: float
    high: float
    count: int


def estimate(values: Values, seed: int) -> MeanEstimate | None:
    """Return the estimate; None without a value."""
    means = [fmean(each.values()) for each in values if each]
    if not means:
        return None
    questions = _by_question(values)
    low, high = _interval(np.asarray(list(questions.values())), seed)
    return MeanEstimate(fmean(means), stdev(means) if len(means) > 1 else None, low, high, len(questions))


def difference(ours: Values, theirs: Values, seed: int) -> MeanEstimate | None:
    """Return the estimate of the paired difference over the questions that have both values."""
    paired = [
        {name: value - other[name] for name, value in mine.items() if name in other}
        for mine, other in zip(ours, theirs, strict=True)
    ]
    return estimate(paired, seed)


def _by_question(values: Values) -> dict[str, float]:
    names = sorted({name for each in values for name in each})
    return {name: fmean(each[name] for each in values if name in each) for name in names}


def _interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    drawn = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
