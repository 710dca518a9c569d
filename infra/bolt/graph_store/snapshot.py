"""Translation of the graph database to a delta: every row of one generation, streamed, in the order of the keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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
)
from graphtide.graph.text.place import decode_place
from graphtide.infra.bolt.codec import to_bytes, to_vector
from graphtide.infra.bolt.cypher import rows as row_cypher
from graphtide.infra.bolt.cypher import tables
from graphtide.infra.bolt.database import BlockingTransaction
from graphtide.infra.bolt.graph_store import predicate_links
from graphtide.infra.bolt.graph_store.rows import SUM_HEADER_BYTES

KINDS: dict[str, tuple[str, Callable[[Sequence[Any]], Any]]] = {
    "documents": (tables.DOCUMENT.read, lambda row: document_row(*row)),
    "chunks": (tables.CHUNK.read, lambda row: chunk_row(*row)),
    "labels": (tables.LABEL.read, lambda row: label_row(*row)),
    "mentions": (tables.MENTIONS.read, lambda row: MentionRow(row[1], row[0], *row[3:])),
    "statements": (tables.STATEMENT.read, lambda row: statement_row(*row)),
    "evidence": (tables.SUPPORTS.read, lambda row: EvidenceRow(row[1], row[0], *row[3:])),
    "same_as": (tables.SAME_AS.read, lambda row: SameAsRow(*row)),
    "entities": (tables.ENTITY.read, lambda row: entity_row(*row)),
    "edges": (tables.RELATES.read, lambda row: EdgeRow(*row)),
}
"""The statement of each row type, and the function that makes a row of a record's values."""

COUNTS = {
    "documents": tables.DOCUMENT.count,
    "chunks": tables.CHUNK.count,
    "labels": tables.LABEL.count,
    "mentions": tables.MENTIONS.count,
    "statements": tables.STATEMENT.count,
    "evidence": tables.SUPPORTS.count,
    "same_as": tables.SAME_AS.count,
    "entities": tables.ENTITY.count,
    "edges": tables.RELATES.count,
}

_KEY_WIDTH = {"same_as": 2, "edges": 2}
_PASSAGES = ("mentions", "evidence")


def read(tx: BlockingTransaction, scope: str, graph: str, version: int, next_community: int | None) -> GraphDelta:
    """Return every row. Cost: linear in the rows, sorted here. The caller makes sure that all rows have one version."""
    rows: dict[str, Any] = {}
    for name, (statement, row_of) in KINDS.items():
        if name in _PASSAGES:
            found = _placed(tx, statement, scope)
        else:
            found = _sorted(tx, statement, scope, _KEY_WIDTH.get(name, 1))
        rows[name] = tuple(row_of(row) for row in found)
    tree = _hierarchy(tx, scope, next_community)
    links = predicate_links.read(tx, graph)
    return GraphDelta(graph, version, **rows, communities=tree, snapshot=True, predicate_links=links)


def _sorted(tx: BlockingTransaction, statement: str, scope: str, width: int = 1) -> list[Any]:
    """Return the rows by their first `width` columns. Sorted here: the servers do not agree on the order of texts."""
    rows = list(tx.stream(statement, scope=scope))
    rows.sort(key=lambda row: tuple(row[:width]))
    return rows


def _placed(tx: BlockingTransaction, statement: str, scope: str) -> list[Any]:
    """Return rows of (chunk, end, place, …) by chunk and place."""
    rows = list(tx.stream(statement, scope=scope))
    rows.sort(key=lambda row: (row[0], row[2]))
    return rows


def document_row(
    doc_id: str, revision: int, title: str, source: str, occurred_at: str, metadata: str, chunks: list[int]
) -> DocumentRow:
    pairs = tuple((name, value) for name, value in json.loads(metadata))
    return DocumentRow(doc_id, revision, DocumentInfo(title, source, occurred_at, pairs), tuple(chunks))


def chunk_row(*row: Any) -> ChunkRow:
    chunk, chunk_id, doc_id, ordinal, text, version, vector, title, description, place = row
    heading = (title or "", description or "", decode_place(place or ""))
    return ChunkRow(chunk, chunk_id, doc_id, ordinal, text, to_vector(vector), version, *heading)


def label_row(label: int, name: str, type_: str, node: int, mentions: int, vector_sum: str) -> LabelRow:
    return LabelRow(label, name, type_, node, mentions, to_bytes(vector_sum))


def entity_row(
    node: int, name: str, type_: str, labels: list[int], mentions: int, version: int, vector: str
) -> EntityRow:
    return EntityRow(node, name, type_, tuple(labels), mentions, to_vector(vector), version)


def statement_row(*row: Any) -> TripleRow:
    number, predicate, subject, object_, count, weight_milli, _, version, vector_sum, vector = row
    total = to_bytes(vector_sum)
    mean = np.frombuffer(total[SUM_HEADER_BYTES:], np.float16) if vector is None else to_vector(vector)
    return TripleRow(number, subject, predicate, object_, count, weight_milli, total, mean, version)


def _hierarchy(tx: BlockingTransaction, scope: str, next_community: int | None) -> Hierarchy | None:
    if next_community is None:
        return None
    members = _sorted(tx, row_cypher.READ_MEMBERS, scope)
    return Hierarchy.of_rows(members, _sorted(tx, tables.COMMUNITY.read, scope), next_community)
