"""Semantic blocking: the candidate pairs of labels with similar vectors, from keys computed of one label alone.

It is a forest of prefix trees (Bawa, Condie and Ganesan 2005) over signs of projections with a fixed seed (Charikar
2002). A label has a key for its path to each depth of each tree, so that two labels are a candidate pair when a subtree
that contains both has at most `MAX_NEIGHBOURS` labels: each is then among the nearest of the other, by that tree. Where
labels are dense, the subtree is deep; where they are sparse, it is shallow. Deviation: no search by distance follows,
because its result would not be symmetric.

Invariant: candidates are a function of the set of live labels and their vectors, whatever the order of arrival, and a
label has at most `TREES * (MAX_NEIGHBOURS - 1)` of them for each depth.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution.blocking import EQUAL, Keys
from graphtide.graph.resolution.pair_scoring import ResolvableLabel, rounded_mean, signature_of
from graphtide.graph.resolution.similarity import Quantised
from graphtide.graph.resolution.synonyms.scoring import is_eligible

MAX_NEIGHBOURS = 16
TREES = 12
DEPTHS = (0, 4, 6, 8, 10, 12, 15, 20)


def synonym_keys(label: ResolvableLabel) -> Keys:
    """Return the keys of a label's paths; none for a label without a vector or one that names nothing by itself.

    Cost: `TREES * max(DEPTHS) * d` multiplications.
    """
    if not is_eligible(signature_of(label)) or (vector := rounded_mean(label)) is None:
        return {}
    return path_keys(vector)


def path_keys(vector: Quantised) -> Keys:
    """Return the keys of the paths of a quantised unit vector. Cost: as of `synonym_keys`."""
    # Both factors are whole numbers and every partial sum stays below 2**24, so the signs are exact in float32.
    positive = vector.astype(np.float32) @ _projections(vector.shape[0]) > 0
    paths = ["".join("01"[bit] for bit in path) for path in positive.reshape(TREES, DEPTHS[-1]).astype(np.int8)]
    keys = {f"{tree} {path[:depth]}": EQUAL for tree, path in enumerate(paths) for depth in DEPTHS if depth}
    return {"": EQUAL, **keys}


@lru_cache(maxsize=4)
def _projections(dimensions: int) -> NDArray[np.float32]:
    # From a hash function and not a random generator, whose stream may differ between releases.
    count = dimensions * TREES * DEPTHS[-1]
    stream = shake_256(b"graphtide synonyms").digest((count + 7) // 8)
    bits = np.unpackbits(np.frombuffer(stream, np.uint8))[:count].reshape(dimensions, TREES * DEPTHS[-1])
    signs: NDArray[np.float32] = bits.astype(np.float32) * 2 - 1
    return signs
