"""Translation of a delta to statements: the row changes of one commit in one generation of one graph.

Invariant: the cost is that of the rows the delta names, whatever the size of the graph. Removals come first, since ids
are reused; relationships are deleted before their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.records import ChunkRow, DocumentRow, EntityRow, GraphDelta, LabelRow, Removals, TripleRow
from graphtide.infra.bolt.codec import from_bytes, from_json, key
from graphtide.infra.bolt.cypher import rows as row_cypher
from graphtide.infra.bolt.cypher import tables
from graphtide.infra.bolt.cypher.tables import NodeTable, PairTable, PassageTable
from graphtide.infra.bolt.database import Transaction, batched

Row = Mapping[str, Any]


async def write(tx: Transaction, scope: str, delta: GraphDelta) -> None:
    """Apply the delta within the caller's transaction. Rows that carry a version get the delta's."""
    change = delta.communities if isinstance(delta.communities, CommunityChange) else None
    if change is not None:
        await tx.each_key(row_cypher.UNASSIGN, [key(scope, node) for node in change.nodes.tolist()])
    await _remove(tx, scope, delta)
    await write_passages(tx, scope, delta, await write_nodes(tx, scope, delta))
    await _write_pairs(tx, scope, tables.SAME_AS, _same_as(scope, delta))
    await _write_pairs(tx, scope, tables.RELATES, _edges(scope, delta))
    if change is not None:
        await _write_change(tx, scope, change)
    elif isinstance(delta.communities, Hierarchy):
        await tx.run(row_cypher.CLEAR_MEMBERS, scope=scope)
        await tx.run(row_cypher.CLEAR_COMMUNITIES, scope=scope)
        await write_hierarchy(tx, scope, delta.communities)


def next_community(delta: GraphDelta) -> int | None:
    """Return the first id that no community of the delta has; None for a delta without communities."""
    if delta.communities is None:
        return None
    if isinstance(delta.communities, Hierarchy):
        return max(1, delta.communities.next_id)
    return 1 + max(delta.communities.children.tolist(), default=0)


# -- removals ----------------------------------------------------------------------------------------------------------


async def _remove(tx: Transaction, scope: str, delta: GraphDelta) -> None:
    gone = delta.gone
    edges = [*gone.edges, *((row.u, row.v) for row in delta.edges if not row.weight)]
    await tx.each_key(tables.RELATES.delete, _keys(scope, edges))
    await tx.each_key(tables.SAME_AS.delete, _keys(scope, gone.same_as))
    await tx.each_key(tables.CHUNK.delete, [key(scope, chunk) for chunk in gone.chunks])
    await tx.each_key(tables.DOCUMENT.delete, [key(scope, doc_id) for doc_id in gone.documents])
    for ids, free, vacate in _leaving(delta, gone):
        keys = [key(scope, id_) for id_ in ids]
        await tx.each_key(free, keys)
        await tx.each_key(vacate, keys)


def _leaving(delta: GraphDelta, gone: Removals) -> Iterable[tuple[Sequence[int], str, str]]:
    """Yield the nodes whose rows the delta removes and does not write again: those are overwritten instead."""
    statements = {row.statement for row in delta.statements}
    labels = {row.label for row in delta.labels}
    entities = {row.node for row in delta.entities}
    yield _without(gone.statements, statements), row_cypher.DELETE_FREE_STATEMENTS, row_cypher.VACATE_STATEMENTS
    yield _without(gone.labels, labels), row_cypher.DELETE_FREE_LABELS, row_cypher.VACATE_LABELS
    yield _without(gone.entities, entities), row_cypher.DELETE_FREE_ENTITIES, row_cypher.VACATE_ENTITIES


def _without(ids: Sequence[int], others: set[int]) -> list[int]:
    return [id_ for id_ in ids if id_ not in others]


def _keys(scope: str, pairs: Iterable[tuple[int, int]]) -> list[str]:
    return list(dict.fromkeys(_pair_key(scope, pair) for pair in pairs))


def _pair_key(scope: str, pair: tuple[int, int]) -> str:
    return key(scope, f"{pair[0]}-{pair[1]}")


# -- rows that are nodes -----------------------------------------------------------------------------------------------


async def write_nodes(tx: Transaction, scope: str, delta: GraphDelta) -> frozenset[str]:
    """Write documents, chunks, entities, labels and statements, with their derived rows; return the keys of
    new chunks.
    """
    documents = _last([_document(scope, row) for row in delta.documents])
    labels = _last([_label(scope, row) for row in delta.labels])
    statements = _last([_statement(scope, row, delta.version) for row in delta.statements])
    chunks = [_chunk(scope, row, delta.version) for row in delta.chunks]
    new = frozenset(await _upsert(tx, tables.CHUNK, scope, chunks))
    await _upsert(tx, tables.ENTITY, scope, [_entity(scope, row, delta.version) for row in delta.entities])
    moved = await _upsert(tx, tables.DOCUMENT, scope, documents)
    # A chunk that one delta removes and adds again under its number is a new node in an unchanged document.
    stay = [
        {**row, "chunk_keys": [chunk_key for chunk_key in row["chunk_keys"] if chunk_key in new]} for row in documents
    ]
    unmoved = [row for row in stay if row["key"] not in moved and row["chunk_keys"]]
    await _derive(tx, _HAS, [*(row for row in documents if row["key"] in moved), *unmoved], moved)
    for table, rows, derived in ((tables.LABEL, labels, _NAMES), (tables.STATEMENT, statements, _ENDS)):
        moved = await _upsert(tx, table, scope, rows)
        await _derive(tx, derived, [row for row in rows if row["key"] in moved], moved)
    return new


async def _upsert(tx: Transaction, table: NodeTable, scope: str, rows: Sequence[Row]) -> Mapping[str, bool]:
    """Return, by key, the rows to derive again, and whether they existed; see NodeTable.upsert."""
    columns = ("key", *table.columns)
    found = await tx.each(table.upsert, [{name: row[name] for name in columns} for row in _last(rows)], scope=scope)
    return {row["key"]: row["was"] for row in found}


@dataclass(frozen=True, slots=True)
class _Derived:
    """Relationships derived from a row's columns."""

    clear: str
    create: str
    columns: tuple[str, ...]


