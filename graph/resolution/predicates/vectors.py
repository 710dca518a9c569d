"""The vector of a predicate: what its statements say beyond the names of the two things that they relate.

A statement is embedded as subject, predicate and object together, so the mean of a predicate's statements is dominated
by whom they are about. The part of a statement's vector in the plane of its two ends is therefore removed first: of the
static model's pairs above 0.6, "has official language" and "is official language of" come first, not two predicates of
one river.

Invariant: integers and single floating-point operations in a fixed order decide, so the result is equal to the last bit
in every process.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution.similarity import Quantised, quantise

_SCALE = 1 << 14
Unit = NDArray[np.float32]


def residual(statement: Unit | None, subject: Unit | None, object_: Unit | None) -> NDArray[np.int64] | None:
    """Return the direction of a statement (d,) without its ends, in steps of 1/2**14; None without a direction left.

    All are unit vectors. An end without a vector removes nothing.
    """
    if statement is None:
        return None
    rest = _whole(statement)
    ends = [_whole(end) for end in (subject, object_) if end is not None]
    if len(ends) == 2:
        # Gram-Schmidt: the second end without its part along the first one.
        ends[1] = _without(ends[1], ends[0])
    for end in ends:
        rest = _without(rest, end)
    length = int(np.dot(rest, rest))
    if length * 64 < _SCALE * _SCALE:  # less than an eighth of the statement is left: rounding, not meaning
        return None
    return _whole(rest / np.sqrt(np.float64(length)))


def predicate_vector(residuals: Iterable[NDArray[np.int64] | None]) -> Quantised | None:
    """Return the mean direction of some statements (d,); None without one."""
    present = [each for each in residuals if each is not None]
    if not present:
        return None
    total = np.sum(present, axis=0)
    length = int(np.dot(total, total))
    return quantise((total / np.sqrt(np.float64(length))).astype(np.float32)) if length else None


def _without(vector: NDArray[np.int64], direction: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a vector without its part along a direction, both in whole steps."""
    length = int(np.dot(direction, direction))
    if not length:
        return vector
    return np.rint(vector - direction * (int(np.dot(vector, direction)) / length)).astype(np.int64)


def _whole(vector: NDArray[np.floating]) -> NDArray[np.int64]:
    return np.rint(vector.astype(np.float64) * _SCALE).astype(np.int64)
