"""Features of a pair of passages as whole numbers, so that sums over pairs are exact and a pair can be subtracted.

Equation 1 of NAKG, sigma(MLP([h_i | h_j | cos(h_i, h_j)])), without its hidden layer: cosine, and whether the title of
one passage's document is a name that the other mentions. Invariant: features are a function of the two passages'
content, the same for (i, j) and (j, i), and the same in any batch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import Vector
from graphtide.graph.vector_index import unit_rows

SCALE = 1 << 10


def whole_cosines(one: Sequence[Vector], other: Sequence[Vector]) -> NDArray[np.int64]:
    """Return the cosines of the pairs (one[i], other[i]), vectors of any positive length, in units of 1 / SCALE, (n,).

    Cost O(n d). The sums are of whole numbers far below 2^53, and so exact.
    """
    products = np.einsum("nd,nd->n", _whole(one), _whole(other))
    found: NDArray[np.int64] = np.rint(products / SCALE).astype(np.int64)
    return found


def _whole(vectors: Sequence[Vector]) -> NDArray[np.float64]:
    rows = np.stack(vectors).astype(np.float32)
    found: NDArray[np.float64] = np.rint(unit_rows(rows, rows.shape[1]).astype(np.float64) * SCALE)
    return found


def is_titled(titles: Collection[str], names: Collection[str], without: Collection[str]) -> bool:
    """Return whether one of the titles is among the names, apart from those of `without`."""
    return any(title in names and title not in without for title in titles)
