"""Translation of rows to a delta: a whole graph at one version, without blocking the rest of the process.

Python releases its global lock at every step of SQLite, so beside a busy thread a hundred thousand steps could take
minutes. Each step here yields a block of rows: their plain columns as one JSON array, and their vectors end to end as
one blob, whose lengths are among the columns.

Invariant: called within one read transaction, so all rows have one version. Rows come in the order of their keys.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from sys import intern
from typing import Any

import numpy as np

from graphtide.graph.communities import Hierarchy
from graphtide.graph.consolidation.stored_rows import NO_VECTOR
from graphtide.graph.int_sets import shared_int, shared_tuple, shared_value
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
from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE
from graphtide.graph.text.place import decode_place
from graphtide.infra.sqlite.graph_store import deletion, graphs
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT
from graphtide.infra.sqlite.graph_store.rows import BY_KEY, SUM_HEADER_BYTES
from graphtide.streams.ports import SnapshotUse

BLOCK_ROWS = 512


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns to read: the key columns, then the others, then the lengths of the blobs."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    blobs: tuple[str, ...] = ()


_CHUNKS = _Table(
    "chunks",
    ("chunk",),
    ("chunk_id", "doc_id", "ordinal", "text", "version", "title", "description", "place"),
    ("vector",),
)
_LABELS = _Table("labels", ("label",), ("name", "type", "node", "mentions"), ("vector_sum",))
_STATED = ("subject", "predicate", "object", "count", "weight_milli", "version")
_STATEMENTS = _Table("statements", ("statement",), _STATED, ("vector_sum", "vector"))
_ENTITIES = _Table("entities", ("node",), ("name", "type", "labels", "mentions", "version"), ("vector",))
_MEAN = f"CASE WHEN vector IS NULL THEN substr(vector_sum, {SUM_HEADER_BYTES + 1}) ELSE vector END"
# The same tables without what a use does not read:
_CHUNK_VECTORS = _Table("chunks", ("chunk",), (), ("vector",))
_NAMES = replace(_LABELS, blobs=())
_MEANS = replace(_STATEMENTS, blobs=(_MEAN,))
_SUMS = replace(_STATEMENTS, blobs=("vector_sum",))
_CLUSTERS = replace(_ENTITIES, blobs=())
_DOCUMENTS = _Table("documents", ("doc_id",), ("revision", "title", "source", "occurred_at", "metadata", "chunks"))
_MENTIONS = _Table("mentions", ("chunk", "number"), ("label", "name", "description", "count"))
_EVIDENCE = _Table(
    "evidence",
    ("chunk", "number"),
    ("statement", "description", "sentence", "weight_milli", "count", "valid_from", "valid_to"),
)
_SAME_AS = _Table("same_as", ("a", "b"), ("rule", "score_milli"))
_EDGES = _Table("edges", ("u", "v"), ("weight", "trussness"))
_COMMUNITIES = _Table("communities", ("community",), ("level", "parent"))
_MEMBERS = _Table("community_members", ("node",), ("community",))
_VIEW = SnapshotUse.VIEW


def _read_documents(connection: sqlite3.Connection, graph: int, _: SnapshotUse) -> Iterator[DocumentRow]:
    return (_document(*row) for row in _rows(connection, graph, _DOCUMENTS))


def _read_chunks(connection: sqlite3.Connection, graph: int, use: SnapshotUse) -> Iterator[ChunkRow]:
    if use is SnapshotUse.WRITE_MODEL:
        vectors = _rows(connection, graph, _CHUNK_VECTORS)
        return (ChunkRow(shared_int(chunk), "", "", 0, "", _vector(*vector)) for chunk, vector in vectors)
    return (_chunk(*row) for row in _rows(connection, graph, _CHUNKS))


def _read_labels(connection: sqlite3.Connection, graph: int, use: SnapshotUse) -> Iterator[LabelRow]:
    for label, name, type_, node, mentions, *sums in _rows(connection, graph, _NAMES if use is _VIEW else _LABELS):
        yield LabelRow(
            shared_int(label), name, intern(type_), shared_int(node), mentions, _bytes(*sums[0]) if sums else b""
        )


def _read_mentions(connection: sqlite3.Connection, graph: int, _: SnapshotUse) -> Iterator[MentionRow]:
    names: dict[str, str] = {}
    for chunk, _number, label, name, description, count in _rows(connection, graph, _MENTIONS):
        yield MentionRow(shared_int(label), shared_int(chunk), names.setdefault(name, name), description, count)


def _read_statements(connection: sqlite3.Connection, graph: int, use: SnapshotUse) -> Iterator[TripleRow]:
    tables = {SnapshotUse.VIEW: _MEANS, SnapshotUse.WRITE_MODEL: _SUMS}
    for number, subject, predicate, object_, count, weight, version, *blobs in _rows(
        connection, graph, tables.get(use, _STATEMENTS)
    ):
        total = b"" if use is _VIEW else _bytes(*blobs[0])
        if use is SnapshotUse.WRITE_MODEL:
            vector = NO_VECTOR
        elif (own := blobs[-1]) is not None:
            vector = _vector(*own)
        else:
            vector = np.frombuffer(total, np.float16, offset=SUM_HEADER_BYTES)
        ends = shared_int(subject), intern(predicate), shared_int(object_)
        yield TripleRow(shared_int(number), *ends, count, shared_value(weight), total, vector, version)


def _read_evidence(connection: sqlite3.Connection, graph: int, use: SnapshotUse) -> Iterator[EvidenceRow]:
    if use is SnapshotUse.WRITE_MODEL:
        return
    of, texts = -1, dict[str, str]()
    for chunk, _number, statement, description, sentence, weight, *rest in _rows(connection, graph, _EVIDENCE):
        if chunk != of:
            of, texts = chunk, {}
        text = texts.setdefault(sentence, sentence)
        yield EvidenceRow(shared_int(statement), shared_int(chunk), description, text, shared_value(weight), *rest)


def _read_same_as(connection: sqlite3.Connection, graph: int, _: SnapshotUse) -> Iterator[SameAsRow]:
    for a, b, rule, score in _rows(connection, graph, _SAME_AS):
        yield SameAsRow(shared_int(a), shared_int(b), intern(rule), shared_value(score))


def _read_entities(connection: sqlite3.Connection, graph: int, use: SnapshotUse) -> Iterator[EntityRow]:
    table = _CLUSTERS if use is SnapshotUse.WRITE_MODEL else _ENTITIES
    for node, name, type_, labels, mentions, version, *vectors in _rows(connection, graph, table):
        members = shared_tuple([shared_int(label) for label in json.loads(labels)])
        vector = _vector(*vectors[0]) if vectors else NO_VECTOR
        yield EntityRow(shared_int(node), name, intern(type_), members, mentions, vector, version)


def _read_edges(connection: sqlite3.Connection, graph: int, _: SnapshotUse) -> Iterator[EdgeRow]:
    for u, v, weight, trussness in _rows(connection, graph, _EDGES):
        yield EdgeRow(shared_int(u), shared_int(v), shared_value(weight), trussness)


_READERS: dict[str, Callable[[sqlite3.Connection, int, SnapshotUse], Iterator[Any]]] = {
    "documents": _read_documents,
    "chunks": _read_chunks,
    "labels": _read_labels,
    "mentions": _read_mentions,
    "statements": _read_statements,
    "evidence": _read_evidence,
    "same_as": _read_same_as,
    "entities": _read_entities,
    "edges": _read_edges,
}


def rows_of(
    connection: sqlite3.Connection, graph: int, kind: str, use: SnapshotUse = SnapshotUse.EVERYTHING
) -> Iterator[Any]:
    """Yield the rows of a kind (a table, by its name), a block at a time.

    Equal numbers, and names that many rows have, are one object each: a view and a write model keep them.
    """
    return _READERS[kind](connection, graph, use)


def count(connection: sqlite3.Connection, graph: int, kind: str) -> int:
    """Return the number of rows of a kind (a table, by its name) in the graph."""
    keyed = kind in BY_KEY
    bounds = (graph << KEY_SHIFT, graph << KEY_SHIFT | 0xFFFFFFFF) if keyed else (graph,)
    where = "key BETWEEN ? AND ?" if keyed else "graph = ?"
    found = connection.execute(f"SELECT count(*) FROM {kind} WHERE {where}", bounds)  # noqa: S608 - constants
    return int(found.fetchone()[0])


def read(connection: sqlite3.Connection, name: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> GraphDelta:
    """Return every row of the graph. Cost: linear in the rows."""
    graph = graphs.known(connection, name)
    version = graphs.version(connection, graph) if graph is not None else 0
    if graph is None or not version:
        return GraphDelta(name, 0, snapshot=True)
    if version == deletion.version(connection, graph):
        return GraphDelta(name, version, snapshot=True, deleted=True)
    rows: dict[str, Any] = {kind: tuple(rows_of(connection, graph, kind, use)) for kind in _READERS}
    links = _predicate_links(connection, graph)
    tree = hierarchy(connection, graph)
    return GraphDelta(name, version, **rows, communities=tree, snapshot=True, predicate_links=links)


def _predicate_links(connection: sqlite3.Connection, graph: int) -> tuple[tuple[str, str], ...]:
    """Return the pairs of predicates whose verdict is positive and whose link holds."""
    found = connection.execute(
        "SELECT a_name, b_name FROM verdicts WHERE graph = ? AND a_type = ? AND same > 0 AND same % 2 = 1",
        (graph, PREDICATE_TYPE),
    )
    return tuple(sorted(found))


def _rows(connection: sqlite3.Connection, graph: int, table: _Table) -> Iterator[list[Any]]:
    """Yield key, columns and blobs of every row of the graph in the table; of a blob its block and its place there."""
    keyed = table.name in BY_KEY
    width, blobs = len(table.key) + len(table.columns), len(table.blobs)
    first, after = _statements(table)
    bounds: tuple[Any, ...] = (graph << KEY_SHIFT, graph << KEY_SHIFT | 0xFFFFFFFF) if keyed else (graph,)
    packed, *blocks = connection.execute(first, bounds).fetchone()
    while rows := json.loads(packed):
        at = [0] * blobs
        for row in rows:
            for i in range(blobs):
                length = row[width + i]
                if length is not None:
                    row[width + i] = blocks[i], at[i], length
                    at[i] += length
            yield row
        if len(rows) < BLOCK_ROWS:
            return
        last = tuple(rows[-1][: len(table.key)])
        bounds = ((graph << KEY_SHIFT | last[0]) + 1, bounds[1]) if keyed else (graph, *last)
        packed, *blocks = connection.execute(first if keyed else after, bounds).fetchone()


def _statements(table: _Table) -> tuple[str, str]:
    """Return the first block's statement, and that of the blocks after a key. (A packed key needs only one.)"""
    columns = ", ".join(table.key + table.columns + tuple(f"length({blob})" for blob in table.blobs))
    blocks = "".join(f", CAST(group_concat({blob}, '') AS BLOB)" for blob in table.blobs)
    outer = f"SELECT json_group_array(json_array({columns})){blocks} FROM"
    key = ", ".join(table.key)
    keyed = table.name in BY_KEY
    order = "key" if keyed else key
    inner = f"(SELECT * FROM {table.name} WHERE {{}} ORDER BY {order} LIMIT {BLOCK_ROWS})"  # noqa: S608 - constants
    if keyed:
        by_key = f"{outer} {inner.format('key BETWEEN ? AND ?')}"
        return by_key, by_key
    after = f"graph = ? AND ({key}) > ({', '.join('?' * len(table.key))})"
    return f"{outer} {inner.format('graph = ?')}", f"{outer} {inner.format(after)}"