_HAS = _Derived(row_cypher.CLEAR_HAS, row_cypher.CREATE_HAS, ("key", "chunk_keys"))
_NAMES = _Derived(row_cypher.CLEAR_NAMES, row_cypher.CREATE_NAMES, ("key", "entity"))
_PARENTS = _Derived(row_cypher.CLEAR_PARENTS, row_cypher.CREATE_PARENTS, ("key", "parent_key"))
_ENDS = _Derived(row_cypher.CLEAR_ENDS, row_cypher.CREATE_ENDS, ("key", "subject_key", "object_key"))


async def _derive(tx: Transaction, derived: _Derived, rows: Sequence[Row], moved: Mapping[str, bool]) -> None:
    """Create the derived relationships of the rows, after deleting those of the rows that changed."""
    await tx.each_key(derived.clear, [row_key for row_key, was in moved.items() if was])
    await tx.each(derived.create, [{name: row[name] for name in derived.columns} for row in rows])


def _last(rows: Sequence[Row]) -> list[Row]:
    """Return the last row of each key: no UNWIND may receive a key twice."""
    return list({row["key"]: row for row in rows}.values())


def _document(scope: str, row: DocumentRow) -> Row:
    return {
        "key": key(scope, row.doc_id),
        "doc_id": row.doc_id,
        "revision": row.revision,
        "title": row.info.title,
        "source": row.info.source,
        "occurred_at": row.info.occurred_at,
        "metadata": from_json(row.info.metadata),
        "chunks": list(row.chunks),
        "chunk_keys": list(dict.fromkeys(key(scope, chunk) for chunk in row.chunks)),
    }


def _chunk(scope: str, row: ChunkRow, version: int) -> Row:
    return {
        "key": key(scope, row.chunk),
        "number": row.chunk,
        "chunk_id": row.chunk_id,
        "doc_id": row.doc_id,
        "ordinal": row.ordinal,
        "text": row.text,
        "version": version,
        "vector": from_bytes(row.vector.tobytes()),
        "title": row.title or None,
        "description": row.description or None,
        "place": row.place.encode() or None,
    }


