"""A large extraction is stored and read in slices, without a copy as a value of a statement."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from graphtide.infra.sqlite.connection import open_writer
from graphtide.infra.sqlite.graph_store import graphs, standings
from graphtide.streams.ports import StoredDocument

SIZES = (0, 1, standings.LARGE_BYTES - 1, standings.LARGE_BYTES, 2 * standings.LARGE_BYTES + 7)


class Watched:
    """A connection that records the sizes of the values that pass through statements."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self.sizes = connection, [0]

    def execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        found = self._connection.execute(statement, values)
        if statement.startswith("SELECT doc_id"):
            rows = self._connection.execute(statement, values).fetchall()
            self.sizes += [len(value) for row in rows for value in row if isinstance(value, bytes)]
        return found

    def executemany(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        self.sizes += [len(value) for row in rows for value in row if isinstance(value, bytes)]
        self._connection.executemany(statement, rows)

    def blobopen(self, *given: object, **named: object) -> object:
        return self._connection.blobopen(*given, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES)
def test_a_stored_extraction_is_read_back_and_replaced_whatever_its_size(tmp_path: Path, size: int) -> None:
    """Large ones pass through no statement."""
    value = random.Random(size).randbytes(size)
    connection = open_writer(tmp_path / "graphtide.sqlite", None)
    try:
        graph, watched = graphs.number(connection, "g"), Watched(connection)
        for revision, held in ((1, b"small"), (2, value), (3, value[::-1]), (4, None), (5, value)):
            documents = {"d": StoredDocument(revision, held), "other": StoredDocument(1, b"other")}
            standings.write(watched, graph, documents)  # type: ignore[arg-type]
            found = standings.read(watched, "g", ["other", "unknown", "d"])  # type: ignore[arg-type]
            assert found == {"other": documents["other"], "d": documents["d"]}
        assert max(watched.sizes) < standings.LARGE_BYTES
    finally:
        connection.close()
