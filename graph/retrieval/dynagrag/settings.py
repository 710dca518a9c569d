"""Settings of mode `dynagrag`, and the switches of an ablation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Traversal(StrEnum):
    """The traversal of a subgraph for its prompt."""

    SIMILARITY = "similarity"
    """Dynamic similarity-aware BFS: the discovered entity most similar to the question is next."""
    BREADTH = "breadth"
    """Plain BFS: in the order of discovery."""


@dataclass(frozen=True, slots=True)
class EgoGraphLimits:
    """The limits that keep the cost of an ego-graph, and so of a question, constant as the graph grows.

    The paper takes all entities within k hops, k = 3. Three hops from a hub are most of a connected graph. So an
    expansion follows the `fan` heaviest relations of an entity; an entity with more than `hub` neighbours is included
    but not expanded, unless it is the centre; and `nodes` entities are the maximum.
    """

    hops: int = 3
    fan: int = 8
    hub: int = 64
    nodes: int = 24


@dataclass(frozen=True, slots=True)
class Dynagrag:
    """Parameters of the mode: the number of subgraphs, and the three parts that can be disabled.

    `explored` is the maximum of entities of a chosen ego-graph, from which the traversal selects those that are shown.
    """

    subgraphs: int = 5
    diversity: bool = True
    pruning: bool = True
    traversal: Traversal = Traversal.SIMILARITY
    caps: EgoGraphLimits = EgoGraphLimits()
    explored: int = 96
