"""Exploration by its definitions: every entity, every statement, nothing kept sorted."""

from __future__ import annotations

import math
from collections.abc import Mapping

import networkx as nx
import numpy as np

from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.search.beam_search import BeamSettings, TypeWeight
from graphtide.graph.view import LiveView


def hops_from(view: LiveView, starts: list[int], depth: int) -> dict[int, int]:
    """Return entities within `depth` hops of a start, by networkx, without limits."""
    graph = nx.Graph([(u, v) for u, ends in view.neighbours.items() for v in ends])
    graph.add_nodes_from(starts)
    return dict(nx.multi_source_dijkstra_path_length(graph, set(starts), cutoff=depth, weight=lambda *_: 1))


def slow_explore(
    view: LiveView, vector: QuestionVector, starts: Mapping[int, float], weigh: TypeWeight, guide: BeamSettings
) -> list[tuple[str, float]]:
    """Return a priority-guided traversal over a plain list: names and priorities in the order of visiting."""
    waiting = {node: priority for node, priority in starts.items() if priority >= guide.threshold}
    visited: list[tuple[str, float]] = []
    names = set[str]()
    while waiting and len(visited) < guide.enough:
        ranked = sorted(waiting, key=lambda n: (-waiting[n], view.entity_id(n)))
        waiting = {n: waiting[n] for n in ranked[: guide.beam]}
        node = ranked[0]
        visited.append((view.entity_id(node), waiting.pop(node)))
        names.add(view.entity_id(node))
        for number, statement in view.statements.items():
            ends = view.ends(number)
            if node in ends and ends[0] != ends[1]:
                other = ends[1] if ends[0] == node else ends[0]
                priority = max(0.0, cosine(view, other, vector)) * weigh(statement.predicate)
                if view.entity_id(other) not in names and priority >= guide.threshold:
                    waiting[other] = max(waiting.get(other, 0.0), priority)
    return visited


def within_threshold(
    view: LiveView, vector: QuestionVector, starts: Mapping[int, float], weigh: TypeWeight, threshold: float
) -> set[str]:
    """Return all entities reachable by steps of at least the threshold: the result of a traversal without limits."""
    found = {node for node, priority in starts.items() if priority >= threshold}
    while True:
        more = {
            other
            for number, statement in view.statements.items()
            for node, other in (view.ends(number), view.ends(number)[::-1])
            if node in found and cosine(view, other, vector) * weigh(statement.predicate) >= threshold
        }
        if more <= found:
            return {view.entity_id(node) for node in found}
        found |= more


def cosine(view: LiveView, node: int, vector: QuestionVector) -> float:
    stored = [float(x) for x in view.indexes.entities.vectors(np.array([node]))[0]]
    asked = [float(x) for x in vector]
    return sum(a * b for a, b in zip(stored, asked, strict=True)) / math.sqrt(sum(a * a for a in asked))
