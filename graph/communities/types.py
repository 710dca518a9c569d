"""What the communities are to the rest of the core: values, the port, and nothing of how they are found.

A hierarchy is a tree: nodes are in communities of level 0, those in communities of level 1, and so on to the coarsest
level. Community ids are positive int64, unique over all levels and never given out twice. They survive small changes:
a community keeps its id while it keeps most of its members, the larger part keeps it in a split and the larger
community in a merge.
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
    """What one update changed; a follower that applies it holds the writer's hierarchy.

    ``nodes`` (k,) are now in level-0 ``communities`` (k,), 0 for none. ``children`` (p,), communities of ``levels``
    (p,), are new or have new ``parents`` (p,), 0 for none. ``removed`` (r,) communities are gone.
    Each of the three parts is sorted by its first array.
    """

    nodes: Int32
    communities: Int64
    children: Int64
    levels: Int32
    parents: Int64
    removed: Int64

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(len(self.nodes) or len(self.children) or len(self.removed))


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A whole hierarchy: all that has to be kept beside the edges to go on exactly as if never interrupted.

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
        """Of (node, community) and (community, level, parent), each ascending, as stores keep them."""
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
    """What finding the communities took since the object was made, in numbers that do not depend on the machine.

    ``units`` of any level were examined: their ``links`` were read, to move them, or to divide what they are in.
    Not counted is the search for what a vanished link held together.
    """

    units: int
    links: int


class Communities(Protocol):
    """Communities that follow a weighted undirected graph. One owner; not safe to call from two threads at once."""

    @property
    def name(self) -> str:
        """Which implementation this is: ``compiled`` or ``pure``."""

    @property
    def total_weight(self) -> int:
        """Sum of all edge weights."""

    def update(self, edges: Int32, deltas: Int64) -> CommunityChange:
        """Add ``deltas`` (n,) to the weights of ``edges`` (n, 2); an edge of weight 0 is gone.

        Called once per document; the order inside a batch does not matter, the order of batches does.
        Raises ValueError, changing nothing, for a loop, a negative node or a weight that would fall below zero.
        Cost: the changed edges and the units they move, not the graph.
        """

    def levels(self) -> int:
        """Number of levels, fixed: 3, from fine to coarse."""

    def community(self, node: int, level: int = 0) -> int:
        """Id of a node's community at a level, 0 for a node without edges; IndexError for a level that is not."""

    def level(self, community: int) -> int:
        """Level of a community. Raises KeyError for an id that is not in use."""

    def parent(self, community: int) -> int:
        """The community above, 0 at the coarsest level. Raises KeyError for an id that is not in use."""

    def members(self, community: int) -> Int64:
        """Sorted nodes of a community of level 0, child communities of one above. Raises KeyError for an unknown id."""

    def modularity(self, level: int = -1) -> float:
        """Newman's modularity of a level's partition (-1: the coarsest), from kept sums; O(1). 0.0 without edges."""

    def hierarchy(self) -> Hierarchy:
        """A snapshot; O(nodes)."""

    def edges(self) -> tuple[Int32, Int64]:
        """The present edges (m, 2), u < v, and weights (m,), sorted; O(edges log edges)."""

    def graph(self, level: int) -> LevelGraph:
        """The graph whose units the partition of ``level`` divides (``levels()``: of the coarsest communities)."""

    def adopt(self, nodes: Int32, labels: Int64) -> CommunityChange:
        """Take over a partition found elsewhere (node -> label) as the coarsest level, and go on from there.

        Every finer community is cut along it. Nodes it does not know stand alone at first, labels of nodes that are
        gone are ignored. Ids go by best overlap. Cost: O(edges) and a report of everything that moved.
        """

    def work(self) -> WorkCounters:
        """What it took so far, ``build`` and ``adopt`` included; O(1). Both implementations count the same."""

    def memory_bytes(self) -> int:
        """Bytes held, by the implementation's own account."""
