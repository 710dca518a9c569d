"""Deletion of a graph: its name gets a new number at once, and the rows of the old number are deleted in portions.

Invariant: no row of a graph that exists has the old number, so erasing is safe at any time and after any crash.
"""

# ruff: noqa: S608 -- the statements are made of constants of this module, never of values

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from graphtide.infra.models.cache.keys import scope_of
from graphtide.infra.sqlite.graph_store import graphs
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT
from graphtide.infra.sqlite.graph_store.rows import BY_KEY
from graphtide.infra.sqlite.log import PARTITION
from graphtide.streams.ports import GraphDeletion

_BY_COLUMN = {
    "standings": "standing",
    "revisions": "revision",
    "documents": "doc_id",
    "mentions": "chunk",
    "evidence": "chunk",
    "same_as": "a",
    "edges": "u",
    "communities": "community",
    "community_members": "node",
    "verdicts": "a_name",
    "reports": "community",
    "revision_totals": "state",
}
_BESIDE = {"questions": "id", "question_events": "id", "question_stamps": "stamp", "change_revisions": "revision"}
"""The same for tables that a service creates when it needs them."""
"""Tables whose rows name their graph, and a column to select a portion by."""
CHANGES = "changes"
MEMO_TABLES = ("memo", "extraction_memo", "report_memo")
_OF_NAME = "graph = (SELECT graph FROM graphs WHERE name = ?)"


def delete_graph(connection: sqlite3.Connection, old: int, deletion: GraphDeletion) -> None:
    """Take the rows of a graph out of use, within the caller's transaction. Cost: the revisions accepted since."""
    before = deletion.before.get(PARTITION, 0)
    connection.execute("UPDATE graphs SET name = name || char(10) WHERE graph = ?", (old,))
    number = connection.execute(
        "INSERT INTO graphs (name, version) VALUES (?, ?)", (deletion.graph, deletion.version)
    ).lastrowid
    connection.execute("DELETE FROM graphs WHERE graph = ?", (old,))
    connection.execute("DELETE FROM deletions WHERE graph = ?", (old,))
    connection.execute(
        "INSERT INTO deletions (graph, version, before, old) VALUES (?, ?, ?, ?)",
        (number, deletion.version, before, old),
    )
    connection.execute("UPDATE revisions SET graph = ? WHERE revision >= ? AND graph = ?", (number, before, old))


def last(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, GraphDeletion]:
    """Return the last deletion of these graphs; graphs that were never deleted are left out."""
    query = f"SELECT version, before, erased FROM deletions WHERE {_OF_NAME}"
    rows = [(name, connection.execute(query, (name,)).fetchone()) for name in names]
    return {name: GraphDeletion(name, {PARTITION: row[1]}, row[0], bool(row[2])) for name, row in rows if row}


def version(connection: sqlite3.Connection, graph: int) -> int:
    """Return the version of the last deletion of a graph, by its number; 0 for none."""
    row = connection.execute("SELECT version FROM deletions WHERE graph = ?", (graph,)).fetchone()
    return int(row[0]) if row else 0


def first_revision(connection: sqlite3.Connection, graph: int) -> int:
    """Return the first revision that no deletion of the graph, by its number, covers."""
    row = connection.execute("SELECT before FROM deletions WHERE graph = ?", (graph,)).fetchone()
    return int(row[0]) if row else 0


def covers(connection: sqlite3.Connection, name: str, revision: int) -> bool:
    """Return True if the last deletion of the graph covers the revision."""
    number = graphs.known(connection, name)
    return number is not None and revision < first_revision(connection, number)


def erase(connection: sqlite3.Connection, name: str, limit: int) -> int:
    """Delete at most `limit` values of each table that the deletion covers; return the number of rows deleted."""
    row = connection.execute(f"SELECT graph, old FROM deletions WHERE {_OF_NAME}", (name,)).fetchone()
    if row is None:
        return 0
    number, old = row
    erased = sum(_erase_keys(connection, table, old, limit) for table in (*BY_KEY, CHANGES))
    erased += sum(_erase_column(connection, table, column, old, limit) for table, column in _BY_COLUMN.items())
    beside = {table: column for table, column in _BESIDE.items() if _has_table(connection, table)}
    erased += sum(_erase_column(connection, table, column, old, limit) for table, column in beside.items())
    erased += forget_memos(connection, name, limit) + _erase_spending(connection, name, number, limit)
    if not erased:
        connection.execute("UPDATE deletions SET erased = 1 WHERE graph = ?", (number,))
    return erased


def deleted_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of graphs that were deleted and not published again."""
    query = "SELECT name FROM graphs JOIN deletions USING (graph) WHERE graphs.version <= deletions.version"
    return [name for (name,) in connection.execute(query)]


def forget_memos(connection: sqlite3.Connection, name: str, limit: int) -> int:
    """Delete at most `limit` memoised answers of the graph from each table; return the number deleted."""
    scope = scope_of(name)
    query = "DELETE FROM {0} WHERE entry IN (SELECT entry FROM {0} WHERE key >= ? AND key < ? LIMIT ?)"
    tables = [table for table in MEMO_TABLES if _has_table(connection, table)]
    end = scope + b"\xff" * 64
    return sum(connection.execute(query.format(table), (scope, end, limit)).rowcount for table in tables)


def _erase_keys(connection: sqlite3.Connection, table: str, graph: int, limit: int) -> int:
    first = graph << KEY_SHIFT
    portion = f"SELECT key FROM {table} WHERE key BETWEEN ? AND ? LIMIT ?"
    return connection.execute(
        f"DELETE FROM {table} WHERE key IN ({portion})", (first, first | 0xFFFFFFFF, limit)
    ).rowcount


def _erase_column(connection: sqlite3.Connection, table: str, column: str, graph: int, limit: int) -> int:
    portion = f"SELECT {column} FROM {table} WHERE graph = ? LIMIT ?"
    return connection.execute(
        f"DELETE FROM {table} WHERE graph = ? AND {column} IN ({portion})", (graph, graph, limit)
    ).rowcount


def _erase_spending(connection: sqlite3.Connection, name: str, number: int, limit: int) -> int:
    """Delete the costs of single documents. Those of days stay: they count towards the budget of the day."""
    if not _has_table(connection, "spending_documents"):
        return 0
    kept = "doc_id NOT IN (SELECT doc_id FROM revisions WHERE graph = ?)"
    portion = f"SELECT doc_id FROM spending_documents WHERE graph = ? AND {kept} LIMIT ?"
    return connection.execute(
        f"DELETE FROM spending_documents WHERE graph = ? AND doc_id IN ({portion})", (name, name, number, limit)
    ).rowcount


def _has_table(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone() is not None
