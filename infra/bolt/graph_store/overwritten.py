"""The rows that a delta is about to overwrite, read before it is written, in the same transaction.

Cost: the rows that the delta names, each found by its key, in three statements.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

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
from graphtide.infra.bolt.codec import key
from graphtide.infra.bolt.cypher import rows as cypher
from graphtide.infra.bolt.database import Transaction
from graphtide.infra.bolt.graph_store.snapshot import chunk_row, document_row, entity_row, statement_row
from graphtide.streams.changes import old_rows
from graphtide.streams.changes.old_rows import OldRows

PORTION = 5_000
"""Keys of each kind in one statement."""
MEMBERS = "members"
"""The kind of the rows that tell which community a node is in."""


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
        delta, found = self._delta, await self._rows()
        statements = tuple(statement_row(*row) for row in found["Statement"])
        entities = tuple(entity_row(*row) for row in found["Entity"])
        named = named_labels(delta, entities, statements)
        labels = tuple(
            LabelRow(label, name, type_, node, mentions, b"")
            for label, name, type_, node, mentions in await self._read(cypher.READ_LABELS_OF_KEYS, named)
        )
        rows = GraphDelta(
            delta.graph,
            delta.version - 1,
            documents=tuple(document_row(*row) for row in found["Document"]),
            chunks=tuple(chunk_row(*row) for row in found["Chunk"]),
            labels=labels,
            mentions=tuple(MentionRow(label, chunk, *more) for chunk, label, _, *more in _placed(found["MENTIONS"])),
            statements=statements,
            evidence=tuple(EvidenceRow(number, chunk, *more) for chunk, number, _, *more in _placed(found["SUPPORTS"])),
            same_as=tuple(SameAsRow(*row) for row in found["SAME_AS"]),
            entities=entities,
            edges=tuple(EdgeRow(*row) for row in found["RELATES"]),
            communities=old_rows.places_of(found[MEMBERS], found["Community"])
            if found[MEMBERS] or found["Community"]
            else None,
        )
        overwritten = {*delta.gone.entities, *(row.node for row in delta.entities)}
        return OldRows(rows, await self._context({row.node for row in labels} - overwritten))

    async def _rows(self) -> dict[str, list[list[Any]]]:
        """Return the rows of all kinds, each as the values of its columns, PORTION keys of each kind at a time."""
        keys = {name: [key(self._scope, id_) for id_ in dict.fromkeys(ids)] for name, ids in _named(self._delta)}
        found: dict[str, list[list[Any]]] = defaultdict(list)
        for start in range(0, max(map(len, keys.values()), default=0), PORTION):
            portion = {name: some[start : start + PORTION] for name, some in keys.items()}
            for row in await self._tx.run(cypher.READ_OVERWRITTEN, named=portion, member_kind=MEMBERS):
                found[row["kind"]].append(row["row"])
        return found

    async def _context(self, nodes: Iterable[int]) -> tuple[EntityRow, ...]:
        found = await self._read(cypher.READ_ENTITIES_WITHOUT_VECTORS, nodes)
        return tuple(
            EntityRow(node, name, type_, tuple(labels), mentions, NO_VECTOR)
            for node, name, type_, labels, mentions in found
        )

    async def _read(self, statement: str, ids: Iterable[object]) -> list[list[Any]]:
        """Return the rows of the keys in the columns' order. Missing ones are left out."""
        keys = [key(self._scope, id_) for id_ in dict.fromkeys(ids)]
        return [list(row.values()) for row in await self._tx.each_key(statement, keys)]


def _named(delta: GraphDelta) -> Iterator[tuple[str, Iterable[object]]]:
    """Yield the names of the rows that the delta overwrites or removes, by their entry of $named."""
    gone, change = delta.gone, delta.communities
    yield "documents", (*gone.documents, *(row.doc_id for row in delta.documents))
    yield "chunks", (*gone.chunks, *(row.chunk for row in delta.chunks))
    yield "passages", (*gone.chunks, *(row.chunk for row in delta.mentions), *(row.chunk for row in delta.evidence))
    yield "statements", (*gone.statements, *(row.statement for row in delta.statements))
    yield "same_as", _pairs((*gone.same_as, *((row.a, row.b) for row in delta.same_as)))
    yield "edges", _pairs((*gone.edges, *((row.u, row.v) for row in delta.edges)))
    yield "entities", (*gone.entities, *(row.node for row in delta.entities))
    moved = change if isinstance(change, CommunityChange) else None
    yield "communities", (*moved.children.tolist(), *moved.removed.tolist()) if moved else ()
    yield "members", moved.nodes.tolist() if moved else ()


def _pairs(pairs: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{a}-{b}" for a, b in pairs]


def _placed(rows: list[list[Any]]) -> list[list[Any]]:
    """Return rows of (chunk, end, place, …) by chunk and place: that is the order in which a chunk states them."""
    return sorted(rows, key=lambda row: (row[0], row[2]))
