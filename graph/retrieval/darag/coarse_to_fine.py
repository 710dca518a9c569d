"""Coarse-to-fine search: a community of passages, the working subgraphs on its entities, and their communities.

Zeng et al. 2026, section 4. Invariant: every step is bounded, whatever the size of the graph; under a filter it reads
admitted passages and their entities only.

Deviations: the maximal k-truss of a whole layer is most of the graph, and cannot be computed for each question. The
coarse search runs on the passages nearest to the question and those that the walk from its seeds reaches. Without the
chunk layer the fine search runs on entities found in the same way. The working subgraphs keep the `working` entities
nearest to the question. Of the coarse communities of every k, the search continues with those selected like the
reports: by QRScore, as long as their passages fit the context's budget, and the best in any case. Reason: k-trusses of
a high k are near-cliques of passages that mention the same well-known entity, whatever the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphtide.graph.layers import ChunkLayer, KnowledgeLayer, Layer, SimilarityLayer, working_entities
from graphtide.graph.retrieval.darag.adaptive import Community, communities, neighbourhood
from graphtide.graph.retrieval.darag.attributed_graph import AttributedGraph
from graphtide.graph.retrieval.darag.groups import as_community, cohesive_groups
from graphtide.graph.retrieval.darag.settings import COURSE, DaRagSettings
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.scoring.candidates import score_passages
from graphtide.graph.retrieval.seeds import Hit, nearest, searched_indexes
from graphtide.graph.retrieval.types import Question
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.vector_index import similarities
from graphtide.graph.view import LiveView

PASSAGES = "passages"
"""Name of the layer of the coarse communities."""
ANCHORS = 10
"""Number of passages that start the fine search if no two passages of the coarse search are linked."""


@dataclass(frozen=True, slots=True)
class CommunitySearchResult:
    """Communities of passages, communities of entities, and the entities' cosines to the question."""

    coarse: tuple[Community, ...]
    fine: tuple[Community, ...]
    near: Mapping[int, float]


def coarse_to_fine(
    view: LiveView,
    question: Question,
    passages: Sequence[Hit],
    mass: Mapping[int, float],
    admits: ChunkPredicate | None,
    course: DaRagSettings = COURSE,
) -> CommunitySearchResult:
    """Return the communities of a question, from its nearest passages and the walk's mass (both admitted)."""
    coarse: list[Community] = []
    if course.chunk_layer:
        coarse = _coarse(view, question, passages, mass, course)
        anchors = {number for each in coarse for number in each.members} or {hit.number for hit in passages[:ANCHORS]}
        entities = working_entities(view, anchors)
    else:
        entities = set() if course.group else _entities(view, question, mass, admits, course.working)
    if course.group:
        return _groups(view, question, coarse, admits, course)
    near = _nearest(view, question, entities, course.working)
    layers: dict[str, Layer] = {"knowledge graph": KnowledgeLayer(view)}
    if course.similarity_layer:
        layers["similarity"] = SimilarityLayer(view, course.neighbours)
    numbers, cosines = tuple(near), tuple(near.values())
    fine = [
        each
        for name, layer in layers.items()
        for each in _search(AttributedGraph.over(numbers, cosines, layer.induced_edges(numbers)), name, course)
    ]
    return CommunitySearchResult(tuple(coarse), tuple(fine), near)


def _groups(
    view: LiveView,
    question: Question,
    coarse: Sequence[Community],
    admits: ChunkPredicate | None,
    course: DaRagSettings,
) -> CommunitySearchResult:
    """Return the cohesive groups around the question's entities instead of communities of working subgraphs."""
    found = cohesive_groups(view, question, admits, course)
    members = {node for group in found for node in group.members}
    near = _nearest(view, question, members, len(members))
    fine = (as_community(view, group, near) for group in found)
    return CommunitySearchResult(tuple(coarse), tuple(each for each in fine if each is not None), near)


def _search(graph: AttributedGraph, layer: str, course: DaRagSettings) -> list[Community]:
    return communities(graph, layer, course.k) if course.community_search else neighbourhood(graph, layer)


def _coarse(
    view: LiveView, question: Question, passages: Sequence[Hit], mass: Mapping[int, float], course: DaRagSettings
) -> list[Community]:
    chosen = {hit.number for hit in passages[: course.nearest]}
    reached = ((share, view.chunks[node // 2].chunk_id, node // 2) for node, share in mass.items() if node % 2)
    for _, _, number in sorted(reached, key=lambda row: (-row[0], row[1])):
        if len(chosen) >= course.coarse:
            break
        chosen.add(number)
    found = score_passages(view, question, chosen)
    links = ChunkLayer(view).induced_edges(found.numbers)
    communities_ = _search(AttributedGraph.over(found.numbers, found.cosine.tolist(), links), PASSAGES, course)
    return _fitting(view, communities_, course.context_tokens)


def _fitting(view: LiveView, coarse: Sequence[Community], budget: int) -> list[Community]:
    """Return the best by QRScore, equal ones with the greater k first, whose passages fit the budget together."""
    kept: list[Community] = []
    inside: set[int] = set()
    for each in sorted(coarse, key=lambda each: (-each.relevance, -each.k)):
        more = set(each.members) - inside
        tokens = sum(count_tokens(view.chunks[number].text) for number in more)
        if more and (tokens <= budget or not kept):
            kept.append(each)
            inside |= more
            budget -= tokens
    return kept


def _entities(
    view: LiveView, question: Question, mass: Mapping[int, float], admits: ChunkPredicate | None, count: int
) -> set[int]:
    """Return, without the chunk layer, the entities nearest to the question and those with most of the walk's mass."""

    def allowed(node: int) -> bool:
        return admits is None or any(map(admits, view.entities[node].chunks))

    index = searched_indexes(view, question).entities
    hits = nearest(index, question.vector, count, view.entity_id, allowed if admits else None)
    walked = ((-share, view.entity_id(node // 2), node // 2) for node, share in mass.items() if node % 2 == 0)
    best = [number for _, _, number in sorted(walked)[: 2 * count] if allowed(number)]
    return {hit.number for hit in hits}.union(best[:count])


def _nearest(view: LiveView, question: Question, entities: Iterable[int], count: int) -> dict[int, float]:
    """Return the `count` entities nearest to the question that have a vector, by canonical name, with their cosines."""
    named = sorted((view.entity_id(node), node) for node in entities if node in view.indexes.entities)
    if not named:
        return {}
    nodes = [node for _, node in named]
    unit = (question.vector / np.float32(np.linalg.norm(question.vector) or 1)).astype(np.float32)
    cosines = similarities(unit, view.indexes.entities.vectors(np.array(nodes, np.int64)))
    kept = np.sort(np.argsort(-cosines, kind="stable")[:count])
    return {nodes[place]: float(cosines[place]) for place in kept.tolist()}
