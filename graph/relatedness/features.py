"""Pair features: two vectors as whole numbers, so that sums over pairs are exact and a pair can be subtracted.

Equation 1 of NAKG, sigma(MLP([h_i | h_j | cos(h_i, h_j)])), without its last layer. Invariant: features are integers
that float64 holds exactly, a function of the two vectors, the same for (i, j) and (j, i), and the same in any batch.

Deviations: the hidden layer's weights are signs drawn once (Achlioptas 2003; random features: Rahimi & Recht 2008) and
the same in every process; as the graph is undirected, both orders of the pair are added; and the cosine and its square
bypass the hidden layer, which could only approximate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.vector_index import Vectors, unit_rows

SCALE = 1 << 10
HIDDEN = 32
FEATURES = 3 + HIDDEN
SEED = 20260

Whole = NDArray[np.float64]
"""Whole numbers, in the type that multiplies fastest."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """n vectors in units of 1 / SCALE, (n, d), and the hidden layer's outputs of each as first and second, (n, m)."""

    vectors: NDArray[np.int16]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def __getitem__(self, rows: NDArray[np.intp]) -> Encoded:
        return Encoded(self.vectors[rows], self.first[rows], self.second[rows])

    @classmethod
    def joined(cls, parts: Sequence[Encoded]) -> Encoded:
        """Return the rows of all parts, in their order."""
        vectors, first, second = (
            np.concatenate(rows) for rows in zip(*((p.vectors, p.first, p.second) for p in parts), strict=True)
        )
        return cls(vectors, first, second)


def encode(vectors: Vectors) -> Encoded:
    """Encode vectors (n, d) of any positive length. Cost O(n d HIDDEN); sums are far below 2^53, and so exact."""
    dimensions = vectors.shape[1]
    whole: Whole = np.rint(unit_rows(vectors, dimensions).astype(np.float64) * SCALE)
    first, second = _signs(dimensions)
    return Encoded(whole.astype(np.int16), (whole @ first).astype(np.int32), (whole @ second).astype(np.int32))


def pair_features(one: Encoded, other: Encoded) -> Whole:
    """Return the features of the pairs (one[i], other[i]), (n, FEATURES): 1, cosine, its square, hidden units; all
    times SCALE.
    """
    products = np.einsum("nd,nd->n", one.vectors.astype(np.float64), other.vectors.astype(np.float64))
    cosine = np.rint(products / SCALE)
    hidden = np.maximum(one.first + other.second, 0) + np.maximum(other.first + one.second, 0)
    return np.column_stack((np.full(len(cosine), float(SCALE)), cosine, np.rint(cosine * cosine / SCALE), hidden))


@lru_cache(maxsize=4)
def _signs(dimensions: int) -> tuple[Whole, Whole]:
    rng = np.random.default_rng([SEED, dimensions])
    signs = rng.integers(0, 2, size=(2, dimensions, HIDDEN)) * 2.0 - 1.0
    return signs[0], signs[1]
