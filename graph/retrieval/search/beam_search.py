"""Beam search over typed relations: best first, by a neighbour's similarity and the type of its relation.

Article "graph-rag-algorithms", "PHSE: Priority-Guided Traversal": a priority queue, a node's priority is its semantic
score times the weight of the relation's type, the queue is a beam, and the search ends with enough nodes or below a
threshold. Where the article gives no detail: the semantic score is the cosine of the neighbour's vector to the
question, at least 0; relation types are the stated predicates; their weights come from the question
(`lexical_type_weight`), or from a caller that knows the schema. Invariant: ties are broken by canonical name; only
popped nodes are expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.scoring.terms import words
from graphtide.graph.retrieval.search.bfs import HUB
from graphtide.graph.vector_index import similarities
from graphtide.graph.view import LiveView

TypeWeight = Callable[[str], float]

LIKELY = 1.5
OTHER = 1.0
_SHORT = 3  # letters: "of", "in", "is" are in every predicate


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """The beam's width, the minimum priority to follow, and the maximum number of entities."""

    beam: int = 50
    threshold: float = 0.25
    enough: int = 60


@dataclass(frozen=True, slots=True)
class Visit:
    """An entity in the order it was popped, with the relation that led to it; `statement` is -1 for a start."""

    node: int
    priority: float
    statement: int


def lexical_type_weight(question: str, likely: float = LIKELY) -> TypeWeight:
    """Return a weight function: `likely` for relations whose predicate shares a word with the question, OTHER for the
    rest.
    """
    asked = {word for word in words(question) if len(word) > _SHORT}
    return lambda predicate: likely if asked.intersection(words(predicate)) else OTHER


def type_weight(multipliers: Mapping[str, float], others: TypeWeight) -> TypeWeight:
    """Return a weight function: the multiplier of a predicate, compared in lower case, and `others` for the rest."""
    if not multipliers:
        return others
    by_name = {name.lower(): weight for name, weight in multipliers.items()}

    def weigh(predicate: str) -> float:
        weight = by_name.get(predicate.lower())
        return others(predicate) if weight is None else weight

    return weigh


def explore(
    view: LiveView,
    vector: QuestionVector,
    starts: Mapping[int, float],
    weigh: TypeWeight,
    guide: BeamSettings = BeamSettings(),
    admits: ChunkPredicate | None = None,
) -> tuple[Visit, ...]:
    """Visit entities best first from the starts (with their priorities); each once.

    A relation counts if an admitted passage states it. No relation of an entity with more than HUB statements is
    followed. Cost: the statements of `guide.enough` entities, and the vectors of their neighbours.
    """
    near = _Nearness(view, vector)
    waiting = {node: Visit(node, priority, -1) for node, priority in starts.items() if priority >= guide.threshold}
    visited: dict[int, Visit] = {}
    while waiting and len(visited) < guide.enough:
        waiting = _best(view, waiting, guide.beam)
        visit = waiting.pop(next(iter(waiting)))
        visited[visit.node] = visit
        for statement, other in _leading_from(view, visit.node, admits, near):
            priority = near.of(other) * weigh(view.predicate_of(statement))
            queued = waiting.get(other)
            if other not in visited and priority >= guide.threshold and (queued is None or queued.priority < priority):
                waiting[other] = Visit(other, priority, statement)
    return tuple(visited.values())


def _best(view: LiveView, waiting: dict[int, Visit], beam: int) -> dict[int, Visit]:
    """Return the queue cut to the beam, best first."""
    order = sorted(waiting, key=lambda node: (-waiting[node].priority, view.entity_id(node)))
    return {node: waiting[node] for node in order[:beam]}


def _leading_from(view: LiveView, node: int, admits: ChunkPredicate | None, near: _Nearness) -> list[tuple[int, int]]:
    """Return the relations of an entity with the other end, in a canonical order."""
    if sum(len(view.labels[label].statements) for label in view.entities[node].labels) > HUB:
        return []
    found = []
    for number in set(view.statements_of(node)):
        if admits is None or any(map(admits, view.statements[number].chunks)):
            subject, object_ = view.ends(number)
            found.append((number, object_ if subject == node else subject))
    leading = [(number, other) for number, other in found if other != node]
    near.look_up(other for _, other in leading)
    return sorted(leading, key=lambda pair: _key(view, *pair))


def _key(view: LiveView, number: int, other: int) -> tuple[str, str, str, str]:
    statement = view.statements[number]
    subject, object_ = view.labels[statement.subject], view.labels[statement.object]
    return (
        view.entity_id(other),
        statement.predicate,
        f"{subject.name}\0{subject.type}",
        f"{object_.name}\0{object_.type}",
    )


class _Nearness:
    """Cosines of entities to the question, looked up once each; 0 without a vector or for a negative cosine."""

    def __init__(self, view: LiveView, vector: QuestionVector) -> None:
        self._index = view.indexes.entities
        self._unit = (vector / np.float32(np.linalg.norm(vector) or 1)).astype(np.float32)
        self._known: dict[int, float] = {}

    def look_up(self, nodes: Iterable[int]) -> None:
        """Fetch the vectors of the unknown nodes in one call."""
        fresh = list(dict.fromkeys(node for node in nodes if node not in self._known))
        self._known.update(dict.fromkeys(fresh, 0.0))
        self._known.update(self._cosines([node for node in fresh if node in self._index]))

    def of(self, node: int) -> float:
        return self._known[node]

    def _cosines(self, nodes: list[int]) -> Iterator[tuple[int, float]]:
        if nodes:
            vectors = self._index.vectors(np.array(nodes, np.int64))
            cosines = similarities(self._unit, vectors).tolist()
            yield from zip(nodes, (max(0.0, cosine) for cosine in cosines), strict=True)
