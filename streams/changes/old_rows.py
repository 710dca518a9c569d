"""Codec of the rows that a commit overwrote: a JSON object of rows, then their vectors end to end.

The layout is that in which SQLite returns rows: a row is the list of its columns, in which lists are JSON text, and
ends with the length of its vector in bytes where its kind has one.

Invariant: decode(encode(rows)) equals rows, bit for bit in every vector.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphtide.graph.changes.rows import NO_VECTOR
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
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.text.place import decode_place
from graphtide.streams.errors import Broken

_HEADER = struct.Struct("<I")
WITH_VECTORS = ("chunks", "statements", "entities")


@dataclass(frozen=True, slots=True)
class OldRows:
    """The rows that a delta overwrote or removed, and all labels that it names, as they were before.

    `context` are the entities of those labels that the delta leaves unchanged, without vectors.
    """

    rows: GraphDelta
    context: tuple[EntityRow, ...] = ()


def assemble(packed: Mapping[str, str], vectors: Mapping[str, bytes]) -> bytes:
    """Return the encoded rows of JSON arrays by kind, as SQLite makes them, and of their vectors."""
    header = "{" + ",".join(f'"{kind}":{rows}' for kind, rows in packed.items()) + "}"
    small = zlib.compress(header.encode(), 1)
    return b"".join((_HEADER.pack(len(small)), small, *(vectors.get(kind, b"") for kind in WITH_VECTORS)))


def encode(old: OldRows) -> bytes:
    """Return the rows as bytes."""
    rows, change = old.rows, old.rows.communities
    kinds: dict[str, Any] = {
        "documents": [_document_out(row) for row in rows.documents],
        "chunks": [_chunk_out(row) for row in rows.chunks],
        "labels": [(row.label, row.name, row.type, row.node, row.mentions) for row in rows.labels],
        "mentions": [(row.chunk, 0, row.label, row.name, row.description, row.count) for row in rows.mentions],
        "statements": [_statement_out(row) for row in rows.statements],
        "evidence": [_evidence_out(row) for row in rows.evidence],
        "same_as": [(row.a, row.b, row.rule, row.score_milli) for row in rows.same_as],
        "entities": [(*_entity_out(row), row.version, row.vector.nbytes) for row in rows.entities],
        "edges": [(row.u, row.v, row.weight, row.trussness) for row in rows.edges],
        "context": [_entity_out(row) for row in old.context],
    }
    if isinstance(change, CommunityChange):
        kinds["members"] = list(zip(change.nodes.tolist(), change.communities.tolist(), strict=True))
        tree = zip(change.children.tolist(), change.levels.tolist(), change.parents.tolist(), strict=True)
        kinds["communities"] = list(tree)
    packed = {kind: json.dumps(found, ensure_ascii=False, separators=(",", ":")) for kind, found in kinds.items()}
    vectors = {kind: b"".join(row.vector.tobytes() for row in getattr(rows, kind)) for kind in WITH_VECTORS}
    return assemble(packed, vectors)


def decode(graph: str, version: int, data: bytes) -> OldRows:
    """Return the rows as of `version`. Raises Broken for damaged bytes."""
    try:
        (length,) = _HEADER.unpack_from(data)
        start = _HEADER.size + length
        body = json.loads(zlib.decompress(data[_HEADER.size : start]))
        return _old_rows(graph, version, body, memoryview(data)[start:])
    except (ValueError, TypeError, KeyError, struct.error, zlib.error) as error:
        raise Broken(f"the change log of graph {graph!r} is damaged at version {version}: {error!r}") from error


def _old_rows(graph: str, version: int, body: Mapping[str, Any], blob: memoryview) -> OldRows:
    at = 0
    vectors: dict[str, list[Vector]] = {}
    for kind in WITH_VECTORS:
        vectors[kind] = []
        for row in body[kind]:
            size = row[-1] or 0
            vectors[kind].append(np.frombuffer(blob[at : at + size], np.float16) if size else NO_VECTOR)
            at += size
    rows = GraphDelta(
        graph,
        version,
        documents=tuple(_document_in(*row) for row in body["documents"]),
        chunks=tuple(_chunk_in(row, vector) for row, vector in zip(body["chunks"], vectors["chunks"], strict=True)),
        labels=tuple(_label_in(*row) for row in body["labels"]),
        mentions=tuple(MentionRow(label, chunk, *rest) for chunk, _, label, *rest in body["mentions"]),
        statements=tuple(
            _statement_in(row, vector) for row, vector in zip(body["statements"], vectors["statements"], strict=True)
        ),
        evidence=tuple(EvidenceRow(statement, chunk, *rest) for chunk, _, statement, *rest in body["evidence"]),
        same_as=tuple(SameAsRow(*row) for row in body["same_as"]),
        entities=tuple(
            _entity_in(row, vector) for row, vector in zip(body["entities"], vectors["entities"], strict=True)
        ),
        edges=tuple(EdgeRow(*row) for row in body["edges"]),
        communities=places_of(body.get("members", ()), body.get("communities", ())),
    )
    return OldRows(rows, tuple(_entity_in((*row, 0, 0), NO_VECTOR) for row in body["context"]))


def places_of(members: Sequence[Sequence[int]], tree: Sequence[Sequence[int]]) -> CommunityChange:
    """Return the places of nodes and communities, from rows of (node, community) and of (community, level, parent)."""
    nodes = np.array(members, np.int64).reshape(-1, 2)
    places = np.array(tree, np.int64).reshape(-1, 3)
    return CommunityChange(
        nodes[:, 0].astype(np.int32),
        nodes[:, 1].copy(),
        places[:, 0].copy(),
        places[:, 1].astype(np.int32),
        places[:, 2].copy(),
        np.empty(0, np.int64),
    )


def _text(value: Iterable[Any]) -> str:
    return json.dumps(list(value), ensure_ascii=False, separators=(",", ":"))


def _document_out(row: DocumentRow) -> tuple[Any, ...]:
    info = row.info
    metadata, chunks = _text(info.metadata), _text(row.chunks)
    return row.doc_id, row.revision, info.title, info.source, info.occurred_at, metadata, chunks


def _document_in(
    doc_id: str, revision: int, title: str, source: str, occurred_at: str, metadata: str, chunks: str
) -> DocumentRow:
    pairs = tuple((key, value) for key, value in json.loads(metadata))
    return DocumentRow(doc_id, revision, DocumentInfo(title, source, occurred_at, pairs), tuple(json.loads(chunks)))


def _chunk_out(row: ChunkRow) -> tuple[Any, ...]:
    head = (row.chunk, row.chunk_id, row.doc_id, row.ordinal, row.text, row.version)
    return *head, row.title, row.description, row.place.encode(), row.vector.nbytes


def _chunk_in(row: Sequence[Any], vector: Vector) -> ChunkRow:
    chunk, chunk_id, doc_id, ordinal, text, version, title, description, place, _ = row
    return ChunkRow(chunk, chunk_id, doc_id, ordinal, text, vector, version, title, description, decode_place(place))


def _label_in(label: int, name: str, type_: str, node: int, mentions: int) -> LabelRow:
    return LabelRow(label, name, type_, node, mentions, b"")


def _statement_in(row: Sequence[Any], vector: Vector) -> TripleRow:
    statement, subject, predicate, object_, count, weight_milli, version, _ = row
    return TripleRow(statement, subject, predicate, object_, count, weight_milli, b"", vector, version)


def _statement_out(row: TripleRow) -> tuple[Any, ...]:
    key = (row.statement, row.subject, row.predicate, row.object)
    return *key, row.count, row.weight_milli, row.version, row.vector.nbytes


def _evidence_out(row: EvidenceRow) -> tuple[Any, ...]:
    shown = (row.description, row.sentence, row.weight_milli, row.count, row.valid_from, row.valid_to)
    return row.chunk, 0, row.statement, *shown


def _entity_out(row: EntityRow) -> tuple[Any, ...]:
    return row.node, row.name, row.type, _text(row.labels), row.mentions


def _entity_in(row: Sequence[Any], vector: Vector) -> EntityRow:
    node, name, type_, labels, mentions, version, _ = row
    return EntityRow(node, name, type_, tuple(json.loads(labels)), mentions, vector, version)
