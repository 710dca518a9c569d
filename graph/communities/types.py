"""Types of the community hierarchy: its values and its port, independent of the algorithm.

A hierarchy is a tree: nodes are in communities of level 0, those in communities of level 1, and so on to the coarsest
level. Community ids are positive int64, unique over all levels and never reused. They survive small changes: a
community keeps its id while it keeps most of its members, the larger part keeps it in a split and the larger community
in a merge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CommunityChange:
    """The changes of one update; a replica that applies them holds the writer's hierarchy.

    ``nodes`` (k,) are now in level-0 ``communities`` (k,), 0 for none. ``children`` (p,), communities of ``levels``
    (p,), are new or have new ``parents`` (p,), 0 for none. ``removed`` (r,) communities no longer exist. Each of the
    three parts is sorted by its first array.
    """

    nodes: Int32
    communities: Int64
    children: Int64
    levels: Int32
    parents: Int64
    removed: Int64

    def __bool__(self) -> bool:
        """Return whether anything changed."""
        return bool(len(self.nodes) or len(self.children) or len(self.removed))


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A whole hierarchy: with the edges, all the state that an exact continuation after a restart needs.

    ``nodes`` (n,) ascending are in level-0 ``communities`` (n,). Community ``ids`` (c,) ascending are of ``levels``
    (c,) under ``parents`` (c,), 0 at the coarsest level. ``next_id`` is the first id never used.
    """

    nodes: Int32
    communities: Int64
    ids: Int64
    levels: Int32
    parents: Int64
    next_id: int

    @classmethod
    def of_rows(cls, members: Sequence[Sequence[int]], tree: Sequence[Sequence[int]], next_id: int) -> Self:
        """Build from the rows of a store, each ascending: (node, community) and (community, level, parent)."""
        of = np.array(members, np.int64).reshape(-1, 2)
        under = np.array(tree, np.int64).reshape(-1, 3)
        return cls(
            of[:, 0].astype(np.int32),
            of[:, 1].copy(),
            under[:, 0].copy(),
            under[:, 1].astype(np.int32),
            under[:, 2].copy(),
            next_id,
        )


@dataclass(frozen=True, slots=True)
class LevelGraph:
    """One level as a graph: ``units`` (u,) with ``degrees`` (u,), ``edges`` (e, 2) between units with ``weights`` (e,).

    Units are nodes at level 0 and communities of the level below above; a degree includes twice the weight inside the
    unit.
    """

    units: Int64
    degrees: Int64
    edges: Int64
    weights: Int64


@dataclass(frozen=True, slots=True)
class WorkCounters:
    """The work of finding the communities since the object was made, in counts that do not depend on the machine.

    ``units`` of any level were examined: the kernel read their ``links``, to move them or to divide their community.
    The search for connections around a vanished link is not counted.
    """

    units: int
    links: int


class Communities(Protocol):
    """The communities of a changing weighted undirected graph. It has one owner and must not be called from two threads
    at once.
    """

    @property
    def name(self) -> str:
        """Return the implementation: ``compiled`` or ``pure``."""

    @property
    def total_weight(self) -> int:
        """Return the sum of all edge weights."""

    def update(self, edges: Int32, deltas: Int64) -> CommunityChange:
        """Add ``deltas`` (n,) to the weights of ``edges`` (n, 2); an edge of weight 0 is removed.

        Call it once per document; the order inside a batch does not matter, the order of batches does. Raises
        ValueError, changing nothing, for a loop, a negative node or a weight that would fall below zero. Cost: the
        changed edges and the units they move, not the graph.
        """

    def levels(self) -> int:
        """Return the number of levels, which is fixed: 3, from fine to coarse."""

    def community(self, node: int, level: int = 0) -> int:
        """Return the id of a node's community at a level, 0 for a node without edges. Raises IndexError for an unknown
        level.
        """

    def level(self, community: int) -> int:
        """Return the level of a community. Raises KeyError for an unknown id."""

    def parent(self, community: int) -> int:
        """Return the parent community, 0 at the coarsest level. Raises KeyError for an unknown id."""

    def members(self, community: int) -> Int64:
        """Return the sorted nodes of a level-0 community, the child communities of a coarser one. Raises KeyError for
        an unknown id.
        """

    def modularity(self, level: int = -1) -> float:
        """Return Newman's modularity of a level's partition (-1: the coarsest), from maintained sums; O(1). 0.0 without
        edges.
        """

    def hierarchy(self) -> Hierarchy:
        """Return a snapshot; O(nodes)."""

    def edges(self) -> tuple[Int32, Int64]:
        """Return the present edges (m, 2), u < v, and weights (m,), sorted; O(edges log edges)."""

    def graph(self, level: int) -> LevelGraph:
        """Return the graph whose units the partition of ``level`` divides (``levels()``: the coarsest communities)."""

    def adopt(self, nodes: Int32, labels: Int64) -> CommunityChange:
        """Adopt an external partition (node -> label) as the coarsest level; later updates continue from it.

        Every finer community is cut along it. Nodes unknown to the partition start as singletons; labels of removed
        nodes are ignored. Ids go by best overlap. Cost: O(edges) and a report of every move.
        """

    def work(self) -> WorkCounters:
        """Return the work so far, ``build`` and ``adopt`` included; O(1). Both implementations count the same."""

    def memory_bytes(self) -> int:
        """Return the bytes held, as the implementation counts them."""
