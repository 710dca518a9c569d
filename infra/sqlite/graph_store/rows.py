"""Translation of a delta to rows: the row changes of one commit in the tables of one graph.

Invariant: the cost is that of the rows the delta names, whatever the size of the graph; removals come first, since ids
are reused.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.records import (
    ChunkRow,
    DocumentRow,
    EntityRow,
    EvidenceRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    Removals,
    TripleRow,
)
from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE
from graphtide.infra.sqlite.bulk import delete, insert
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT

SUM_HEADER_BYTES = 13
"""The prefix that graph/vector_sum.py puts before the vector of a compact sum."""

T = TypeVar("T")

WRITTEN_ROWS = 512
"""A multiple of the largest statement of `insert`."""
BY_KEY = ("chunks", "labels", "statements", "entities")
_BY_GRAPH = ("documents", "mentions", "evidence", "same_as", "edges", "communities", "community_members")


def clear(connection: sqlite3.Connection, graph: int) -> None:
    """Delete every row of the graph, except its stored documents and reports."""
    first = graph << KEY_SHIFT
    for table in BY_KEY:
        connection.execute(
            f"DELETE FROM {table} WHERE key BETWEEN ? AND ?",  # noqa: S608 - a constant
            (first, first | 0xFFFFFFFF),
        )
    for table in _BY_GRAPH:
        connection.execute(f"DELETE FROM {table} WHERE graph = ?", (graph,))  # noqa: S608 - a constant
    connection.execute("UPDATE graphs SET next_community = NULL WHERE graph = ?", (graph,))


def write(connection: sqlite3.Connection, graph: int, delta: GraphDelta) -> None:
    """Apply the delta within the caller's transaction. Rows that carry a version get the delta's."""
    _remove(connection, graph, delta.gone)
    _write_rows(connection, graph, delta)
    _write_passages(connection, graph, delta)
    _write_predicate_links(connection, graph, delta)
    if isinstance(delta.communities, Hierarchy):
        _write_hierarchy(connection, graph, delta.communities)
    elif delta.communities is not None:
        _write_change(connection, graph, delta.communities)


def _remove(connection: sqlite3.Connection, graph: int, gone: Removals) -> None:
    base = graph << KEY_SHIFT
    delete(connection, "documents", ("graph", "doc_id"), [(graph, doc_id) for doc_id in gone.documents])
    for table, ids in (
        ("chunks", gone.chunks),
        ("labels", gone.labels),
        ("statements", gone.statements),
        ("entities", gone.entities),
    ):
        delete(connection, table, ("key",), [(base | id_,) for id_ in ids])
    _remove_passages(connection, graph, gone.chunks)
    delete(connection, "same_as", ("graph", "a", "b"), [(graph, a, b) for a, b in gone.same_as])
    delete(connection, "edges", ("graph", "u", "v"), [(graph, u, v) for u, v in gone.edges])


def _remove_passages(connection: sqlite3.Connection, graph: int, chunks: Iterable[int]) -> None:
    keys = [(graph, chunk) for chunk in chunks]
    for table in ("mentions", "evidence"):
        delete(connection, table, ("graph", "chunk"), keys)


def _write_rows(connection: sqlite3.Connection, graph: int, delta: GraphDelta) -> None:
    base, version = graph << KEY_SHIFT, delta.version
    _replace(connection, "documents", delta.documents, partial(_document, graph))
    _replace(connection, "chunks", delta.chunks, partial(_chunk, base, version))
    _replace(connection, "labels", delta.labels, partial(_label, base))
    _replace(connection, "statements", delta.statements, partial(_statement, base, version))
    _replace(connection, "same_as", delta.same_as, lambda row: (graph, row.a, row.b, row.rule, row.score_milli))
    _replace(connection, "entities", delta.entities, partial(_entity, base, version))
    weighted = [row for row in delta.edges if row.weight]
    _replace(connection, "edges", weighted, lambda row: (graph, row.u, row.v, row.weight, row.trussness))
    weightless = [(graph, row.u, row.v) for row in delta.edges if not row.weight]
    delete(connection, "edges", ("graph", "u", "v"), weightless)


def _replace(
    connection: sqlite3.Connection, table: str, rows: Sequence[T], columns: Callable[[T], tuple[Any, ...]]
) -> None:
    """Insert or replace rows, of which at most WRITTEN_ROWS are converted to columns at a time."""
    for start in range(0, len(rows), WRITTEN_ROWS):
        converted = list(map(columns, rows[start : start + WRITTEN_ROWS]))
        insert(connection, f"INSERT OR REPLACE INTO {table}", converted)


def _chunk(base: int, version: int, row: ChunkRow) -> tuple[Any, ...]:
    place = (row.chunk_id, row.doc_id, row.ordinal, version)
    return base | row.chunk, *place, row.text, row.vector.tobytes(), row.title, row.description, row.place.encode()


def _label(base: int, row: LabelRow) -> tuple[Any, ...]:
    return base | row.label, row.name, row.type, row.node, row.mentions, bytes(row.vector_sum)


def _entity(base: int, version: int, row: EntityRow) -> tuple[Any, ...]:
    columns = (row.name, row.type, _ints(row.labels), row.mentions, version)
    return base | row.node, *columns, row.vector.tobytes()


def _write_passages(connection: sqlite3.Connection, graph: int, delta: GraphDelta) -> None:
    """Replace a chunk's mentions and evidence."""
    for table, rows in (("mentions", _mentions(graph, delta.mentions)), ("evidence", _evidence(graph, delta.evidence))):
        delete(connection, table, ("graph", "chunk"), list(dict.fromkeys((graph, row[1]) for row in rows)))
        insert(connection, f"INSERT INTO {table}", rows)


