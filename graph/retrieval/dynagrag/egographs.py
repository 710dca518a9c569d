"""Ego-graph of an entity: the entities and relations within k hops of it, under limits.

Invariant: an ego-graph is a function of the live graph and the filter. Entities are in the order of discovery, which
weights and canonical names decide; relations are in the order of their ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from graphtide.graph.int_sets import common
from graphtide.graph.retrieval.dynagrag.settings import EgoGraphLimits
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView, ViewEdge

Stated = tuple[int, int, int]
"""A statement's number, and subject and object by node."""

NOTHING: dict[int, ViewEdge] = {}


class EgoRelation(NamedTuple):
    """A statement inside an ego-graph: its number, and the positions of subject and object among the entities."""

    statement: int
    subject: int
    object: int


@dataclass(frozen=True, slots=True)
class EgoGraph:
    """The centre first, then the entities around it, by hops; `nodes` are numbers of the view."""

    nodes: tuple[int, ...]
    relations: tuple[EgoRelation, ...]

    @property
    def centre(self) -> int:
        return self.nodes[0]


class EgoGraphs:
    """The ego-graphs of one question; data shared by several of them is read once."""

    def __init__(self, view: LiveView, admits: ChunkPredicate | None, caps: EgoGraphLimits) -> None:
        self._view = view
        self._admits = admits
        self._caps = caps
        self._strongest: dict[int, list[int]] = {}
        self._between: dict[tuple[int, int], list[Stated]] = {}

    def around(self, centre: int) -> EgoGraph:
        """Return the ego-graph of an entity (section 3.2) within the limits. Deviation: Thakrar's has no limits.

        Under a filter it follows and contains only relations that an admitted passage states. Cost: at most `nodes`
        entities of at most `hub` neighbours each, and the centre's own.
        """
        found, ring = {centre: 0}, [centre]
        for _ in range(self._caps.hops):
            ring = list(self._following(ring, found))
        return self.among(tuple(found))

    def among(self, nodes: tuple[int, ...]) -> EgoGraph:
        """Return the ego-graph of exactly these entities, the centre first, and the relations between them."""
        place = {node: at for at, node in enumerate(nodes)}
        return EgoGraph(nodes, tuple(self._relations(place, nodes)))

    def _following(self, ring: list[int], found: dict[int, int]) -> Iterator[int]:
        """Yield the next hop, in order of discovery, and add it to `found`."""
        for node in ring:
            if found[node] and len(self._view.neighbours.get(node, ())) > self._caps.hub:
                continue
            for other in self._strongest_of(node):
                if len(found) == self._caps.nodes:
                    return
                if other not in found:
                    found[other] = len(found)
                    yield other

    def _strongest_of(self, node: int) -> list[int]:
        """Return the other ends of the heaviest relations, equal ones by name."""
        known = self._strongest.get(node)
        if known is None:
            edges, entities = self._view.neighbours.get(node, {}), self._view.entities
            open_to = edges if self._admits is None else [o for o in edges if self._statements(node, o)]
            known = heapq.nsmallest(
                self._caps.fan, open_to, key=lambda other: (-edges[other].weight, entities[other].id)
            )
            self._strongest[node] = known
        return known

    def _relations(self, place: dict[int, int], nodes: tuple[int, ...]) -> Iterator[EgoRelation]:
        """Yield the relations of all pairs in the order of their positions. Most of a question's time is spent here."""
        neighbours = self._view.neighbours
        for node, at in place.items():
            edges = neighbours.get(node, NOTHING)
            if len(edges) < len(place):
                others = [place[other] for other in edges if other in place]
            else:
                others = [further for other, further in place.items() if other in edges]
            for further in sorted([other for other in others if other > at]):
                for number, subject, object_ in self._statements(node, nodes[further]):
                    yield EgoRelation(number, place[subject], place[object_])

    def _statements(self, one: int, other: int) -> list[Stated]:
        """Return the admitted statements between two entities, by their words. Cost: those of the entity that has
        fewer.
        """
        pair = (one, other) if one < other else (other, one)
        known = self._between.get(pair)
        if known is None:
            labels, entities = self._view.labels, self._view.entities
            found = {
                number
                for mine in entities[one].labels
                for theirs in entities[other].labels
                for number in common(labels[mine].statements, labels[theirs].statements)
            }
            if self._admits is not None:
                found = {number for number in found if any(map(self._admits, self._view.statements[number].chunks))}
            ordered = sorted(found, key=self._words) if len(found) > 1 else found
            known = self._between[pair] = [(number, *self._view.ends(number)) for number in ordered]
        return known

    def _words(self, number: int) -> tuple[str, str, str, str, str]:
        statement, labels = self._view.statements[number], self._view.labels
        subject, object_ = labels[statement.subject], labels[statement.object]
        return subject.name, statement.predicate, object_.name, subject.type, object_.type
