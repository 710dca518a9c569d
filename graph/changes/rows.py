"""The rows of one commit as JSON, without vectors: the content of a graph, and enough to compute its digest.

A row is the list of its fields in the order of the functions below (docs/changes.md lists them). Numbers of chunks,
labels, statements and entities are internal: they identify rows within one graph until it is rebuilt, and are reused.

Invariant: `rows_in(rows_out(delta))` has the rows of the delta, apart from vectors, versions, and headings by a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np

from graphtide.graph.communities import CommunityChange
from graphtide.graph.records import (
    ChunkRow,
    DocumentInfo,
    DocumentRow,
    EdgeRow,
    EntityRow,
    EvidenceRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    Removals,
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.text.place import decode_place

NO_VECTOR: Vector = np.empty(0, np.float16)
KINDS = (
    "documents", "chunks", "labels", "mentions", "statements", "evidence", "same_as", "entities", "edges",
    "predicate_links",
)  # fmt: skip

_DOCUMENT = attrgetter("doc_id", "revision", "info.title", "info.source", "info.occurred_at", "info.metadata", "chunks")
_LABEL = attrgetter("label", "name", "type", "node", "mentions")
_MENTION = attrgetter("label", "chunk", "name", "description", "count")
_STATEMENT = attrgetter("statement", "subject", "predicate", "object", "count", "weight_milli")
_EVIDENCE = attrgetter(
    "statement", "chunk", "description", "sentence", "weight_milli", "count", "valid_from", "valid_to"
)
_SAME_AS = attrgetter("a", "b", "rule", "score_milli")
_ENTITY = attrgetter("node", "name", "type", "labels", "mentions")
_EDGE = attrgetter("u", "v", "weight", "trussness")
_GONE = tuple(part.name for part in fields(Removals) if part.name != "predicate_links")
_CHANGED = ("nodes", "communities", "children", "levels", "parents", "removed")


def rows_out(delta: GraphDelta, collect: Callable[[Iterable[Any]], Any] = list) -> dict[str, Any]:
    """Return the rows of a delta or a snapshot, ready for JSON. Communities are not included.

    `collect` makes the rows of a table a member: a large table need not exist as a list.
    """
    body: dict[str, Any] = {
        "gone": {name: getattr(delta.gone, name) for name in _GONE},
        "documents": collect(map(_DOCUMENT, delta.documents)),
        "chunks": collect(map(_chunk_fields, delta.chunks)),
        "labels": collect(map(_LABEL, delta.labels)),
        "mentions": collect(map(_MENTION, delta.mentions)),
        "statements": collect(map(_STATEMENT, delta.statements)),
        "evidence": collect(map(_EVIDENCE, delta.evidence)),
        "same_as": collect(map(_SAME_AS, delta.same_as)),
        "entities": collect(map(_ENTITY, delta.entities)),
        "edges": collect(map(_EDGE, delta.edges)),
    }
    if delta.predicate_links:  # of few graphs: the others keep the shape that readers of earlier releases know
        body["predicate_links"] = delta.predicate_links
    if delta.gone.predicate_links:
        body["gone"]["predicate_links"] = delta.gone.predicate_links
    return body


def _chunk_fields(row: ChunkRow) -> tuple[Any, ...]:
    return row.chunk, row.chunk_id, row.doc_id, row.ordinal, row.text, row.place.encode()


def communities_out(change: CommunityChange) -> dict[str, list[int]]:
    """Return the arrays of a change of communities as lists."""
    return {name: getattr(change, name).tolist() for name in _CHANGED}


def communities_in(body: Mapping[str, list[int]]) -> CommunityChange:
    """Return the change that `communities_out` wrote."""
    return CommunityChange(
        np.array(body["nodes"], np.int32),
        np.array(body["communities"], np.int64),
        np.array(body["children"], np.int64),
        np.array(body["levels"], np.int32),
        np.array(body["parents"], np.int64),
        np.array(body["removed"], np.int64),
    )


def rows_in(graph: str, version: int, body: Mapping[str, Any], *, snapshot: bool = False) -> GraphDelta:
    """Return the delta of rows that `rows_out` wrote. Raises ValueError, TypeError or KeyError for anything else."""
    return GraphDelta(
        graph,
        version,
        _gone(body.get("gone", {})),
        tuple(_document(*row) for row in body.get("documents", ())),
        tuple(_chunk(*row) for row in body.get("chunks", ())),
        tuple(_label(*row) for row in body.get("labels", ())),
        tuple(MentionRow(*row) for row in body.get("mentions", ())),
        tuple(_statement(*row) for row in body.get("statements", ())),
        tuple(EvidenceRow(*row) for row in body.get("evidence", ())),
        tuple(SameAsRow(*row) for row in body.get("same_as", ())),
        tuple(_entity(*row) for row in body.get("entities", ())),
        tuple(EdgeRow(*row) for row in body.get("edges", ())),
        communities_in(body["communities"]) if "communities" in body else None,
        snapshot,
        predicate_links=_predicate_pairs(body),
    )


def _gone(body: Mapping[str, Any]) -> Removals:
    return Removals(
        tuple(body.get("documents", ())),
        tuple(body.get("chunks", ())),
        tuple(body.get("labels", ())),
        tuple(body.get("statements", ())),
        tuple((a, b) for a, b in body.get("same_as", ())),
        tuple(body.get("entities", ())),
        tuple((u, v) for u, v in body.get("edges", ())),
        _predicate_pairs(body),
    )


def _predicate_pairs(body: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((a, b) for a, b in body.get("predicate_links", ()))


def _document(
    doc_id: str, revision: int, title: str, source: str, occurred_at: str, metadata: list[Any], chunks: list[int]
) -> DocumentRow:
    pairs = tuple((key, value) for key, value in metadata)
    return DocumentRow(doc_id, revision, DocumentInfo(title, source, occurred_at, pairs), tuple(chunks))


def _chunk(chunk: int, chunk_id: str, doc_id: str, ordinal: int, text: str, place: str) -> ChunkRow:
    return ChunkRow(chunk, chunk_id, doc_id, ordinal, text, NO_VECTOR, place=decode_place(place or ""))


def _label(label: int, name: str, type_: str, node: int, mentions: int) -> LabelRow:
    return LabelRow(label, name, type_, node, mentions, b"")


def _statement(statement: int, subject: int, predicate: str, object_: int, count: int, weight_milli: int) -> TripleRow:
    return TripleRow(statement, subject, predicate, object_, count, weight_milli, b"", NO_VECTOR)


def _entity(node: int, name: str, type_: str, labels: list[int], mentions: int) -> EntityRow:
    return EntityRow(node, name, type_, tuple(labels), mentions, NO_VECTOR)
