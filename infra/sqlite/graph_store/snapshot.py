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
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphtide.graph.communities import Hierarchy
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
_STATEMENTS = _Table(
    "statements",
    ("statement",),
    ("subject", "predicate", "object", "count", "weight_milli", "version"),
    ("vector_sum", "vector"),
)
_ENTITIES = _Table("entities", ("node",), ("name", "type", "labels", "mentions", "version"), ("vector",))
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


READERS: dict[str, Callable[[sqlite3.Connection, int], Iterator[Any]]] = {
    "documents": lambda connection, graph: (_document(*row) for row in _rows(connection, graph, _DOCUMENTS)),
    "chunks": lambda connection, graph: (_chunk(*row) for row in _rows(connection, graph, _CHUNKS)),
    "labels": lambda connection, graph: (LabelRow(*row) for row in _rows(connection, graph, _LABELS)),
    "mentions": lambda connection, graph: (
        MentionRow(label, chunk, spelling, description, count)
        for chunk, _, label, spelling, description, count in _rows(connection, graph, _MENTIONS)
    ),
    "statements": lambda connection, graph: (_statement(row) for row in _rows(connection, graph, _STATEMENTS)),
    "evidence": lambda connection, graph: (
        EvidenceRow(statement, chunk, *rest) for chunk, _, statement, *rest in _rows(connection, graph, _EVIDENCE)
    ),
    "same_as": lambda connection, graph: (SameAsRow(*row) for row in _rows(connection, graph, _SAME_AS)),
    "entities": lambda connection, graph: (
        EntityRow(node, spelling, type_, tuple(json.loads(labels)), mentions, _vector(vector), at)
        for node, spelling, type_, labels, mentions, at, vector in _rows(connection, graph, _ENTITIES)
    ),
    "edges": lambda connection, graph: (EdgeRow(*row) for row in _rows(connection, graph, _EDGES)),
}
"""The functions that read each row type of a graph, given its number, a block at a time."""


def count(connection: sqlite3.Connection, graph: int, kind: str) -> int:
    """Return the number of rows of a kind (a table, by its name) in the graph."""
    keyed = kind in BY_KEY
    bounds = (graph << KEY_SHIFT, graph << KEY_SHIFT | 0xFFFFFFFF) if keyed else (graph,)
    where = "key BETWEEN ? AND ?" if keyed else "graph = ?"
    found = connection.execute(f"SELECT count(*) FROM {kind} WHERE {where}", bounds)  # noqa: S608 - constants
    return int(found.fetchone()[0])


def read(connection: sqlite3.Connection, name: str) -> GraphDelta:
    """Return every row of the graph. Cost: linear in the rows."""
    graph = graphs.known(connection, name)
    version = graphs.version(connection, graph) if graph is not None else 0
    if graph is None or not version:
        return GraphDelta(name, 0, snapshot=True)
    if version == deletion.version(connection, graph):
        return GraphDelta(name, version, snapshot=True, deleted=True)
    rows: dict[str, Any] = {kind: tuple(reader(connection, graph)) for kind, reader in READERS.items()}
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
    """Yield key, columns and blobs of every row of the graph in the table."""
    keyed = bool(table.blobs)
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
                    row[width + i] = blocks[i][at[i] : at[i] + length]
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
    order = "key" if table.blobs else key
    inner = f"(SELECT * FROM {table.name} WHERE {{}} ORDER BY {order} LIMIT {BLOCK_ROWS})"  # noqa: S608 - constants
    if table.blobs:
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
    head = (chunk, chunk_id, doc_id, ordinal, text, _vector(vector), version)
    return ChunkRow(*head, title, description, decode_place(place))


def _statement(row: list[Any]) -> TripleRow:
    statement, subject, predicate, object_, count, weight_milli, version, vector_sum, vector = row
    mean = _vector(vector_sum[SUM_HEADER_BYTES:] if vector is None else vector)
    return TripleRow(statement, subject, predicate, object_, count, weight_milli, vector_sum, mean, version)


def _vector(data: bytes) -> Vector:
    return np.frombuffer(data, np.float16)


def hierarchy(connection: sqlite3.Connection, graph: int) -> Hierarchy | None:
    next_id = connection.execute("SELECT next_community FROM graphs WHERE graph = ?", (graph,)).fetchone()[0]
    if next_id is None:
        return None
    members, tree = (list(_rows(connection, graph, table)) for table in (_MEMBERS, _COMMUNITIES))
    return Hierarchy.of_rows(members, tree, int(next_id))
