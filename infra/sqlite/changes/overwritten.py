"""The rows that a delta is about to overwrite, read before it is written, in the same transaction.

SQLite makes the JSON: a few statements for all rows, whatever their number. Keys come from JSON arrays, and CROSS JOIN
makes SQLite look each of them up.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from graphtide.graph.communities import CommunityChange
from graphtide.graph.records import GraphDelta
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT
from graphtide.infra.sqlite.graph_store.rows import SUM_HEADER_BYTES
from graphtide.streams.changes.old_rows import assemble

_BY_ID = "t.key = (?1 << 32 | k.value)"
_BY_CHUNK = "t.graph = ?1 AND t.chunk = k.value"
_VECTOR = f"CASE WHEN t.vector IS NULL THEN substr(t.vector_sum, {SUM_HEADER_BYTES + 1}) ELSE t.vector END"


def _pair(a: str, b: str) -> str:
    return f"t.graph = ?1 AND t.{a} = (k.value >> 32) AND t.{b} = (k.value & 4294967295)"


def _select(kind: str, keys: int, table: str, columns: str, on: str, vector: str = "") -> str:
    """Return the query of one kind of rows, whose keys are parameter number `keys`; parameter 1 is the graph."""
    listed = ", ".join(f"t.{column.strip()}" for column in columns.split(","))
    if vector:
        listed += f", length({vector})"
    blob = f"CAST(group_concat({vector}, '') AS BLOB)" if vector else "NULL"
    source = f"json_each(?{keys}) AS k CROSS JOIN {table} AS t ON {on}"
    return f"SELECT '{kind}', json_group_array(json_array({listed})), {blob} FROM {source}"  # noqa: S608 - constants


_DOCUMENTS = (
    "SELECT json_group_array(json_array(doc_id, revision, title, source, occurred_at, metadata, chunks)), NULL"
    " FROM documents WHERE graph = ? AND doc_id IN ({})"
)
"""The ids are parameters: json_each ends a text at U+0000."""
_CHUNK = "chunk, chunk_id, doc_id, ordinal, text, version, title, description, place"
_EVIDENCE = "chunk, number, statement, description, sentence, weight_milli, count, valid_from, valid_to"
_STATEMENT = "statement, subject, predicate, object, count, weight_milli, version"
_TABLES = (
    ("chunks", "chunks", _CHUNK, _BY_ID, "t.vector"),
    ("mentions", "mentions", "chunk, number, label, name, description, count", _BY_CHUNK),
    ("evidence", "evidence", _EVIDENCE, _BY_CHUNK),
    ("statements", "statements", _STATEMENT, _BY_ID, _VECTOR),
    ("same_as", "same_as", "a, b, rule, score_milli", _pair("a", "b")),
    ("edges", "edges", "u, v, weight, trussness", _pair("u", "v")),
    ("entities", "entities", "node, name, type, labels, mentions, version", _BY_ID, "t.vector"),
    ("members", "community_members", "node, community", "t.graph = ?1 AND t.node = k.value"),
    ("communities", "communities", "community, level, parent", "t.graph = ?1 AND t.community = k.value"),
)
_ROWS = " UNION ALL ".join(_select(kind, 2 + at, *rest) for at, (kind, *rest) in enumerate(_TABLES))
_LABELS = _select("labels", 2, "labels", "label, name, type, node, mentions", _BY_ID)
_CONTEXT = _select("context", 2, "entities", "node, name, type, labels, mentions", _BY_ID)


def overwritten(connection: sqlite3.Connection, graph: int, delta: GraphDelta) -> bytes:
    """Return the encoded rows that the delta overwrites or removes, and those of the labels that it names.

    Cost: the rows that the delta names.
    """
    return _Reading(connection, graph).all(delta)


class _Reading:
    """The rows of one graph that were read so far, as JSON by kind."""

    def __init__(self, connection: sqlite3.Connection, graph: int) -> None:
        self._connection = connection
        self._graph = graph
        self._packed: dict[str, str] = {}
        self._vectors: dict[str, bytes] = {}

    def all(self, delta: GraphDelta) -> bytes:
        gone = delta.gone
        chunks = {*gone.chunks, *(row.chunk for row in delta.mentions), *(row.chunk for row in delta.evidence)}
        nodes = {*gone.entities, *(row.node for row in delta.entities)}
        # In the order of the keys, then of the table's own key: that is the order in which a chunk states them.
        keys: dict[str, Iterable[int]] = {
            "chunks": {*gone.chunks, *(row.chunk for row in delta.chunks)},
            "mentions": sorted(chunks),
            "evidence": sorted(chunks),
            "statements": {*gone.statements, *(row.statement for row in delta.statements)},
            "same_as": _packed_pairs([*gone.same_as, *((row.a, row.b) for row in delta.same_as)]),
            "edges": _packed_pairs([*gone.edges, *((row.u, row.v) for row in delta.edges)]),
            "entities": nodes,
        }
        change = delta.communities
        if isinstance(change, CommunityChange):
            keys["members"] = change.nodes.tolist()
            keys["communities"] = {*change.children.tolist(), *change.removed.tolist()}
        self._read_documents([*gone.documents, *(row.doc_id for row in delta.documents)])
        self._read(_ROWS, *(keys.get(kind, ()) for kind, *_ in _TABLES))
        self._read(_LABELS, self._labels(delta))
        self._read(_CONTEXT, {row[3] for row in self._rows("labels")} - nodes)
        return assemble(self._packed, self._vectors)

    def _labels(self, delta: GraphDelta) -> set[int]:
        """Return the labels of the delta and all that its other rows, or those before it, name."""
        labels = {*delta.gone.labels, *(row.label for row in delta.labels)}
        labels.update(first for row in delta.entities for first in row.labels[:1])
        labels.update(first for row in self._rows("entities") for first in json.loads(row[3])[:1])
        labels.update(end for row in delta.statements for end in (row.subject, row.object))
        labels.update(end for row in self._rows("statements") for end in (row[1], row[3]))
        labels.update(end for row in delta.same_as for end in (row.a, row.b))
        labels.update(end for pair in delta.gone.same_as for end in pair)
        return labels

    def _rows(self, kind: str) -> list[list[Any]]:
        found: list[list[Any]] = json.loads(self._packed[kind])
        return found

    def _read_documents(self, ids: list[str]) -> None:
        if not ids:
            self._packed["documents"] = "[]"
            return
        statement = _DOCUMENTS.format(",".join("?" * len(ids)))
        self._packed["documents"] = self._connection.execute(statement, (self._graph, *ids)).fetchone()[0]

    def _read(self, query: str, *keys: Iterable[int]) -> None:
        named = (f"[{','.join(map(str, each))}]" for each in keys)
        for kind, packed, vectors in self._connection.execute(query, (self._graph, *named)).fetchall():
            self._packed[kind] = packed
            if vectors is not None:
                self._vectors[kind] = vectors


def _packed_pairs(pairs: Iterable[tuple[int, int]]) -> set[int]:
    return {a << KEY_SHIFT | b for a, b in pairs}
