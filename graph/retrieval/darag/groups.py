"""Cohesive groups of the whole graph around the entities of a question, by kept trussness (option `group`).

The group around an entity is the connected k-truss that holds it, found by a bounded search along kept values
(graph/browsing/group.py), where Q-Peel searches within a working subgraph. Invariant: under a filter a group has only
entities of admitted passages; its edges are in the k-truss of the whole graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphtide.graph.browsing.group import largest_k, members
from graphtide.graph.layers import KnowledgeLayer
from graphtide.graph.retrieval.darag.adaptive import Community
from graphtide.graph.retrieval.darag.attributed_graph import ONE
from graphtide.graph.retrieval.darag.settings import DaRagSettings
from graphtide.graph.retrieval.entity_linking import link_entities
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.seeds import nearest, searched_indexes
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView

CENTERS = 5
"""Number of entities of a question whose groups are read."""
LAYER = "cohesive group"


@dataclass(frozen=True, slots=True)
class Group:
    """The connected k-truss around an entity, at most `working` entities of it, the nearest to the center."""

    k: int
    members: tuple[int, ...]


def cohesive_groups(
    view: LiveView, question: Question, admits: ChunkPredicate | None, course: DaRagSettings
) -> list[Group]:
    """Return the groups of the entities that the question names, or else of the nearest one; each group once.

    With `k` a group is that of the greatest trussness of its entity that is at most `k`; of 0, of the greatest.
    Cost: the relations of CENTERS times `working` entities.
    """
    found: dict[Group, None] = {}
    for center in _centers(view, question, admits):
        largest = largest_k(view, center)
        k = min(course.k, largest) if course.k else largest
        if k >= 2:
            inside, _ = members(view, center, k, course.working)
            kept = (node for node in inside if admits is None or any(map(admits, view.entities[node].chunks)))
            found[Group(k, tuple(sorted(kept, key=view.entity_id)))] = None
    return list(found)


def _centers(view: LiveView, question: Question, admits: ChunkPredicate | None) -> list[int]:
    named = [entity.node for entity in link_entities(view, question.text, admits) if largest_k(view, entity.node)]
    if named:
        return named[:CENTERS]

    def related(node: int) -> bool:
        return largest_k(view, node) > 0 and (admits is None or any(map(admits, view.entities[node].chunks)))

    index = searched_indexes(view, question).entities
    return [hit.number for hit in nearest(index, question.vector, 1, view.entity_id, related)]


def as_community(view: LiveView, group: Group, near: Mapping[int, float]) -> Community | None:
    """Return a group as a community, by its members that have a vector; None if there are fewer than two."""
    kept = tuple(node for node in group.members if node in near)
    if len(kept) < 2:
        return None
    relevance = sum(round(near[node] * ONE) for node in kept) / len(kept) / ONE
    inside = len(KnowledgeLayer(view, group.k).induced_edges(kept))
    return Community(LAYER, group.k, kept, relevance, inside / (len(kept) * (len(kept) - 1) / 2))
