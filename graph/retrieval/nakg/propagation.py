"""Message passing: each document's vector combined with its neighbours' vectors, or each passage's relevance with that
of the passages linked to it.

Pure, on arrays.
"""

from __future__ import annotations

import numpy as np

from graphtide.graph.retrieval.scoring.pair_scoring import Scores
from graphtide.graph.vector_index import Vectors

TINY = np.float32(1e-12)


def propagate(vectors: Vectors, attention: Scores, layers: int) -> Vectors:
    """Return document vectors after `layers` rounds of messages, (m, d) of unit length.

    Equation 2 with the residual connections of section 7: h_i <- h_i + sigma(sum_j alpha_ij W h_j), scaled to unit
    length. The paper does not define sigma; here it is tanh. Deviation: W, trained end to end in the paper, is the
    identity. Cost O(layers * m^2 * d).
    """
    moved, shares = vectors, attention.astype(np.float32)
    for _ in range(layers):
        moved = moved + np.tanh(shares @ moved)
        moved /= np.maximum(np.sqrt(np.einsum("md,md->m", moved, moved)), TINY)[:, None]
    return moved


def pass_relevance(relevance: Scores, links: Scores, share: float, layers: int) -> Scores:
    """Return relevance after `layers` rounds of messages, (n,): h_i <- r_i + share * max_j links_ij h_j.

    A message is a relevance instead of a vector, weighted by the structural link (n, n), and the strongest one counts
    instead of a sum: the passages of a chain are linked to one relevant passage, those near a common topic to many.
    """
    passed = relevance
    for _ in range(layers if len(links) else 0):
        passed = relevance + share * (links * passed).max(axis=1)
    return passed
