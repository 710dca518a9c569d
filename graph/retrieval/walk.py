"""Personalised PageRank from a question's seeds, over entities and passages together.

Not the algorithm, which is graph/pagerank; here stand what a retrieval asks of it, and what it makes of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph.pagerank import WalkGraph

RESTART = 0.5
EPSILON = 1e-8
LEAST = 1e-6  # of the best node's mass: what is below it decides nothing, and is most of what a walk touches


def walk(graph: WalkGraph, restart: Mapping[int, float]) -> dict[int, float]:
    """The stationary mass of the walk nodes that have more than LEAST of the best one's; nothing from nothing.

    A step is as likely to restart as to go on (Gutiérrez et al. 2024, damping 0.5): what answers a question lies
    within a few hops of where it touches the graph. A node's mass is too low by at most EPSILON for each unit of its
    degree. How much by depends on the order in which the graph was built, which is why EPSILON is so far below the
    least mass that matters: it is the price of equal results from equal graphs. Cost: what lies within some 25 hops
    and is worth it, at most 2 / EPSILON steps whatever the graph's size.
    """
    if not restart:
        return {}
    seeds = np.fromiter(restart.keys(), dtype=np.int32, count=len(restart))
    shares = np.fromiter(restart.values(), dtype=np.float64, count=len(restart))
    nodes, mass = graph.push(seeds, shares, damping=1 - RESTART, epsilon=EPSILON)
    kept = int((mass > LEAST * mass[0]).sum())  # best first
    return dict(zip(nodes[:kept].tolist(), mass[:kept].tolist(), strict=True))
