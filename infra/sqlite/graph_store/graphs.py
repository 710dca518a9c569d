"""Graphs by name: their numbers and versions.

Invariant: a name keeps its number until the graph is deleted; a graph exists once it has a version, which its first
commit sets, that is above the version of the name's last deletion.
"""

from __future__ import annotations

import sqlite3

from graphtide.streams.ports import ContentSize, GraphContent

KEY_SHIFT = 32
"""A row of a table with vectors has the key graph << 32 | id."""


def known(connection: sqlite3.Connection, name: str) -> int | None:
    """Return the graph's number; None for an unknown name."""
    row = connection.execute("SELECT graph FROM graphs WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else None


def number(connection: sqlite3.Connection, name: str) -> int:
    """Return the graph's number, assigned now if it has none."""
    found = known(connection, name)
    if found is None:
        connection.execute("INSERT INTO graphs (name) VALUES (?)", (name,))
        found = known(connection, name)
    assert found is not None  # noqa: S101 - inserted just now
    return found


_EXISTS = (
    "version IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deletions"
    " WHERE deletions.graph = graphs.graph AND deletions.version >= graphs.version)"
)


def existing(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the graphs that exist, by name, with their versions."""
    query = f"SELECT name, version FROM graphs WHERE {_EXISTS} ORDER BY name"  # noqa: S608 - a constant
    return dict(connection.execute(query).fetchall())


def existing_version(connection: sqlite3.Connection, name: str) -> int:
    """Return the graph's version; 0 for one that does not exist."""
    query = f"SELECT version FROM graphs WHERE name = ? AND {_EXISTS}"  # noqa: S608 - a constant
    row = connection.execute(query, (name,)).fetchone()
    return int(row[0]) if row else 0


def contents(connection: sqlite3.Connection) -> dict[str, GraphContent]:
    """Return the content of the graphs that exist. Cost: their passages."""
    query = (
        "SELECT (SELECT count(*) FROM documents WHERE graph = :graph),"
        " (SELECT coalesce(sum(length(CAST(text AS BLOB))), 0) FROM chunks WHERE key >= :first AND key < :end)"
    )
    found = {}
    for name, version in existing(connection).items():
        graph = number(connection, name)
        values = {"graph": graph, "first": graph << KEY_SHIFT, "end": (graph + 1) << KEY_SHIFT}
        found[name] = GraphContent(version, ContentSize(*connection.execute(query, values).fetchone()))
    return found


def version(connection: sqlite3.Connection, graph: int) -> int:
    """Return the graph's version; 0 before its first commit."""
    row = connection.execute("SELECT version FROM graphs WHERE graph = ?", (graph,)).fetchone()
    return int(row[0] or 0)


def set_version(connection: sqlite3.Connection, graph: int, version: int) -> None:
    connection.execute("UPDATE graphs SET version = ? WHERE graph = ?", (version, graph))