def _write_predicate_links(connection: sqlite3.Connection, graph: int, delta: GraphDelta) -> None:
    """Mark the stored verdicts whose links hold, and those whose links do not (resolution/predicates/pairs.py)."""
    of_graph = "UPDATE verdicts SET same = -1 - same WHERE graph = ? AND a_type = ?"
    if delta.snapshot:
        connection.execute(f"{of_graph} AND same > 0 AND same % 2 = 1", (graph, PREDICATE_TYPE))
    row = f"{of_graph} AND a_name = ? AND b_type = ? AND b_name = ?"
    for pairs, condition in ((delta.gone.predicate_links, "same >= 0"), (delta.predicate_links, "same < 0")):
        keys = [(graph, PREDICATE_TYPE, a, PREDICATE_TYPE, b) for a, b in pairs]
        connection.executemany(f"{row} AND {condition}", keys)


def _mentions(graph: int, rows: Sequence[MentionRow]) -> list[tuple[Any, ...]]:
    return [
        (graph, row.chunk, number, row.label, row.name, row.description, row.count) for number, row in _numbered(rows)
    ]


def _evidence(graph: int, rows: Sequence[EvidenceRow]) -> list[tuple[Any, ...]]:
    return [
        (graph, row.chunk, number, row.statement, row.description, row.sentence, *_support(row))
        for number, row in _numbered(rows)
    ]


def _support(row: EvidenceRow) -> tuple[Any, ...]:
    return row.weight_milli, row.count, row.valid_from, row.valid_to


class _OfChunk(Protocol):
    @property
    def chunk(self) -> int: ...


_Row = TypeVar("_Row", bound=_OfChunk)


def _numbered(rows: Iterable[_Row]) -> Iterable[tuple[int, _Row]]:
    """Yield each row with its place among those of its chunk."""
    seen: dict[int, int] = {}
    for row in rows:
        number = seen.get(row.chunk, 0)
        seen[row.chunk] = number + 1
        yield number, row


def _document(graph: int, row: DocumentRow) -> tuple[Any, ...]:
    info = row.info
    metadata = json.dumps(info.metadata, ensure_ascii=False, separators=(",", ":")) if info.metadata else "[]"
    return graph, row.doc_id, row.revision, info.title, info.source, info.occurred_at, metadata, _ints(row.chunks)


def _statement(base: int, version: int, row: TripleRow) -> tuple[Any, ...]:
    vector: bytes | None = row.vector.tobytes()
    vector_sum = bytes(row.vector_sum)
    if vector_sum[SUM_HEADER_BYTES:] == vector:
        vector = None
    key = base | row.statement
    columns = (row.subject, row.predicate, row.object, row.count, row.weight_milli)
    return key, *columns, version, vector_sum, vector


def _ints(values: Sequence[int]) -> str:
    return f"[{','.join(map(str, values))}]"


def _write_hierarchy(connection: sqlite3.Connection, graph: int, tree: Hierarchy) -> None:
    """Replace the stored hierarchy by a whole new one."""
    for table in ("communities", "community_members"):
        connection.execute(f"DELETE FROM {table} WHERE graph = ?", (graph,))  # noqa: S608 - a constant
    _place(connection, graph, tree.ids.tolist(), tree.levels.tolist(), tree.parents.tolist())
    _assign(connection, graph, list(zip(tree.nodes.tolist(), tree.communities.tolist(), strict=True)))
    _raise_next(connection, graph, tree.next_id)


def _write_change(connection: sqlite3.Connection, graph: int, change: CommunityChange) -> None:
    children = change.children.tolist()
    members = list(zip(change.nodes.tolist(), change.communities.tolist(), strict=True))
    _place(connection, graph, children, change.levels.tolist(), change.parents.tolist())
    _assign(connection, graph, [pair for pair in members if pair[1]])
    left = [(graph, node) for node, community in members if not community]
    delete(connection, "community_members", ("graph", "node"), left)
    removed = [(graph, community) for community in change.removed.tolist()]
    delete(connection, "communities", ("graph", "community"), removed)
    _raise_next(connection, graph, 1 + max(children, default=0))


def _place(
    connection: sqlite3.Connection, graph: int, ids: Sequence[int], levels: Sequence[int], parents: Sequence[int]
) -> None:
    rows = [(graph, *row) for row in zip(ids, levels, parents, strict=True)]
    insert(connection, "INSERT OR REPLACE INTO communities", rows)


def _assign(connection: sqlite3.Connection, graph: int, members: Sequence[tuple[int, int]]) -> None:
    rows = [(graph, node, community) for node, community in members]
    insert(connection, "INSERT OR REPLACE INTO community_members", rows)


def _raise_next(connection: sqlite3.Connection, graph: int, next_id: int) -> None:
    connection.execute(
        "UPDATE graphs SET next_community = max(ifnull(next_community, 1), ?) WHERE graph = ?", (next_id, graph)
    )
