"""Pseudo-questions: a path of two relations as a question, whose answer the graph knows.

A passage states (a, r, b), another one (b, s, c): the question is what the two relations say, without what they share,
and the entities and relations that the passages of both state are to be found, in the ego-graphs of a, b and c.

Invariant: an example is a function of the live graph and the passage, and depends on the rows of the entities in
`reads`, and on whether those in `hubs` are hubs, alone. Entities of more than HUB neighbours are neither passed through
nor contained: they would make each change of a graph affect most examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphtide.graph.int_sets import common
from graphtide.graph.learning.discriminant import Sums, row_sums
from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph, EgoGraphs
from graphtide.graph.retrieval.dynagrag.embedding import Scores, gather
from graphtide.graph.retrieval.dynagrag.learning.features import ENTITY_FEATURES, RELATION_FEATURES, ego_features
from graphtide.graph.retrieval.dynagrag.settings import EgoGraphLimits
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.vector_index import unit_rows
from graphtide.graph.view import LiveView

HUB = 16
HOPS = 2
NODES = 24

Words = tuple[str, str, str, str, str]


class TwoHopPath(NamedTuple):
    """Two statements, the entity they share, and the other end of each, by node."""

    first: int
    second: int
    bridge: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class PseudoExample:
    """The sums of one passage's pseudo-question, and the entities that they depend on, by node; see the module."""

    entities: Sums
    relations: Sums
    reads: frozenset[int]
    hubs: frozenset[int]


class NodeReads:
    """The entities whose rows an example read, and those of which it read only that they are hubs."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self.reads: set[int] = set()
        self.hubs: set[int] = set()

    def is_small(self, node: int) -> bool:
        """Return whether an entity has at most HUB neighbours, and note the answer's source."""
        small = len(self._view.neighbours.get(node, ())) <= HUB
        (self.reads if small else self.hubs).add(node)
        return small


def pseudo_example(view: LiveView, chunk: int) -> PseudoExample:
    """Return the example of a passage; its sums are zero if no path leads over it. Call under the view's read lock.

    Cost: its statements, those of at most HUB neighbours of their ends, and three ego-graphs of NODES entities.
    """
    reads = NodeReads(view)
    entities = np.zeros((2, ENTITY_FEATURES + 1, ENTITY_FEATURES + 1), np.int64)
    relations = np.zeros((2, RELATION_FEATURES + 1, RELATION_FEATURES + 1), np.int64)
    path = two_hop_path(view, chunk, reads)
    question = None if path is None else path_vector(view, path)
    if path is not None and question is not None:
        passages = {chunk, *view.statements[path.second].chunks}
        gold = {node for passage in passages for node in entities_of(view, passage)}
        egos = [ego_without_hubs(view, node, reads) for node in path[2:] if reads.is_small(node)]
        gathered = gather(view, egos)
        for ego in egos:
            found = ego_features(ego, gathered, question)
            other = np.array([each.statement not in path[:2] for each in ego.relations], bool)
            stated = np.array(
                [bool(common(passages, view.statements[each.statement].chunks)) for each in ego.relations], bool
            )
            entities += row_sums(found.entities, np.array([node in gold for node in ego.nodes]))
            relations += row_sums(found.relations[other], stated[other])
    return PseudoExample(entities, relations, frozenset(reads.reads), frozenset(reads.hubs))


def two_hop_path(view: LiveView, chunk: int, reads: NodeReads) -> TwoHopPath | None:
    """Return the path over a passage whose shared entity has the fewest neighbours; of equal ones the first by words.

    The second statement is one that the passage does not state.
    """
    found = [
        ((len(view.neighbours.get(path.bridge, ())), words(view, path.first), words(view, path.second)), path)
        for path in _paths(view, chunk, reads)
    ]
    return min(found)[1] if found else None


def _paths(view: LiveView, chunk: int, reads: NodeReads) -> Iterator[TwoHopPath]:
    for first in set(view.chunks[chunk].evidence.statements):
        subject, object_ = view.ends(first)
        for bridge, start in ((subject, object_), (object_, subject)) if subject != object_ else ():
            reads.is_small(start)
            for second in view.statements_of(bridge) if reads.is_small(bridge) else ():
                one, other = view.ends(second)
                end = one if other == bridge else other
                if chunk not in view.statements[second].chunks and end not in (bridge, start):
                    yield TwoHopPath(first, second, bridge, start, end)


def words(view: LiveView, statement: int) -> Words:
    """Return what a statement says: unique to it, and equal in every process."""
    row, labels = view.statements[statement], view.labels
    subject, object_ = labels[row.subject], labels[row.object]
    return subject.name, row.predicate, object_.name, subject.type, object_.type


def path_vector(view: LiveView, path: TwoHopPath) -> Scores | None:
    """Return the vector of a path as a question: both statements without the entity they share, as a question of two
    hops does not name it. None where one of them has no vector.
    """
    vectors = [
        view.statements[path.first].vector,
        view.statements[path.second].vector,
        view.entities[path.bridge].vector,
    ]
    if not all(vector.any() for vector in vectors):
        return None
    first, second, bridge = unit_rows(np.array(vectors, np.float32), vectors[0].size).astype(np.float64)
    found: Scores = first + second - bridge
    return found


def ego_without_hubs(view: LiveView, centre: int, reads: NodeReads) -> EgoGraph:
    """Return the entities within HOPS of a centre, at most NODES, the heaviest relations first, and their relations."""
    found, ring = {centre: 0}, [centre]
    for _ in range(HOPS):
        near: list[int] = []
        for node in ring:
            edges = view.neighbours.get(node, {})
            small = [other for other in edges if reads.is_small(other) and other not in found]
            ordered = sorted(small, key=lambda other: (-edges[other].weight, view.entity_id(other)))
            for other in ordered[: NODES - len(found)]:
                found[other] = len(found)
                near.append(other)
        ring = near
    return EgoGraphs(view, None, EgoGraphLimits()).among(tuple(found))
