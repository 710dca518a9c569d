"""Personalised PageRank from a question's seeds, over entities and passages together.

Not the algorithm, which is graph/pagerank; here stand what a retrieval asks of it, and what it makes of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph.pagerank import WalkGraph

RESTART = 0.5
EPSILON = 1e-7


def walk(graph: WalkGraph, restart: Mapping[int, float]) -> dict[int, float]:
    """The stationary mass of every walk node reached; nothing from nothing.

    A step is as likely to restart as to go on (Gutiérrez et al. 2024, damping 0.5): what answers a question lies
    within a few hops of where it touches the graph. EPSILON keeps the error of a node within 1e-7 of the mass for each
    unit of its degree, far below the least mass that retrieval tells apart from none. The rest of the error depends on
    the order in which the graph was built, and is too small to show but where two passages are all but equal.
    Cost: O(1 / EPSILON) in the worst case, whatever the graph's size; in practice what lies within a few hops.
    """
    if not restart:
        return {}
    seeds = np.fromiter(restart.keys(), dtype=np.int32, count=len(restart))
    nodes, mass = graph.push(
        seeds, np.fromiter(restart.values(), dtype=np.float64, count=len(restart)), damping=1 - RESTART, epsilon=EPSILON
    )
    return dict(zip(nodes.tolist(), mass.tolist(), strict=True))
