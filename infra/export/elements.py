"""A graph's rows as nodes and relationships of a property graph, in the layout of the graph database.

Ids are unique within one file only: `entity-17` has no meaning outside it. Vectors and vector sums are left out: they
are useless without the model that made them, and make up nine tenths of a graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from graphtide.graph.communities import Hierarchy
from graphtide.graph.records import DocumentInfo, GraphDelta

Value = str | int | float


@dataclass(frozen=True, slots=True)
class ExportNode:
    """A node. `label` is one of LABELS."""

    id: str
    label: str
    properties: dict[str, Value]


@dataclass(frozen=True, slots=True)
class ExportEdge:
    """A relationship; `start` and `end` are ids of nodes with these labels."""

    type: str
    start: tuple[str, str]
    end: tuple[str, str]
    properties: dict[str, Value]


TEXTS = frozenset(
    (
        *("doc_id", "title", "source", "occurred_at", "metadata", "chunk_id", "text", "name", "type", "predicate"),
        *("description", "sentence", "valid_from", "valid_to", "rule"),
    )
)
WHOLE = frozenset(("revision", "ordinal", "mentions", "count", "trussness", "level"))
BROKEN = frozenset(("weight", "score"))
"""All properties by type: texts, whole numbers, and others."""

LABELS = ("Document", "Chunk", "Entity", "Label", "Statement", "Community")
NODE_KINDS = ("documents", "chunks", "entities", "labels", "statements", "communities")
EDGE_KINDS = ("documents", "mentions", "labels", "evidence", "statements", "same_as", "edges", "communities")
"""The row types of nodes and relationships, by their names in a GraphDelta."""


def nodes(rows: GraphDelta) -> Iterator[ExportNode]:
    """Yield the nodes of the rows, which may be any part of a graph's rows."""
    for d in rows.documents:
        attributes: dict[str, Value] = {
            "title": d.info.title,
            "source": d.info.source,
            "occurred_at": d.info.occurred_at,
        }
        own: dict[str, Value] = {"doc_id": d.doc_id, "revision": d.revision, "metadata": _json(d.info)}
        yield ExportNode(_id("Document", d.doc_id), "Document", own | attributes)
    for c in rows.chunks:
        own = {"chunk_id": c.chunk_id, "doc_id": c.doc_id, "ordinal": c.ordinal, "text": c.text}
        own |= {"title": c.title, "description": c.description} if c.title or c.description else {}
        yield ExportNode(_id("Chunk", c.chunk), "Chunk", own)
    for e in rows.entities:
        yield ExportNode(_id("Entity", e.node), "Entity", {"name": e.name, "type": e.type, "mentions": e.mentions})
    for lab in rows.labels:
        yield ExportNode(
            _id("Label", lab.label), "Label", {"name": lab.name, "type": lab.type, "mentions": lab.mentions}
        )
    for s in rows.statements:
        own = {"predicate": s.predicate, "count": s.count, "weight": s.weight_milli / 1000}
        yield ExportNode(_id("Statement", s.statement), "Statement", own)
    if isinstance(rows.communities, Hierarchy):
        for community, level in zip(rows.communities.ids.tolist(), rows.communities.levels.tolist(), strict=True):
            yield ExportNode(_id("Community", community), "Community", {"level": level})


def edges(rows: GraphDelta) -> Iterator[ExportEdge]:
    """Yield the relationships of the rows, which may be any part of a graph's rows."""
    for d in rows.documents:
        for chunk in d.chunks:
            yield _edge("HAS", ("Document", d.doc_id), ("Chunk", chunk))
    for m in rows.mentions:
        own: dict[str, Value] = {"name": m.name, "description": m.description, "count": m.count}
        yield _edge("MENTIONS", ("Chunk", m.chunk), ("Label", m.label), own)
    for lab in rows.labels:
        yield _edge("NAMES", ("Label", lab.label), ("Entity", lab.node))
    for e in rows.evidence:
        own = {"description": e.description, "sentence": e.sentence, "weight": e.weight_milli / 1000, "count": e.count}
        valid: dict[str, Value] = {"valid_from": e.valid_from, "valid_to": e.valid_to}
        yield _edge("SUPPORTS", ("Chunk", e.chunk), ("Statement", e.statement), own | valid)
    for s in rows.statements:
        yield _edge("SUBJECT", ("Statement", s.statement), ("Label", s.subject))
        yield _edge("OBJECT", ("Statement", s.statement), ("Label", s.object))
    for same in rows.same_as:
        own = {"rule": same.rule, "score": same.score_milli / 1000}
        yield _edge("SAME_AS", ("Label", same.a), ("Label", same.b), own)
    for edge in rows.edges:
        own = {"weight": float(edge.weight), "trussness": edge.trussness}
        yield _edge("RELATES", ("Entity", edge.u), ("Entity", edge.v), own)
    if isinstance(rows.communities, Hierarchy):
        tree = rows.communities
        for node, community in zip(tree.nodes.tolist(), tree.communities.tolist(), strict=True):
            yield _edge("MEMBER_OF", ("Entity", node), ("Community", community))
        for number, parent in zip(tree.ids.tolist(), tree.parents.tolist(), strict=True):
            if parent:
                yield _edge("PART_OF", ("Community", number), ("Community", parent))


def _json(info: DocumentInfo) -> str:
    """Return the metadata as one JSON object: each of its values is JSON text."""
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{value}" for name, value in info.metadata) + "}"


def _id(label: str, name: object) -> str:
    return f"{label.lower()}-{name}"


def _edge(
    type_: str, start: tuple[str, object], end: tuple[str, object], properties: dict[str, Value] | None = None
) -> ExportEdge:
    ends = [(label, _id(label, name)) for label, name in (start, end)]
    return ExportEdge(type_, ends[0], ends[1], properties or {})
