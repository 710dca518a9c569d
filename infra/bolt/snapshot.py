"""From the graph database to a delta: every row of one generation, streamed, in the order of the keys."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graph.communities import Hierarchy
from graph.records import (
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
    StatementRow,
)
from infra.bolt import cypher
from infra.bolt.codec import to_bytes, to_vector
from infra.bolt.database import Transaction
from infra.bolt.rows import SUM_HEADER_BYTES


async def read(tx: Transaction, scope: str, graph: str, version: int, next_community: int | None) -> GraphDelta:
    """Every row. Cost: linear in the rows, sorted here. The caller sees to it that they are of one version."""
    return GraphDelta(
        graph,
        version,
        documents=tuple(_document(row) for row in await _sorted(tx, cypher.DOCUMENT.read, scope)),
        chunks=tuple(
            ChunkRow(chunk, chunk_id, doc_id, ordinal, text, to_vector(vector), at)
            for chunk, chunk_id, doc_id, ordinal, text, at, vector in await _sorted(tx, cypher.CHUNK.read, scope)
        ),
        labels=tuple(
            LabelRow(label, name, type_, node, mentions, to_bytes(vector_sum))
            for label, name, type_, node, mentions, vector_sum in await _sorted(tx, cypher.LABEL.read, scope)
        ),
        mentions=tuple(
            MentionRow(label, chunk, name, description, count)
            for chunk, label, _, name, description, count in await _placed(tx, cypher.MENTIONS.read, scope)
        ),
        statements=tuple(_statement(row) for row in await _sorted(tx, cypher.STATEMENT.read, scope)),
        evidence=tuple(
            EvidenceRow(statement, chunk, *said)
            for chunk, statement, _, *said in await _placed(tx, cypher.SUPPORTS.read, scope)
        ),
        same_as=tuple(SameAsRow(*row) for row in await _sorted(tx, cypher.SAME_AS.read, scope, 2)),
        entities=tuple(
            EntityRow(node, name, type_, tuple(labels), mentions, to_vector(vector), at)
            for node, name, type_, labels, mentions, at, vector in await _sorted(tx, cypher.ENTITY.read, scope)
        ),
        edges=tuple(EdgeRow(*row) for row in await _sorted(tx, cypher.RELATES.read, scope, 2)),
        communities=await _hierarchy(tx, scope, next_community),
        snapshot=True,
    )


async def _sorted(tx: Transaction, statement: str, scope: str, width: int = 1) -> list[Any]:
    """The rows by their first `width` columns. Sorted here: the servers do not agree on the order of texts."""
    rows = [row async for row in tx.stream(statement, scope=scope)]
    rows.sort(key=lambda row: tuple(row[:width]))
    return rows


async def _placed(tx: Transaction, statement: str, scope: str) -> list[Any]:
    """Rows of (chunk, end, place, …) by chunk and place."""
    rows = [row async for row in tx.stream(statement, scope=scope)]
    rows.sort(key=lambda row: (row[0], row[2]))
    return rows


def _document(row: list[Any]) -> DocumentRow:
    doc_id, revision, title, source, occurred_at, metadata, chunks = row
    pairs = tuple((name, value) for name, value in json.loads(metadata))
    return DocumentRow(doc_id, revision, DocumentInfo(title, source, occurred_at, pairs), tuple(chunks))


def _statement(row: list[Any]) -> StatementRow:
    number, predicate, subject, object_, count, weight_milli, _, version, vector_sum, vector = row
    total = to_bytes(vector_sum)
    held = np.frombuffer(total[SUM_HEADER_BYTES:], np.float16) if vector is None else to_vector(vector)
    return StatementRow(number, subject, predicate, object_, count, weight_milli, total, held, version)


async def _hierarchy(tx: Transaction, scope: str, next_community: int | None) -> Hierarchy | None:
    if next_community is None:
        return None
    members = np.array(await _sorted(tx, cypher.READ_MEMBERS, scope), np.int64).reshape(-1, 2)
    tree = np.array(await _sorted(tx, cypher.COMMUNITY.read, scope), np.int64).reshape(-1, 3)
    return Hierarchy(
        members[:, 0].astype(np.int32),
        members[:, 1].copy(),
        tree[:, 0].copy(),
        tree[:, 1].astype(np.int32),
        tree[:, 2].copy(),
        next_community,
    )
