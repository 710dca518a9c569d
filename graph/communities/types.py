"""Types of the community hierarchy: its values, independent of the algorithm.

A hierarchy is a tree: nodes are in communities of level 0, those in communities of level 1, and so on to the coarsest
level. Community ids are positive int64, unique over all levels and never reused. They survive small changes: a
community keeps its id while it keeps most of its members, the larger part keeps it in a split and the larger community
in a merge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import COMMUNITY_LEVELS

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

DEPTH = COMMUNITY_LEVELS


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