def _document(
    doc_id: str, revision: int, title: str, source: str, occurred_at: str, metadata: str, chunks: str
) -> DocumentRow:
    pairs = tuple((key, value) for key, value in json.loads(metadata))
    return DocumentRow(doc_id, revision, DocumentInfo(title, source, occurred_at, pairs), tuple(json.loads(chunks)))


def _chunk(chunk: int, chunk_id: str, doc_id: str, ordinal: int, text: str, version: int, *rest: Any) -> ChunkRow:
    title, description, place, vector = rest
    head = (chunk, chunk_id, doc_id, ordinal, text, _vector(*vector), version)
    return ChunkRow(*head, title, description, decode_place(place))


def _vector(block: bytes, start: int, length: int) -> Vector:
    return np.frombuffer(block, np.float16, length // np.dtype(np.float16).itemsize, start)


def _bytes(block: bytes, start: int, length: int) -> bytes:
    return block[start : start + length]


def hierarchy(connection: sqlite3.Connection, graph: int) -> Hierarchy | None:
    next_id = connection.execute("SELECT next_community FROM graphs WHERE graph = ?", (graph,)).fetchone()[0]
    if next_id is None:
        return None
    members, tree = (list(_rows(connection, graph, table)) for table in (_MEMBERS, _COMMUNITIES))
    return Hierarchy.of_rows(members, tree, int(next_id))
