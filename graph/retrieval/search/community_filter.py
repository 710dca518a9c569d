"""Communities as regions of the graph: which ones a question touches, and a search kept within them.

Article "graph-rag-algorithms", "Louvain: Community Detection"; here the kept hierarchy, which is compared with Leiden
(graph/communities). Communities are heuristic and may differ between two builds of the same graph, so no mode lets
them decide what passages it hands out, but where it says so. Nothing here reads a whole community.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView


@dataclass(frozen=True, slots=True)
class CommunityRegion:
    """A community of a level, the share of the question's weight in it, and which of the given entities are its own.

    `entities` are by weight, equal ones by name.
    """

    community: int
    share: float
    entities: tuple[int, ...]


def regions(view: LiveView, weights: Mapping[int, float], level: int = 0) -> tuple[CommunityRegion, ...]:
    """The communities of weighted entities, the heaviest first. Cost: linear in the entities given.

    Equal ones go by the name of their first entity. Entities without relations are in no community, and left out.
    """
    held: dict[int, list[int]] = {}
    for node in sorted(weights, key=lambda node: (-weights[node], view.entity_id(node))):
        community = view.hierarchy.community(node, level)
        if community:
            held.setdefault(community, []).append(node)
    whole = sum(weights[node] for nodes in held.values() for node in nodes) or 1.0
    found = [
        CommunityRegion(community, sum(weights[node] for node in nodes) / whole, tuple(nodes))
        for community, nodes in held.items()
    ]
    return tuple(sorted(found, key=lambda region: (-region.share, view.entity_id(region.entities[0]))))


def within(
    view: LiveView, communities: Collection[int], level: int = 0, admits: ChunkPredicate | None = None
) -> ChunkPredicate:
    """A test of a passage: admitted, and it mentions an entity of one of the communities of that level.

    For whoever wants a search restricted to communities: it goes wherever a filter's test goes (`find_seeds`,
    `gather`). Cost of a test: the passage's entities.
    """
    chosen = frozenset(communities)

    def inside(chunk: int) -> bool:
        if admits is not None and not admits(chunk):
            return False
        nodes = (view.labels[mention.label].node for mention in view.chunks[chunk].mentions)
        return any(view.hierarchy.community(node, level) in chosen for node in nodes)

    return inside
