"""Drift check: a periodic Leiden run measures the modularity lost by the maintained communities and can replace them.

It is off the hot path: `leiden` works on a copy of the edges and may run in a thread of its own (NetworKit's ``run``
and the graph it builds hold no reference to the live communities). Its result is outside the equality of incremental
and rebuilt graphs, because it depends on the seed and on NetworKit's version. With one thread, as here, equal edges and
an equal seed give an equal partition. With several threads NetworKit's parallel moves race, whatever the seed.
"""

from dataclasses import dataclass, field

import numpy as np

from graphtide.graph.communities.types import Int32, Int64


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: ``nodes`` (n,) ascending, their ``labels`` (n,) dense from 0, and its modularity on those edges."""

    nodes: Int32
    labels: Int64
    modularity: float


def leiden(edges: Int32, weights: Int64, *, seed: int = 0, iterations: int = 3) -> Partition:
    """Run NetworKit's ParallelLeiden (Traag et al. 2019) on one thread; edges (m, 2), weights (m,); O(m) per round.

    NetworKit computes in float64: weights are exact up to 2**53. The seed is NetworKit's global one; the number of
    threads is set for the calling thread only.
    """
    import networkit

    nodes, ends = np.unique(edges, return_inverse=True)
    if not len(nodes):
        return Partition(nodes.astype(np.int32), np.zeros(0, dtype=np.int64), 0.0)
    ends = ends.reshape(-1, 2)
    networkit.setNumberOfThreads(1)
    networkit.setSeed(seed, False)
    graph = networkit.GraphFromCoo(
        (weights.astype(np.float64), (ends[:, 0].astype(np.uint64), ends[:, 1].astype(np.uint64))),
        n=len(nodes),
        weighted=True,
        directed=False,
    )
    algorithm = networkit.community.ParallelLeiden(graph, randomize=True, iterations=iterations)
    algorithm.run()
    labels = np.unique(np.array(algorithm.getPartition().getVector(), dtype=np.int64), return_inverse=True)[1]
    return Partition(nodes.astype(np.int32), labels, modularity(ends, weights, labels))


def modularity(ends: Int64, weights: Int64, labels: Int64) -> float:
    """Return the modularity of ``labels`` (n,) over edges (m, 2) of node positions 0..n-1, by integer sums; O(m)."""
    total = int(weights.sum())
    if not total:
        return 0.0
    own = labels[ends]
    inside = int(weights[own[:, 0] == own[:, 1]].sum())
    degrees = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    np.add.at(degrees, own.ravel(), np.repeat(weights, 2))
    squares = sum(degree * degree for degree in degrees.tolist())
    return float(4 * total * inside - squares) / (4 * total * total)


def modularity_gap(current: float, fresh: Partition) -> float:
    """Return the modularity that the maintained communities lost against the fresh ones; negative if better."""
    return fresh.modularity - current


@dataclass(slots=True)
class DriftGuard:
    """The schedule of drift checks and the rule of adoption. Its only state is the weight changed since the last check.

    A check is due once ``share`` of the graph's weight has changed (insertions and deletions both count). Checks then
    cost a constant factor per change, however large the graph is.
    """

    share: float = 0.25
    tolerance: float = 0.01
    minimum_weight: int = 1_000
    changed: int = field(default=0)

    def note(self, deltas: Int64) -> None:
        """Count one update's weight changes; call it after each update."""
        self.changed += int(np.abs(deltas).sum())

    def due(self, total_weight: int) -> bool:
        """Return whether enough weight changed to start a check. Run one check at a time; call `started` with it."""
        return self.changed >= max(self.minimum_weight, self.share * total_weight)

    def started(self) -> None:
        """Record that a check begins on the present edges."""
        self.changed = 0

    def adopts(self, current: float, fresh: Partition) -> bool:
        """Return whether the fresh partition is better by more than the tolerance; ``current`` is from the start of the
        check.
        """
        return modularity_gap(current, fresh) > self.tolerance