def _label(scope: str, row: LabelRow) -> Row:
    return {
        "key": key(scope, row.label),
        "number": row.label,
        "name": row.name,
        "type": row.type,
        "node": row.node,
        "mentions": row.mentions,
        "vector_sum": from_bytes(bytes(row.vector_sum)),
        "entity": key(scope, row.node),
    }


def _statement(scope: str, row: TripleRow, version: int) -> Row:
    vector, vector_sum = row.vector.tobytes(), bytes(row.vector_sum)
    return {
        "key": key(scope, row.statement),
        "number": row.statement,
        "predicate": row.predicate,
        "subject": row.subject,
        "object": row.object,
        "count": row.count,
        "weight_milli": row.weight_milli,
        "weight": row.weight_milli / 1000,
        "version": version,
        "vector_sum": from_bytes(vector_sum),
        "vector": None if vector_sum[SUM_HEADER_BYTES:] == vector else from_bytes(vector),
        "subject_key": key(scope, row.subject),
        "object_key": key(scope, row.object),
    }


SUM_HEADER_BYTES = 13
"""The prefix that graph/vector_sum.py puts before the vector of a compact sum: such a vector is not stored twice."""


def _entity(scope: str, row: EntityRow, version: int) -> Row:
    return {
        "key": key(scope, row.node),
        "number": row.node,
        "name": row.name,
        "type": row.type,
        "labels": list(row.labels),
        "mentions": row.mentions,
        "version": version,
        "vector": from_bytes(row.vector.tobytes()),
    }


# -- rows that are relationships ---------------------------------------------------------------------------------------


async def write_passages(tx: Transaction, scope: str, delta: GraphDelta, new: frozenset[str]) -> None:
    """Replace a chunk's mentions and evidence; `new` are the keys of chunks that had none."""
    mentions = [
        {"end_number": row.label, "name": row.name, "description": row.description, "count": row.count, **places}
        for row, places in _placed(scope, delta.mentions)
    ]
    evidence = [
        {
            "end_number": row.statement,
            "description": row.description,
            "sentence": row.sentence,
            "weight_milli": row.weight_milli,
            "count": row.count,
            "valid_from": row.valid_from,
            "valid_to": row.valid_to,
            **places,
        }
        for row, places in _placed(scope, delta.evidence)
    ]
    for table, rows in ((tables.MENTIONS, mentions), (tables.SUPPORTS, evidence)):
        ends = [{**row, "end": key(scope, row["end_number"])} for row in rows]
        chunks = {row["chunk"]: row["chunk_number"] for row in ends}
        await tx.each_key(table.clear, [chunk_key for chunk_key in chunks if chunk_key not in new])
        if await _create_passages(tx, table, ends) != len(ends):
            await tx.each_key(table.clear, list(chunks))
            await _ensure(tx, scope, tables.CHUNK, chunks)
            await _ensure(tx, scope, table.end, {row["end"]: row["end_number"] for row in ends})
            await _create_passages(tx, table, ends)


async def _create_passages(tx: Transaction, table: PassageTable, rows: Sequence[Row]) -> int:
    """Create the rows, with one lookup per chunk; return the number created."""
    made, columns = 0, ("end", "place", *table.columns)
    for portion in batched(rows):
        by_chunk: dict[str, list[Row]] = {}
        for row in portion:
            by_chunk.setdefault(row["chunk"], []).append({name: row[name] for name in columns})
        ours = [{"chunk": chunk, "passages": passages} for chunk, passages in by_chunk.items()]
        made += _made(await tx.run(table.create, rows=ours))
    return made


class _OfChunk(Protocol):
    @property
    def chunk(self) -> int: ...


_PassageRow = TypeVar("_PassageRow", bound=_OfChunk)


def _placed(scope: str, rows: Iterable[_PassageRow]) -> Iterable[tuple[_PassageRow, Row]]:
    """Yield each row with its chunk, and its place among those of the chunk."""
    seen: dict[int, int] = {}
    for row in rows:
        place = seen.get(row.chunk, 0)
        seen[row.chunk] = place + 1
        yield row, {"chunk": key(scope, row.chunk), "chunk_number": row.chunk, "place": place}


def _same_as(scope: str, delta: GraphDelta) -> list[Row]:
    return [{**_ends(scope, row.a, row.b), "rule": row.rule, "score_milli": row.score_milli} for row in delta.same_as]


