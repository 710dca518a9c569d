"""The pure-Python implementation: needs no compiler, and is the reference for the kernel."""

import threading

import numpy as np

from graphtide.graph.pagerank.types import WEIGHT_UNIT, Nodes, RestartVector, Scores, checked_restart, checked_update

BYTES_AN_EDGE = 2 * 104  # two dictionary entries, each with a boxed weight and its share of the table's slack
BYTES_A_NODE = 300


class PureWalkGraph:
    """A WalkGraph over dictionaries. It has one lock: pushes run one at a time."""

    name = "pure"

    def __init__(self) -> None:
        """Create an empty graph."""
        self._links: dict[int, dict[int, float]] = {}
        self._degrees: dict[int, int] = {}  # in weight units
        self._edges = 0
        self._lock = threading.Lock()

    def update(self, edges: Nodes, weights: Scores) -> None:
        """See WalkGraph.update."""
        ends, rounded = checked_update(edges, weights)
        with self._lock:
            for (u, v), weight in zip(ends.tolist(), rounded.tolist(), strict=True):
                self._set(u, v, weight)

    def push(
        self,
        seeds: Nodes,
        mass: Scores,
        *,
        damping: float = 0.5,
        epsilon: float = 1e-4,
        max_pushes: int = 1_000_000,
    ) -> tuple[Nodes, Scores]:
        """See WalkGraph.push."""
        restart = checked_restart(seeds, mass, damping, epsilon, max_pushes)
        with self._lock:
            scores = self._spread(restart)
        ranked = sorted((-units * restart.unit, node) for node, units in scores.items() if units > 0)
        nodes = np.array([node for _, node in ranked], dtype=np.int32)
        return nodes, np.array([-score for score, _ in ranked], dtype=np.float64)

    def degree(self, node: int) -> float:
        """See WalkGraph.degree."""
        return self._degrees.get(node, 0) * WEIGHT_UNIT

    def weight(self, u: int, v: int) -> float:
        """See WalkGraph.weight."""
        return self._links.get(u, {}).get(v, 0.0)

    def memory_bytes(self) -> int:
        """Return an estimate of the bytes held."""
        return BYTES_AN_EDGE * self._edges + BYTES_A_NODE * len(self._links)

    def __len__(self) -> int:
        """Return the number of edges."""
        return self._edges

    def _set(self, u: int, v: int, weight: float) -> None:
        before = self._links.get(u, {}).get(v, 0.0)
        change = round((weight - before) / WEIGHT_UNIT)
        self._edges += (weight > 0) - (before > 0)
        for node, other in ((u, v), (v, u)):
            links = self._links.setdefault(node, {})
            if weight > 0:
                links[other] = weight
            else:
                links.pop(other, None)
            self._degrees[node] = self._degrees.get(node, 0) + change
            if not links:
                del self._links[node], self._degrees[node]

    def _spread(self, restart: RestartVector) -> dict[int, int]:
        """Run forward push (Andersen, Chung & Lang 2006, section 3) and return the scores in units.

        A node whose residue exceeds tolerance x degree keeps the share 1 - damping of it and passes the rest on by
        weight. The remaining residue bounds the error, because the walk is reversible. Deviations: the walk is not
        lazy, restarts with probability 1 - damping, and takes several seeds at once; nodes are pushed in rounds, each
        with its residue at the start of the round, in whole units rounded down. Integer sums do not depend on their
        order, so the result is independent of the nodes' numbers and of the order of their links.
        """
        scores: dict[int, int] = {}
        residue: dict[int, int] = {}
        for node, units in zip(restart.seeds.tolist(), restart.units.tolist(), strict=True):
            (residue if node in self._links else scores)[node] = units
        frontier = [node for node in residue if self._overflows(node, residue, restart)]
        left = restart.max_pushes
        while frontier and len(frontier) <= left:
            left -= len(frontier)
            held = {node: residue.pop(node) for node in frontier}
            touched: set[int] = set()
            for node, units in held.items():
                scores[node] = scores.get(node, 0) + int((1 - restart.damping) * units)
                share = restart.damping * units / self.degree(node)
                for other, weight in self._links[node].items():
                    residue[other] = residue.get(other, 0) + int(share * weight)
                touched.update(self._links[node])
            frontier = [node for node in touched if self._overflows(node, residue, restart)]
        return scores

    def _overflows(self, node: int, residue: dict[int, int], restart: RestartVector) -> bool:
        return float(residue[node]) > restart.tolerance * self.degree(node)
