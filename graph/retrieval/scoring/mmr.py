"""Maximal marginal relevance: the last step, which avoids passages that repeat each other.

Pure, on arrays. Invariant: the order is a function of the values and of the candidates' given order, which is
canonical; ties keep that order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.scoring.pair_scoring import products
from graphtide.graph.vector_index import Vectors

Order = NDArray[np.intp]


def mmr(relevance: NDArray[np.float64], vectors: Vectors, count: int, trade_off: float) -> Order:
    """Return the positions of the `count` best of n candidates, one after the other by relevance and novelty.

    Takes argmax of `trade_off * relevance - (1 - trade_off) * max cosine to those taken`; `trade_off` 1 is plain order.
    `relevance` (n,) in [0, 1], `vectors` (n, d) unit length. Fewer than `count` candidates: all of them. Cost O(count *
    n * d). Source: Carbonell & Goldstein 1998, section 2, with the article's lambda (graph-rag-algorithms, "MMR").
    """
    taken: list[int] = []
    closest = np.full(len(relevance), -np.inf)
    free = np.ones(len(relevance), dtype=bool)
    while len(taken) < min(count, len(relevance)):
        repeated = closest if taken else np.zeros(len(relevance))
        value = np.where(free, trade_off * relevance - (1 - trade_off) * repeated, -np.inf)
        best = int(np.argmax(value))
        taken.append(best)
        free[best] = False
        closest = np.maximum(closest, products(vectors, vectors[best]))
    return np.array(taken, dtype=np.intp)
