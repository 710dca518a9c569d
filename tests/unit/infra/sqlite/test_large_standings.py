"""A large extraction is stored and read in slices, without a copy as a value of a statement."""

from __future__ import annotations

import random
import sqlite3
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Mention
from graphtide.infra.sqlite import large_values
from graphtide.infra.sqlite.connection import open_writer
from graphtide.infra.sqlite.graph_store import graphs, standings
from graphtide.streams.messages import ExtractionMessage, decode_stored
from graphtide.streams.ports import StoredDocument

SIZES = (0, 1, large_values.LARGE_BYTES - 1, large_values.LARGE_BYTES, 2 * large_values.LARGE_BYTES + 7)


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
        for revision, extraction in ((1, b"small"), (2, value), (3, value[::-1]), (4, None), (5, value)):
            documents = {"d": StoredDocument(revision, extraction), "other": StoredDocument(1, b"other")}
            standings.write(watched, graph, documents)  # type: ignore[arg-type]
            found = standings.read(watched, "g", ["other", "unknown", "d"])  # type: ignore[arg-type]
            assert found == {"other": documents["other"], "d": documents["d"]}
        assert max(watched.sizes) < large_values.LARGE_BYTES
    finally:
        connection.close()


def test_a_large_extraction_is_read_without_its_vectors(tmp_path: Path) -> None:
    """They never pass through memory as a whole. Small extractions keep them."""
    vector = np.ones(256, np.float16)
    sizes = []
    for count in (1, 10_000):
        mentions = tuple(Mention("name", "", "", vector) for _ in range(count))
        unit = ChunkContribution(bytes(16), "text", 0, 4, vector, mentions, ())
        value = ExtractionMessage("g", "d", 1, Extraction("d", 1, DocumentInfo(), (unit,))).encode()
        connection = open_writer(tmp_path / f"{count}.sqlite", None)
        try:
            standings.write(connection, graphs.number(connection, "g"), {"d": StoredDocument(1, value)})
            tracemalloc.start()
            bare = standings.read(connection, "g", ["d"], vectors=False)["d"].extraction or b""
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        finally:
            connection.close()
        whole = decode_stored("g", "d", value, vectors=False)
        assert whole is not None
        found = decode_stored("g", "d", bare, vectors=False)
        assert found is not None and (found.text, found.units[0].mentions[-1].name) == (whole.text, "name")
        assert len(found.units[0].mentions) == count
        sizes.append((len(value), len(bare), peak))
    assert sizes[0][1] == sizes[0][0] < sizes[1][1]
    assert sizes[1][2] < 3 * large_values.SLICE_BYTES < sizes[1][0], sizes
