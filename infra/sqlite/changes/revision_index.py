"""Index from revisions to the commits that included them, for `ChangeLog.version_of`.

The version that includes everything up to a revision is the newest commit that includes a revision up to it. Commits
are appended in order, so a commit with the lowest revision r is the answer for r and all above until a later one is
added: the entries of a graph and partition rise in both revision and version.

Invariant: the answer for a revision is the entry with the greatest revision up to it. Cost of an addition: the entries
that it replaces; of a look-up: one search of the tree.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT
from graphtide.streams.log.revisions import FIRST_NUMBER, MAX_PARTITIONS

SCHEMA = """
CREATE TABLE IF NOT EXISTS change_revisions (
    graph     INTEGER NOT NULL,
    partition INTEGER NOT NULL,     -- of the revisions; -1 for offsets of the embedded log
    revision  INTEGER NOT NULL,     -- the lowest one that the commit includes
    version   INTEGER NOT NULL,
    PRIMARY KEY (graph, partition, revision)
) WITHOUT ROWID
"""
OFFSETS = -1
TRIMMED = 8


def add(connection: sqlite3.Connection, graph: int, version: int, revisions: Iterable[int]) -> None:
    """Add a commit that is newer than all others of its graph."""
    lowest: dict[int, int] = {}
    for revision in revisions:
        partition = OFFSETS if revision < FIRST_NUMBER else revision & (MAX_PARTITIONS - 1)
        lowest[partition] = min(revision, lowest.get(partition, revision))
    for partition, revision in lowest.items():
        key = (graph, partition, revision)
        connection.execute("DELETE FROM change_revisions WHERE graph = ? AND partition = ? AND revision >= ?", key)
        connection.execute("INSERT INTO change_revisions VALUES (?, ?, ?, ?)", (*key, version))


def find(connection: sqlite3.Connection, graph: int, until: Mapping[int, int]) -> int:
    """Return the newest version that includes a revision up to a number of `until` (see `included`), 0 for none."""
    wanted = {OFFSETS: max(until.values(), default=-1), **until}
    query = (
        "SELECT version FROM change_revisions WHERE graph = ? AND partition = ? AND revision <= ?"
        " ORDER BY revision DESC LIMIT 1"
    )
    rows = (connection.execute(query, (graph, *each)).fetchone() for each in wanted.items())
    return max((int(row[0]) for row in rows if row), default=0)


def trim(connection: sqlite3.Connection, graph: int, version: int) -> None:
    """Delete entries of versions up to this one, at most TRIMMED."""
    connection.execute(
        "DELETE FROM change_revisions WHERE (graph, partition, revision) IN (SELECT graph, partition, revision"
        " FROM change_revisions WHERE graph = ?1 ORDER BY partition, revision LIMIT ?2) AND version <= ?3",
        (graph, TRIMMED, version),
    )


def clear(connection: sqlite3.Connection, graph: int) -> None:
    """Delete the entries of a graph."""
    connection.execute("DELETE FROM change_revisions WHERE graph = ?", (graph,))


def create(connection: sqlite3.Connection) -> None:
    """Create the table, and fill it where commits of an earlier release are not in it. Cost then: their documents."""
    connection.execute(SCHEMA)
    newest = "SELECT key FROM changes WHERE key BETWEEN ? AND ? AND documents <> '[]' ORDER BY key DESC LIMIT 1"
    for (graph,) in connection.execute("SELECT graph FROM graphs").fetchall():
        bounds = (graph << KEY_SHIFT, (graph << KEY_SHIFT) | 0xFFFFFFFF)
        last = connection.execute(newest, bounds).fetchone()
        known = connection.execute("SELECT max(version) FROM change_revisions WHERE graph = ?", (graph,)).fetchone()
        if last is not None and known[0] != last[0] - bounds[0]:
            _fill(connection, graph, bounds)


def _fill(connection: sqlite3.Connection, graph: int, bounds: tuple[int, int]) -> None:
    clear(connection, graph)
    rows = connection.execute("SELECT key, documents FROM changes WHERE key BETWEEN ? AND ? ORDER BY key", bounds)
    for key, documents in rows.fetchall():
        add(connection, graph, key - bounds[0], (revision for _, revision, _ in json.loads(documents)))
