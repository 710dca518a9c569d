"""Personalised PageRank by the definition: a dictionary of edges, and power iteration to convergence.

The same interface as graph.algorithms.pagerank.WalkGraph; exact, so that the tests can hold the kernel to its error
bound. It ignores `epsilon` and `max_pushes`. `push_in_rounds` is the kernel's own method, to compare results bit by
bit.
"""

import math

import numpy as np

from graphtide.graph.algorithms.pagerank import Nodes, Scores, checked_restart


class PowerIteration:
    """A WalkGraph whose scores are exact to about 1e-15."""

    def __init__(self) -> None:
        """Create an empty graph."""
        self.weights: dict[tuple[int, int], float] = {}

    def update(self, edges: Nodes, weights: Scores) -> None:
        """See WalkGraph.update; the input is trusted."""
        for (u, v), weight in zip(edges.tolist(), weights.tolist(), strict=True):
            self.weights.pop((min(u, v), max(u, v)), None)
            if weight > 0:
                self.weights[min(u, v), max(u, v)] = weight

    def push(
        self,
        seeds: Nodes,
        mass: Scores,
        *,
        damping: float = 0.5,
        epsilon: float = 0.0,
        max_pushes: int = 0,
    ) -> tuple[Nodes, Scores]:
        """Return all nodes with a positive score, best first, then by node."""
        count = 1 + max([*seeds.tolist(), *(v for _, v in self.weights)])
        matrix = np.zeros((count, count))
        for (u, v), weight in self.weights.items():
            matrix[u, v] = matrix[v, u] = weight
        restart = np.bincount(seeds, mass, minlength=count).astype(np.float64)
        scores = power_iteration(matrix, restart, damping)
        nodes = np.lexsort((np.arange(count), -scores))
        nodes = nodes[scores[nodes] > 0]
        return nodes.astype(np.int32), scores[nodes]

    def degree(self, node: int) -> float:
        """See WalkGraph.degree."""
        return sum(weight for ends, weight in self.weights.items() if node in ends)

    def weight(self, u: int, v: int) -> float:
        """See WalkGraph.weight."""
        return self.weights.get((min(u, v), max(u, v)), 0.0)

    def memory_bytes(self) -> int:
        """Return 0: the oracle's memory is not tested."""
        return 0

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.weights)


def power_iteration(matrix: Scores, restart: Scores, damping: float) -> Scores:
    """Solve scores = (1 - damping) restart + damping scores W; a node without edges keeps its mass."""
    degrees = matrix.sum(axis=1)
    walk = np.divide(matrix, degrees[:, None], out=np.zeros_like(matrix), where=degrees[:, None] > 0)
    walk[degrees == 0, degrees == 0] = 1.0
    scores = restart.astype(np.float64)
    # Each step leaves at most `damping` of the error: this many steps leave less than 1e-16 of it.
    for _ in range(math.ceil(-16 / math.log10(damping)) if damping else 1):
        scores = (1 - damping) * restart + damping * (scores @ walk)
    return scores


def push_in_rounds(
    graph: PowerIteration, seeds: Nodes, mass: Scores, *, damping: float, epsilon: float, max_pushes: int
) -> list[tuple[int, float]]:
    """Return (node, score), best first, by forward push (Andersen, Chung & Lang 2006, section 3) in whole units.

    A node whose residue exceeds tolerance x degree keeps the share 1 - damping of it and passes the rest on by weight,
    rounded down. Nodes are pushed in rounds, each with its residue at the start of the round.
    """
    restart = checked_restart(seeds, mass, damping, epsilon, max_pushes)
    links: dict[int, dict[int, float]] = {}
    for (u, v), weight in graph.weights.items():
        links.setdefault(u, {})[v] = links.setdefault(v, {})[u] = weight
    degree = {node: math.fsum(others.values()) for node, others in links.items()}
    scores, residue, left = dict[int, int](), dict[int, int](), max_pushes
    for node, units in zip(restart.seeds.tolist(), restart.units.tolist(), strict=True):
        (residue if node in links else scores)[node] = units
    while (frontier := [n for n in residue if residue[n] > restart.tolerance * degree[n]]) and len(frontier) <= left:
        left -= len(frontier)
        for node, units in {node: residue.pop(node) for node in frontier}.items():
            scores[node] = scores.get(node, 0) + int((1 - damping) * units)
            share = damping * units / degree[node]
            for other, weight in links[node].items():
                residue[other] = residue.get(other, 0) + int(share * weight)
    ranked = sorted((-units * restart.unit, node) for node, units in scores.items() if units > 0)
    return [(node, -score) for score, node in ranked]
