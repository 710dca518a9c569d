"""The rows that a delta overwrites, chosen from a snapshot of the graph before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphtide.graph.changes.capture import named_labels
from graphtide.graph.changes.rows import NO_VECTOR
from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.records import GraphDelta
from graphtide.streams.changes import old_rows
from graphtide.streams.changes.old_rows import OldRows


def overwritten(before: GraphDelta, delta: GraphDelta) -> bytes:
    """Return the encoded rows that the delta overwrites, as the adapters of databases read them."""
    gone = delta.gone
    passages = {*gone.chunks, *(row.chunk for row in delta.mentions), *(row.chunk for row in delta.evidence)}
    nodes = {*gone.entities, *(row.node for row in delta.entities)}
    numbers = {*gone.statements, *(row.statement for row in delta.statements)}
    documents = {*gone.documents, *(row.doc_id for row in delta.documents)}
    chunks = {*gone.chunks, *(row.chunk for row in delta.chunks)}
    links = {*gone.same_as, *((row.a, row.b) for row in delta.same_as)}
    edges = {*gone.edges, *((row.u, row.v) for row in delta.edges)}
    entities = tuple(row for row in before.entities if row.node in nodes)
    statements = tuple(row for row in before.statements if row.statement in numbers)
    named = named_labels(delta, entities, statements)
    labels = tuple(row for row in before.labels if row.label in named)
    context = {row.node for row in labels} - nodes
    rows = GraphDelta(
        delta.graph,
        delta.version - 1,
        documents=tuple(row for row in before.documents if row.doc_id in documents),
        chunks=tuple(row for row in before.chunks if row.chunk in chunks),
        labels=labels,
        mentions=tuple(row for row in before.mentions if row.chunk in passages),
        statements=statements,
        evidence=tuple(row for row in before.evidence if row.chunk in passages),
        same_as=tuple(row for row in before.same_as if (row.a, row.b) in links),
        entities=entities,
        edges=tuple(row for row in before.edges if (row.u, row.v) in edges),
        communities=_places(before, delta),
    )
    shown = tuple(replace(row, vector=NO_VECTOR) for row in before.entities if row.node in context)
    return old_rows.encode(OldRows(rows, shown))


def _places(before: GraphDelta, delta: GraphDelta) -> CommunityChange | None:
    change, tree = delta.communities, before.communities
    if not isinstance(change, CommunityChange):
        return None
    if not isinstance(tree, Hierarchy):
        tree = Hierarchy.of_rows([], [], 1)
    members = np.isin(tree.nodes, change.nodes)
    places = np.isin(tree.ids, np.concatenate((change.children, change.removed)))
    none = np.empty(0, np.int64)
    nodes, communities = tree.nodes[members], tree.communities[members]
    return CommunityChange(nodes, communities, tree.ids[places], tree.levels[places], tree.parents[places], none)