def _edges(scope: str, delta: GraphDelta) -> list[Row]:
    return [
        {**_ends(scope, row.u, row.v), "weight": row.weight, "trussness": row.trussness}
        for row in delta.edges
        if row.weight
    ]


def _ends(scope: str, a: int, b: int) -> Row:
    numbers = {"a_number": a, "b_number": b}
    return {"key": _pair_key(scope, (a, b)), "a": key(scope, a), "b": key(scope, b), **numbers}


async def _write_pairs(tx: Transaction, scope: str, table: PairTable, rows: Sequence[Row]) -> None:
    """Update the existing rows, found by their key and not by their ends, which may be hubs; create the others."""
    rows = _last(rows)
    changed = await tx.each(table.update, [{name: row[name] for name in ("key", *table.columns)} for row in rows])
    known = {row["key"] for row in changed}
    await create_pairs(tx, scope, table, [row for row in rows if row["key"] not in known])


async def create_pairs(tx: Transaction, scope: str, table: PairTable, rows: Sequence[Row]) -> None:
    """Create `rows`, none of which exists."""
    columns = ("key", "a", "b", *table.columns)
    slim = [{name: row[name] for name in columns} for row in rows]
    if _made(await tx.each(table.create, slim)) == len(rows):
        return
    await tx.each_key(table.delete, [row["key"] for row in rows])
    await _ensure(tx, scope, table.end, {row[end]: row[f"{end}_number"] for row in rows for end in ("a", "b")})
    await tx.each(table.create, slim)


async def _ensure(tx: Transaction, scope: str, table: NodeTable, numbers: Mapping[str, int]) -> None:
    await tx.each(
        table.ensure, [{"key": row_key, "number": number} for row_key, number in numbers.items()], scope=scope
    )


def _made(found: Iterable[Row]) -> int:
    return sum(row["made"] for row in found)


# -- communities -------------------------------------------------------------------------------------------------------


async def write_hierarchy(tx: Transaction, scope: str, tree: Hierarchy) -> None:
    """Write a whole hierarchy where there is none."""
    await _place(tx, scope, zip(tree.ids.tolist(), tree.levels.tolist(), tree.parents.tolist(), strict=True))
    await _assign(tx, scope, zip(tree.nodes.tolist(), tree.communities.tolist(), strict=True))


async def _write_change(tx: Transaction, scope: str, change: CommunityChange) -> None:
    """Write a change. Its nodes are in no community when this is called."""
    children = zip(change.children.tolist(), change.levels.tolist(), change.parents.tolist(), strict=True)
    await _place(tx, scope, children)
    members = zip(change.nodes.tolist(), change.communities.tolist(), strict=True)
    await _assign(tx, scope, [pair for pair in members if pair[1]])
    await tx.each_key(tables.COMMUNITY.delete, [key(scope, community) for community in change.removed.tolist()])


async def _place(tx: Transaction, scope: str, places: Iterable[tuple[int, int, int]]) -> None:
    rows = [
        {
            "key": key(scope, community),
            "number": community,
            "level": level,
            "parent": parent,
            "parent_key": key(scope, parent),
        }
        for community, level, parent in places
    ]
    moved = await _upsert(tx, tables.COMMUNITY, scope, rows)
    await _derive(tx, _PARENTS, [row for row in rows if row["parent"] and row["key"] in moved], moved)


async def _assign(tx: Transaction, scope: str, members: Iterable[tuple[int, int]]) -> None:
    rows: list[Row] = [
        {"key": key(scope, node), "number": node, "community": community, "community_key": key(scope, community)}
        for node, community in members
    ]
    columns = ("key", "community", "community_key")
    slim = [{name: row[name] for name in columns} for row in rows]
    if _made(await tx.each(row_cypher.JOIN, slim)) == len(rows):
        return
    await tx.each_key(row_cypher.UNASSIGN, [row["key"] for row in rows])
    await _ensure(tx, scope, tables.ENTITY, {row["key"]: row["number"] for row in rows})
    await tx.each(row_cypher.ASSIGN, slim)
    await tx.each(row_cypher.CREATE_MEMBERS, slim)
