"""Settings of mode `dynagrag`, and the switches of an ablation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graphtide.graph.retrieval.options.fields import option


class Traversal(StrEnum):
    """The traversal of a subgraph for its prompt."""

    SIMILARITY = "similarity"
    """Dynamic similarity-aware BFS: the discovered entity most similar to the question is next."""
    BREADTH = "breadth"
    """Plain BFS: in the order of discovery."""


class Mask(StrEnum):
    """The soft mask of a subgraph."""

    LEARNED = "learned"
    """The probability that the question is about an item, learned from the graph; fixed where it is too small."""
    FIXED = "fixed"
    """Prominence: distance to the question and weight, passed along the relations, 1 for a subgraph's greatest."""


@dataclass(frozen=True, slots=True)
class EgoGraphLimits:
    """The limits that keep the cost of an ego-graph, and so of a question, constant as the graph grows.

    The paper takes all entities within k hops, k = 3. Three hops from a hub are most of a connected graph. So an
    expansion follows the `fan` heaviest relations of an entity; an entity with more than `hub` neighbours is included
    but not expanded, unless it is the centre; and `nodes` entities are the maximum.
    """

    hops: int = option(3, "hops of an ego-graph", 1, 5)
    fan: int = option(8, "heaviest relations of an entity that the ego-graph follows", 1, 64, "degree")
    hub: int = option(64, "neighbours above which an entity is not traversed", 1, 1_024)
    nodes: int = option(24, "entities of an ego-graph for the choice", 2, 96)


@dataclass(frozen=True, slots=True)
class Dynagrag:
    """Parameters of the mode: the number of subgraphs, and the three parts that can be disabled.

    `mask` is the one that pruning uses. `explored` is the maximum of entities of a chosen ego-graph, from which the
    traversal selects those that are shown.
    """

    subgraphs: int = option(5, "ego-graphs that are chosen", 1, 20)
    diversity: bool = option(True, "choose ego-graphs with different key entities")
    pruning: bool = option(True, "prune by the soft mask")
    mask: Mask = Mask.LEARNED
    traversal: Traversal = option(Traversal.SIMILARITY, "order in which a subgraph is explored")
    caps: EgoGraphLimits = EgoGraphLimits()
    explored: int = option(96, "entities of a chosen ego-graph, from which the traversal selects", 2, 400)
