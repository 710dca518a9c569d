"""Codec of `GraphDelta`, for followers in other processes.

The format is versioned JSON, in which a row is the list of its fields in order, without its vector. The vectors of a
table are one base64 block of little-endian float16 beside its rows, with the indices of the rows that have none; vector
sums and the arrays of the hierarchy are base64 of their bytes.

Invariant: decode(encode(delta)) equals delta, bit for bit in every vector.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from operator import attrgetter
from sys import intern
from typing import Any

import numpy as np

from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.int_sets import shared_int, shared_tuple
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
from graphtide.graph.text.place import NO_PLACE, decode_place
from graphtide.graph.vector_sum import SumEncoding, vector_of
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import Base64Text, decode_base64, dump_in_parts, load_in_parts

SCHEMA = 1
MAX_DECODED_BYTES = 1 << 30
"""Maximum size of a delta as JSON; a larger one is not decompressed."""
BLOCK_ROWS, BLOCK_BYTES = 1_500, 3 << 18
"""Vectors and bytes of sums that are encoded in one call; multiples of three."""

_DOCUMENT = attrgetter("doc_id", "revision", "info.title", "info.source", "info.occurred_at", "info.metadata", "chunks")
_CHUNK = attrgetter("chunk", "chunk_id", "doc_id", "ordinal", "text", "version")
_LABEL = attrgetter("label", "name", "type", "node", "mentions")
_MENTION = attrgetter("label", "chunk", "name", "description", "count")
_STATEMENT = attrgetter("statement", "subject", "predicate", "object", "count", "weight_milli", "version")
_EVIDENCE = attrgetter(
    "statement", "chunk", "description", "sentence", "weight_milli", "count", "valid_from", "valid_to"
)
_SAME_AS = attrgetter("a", "b", "rule", "score_milli")
_ENTITY = attrgetter("node", "name", "type", "labels", "mentions", "version")
_EDGE = attrgetter("u", "v", "weight", "trussness")
_GONE = attrgetter(*(part.name for part in fields(Removals) if part.name != "predicate_links"))


def encode(delta: GraphDelta, *, sums: bool = True) -> bytes:
    """Return the delta as bytes. Raises ValueError for a table whose vectors differ in length.

    Without `sums` the vector sums of labels and statements are left empty: they are most of the bytes, and a view does
    not need them, only a writer that is restored from the rows.
    """
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "graph": delta.graph,
        "version": delta.version,
        "snapshot": delta.snapshot,
        "gone": _GONE(delta.gone),
        "documents": [_DOCUMENT(row) for row in delta.documents],
        "chunks": [_CHUNK(row) for row in delta.chunks],
        "headings": [(n, row.title, row.description) for n, row in enumerate(delta.chunks) if _has_heading(row)],
        "places": [(n, place) for n, row in enumerate(delta.chunks) if (place := row.place.encode())],
        "chunk_vectors": _vectors_out([row.vector for row in delta.chunks]),
        "labels": [_LABEL(row) for row in delta.labels],
        "mentions": [_MENTION(row) for row in delta.mentions],
        "statements": [_STATEMENT(row) for row in delta.statements],
        "statement_vectors": _vectors_out([row.vector for row in delta.statements]),
        "evidence": [_EVIDENCE(row) for row in delta.evidence],
        "same_as": [_SAME_AS(row) for row in delta.same_as],
        "entities": [_ENTITY(row) for row in delta.entities],
        "entity_vectors": _vectors_out([row.vector for row in delta.entities]),
        "edges": [_EDGE(row) for row in delta.edges],
    }
    if sums:
        body["label_sums"] = _sums_out([row.vector_sum for row in delta.labels])
        body["statement_sums"] = _sums_out([row.vector_sum for row in delta.statements])
    if delta.predicate_links or delta.gone.predicate_links:
        body["predicate_links"] = [delta.predicate_links, delta.gone.predicate_links]
    if delta.communities is not None:
        body["communities"] = _communities_out(delta.communities)
    return dump_in_parts(body)


def decode(value: bytes) -> GraphDelta:
    """Return the delta that `encode` wrote. Raises Rejected for another schema or a malformed delta."""
    body = _load(value)
    try:
        return _delta_in(body)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, StopIteration) as error:
        raise Rejected(f"the delta is malformed: {error!r}") from error


def _load(value: bytes) -> dict[str, Any]:
    try:
        body = load_in_parts(value)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the delta is not JSON: {error}") from error
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        found = repr(body.get("schema")) if isinstance(body, dict) else f"a JSON {type(body).__name__}"
        raise Rejected(f"the delta has schema {found}; this version reads schema {SCHEMA}")
    return body


def _delta_in(body: dict[str, Any]) -> GraphDelta:
    label_sums = _sums_in(body.get("label_sums"), len(body["labels"]))
    entity_vectors = _vectors_in(body["entity_vectors"], len(body["entities"]))
    weights: dict[int, int] = {}
    """Most weights of a delta are equal: one int for each."""
    linked, unlinked = (tuple((a, b) for a, b in pairs) for pairs in body.get("predicate_links", ((), ())))
    return GraphDelta(
        str(body["graph"]),
        int(body["version"]),
        replace(_gone_in(body["gone"]), predicate_links=unlinked),
        tuple(_document_in(row) for row in body["documents"]),
        tuple(_chunks_in(body)),
        tuple(
            LabelRow(shared_int(label), name, type_, shared_int(node), mentions, next(label_sums))
            for label, name, type_, node, mentions in body["labels"]
        ),
        tuple(MentionRow(shared_int(label), shared_int(chunk), *rest) for label, chunk, *rest in body["mentions"]),
        tuple(_statements_in(body, weights)),
        tuple(
            EvidenceRow(shared_int(n), shared_int(chunk), text, sentence, weights.setdefault(weight, weight), *rest)
            for n, chunk, text, sentence, weight, *rest in body["evidence"]
        ),
        tuple(SameAsRow(*row) for row in body["same_as"]),
        tuple(
            EntityRow(shared_int(node), name, type_, _numbers_in(labels), mentions, next(entity_vectors), version)
            for node, name, type_, labels, mentions, version in body["entities"]
        ),
        tuple(EdgeRow(*row) for row in body["edges"]),
        _communities_in(body["communities"]) if "communities" in body else None,
        bool(body["snapshot"]),
        predicate_links=linked,
    )


def _chunks_in(body: dict[str, Any]) -> Iterator[ChunkRow]:
    vectors = _vectors_in(body["chunk_vectors"], len(body["chunks"]))
    headings = {at: (title, description) for at, title, description in body.get("headings", ())}
    places = {at: decode_place(place) for at, place in body.get("places", ())}
    for at, (chunk, name, doc_id, ordinal, text, version) in enumerate(body["chunks"]):
        yield ChunkRow(
            *(shared_int(chunk), name, doc_id, ordinal, text, next(vectors), version),
            *headings.get(at, ("", "")),
            places.get(at, NO_PLACE),
        )


def _statements_in(body: dict[str, Any], weights: dict[int, int]) -> Iterator[TripleRow]:
    sums = _sums_in(body.get("statement_sums"), len(body["statements"]))
    vectors = _vectors_in(body["statement_vectors"], len(body["statements"]))
    for number, s, p, o, count, weight, version in body["statements"]:
        yield TripleRow(
            *(shared_int(number), shared_int(s), intern(p), shared_int(o), count, weights.setdefault(weight, weight)),
            *(next(sums), next(vectors), version),
        )


def _has_heading(row: ChunkRow) -> bool:
    return bool(row.title or row.description)


def _document_in(row: list[Any]) -> DocumentRow:
    doc_id, revision, title, source, occurred_at, metadata, chunks = row
    info = DocumentInfo(title, source, occurred_at, tuple((key, value) for key, value in metadata))
    return DocumentRow(doc_id, revision, info, _numbers_in(chunks))


def _numbers_in(numbers: list[int]) -> tuple[int, ...]:
    return shared_tuple([shared_int(number) for number in numbers])


def _gone_in(parts: list[list[Any]]) -> Removals:
    documents, chunks, labels, statements, same_as, entities, edges = parts
    return Removals(
        tuple(documents),
        tuple(chunks),
        tuple(labels),
        tuple(statements),
        tuple((a, b) for a, b in same_as),
        tuple(entities),
        tuple((u, v) for u, v in edges),
    )


def _vectors_out(vectors: Sequence[Vector]) -> list[Any]:
    """Return [length of a vector, indices of rows that have none, base64 of the other vectors in order]."""
    present = [vector for vector in vectors if vector.size]
    bare = [place for place, vector in enumerate(vectors) if not vector.size]
    if len(sizes := {vector.size for vector in present}) > 1:
        raise ValueError(f"the vectors of one table have the lengths {sorted(sizes)}")
    return [present[0].size if present else 0, bare, Base64Text(_blocks(present))]


def _blocks(vectors: Sequence[Vector]) -> Iterator[bytes]:
    for start in range(0, len(vectors), BLOCK_ROWS):
        yield np.stack(vectors[start : start + BLOCK_ROWS]).astype("<f2", copy=False).tobytes()


def _vectors_in(packed: list[Any], count: int) -> Iterator[Vector]:
    """Return `count` vectors, each with memory of its own: one that a later delta replaces is then freed.

    Raises ValueError for a block of another size.
    """
    dimensions, bare, text = packed
    without = set(bare)
    if not without <= set(range(count)):
        raise ValueError(f"row {sorted(without)[-1]} is out of range for {count} rows")
    block = np.frombuffer(decode_base64(text), "<f2").astype(np.float16, copy=False)
    rows = block.reshape(count - len(without), dimensions)
    return _spread(rows, without, count)


def _spread(rows: Vector, without: set[int], count: int) -> Iterator[Vector]:
    remaining = iter(rows)
    nothing: Vector = np.empty(0, np.float16)
    for place in range(count):
        yield nothing if place in without else _own(next(remaining))


def _own(row: Vector) -> Vector:
    return vector_of(row.tobytes())


def _sums_out(sums: Sequence[bytes | SumEncoding]) -> list[Any]:
    """Return [lengths in bytes, base64 of all sums in order]."""
    encoded = [bytes(total) for total in sums]
    data = b"".join(encoded)
    return [list(map(len, encoded)), Base64Text(data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES))]


def _sums_in(packed: list[Any] | None, count: int) -> Iterator[bytes]:
    """Return `count` sums, empty ones when they were left out. Raises ValueError for another number, or a cut block."""
    lengths, block = (packed[0], decode_base64(packed[1])) if packed else ([0] * count, b"")
    if len(lengths) != count or sum(lengths) != len(block):
        raise ValueError(f"{len(lengths)} sums of {sum(lengths)} bytes for {count} rows and {len(block)} bytes")
    ends = accumulate(lengths)
    return (block[end - length : end] for length, end in zip(lengths, ends, strict=True))


_CHANGE = {"nodes": "<i4", "communities": "<i8", "children": "<i8", "levels": "<i4", "parents": "<i8", "removed": "<i8"}
_HIERARCHY = {"nodes": "<i4", "communities": "<i8", "ids": "<i8", "levels": "<i4", "parents": "<i8"}


def _communities_out(communities: CommunityChange | Hierarchy) -> dict[str, Any]:
    kinds = _HIERARCHY if isinstance(communities, Hierarchy) else _CHANGE
    body: dict[str, Any] = {
        name: _base64(getattr(communities, name).astype(kind, copy=False).tobytes()) for name, kind in kinds.items()
    }
    if isinstance(communities, Hierarchy):
        body["next_id"] = communities.next_id
    return body


def _communities_in(body: dict[str, Any]) -> CommunityChange | Hierarchy:
    """Return a whole hierarchy for a body with `next_id`. Raises ValueError when related arrays differ in length."""
    whole = "next_id" in body
    kinds = _HIERARCHY if whole else _CHANGE
    arrays = {name: _array(body[name], kind) for name, kind in kinds.items()}
    for together in (("nodes", "communities"), ("ids" if whole else "children", "levels", "parents")):
        if len({len(arrays[name]) for name in together}) > 1:
            raise ValueError(f"{', '.join(together)} differ in length")
    return Hierarchy(**arrays, next_id=int(body["next_id"])) if whole else CommunityChange(**arrays)


def _array(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text, validate=True), kind).astype(kind[1:], copy=False)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
