"""Personalised PageRank on a changing graph, by local push: a query costs what it reaches, an update its edges.

The C++ kernel graph/kernels/pagerank.cpp holds the graph; arguments are checked here. Nothing is precomputed, so only
the adjacency is maintained. The module chooses no seeds and holds no names: nodes are small ints given by the caller.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._pagerank import Kernel, PatchedKernel

# Weights are multiples of 2^-24 that float32 holds exactly, so that degrees are integer sums: adding and retracting an
# edge restores the degree, and a degree does not depend on the order of its edges.
WEIGHT_UNIT = 2.0**-24
LARGEST_WEIGHT = 2.0**24

# Mass is counted in whole units, so that its sums do not depend on the order of their terms either.
MASS_UNITS = 2.0**60

Nodes = NDArray[np.int32]
Units = NDArray[np.int64]
Scores = NDArray[np.float64]


class WalkGraph:
    """A weighted undirected graph that changes, and personalised PageRank over it by local push.

    Any number of threads may push while one updates: a push sees an update whole or not at all. The GIL is released.
    """

    def __init__(self) -> None:
        """Create an empty graph."""
        self._kernel = Kernel()

    def fork(self) -> "WalkGraph":
        """Return a graph with the same edges that holds only what is changed in it. O(1).

        This graph must not change while the other is used, and must not be a fork itself. A push in the other costs as
        much more as the nodes that it reaches have changed links.
        """
        forked = WalkGraph.__new__(WalkGraph)
        forked._kernel = PatchedKernel(self._kernel)
        return forked

    def update(self, edges: Nodes, weights: Scores) -> None:
        """Set the weight of each edge, (n, 2) int32 in any direction, to `weights` (n,); 0 removes the edge.

        The weight is absolute, so an update may be repeated; if an edge is given twice, its last weight counts. Weights
        are rounded to float32 and to multiples of 2^-24. Nodes are dense: memory grows with the largest number. Raises
        ValueError, changing nothing, for a self-loop, a negative node, or a weight that is negative, not finite, above
        2^24, or rounded to 0. Cost: O(1) per edge, at hubs too.
        """
        self._kernel.update(*checked_update(edges, weights))

    def push(
        self,
        seeds: Nodes,
        mass: Scores,
        *,
        damping: float = 0.5,
        epsilon: float = 1e-4,
        max_pushes: int = 1_000_000,
    ) -> tuple[Nodes, Scores]:
        """Return the personalised PageRank of the seeds (n,), with restarts in proportion to `mass` (n,), which it
        distributes.

        Returns the reached nodes, best first and equal scores by node, with their scores: the stationary distribution
        of a walk that continues with probability `damping`, by edge weight, and otherwise restarts. A seed without
        edges keeps its mass. Each score is too low by at most `epsilon` x total mass x degree of the node, and never
        too high; the missing total is the total mass minus the sum of the scores. Rounding adds to both: 2^-60 of the
        total mass for each followed link, and the last bit of a float.

        A node's score is a function of the weighted graph and the seeds, bit by bit: it depends neither on the order in
        which either was given nor on the numbers of the nodes. Nodes are pushed in rounds. A round that would exceed
        `max_pushes` in total does not start; the scores are then lower.

        Raises ValueError for a negative seed, a negative or non-finite mass or none at all, 0 <= damping < 1 or epsilon
        > 0 violated. Cost: at most 1 / (epsilon (1 - damping)) in weighted degrees of the nodes pushed, whatever the
        size of the graph.
        """
        start = checked_restart(seeds, mass, damping, epsilon, max_pushes)
        return self._kernel.push(start.seeds, start.units, start.damping, start.tolerance, start.unit, start.max_pushes)

    def neighbours(self, node: int) -> Nodes:
        """Return the nodes that an edge joins to this one, in no particular order."""
        return self._kernel.neighbours(node)

    def shared(self, sources: Nodes, targets: Nodes, strengths: Scores) -> Scores:
        """Return the strengths of the links from odd nodes (m,) to others (n,) by even neighbours in common, (m, n).

        A neighbour of n odd nodes links them with `strengths[n - 1]`, one of more odd nodes than there are strengths
        with none; of several the strongest counts, and a node has no link to itself. `targets` are distinct. Cost: the
        links of the sources' neighbours, of each up to those that are one too many, and of such a one once a call.
        """
        return self._kernel.shared(sources, targets, strengths)

    def degree(self, node: int) -> float:
        """Return the sum of the weights of the node's edges; 0 for an unknown node."""
        return self._kernel.degree(node)

    def weight(self, u: int, v: int) -> float:
        """Return the weight of an edge; 0 if there is none."""
        return self._kernel.weight(u, v)

    def memory_bytes(self) -> int:
        """Return the bytes allocated, spare capacity included."""
        return self._kernel.memory_bytes()

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self._kernel)


