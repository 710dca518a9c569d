"""Purging of verdicts: those on names and predicates of live documents stay."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE
from graphtide.infra.sqlite import connection as sqlite_connection
from graphtide.infra.sqlite.administration.purge import _purge_verdicts
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT

GRAPH = 1


def test_verdicts_on_predicates_are_purged_when_no_statement_has_one_of_them() -> None:
    """A predicate is live while a statement has it; a label of the same name does not count."""
    with closing(sqlite3.connect(":memory:")) as database:
        schema = Path(sqlite_connection.__file__).with_name("schema.sql").read_text()
        database.executescript(schema)
        for number, predicate in enumerate(("founded", "established")):
            values = (GRAPH << KEY_SHIFT | number, 0, predicate, 1, 1, 1000, 1, b"", b"")
            database.execute("INSERT INTO statements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        for other in ("established", "set up"):
            first, second = sorted((other, "founded"))
            row = (GRAPH, first, PREDICATE_TYPE, second, PREDICATE_TYPE, 3)
            database.execute("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?)", row)
        assert _purge_verdicts(database, GRAPH) == 1
        assert database.execute("SELECT a_name, b_name FROM verdicts").fetchall() == [("established", "founded")]
