"""Personalised PageRank from a question's seeds, over entities and passages together.

The algorithm is graph/pagerank; this module sets its parameters and orders its result.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphtide.graph.algorithms.pagerank import WalkGraph
from graphtide.graph.retrieval.search.walk_mass import WalkMass

RESTART = 0.5
EPSILON = 1e-6


def personalised_pagerank(graph: WalkGraph, restart: Mapping[int, float], probability: float = RESTART) -> WalkMass:
    """Return the stationary mass of the walk nodes that the walk reaches, most first; empty without restart mass.

    A step restarts with `probability`, by default as often as it continues (Gutiérrez et al. 2024, damping 0.5),
    because the passages that answer a question are within a few hops of its seeds. A node's mass is too low by at most
    EPSILON for each unit of its degree, and is the same whatever the order in which the graph was built. EPSILON is a
    tenth of the largest at which tests/bench/retrieval.py finds as much as with an exact walk. Cost: at most
    1 / (probability * EPSILON) in weighted degrees, however large the graph; on the benchmark's, and on one ten times
    as large, some two thousand nodes.
    """
    if not restart:
        return WalkMass(np.zeros(0, np.int32), np.zeros(0))
    seeds = np.fromiter(restart.keys(), dtype=np.int32, count=len(restart))
    shares = np.fromiter(restart.values(), dtype=np.float64, count=len(restart))
    return WalkMass(*graph.push(seeds, shares, damping=1 - probability, epsilon=EPSILON))
