"""What mode `dynagrag` can be told, and what an ablation turns off."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Traversal(StrEnum):
    """How a subgraph is walked for its prompt."""

    SIMILARITY = "similarity"
    """Dynamic similarity-aware BFS: of all that is discovered, the most similar to the question next."""
    BREADTH = "breadth"
    """Plain BFS: what was discovered first."""


@dataclass(frozen=True, slots=True)
class EgoGraphLimits:
    """What keeps an ego-graph, and so a question, from costing more as the graph grows.

    The paper takes all within k hops, k = 3. Three hops from a hub are most of a connected graph, so: an entity
    leads on to its `fan` heaviest relations; one with more than `hub` neighbours is taken up but not passed through,
    unless it is the centre; and `nodes` entities are enough.
    """

    hops: int = 3
    fan: int = 8
    hub: int = 64
    nodes: int = 24


@dataclass(frozen=True, slots=True)
class Dynagrag:
    """Parameters of the mode: how many subgraphs answer, and the three parts that can be turned off."""

    subgraphs: int = 5
    diversity: bool = True
    pruning: bool = True
    traversal: Traversal = Traversal.SIMILARITY
    caps: EgoGraphLimits = EgoGraphLimits()
