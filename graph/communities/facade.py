"""Facade of the C++ kernel graph/kernels/communities.cpp: checks of arguments, and values instead of bare arrays."""

import numpy as np

from graphtide.graph._communities import Kernel
from graphtide.graph.communities.repartition import compare, refine_by
from graphtide.graph.communities.types import (
    DEPTH,
    CommunityChange,
    Hierarchy,
    Int32,
    Int64,
    LevelGraph,
    WorkCounters,
)


class Communities:
    """The communities of a changing weighted undirected graph. It has one owner and must not be called from two threads
    at once.
    """

    def __init__(self) -> None:
        """Create the communities of a graph without edges; `build` gives it edges."""
        self._kernel = Kernel()

    @property
    def total_weight(self) -> int:
        """Return the sum of all edge weights."""
        return self._kernel.sums(0)[2]

    def update(self, edges: Int32, deltas: Int64) -> CommunityChange:
        """Add ``deltas`` (n,) to the weights of ``edges`` (n, 2); an edge of weight 0 is removed.

        Call it once per document; the order inside a batch does not matter, the order of batches does. Raises
        ValueError, changing nothing, for a loop, a negative node or a weight that would fall below zero. Cost: the
        changed edges and the units they move, not the graph.
        """
        edges, deltas = arguments(edges, deltas)
        return CommunityChange(*self._kernel.update(edges, deltas))

    def levels(self) -> int:
        """Return the number of levels, which is fixed: 3, from fine to coarse."""
        return self._kernel.levels()

    def community(self, node: int, level: int = 0) -> int:
        """Return the id of a node's community at a level, 0 for a node without edges. Raises IndexError for an unknown
        level.
        """
        return self._kernel.community(node, level)

    def level(self, community: int) -> int:
        """Return the level of a community. Raises KeyError for an unknown id."""
        return self._kernel.level(community)

    def parent(self, community: int) -> int:
        """Return the parent community, 0 at the coarsest level. Raises KeyError for an unknown id."""
        return self._kernel.parent(community)

    def members(self, community: int) -> Int64:
        """Return the sorted nodes of a level-0 community, the child communities of a coarser one. Raises KeyError for
        an unknown id.
        """
        return self._kernel.members(community)

    def modularity(self, level: int = -1) -> float:
        """Return Newman's modularity of a level's partition (-1: the coarsest), from maintained sums; O(1). 0.0 without
        edges.
        """
        levels = self._kernel.levels()
        if not -levels <= level < levels:
            raise IndexError(f"unknown level {level}: the hierarchy has {levels} levels, numbered from 0")
        inside, squares, total = self._kernel.sums(level % levels)
        return (4 * total * inside - squares) / (4 * total * total) if total else 0.0

    def hierarchy(self) -> Hierarchy:
        """Return a snapshot; O(nodes)."""
        return Hierarchy(*self._kernel.hierarchy())

    def graph(self, level: int) -> LevelGraph:
        """Return the graph whose units the partition of ``level`` divides (``levels()``: the coarsest communities)."""
        if not 0 <= level <= self._kernel.levels():
            raise IndexError(f"level {level} has no graph: the levels are 0 to {self._kernel.levels()}")
        return LevelGraph(*self._kernel.graph(level))

    def edges(self) -> tuple[Int32, Int64]:
        """Return the present edges (m, 2), u < v, and weights (m,), sorted; O(edges log edges)."""
        graph = self.graph(0)
        return graph.edges.astype(np.int32), graph.weights

    def adopt(self, nodes: Int32, labels: Int64) -> CommunityChange:
        """Adopt an external partition (node -> label) as the coarsest level; later updates continue from it.

        Every finer community is cut along it. Nodes unknown to the partition start as singletons; labels of removed
        nodes are ignored. Ids go by best overlap. Cost: O(edges) and a report of every move.
        """
        before = self.hierarchy()
        self._load(refine_by(before, np.asarray(nodes, dtype=np.int32), np.asarray(labels, dtype=np.int64)))
        self._kernel.settle()
        return compare(before, self.hierarchy())

    def work(self) -> WorkCounters:
        """Return the work so far, ``build`` and ``adopt`` included; O(1). Both implementations count the same."""
        return WorkCounters(*self._kernel.work())

    def memory_bytes(self) -> int:
        """Return the bytes held, as the implementation counts them."""
        return self._kernel.memory_bytes()

    def _load(self, tree: Hierarchy) -> None:
        self._kernel.load((tree.nodes, tree.communities, tree.ids, tree.levels, tree.parents, tree.next_id))


def arguments(edges: Int32, weights: Int64) -> tuple[Int32, Int64]:
    """Return both arrays in the kernel's types. Raises ValueError for shapes that do not match."""
    edges = np.ascontiguousarray(edges, dtype=np.int32).reshape(-1, 2)
    weights = np.ascontiguousarray(weights, dtype=np.int64)
    if weights.shape != (len(edges),):
        raise ValueError(f"edges must be (n, 2) and weights (n,), got {edges.shape} and {weights.shape}")
    return edges, weights


def build(edges: Int32, weights: Int64, *, snapshot: Hierarchy | None = None) -> Communities:
    """Return the communities of a graph, ``edges`` (m, 2) and positive ``weights`` (m,): built, or restored from
    ``snapshot``.

    Restored from a snapshot of the same edges, the result behaves exactly as the object that wrote it. The weights of
    an edge given twice are added. Raises ValueError for a weight below 1 or a snapshot of other nodes. Cost: O(edges)
    per level and round.
    """
    edges, weights = arguments(edges, weights)
    if len(weights) and weights.min() < 1:
        raise ValueError("every weight must be positive")
    live = Communities()
    live._kernel.fill(edges, weights)
    if snapshot is None:
        live._kernel.build()
    else:
        check(snapshot, edges)
        live._load(snapshot)
    return live


def check(snapshot: Hierarchy, edges: Int32) -> None:
    """Raise ValueError unless the snapshot is a tree over exactly the nodes of the edges.

    The connectivity of its communities is not checked: that would cost O(edges).
    """
    if not np.array_equal(np.unique(edges), snapshot.nodes):
        raise ValueError("the snapshot has other nodes than the edges")
    order, ids = np.argsort(snapshot.ids), snapshot.ids
    if len(ids) != len(np.unique(ids)) or (len(ids) and not 0 < ids.min() <= ids.max() < snapshot.next_id):
        raise ValueError("the snapshot's community ids must be unique and below next_id")
    level_of = dict(zip(ids[order].tolist(), snapshot.levels[order].tolist(), strict=True))
    tree = zip(snapshot.levels.tolist(), snapshot.parents.tolist(), strict=True)
    if any(level_of.get(parent) != (None if level == DEPTH - 1 else level + 1) for level, parent in tree):
        raise ValueError(f"the snapshot's parents must be communities of the next of {DEPTH} levels")
    if not np.array_equal(np.union1d(snapshot.communities, snapshot.parents[snapshot.parents > 0]), ids[order]):
        raise ValueError("the snapshot has communities without members, or members without a community")
    if not {level_of.get(community) for community in np.unique(snapshot.communities).tolist()} <= {0}:
        raise ValueError("every node of the snapshot must be in a community of level 0")
