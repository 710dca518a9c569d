"""DBSCAN over a few vectors: clusters are dense regions.

Pure, on arrays. Invariant: which documents are cores, and which of those are together, does not depend on the order of
the rows; a document at the border of two clusters joins the one with the first core in the given order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.vector_index import Vectors

NOISE = -1
ROUNDING = 1e-6  # of a product in float32, which varies with the row's position


def dbscan(vectors: Vectors, eps: float, min_samples: int) -> NDArray[np.intp]:
    """Return the cluster of each of n unit vectors, (n,), numbered by their first core; NOISE for those in none.

    Ester et al. 1996, definitions 1 to 5: a core has at least `min_samples` within `eps`, itself included; cores within
    `eps` of each other are of one cluster, with all that is within `eps` of one of them. The paper names no distance;
    here it is 1 - cosine, because on unit vectors a Euclidean 0.5 is a cosine of 0.88, which only near-duplicates
    reach. Deviation: it runs over a question's candidates, not the whole collection, so that nothing is stored. Cost
    O(n^2 d).
    """
    near: NDArray[np.bool_] = 1 - vectors @ vectors.T <= eps + ROUNDING
    np.fill_diagonal(near, True)
    core = near.sum(axis=1) >= min_samples
    found = np.full(len(vectors), NOISE, np.intp)
    cluster = 0
    for place in np.flatnonzero(core).tolist():
        if found[place] == NOISE:
            found[_reached(place, near, core) & (found == NOISE)] = cluster
            cluster += 1
    return found


def _reached(start: int, near: NDArray[np.bool_], core: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return every document reachable from a core by steps from core to core."""
    reached: NDArray[np.bool_] = near[start].copy()
    grown = 0
    while reached.sum() > grown:
        grown = int(reached.sum())
        reached |= near[reached & core].any(axis=0)
    return reached