@dataclass(frozen=True, slots=True)
class RestartVector:
    """A checked query in units of mass: distinct seeds, ascending, and the restart mass of each.

    `tolerance` units may remain for each unit of a node's degree; `unit` is the value of one unit in a score.
    """

    seeds: Nodes
    units: Units
    damping: float
    tolerance: float
    unit: float
    max_pushes: int


def checked_update(edges: Nodes, weights: Scores) -> tuple[Nodes, NDArray[np.float32]]:
    """Return the edges as int32 and their weights rounded to the unit. Raises ValueError as WalkGraph.update."""
    pairs, wanted = np.asarray(edges), np.asarray(weights, dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or wanted.shape != (len(pairs),):
        raise ValueError(f"expected edges (n, 2) and weights (n,), got {pairs.shape} and {wanted.shape}")
    ends = _checked_nodes(pairs)
    _refuse(pairs[:, 0] == pairs[:, 1], pairs, "is a self-loop")
    # Written so that NaN is rejected too.
    _refuse(~((wanted >= 0) & (wanted <= LARGEST_WEIGHT)), wanted, "is not a weight from 0 to 2^24")
    rounded = (np.rint(wanted.astype(np.float32).astype(np.float64) / WEIGHT_UNIT) * WEIGHT_UNIT).astype(np.float32)
    _refuse((wanted > 0) & (rounded == 0), wanted, "is below the smallest weight 2^-24")
    return ends, rounded


def checked_restart(seeds: Nodes, mass: Scores, damping: float, epsilon: float, max_pushes: int) -> RestartVector:
    """Sum the masses of equal seeds. Raises ValueError as WalkGraph.push."""
    nodes, masses = np.asarray(seeds), np.asarray(mass, dtype=np.float64)
    if nodes.ndim != 1 or masses.shape != nodes.shape:
        raise ValueError(f"expected seeds (n,) and mass (n,), got {nodes.shape} and {masses.shape}")
    _refuse(~((masses >= 0) & (masses < np.inf)), masses, "is not a finite non-negative mass")
    if not 0 <= damping < 1 or not epsilon > 0 or max_pushes < 0:
        raise ValueError(f"damping {damping}, epsilon {epsilon} or max_pushes {max_pushes} is out of range")
    by_node: dict[int, list[float]] = {}
    for node, part in zip(_checked_nodes(nodes).tolist(), masses.tolist(), strict=True):
        by_node.setdefault(node, []).append(part)
    total = _total(masses.tolist())
    if not 0 < total < np.inf:
        raise ValueError(f"the total mass must be positive and finite, got {total}")
    distinct = np.array(sorted(by_node), dtype=np.int32)
    shares = np.array([_total(by_node[node]) for node in distinct.tolist()]) / total
    units = np.floor(shares * MASS_UNITS).astype(np.int64)
    return RestartVector(
        distinct, units, float(damping), float(epsilon) * MASS_UNITS, total / MASS_UNITS, int(max_pushes)
    )


def _total(masses: list[float]) -> float:
    """Return the sum, rounded once: the same in any order."""
    try:
        return math.fsum(masses)
    except OverflowError:
        return math.inf


def _checked_nodes(nodes: NDArray[np.integer]) -> Nodes:
    if nodes.size and nodes.dtype.kind not in "iu":
        raise ValueError(f"nodes must be integers, got {nodes.dtype}")
    _refuse((nodes < 0) | (nodes > np.iinfo(np.int32).max - 1), nodes, "is not a node")
    return np.ascontiguousarray(nodes, dtype=np.int32)


def _refuse(wrong: NDArray[np.bool_], values: NDArray[np.generic], problem: str) -> None:
    if wrong.any():
        place = tuple(axis[0] for axis in np.nonzero(wrong))
        raise ValueError(f"{values[place]} (row {place[0]}) {problem}")
