"""Graphs by name: their numbers, and where they stand.

Invariant: a name keeps its number for ever; a graph exists when it has a version, which it gets with its first commit.
"""

from __future__ import annotations

import sqlite3

KEY_SHIFT = 32
"""A row of the tables that carry vectors has the key graph << 32 | id."""


def known(connection: sqlite3.Connection, name: str) -> int | None:
    """The graph's number, None for a name never seen."""
    row = connection.execute("SELECT graph FROM graphs WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else None


def number(connection: sqlite3.Connection, name: str) -> int:
    """The graph's number, given out now if it has none."""
    found = known(connection, name)
    if found is None:
        connection.execute("INSERT INTO graphs (name) VALUES (?)", (name,))
        found = known(connection, name)
    assert found is not None  # noqa: S101 - inserted just now
    return found


def version(connection: sqlite3.Connection, graph: int) -> int:
    """The graph's version; 0 before its first commit."""
    row = connection.execute("SELECT version FROM graphs WHERE graph = ?", (graph,)).fetchone()
    return int(row[0] or 0)


def set_version(connection: sqlite3.Connection, graph: int, version: int) -> None:
    connection.execute("UPDATE graphs SET version = ? WHERE graph = ?", (version, graph))
