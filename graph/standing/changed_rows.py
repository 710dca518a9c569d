"""The rows that one commit changed, in the form in which evaluations depend on them.

Invariant: every row that an evaluation can read differently after the commit is in one of the fields. Rows that did not
change may be in them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from graphtide.graph.records import GraphDelta, Vector
from graphtide.graph.vector_index import Vectors, unit_rows
from graphtide.graph.view import LiveView, walk_chunk, walk_entity

MAX_NEIGHBOURS = 100_000
"""Neighbours of changed nodes up to which they are listed; beyond it every evaluation that walks counts as affected."""


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The changed rows of a commit, by the numbers of the view that has applied it.

    `chunks` are passages that are new, changed, deleted, or of a changed document, `added` those that have a row now;
    `nodes` are nodes of the walk graph whose row or links changed. `names` are those of new labels, and those that
    other passages are about now. `chunk_vectors` (n, d), `entity_vectors` and `statement_vectors` are the vectors of
    changed rows, unit length. `whole` marks a graph that was built anew: every number is new.
    """

    chunks: frozenset[int]
    added: frozenset[int]
    nodes: frozenset[int]
    statements: frozenset[int]
    documents: frozenset[str]
    names: frozenset[str]
    chunk_vectors: Vectors
    entity_vectors: Vectors
    statement_vectors: Vectors
    neighbours: Callable[[], frozenset[int] | None]
    """Returns the nodes and their neighbours in the walk graph; None if there are more than MAX_NEIGHBOURS."""
    lowered_neighbours: Callable[[], frozenset[int] | None]
    """The same with the neighbours of those nodes alone whose degree became smaller."""
    whole: bool = False

    @classmethod
    def passages_of(cls, view: LiveView, delta: GraphDelta) -> ChangedRows:
        """Return the changed passages alone, `chunks` and `added`, for evaluations that depend on nothing else."""
        chunks, none, empty = _chunks(delta), frozenset[int](), np.zeros((0, 0), np.float32)
        added, whole = frozenset(number for number in chunks if number in view.chunks), delta.snapshot
        names = frozenset[str]()
        return cls(chunks, added, none, none, names, names, empty, empty, empty, lambda: none, lambda: none, whole)

    @classmethod
    def of(cls, view: LiveView, delta: GraphDelta) -> ChangedRows:
        """Return the changed rows of the delta that the view applied last. Call under `view.lock.read()`."""
        gone = delta.gone
        documents = {row.doc_id for row in delta.documents}.union(gone.documents)
        chunks = _chunks(delta)
        links = set[int](view.changed_links.ravel().tolist())
        entities = {row.node for row in delta.entities}.union(gone.entities, (n // 2 for n in links if n % 2 == 0))
        passages = [view.chunks[number] for number in chunks if number in view.chunks]
        entities.update(view.labels[label].node for chunk in passages for label in chunk.mentions.labels)
        statements = {row.statement for row in delta.statements}.union(gone.statements)
        stated = statements.union(number for chunk in passages for number in chunk.evidence.statements)
        nodes = links.union(map(walk_entity, entities), map(walk_chunk, chunks))
        return cls(
            chunks,
            frozenset(number for number in chunks if number in view.chunks),
            frozenset(nodes),
            frozenset(statements),
            frozenset(documents),
            frozenset(view.new_names | view.about.changed_keys),
            _units(chunk.vector for chunk in passages),
            _units(view.entities[node].vector for node in entities if node in view.entities),
            _units(view.statements[number].vector for number in stated if number in view.statements),
            lambda: _with_neighbours(view, nodes, nodes),
            lambda: _with_neighbours(view, nodes, view.lowered_nodes),
            delta.snapshot,
        )


def _chunks(delta: GraphDelta) -> frozenset[int]:
    of_documents = (number for row in delta.documents for number in row.chunks)
    return frozenset(row.chunk for row in delta.chunks).union(delta.gone.chunks, of_documents)


def _units(vectors: Iterable[Vector]) -> Vectors:
    present = [vector for vector in vectors if vector.size]
    if not present:
        return np.zeros((0, 0), np.float32)
    return unit_rows(np.stack(present).astype(np.float32), present[0].size)


def _with_neighbours(view: LiveView, nodes: Iterable[int], expanded: Iterable[int]) -> frozenset[int] | None:
    """Return the nodes, and the neighbours of those to expand."""
    found = set(nodes)
    for node in expanded:
        number = node // 2
        if node % 2:
            chunk = view.chunks.get(number)
            found.update(walk_entity(view.labels[label].node) for label in chunk.mentions.labels) if chunk else None
        else:
            entity = view.entities.get(number)
            found.update(map(walk_chunk, entity.chunks) if entity else ())
            found.update(map(walk_entity, view.neighbours.get(number, ())))
        if len(found) > MAX_NEIGHBOURS:
            return None
    return frozenset(found)
