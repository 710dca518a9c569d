"""The rows of a live view that a delta is about to overwrite, for views that are not beside their store.

Cost: the rows that the delta names.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphtide.graph.changes.rows import NO_VECTOR
from graphtide.graph.communities import CommunityChange
from graphtide.graph.records import ChunkRow, EdgeRow, EntityRow, GraphDelta, LabelRow, TripleRow
from graphtide.graph.view import LiveView


def capture(view: LiveView, delta: GraphDelta) -> tuple[GraphDelta, tuple[EntityRow, ...]]:
    """Return the rows that the delta will overwrite, and the entities that it only names, without vectors.

    Call before the delta is applied, in the task that applies it.
    """
    gone = delta.gone
    chunks = {*gone.chunks, *(r.chunk for r in delta.chunks), *(r.chunk for r in delta.mentions)}
    found = [(number, view.chunks[number]) for number in sorted(chunks) if number in view.chunks]
    entities = _entities(view, {*gone.entities, *(row.node for row in delta.entities)}, vectors=True)
    statements = _statements(view, {*gone.statements, *(row.statement for row in delta.statements)})
    pairs = {*gone.same_as, *((row.a, row.b) for row in delta.same_as)}
    labels = _labels(view, named_labels(delta, entities, statements))
    context = {row.node for row in labels} - {row.node for row in entities}
    rows = GraphDelta(
        view.graph,
        view.version,
        documents=tuple(
            view.documents[doc_id]
            for doc_id in {*gone.documents, *(row.doc_id for row in delta.documents)}
            if doc_id in view.documents
        ),
        chunks=tuple(
            ChunkRow(n, c.chunk_id, c.doc_id, c.ordinal, c.text, c.vector, 0, c.title, c.description, c.place)
            for n, c in found
        ),
        labels=labels,
        mentions=tuple(row for _, chunk in found for row in chunk.mentions),
        statements=statements,
        evidence=tuple(row for _, chunk in found for row in chunk.evidence),
        same_as=tuple(view.same_as[pair] for pair in sorted(pairs) if pair in view.same_as),
        entities=entities,
        edges=_edges(view, {*gone.edges, *((row.u, row.v) for row in delta.edges)}),
        communities=_communities(view, delta),
    )
    return rows, _entities(view, context, vectors=False)


def named_labels(delta: GraphDelta, entities: Iterable[EntityRow], statements: Iterable[TripleRow]) -> set[int]:
    """Return the labels that the delta names, or one of the entities and statements before it."""
    labels = {*delta.gone.labels, *(row.label for row in delta.labels)}
    for entity in (*delta.entities, *entities):
        labels.update(entity.labels[:1])
    for statement in (*delta.statements, *statements):
        labels.update((statement.subject, statement.object))
    for link in delta.same_as:
        labels.update((link.a, link.b))
    for pair in delta.gone.same_as:
        labels.update(pair)
    return labels


def _labels(view: LiveView, numbers: Iterable[int]) -> tuple[LabelRow, ...]:
    found = ((number, view.labels[number]) for number in sorted(numbers) if number in view.labels)
    return tuple(LabelRow(number, row.name, row.type, row.node, row.mentions, b"") for number, row in found)


def _entities(view: LiveView, nodes: Iterable[int], *, vectors: bool) -> tuple[EntityRow, ...]:
    found = ((node, view.entities[node]) for node in sorted(nodes) if node in view.entities)
    return tuple(
        EntityRow(node, row.name, row.type, row.labels, row.mentions, row.vector if vectors else NO_VECTOR)
        for node, row in found
    )


def _statements(view: LiveView, numbers: Iterable[int]) -> tuple[TripleRow, ...]:
    found = ((number, view.statements[number]) for number in sorted(numbers) if number in view.statements)
    return tuple(
        TripleRow(number, row.subject, row.predicate, row.object, row.count, row.weight_milli, b"", row.vector)
        for number, row in found
    )


def _edges(view: LiveView, pairs: Iterable[tuple[int, int]]) -> tuple[EdgeRow, ...]:
    found = ((u, v, view.neighbours.get(u, {}).get(v)) for u, v in sorted(pairs))
    return tuple(EdgeRow(u, v, edge.weight, edge.trussness) for u, v, edge in found if edge is not None)


def _communities(view: LiveView, delta: GraphDelta) -> CommunityChange | None:
    """Return the places before the delta of the nodes and communities that it moves."""
    change, hierarchy = delta.communities, view.hierarchy
    if not isinstance(change, CommunityChange):
        return None
    members = [(node, hierarchy.community(node)) for node in change.nodes.tolist() if hierarchy.community(node)]
    tree = []
    for community in dict.fromkeys((*change.children.tolist(), *change.removed.tolist())):
        try:
            tree.append((community, hierarchy.level(community), hierarchy.parent(community)))
        except KeyError:
            continue  # it is new
    nodes, places = np.array(members, np.int64).reshape(-1, 2), np.array(tree, np.int64).reshape(-1, 3)
    return CommunityChange(
        nodes[:, 0].astype(np.int32),
        nodes[:, 1].copy(),
        places[:, 0].copy(),
        places[:, 1].astype(np.int32),
        places[:, 2].copy(),
        np.empty(0, np.int64),
    )
