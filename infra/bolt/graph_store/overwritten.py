"""The rows that a delta is about to overwrite, read before it is written, in the same transaction.

Cost: the rows that the delta names, each found by its key, a statement for each kind. One statement for all kinds would
be planned anew at almost every commit: Neo4j's cache of plans distinguishes the lengths of its lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphtide.graph.changes.capture import named_labels
from graphtide.graph.changes.rows import NO_VECTOR
from graphtide.graph.communities import CommunityChange
from graphtide.graph.records import (
    EdgeRow,
    EntityRow,
    EvidenceRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    SameAsRow,
)
from graphtide.infra.bolt import cypher
from graphtide.infra.bolt.codec import key
from graphtide.infra.bolt.cypher import PassageTable
from graphtide.infra.bolt.database import Transaction
from graphtide.infra.bolt.graph_store.snapshot import chunk_row, document_row, entity_row, statement_row
from graphtide.streams.changes import old_rows
from graphtide.streams.changes.old_rows import OldRows


async def read(tx: Transaction, scope: str, delta: GraphDelta) -> bytes:
    """Return the encoded rows that the delta overwrites or removes, and those of the labels that it names."""
    old = await _Reading(tx, scope, delta).all()
    return await asyncio.to_thread(old_rows.encode, old)


class _Reading:
    """Reads within the transaction of a commit, before it writes."""

    def __init__(self, tx: Transaction, scope: str, delta: GraphDelta) -> None:
        self._tx = tx
        self._scope = scope
        self._delta = delta

    async def all(self) -> OldRows:
        delta, gone = self._delta, self._delta.gone
        passages = {*gone.chunks, *(row.chunk for row in delta.mentions), *(row.chunk for row in delta.evidence)}
        nodes = {*gone.entities, *(row.node for row in delta.entities)}
        documents = [*gone.documents, *(row.doc_id for row in delta.documents)]
        chunks = {*gone.chunks, *(row.chunk for row in delta.chunks)}
        numbers = {*gone.statements, *(row.statement for row in delta.statements)}
        pairs, links = [(row.u, row.v) for row in delta.edges], [(row.a, row.b) for row in delta.same_as]
        statements = tuple(statement_row(*row) for row in await self._read(cypher.READ_STATEMENTS_OF_KEYS, numbers))
        entities = tuple(entity_row(*row) for row in await self._read(cypher.ENTITY.read_keys, nodes))
        named = named_labels(delta, entities, statements)
        labels = tuple(
            LabelRow(label, name, type_, node, mentions, b"")
            for label, name, type_, node, mentions in await self._read(cypher.READ_LABELS_OF_KEYS, named)
        )
        rows = GraphDelta(
            delta.graph,
            delta.version - 1,
            documents=tuple(document_row(*row) for row in await self._read(cypher.DOCUMENT.read_keys, documents)),
            chunks=tuple(chunk_row(*row) for row in await self._read(cypher.CHUNK.read_keys, chunks)),
            labels=labels,
            mentions=tuple(MentionRow(n, c, *more) for c, n, _, *more in await self._placed(cypher.MENTIONS, passages)),
            statements=statements,
            evidence=tuple(
                EvidenceRow(n, c, *more) for c, n, _, *more in await self._placed(cypher.SUPPORTS, passages)
            ),
            same_as=tuple(SameAsRow(*row) for row in await self._pairs(cypher.SAME_AS.read_keys, gone.same_as, links)),
            entities=entities,
            edges=tuple(EdgeRow(*row) for row in await self._pairs(cypher.RELATES.read_keys, gone.edges, pairs)),
            communities=await self._communities(),
        )
        return OldRows(rows, await self._context({row.node for row in labels} - nodes))

    async def _context(self, nodes: Iterable[int]) -> tuple[EntityRow, ...]:
        found = await self._read(cypher.READ_ENTITIES_WITHOUT_VECTORS, nodes)
        return tuple(
            EntityRow(node, name, type_, tuple(labels), mentions, NO_VECTOR)
            for node, name, type_, labels, mentions in found
        )

    async def _communities(self) -> CommunityChange | None:
        """Return the places before the delta of the nodes and communities that it moves."""
        change = self._delta.communities
        if not isinstance(change, CommunityChange):
            return None
        moved = dict.fromkeys((*change.children.tolist(), *change.removed.tolist()))
        members = await self._read(cypher.READ_MEMBERS_OF_KEYS, change.nodes.tolist())
        tree = await self._read(cypher.COMMUNITY.read_keys, moved)
        nodes, places = np.array(members, np.int64).reshape(-1, 2), np.array(tree, np.int64).reshape(-1, 3)
        return CommunityChange(
            nodes[:, 0].astype(np.int32),
            nodes[:, 1].copy(),
            places[:, 0].copy(),
            places[:, 1].astype(np.int32),
            places[:, 2].copy(),
            np.empty(0, np.int64),
        )

    async def _placed(self, table: PassageTable, chunks: Iterable[int]) -> list[list[Any]]:
        """Return rows of (chunk, end, place, …) by chunk and place: that is the order in which a chunk states them."""
        found = await self._read(table.read_keys, chunks)
        return sorted(found, key=lambda row: (row[0], row[2]))

    async def _pairs(
        self, statement: str, gone: Sequence[tuple[int, int]], changed: Sequence[tuple[int, int]]
    ) -> list[list[Any]]:
        return await self._read(statement, [f"{a}-{b}" for a, b in (*gone, *changed)])

    async def _read(self, statement: str, ids: Iterable[object]) -> list[list[Any]]:
        """Return the rows of the keys in the columns' order. Missing ones are left out."""
        keys = [key(self._scope, id_) for id_ in dict.fromkeys(ids)]
        return [list(row.values()) for row in await self._tx.each_key(statement, keys)]
