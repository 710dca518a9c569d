"""The stored documents of a graph: rows of the table `standings`.

Large extractions are written and read in slices (`infra/sqlite/large_values.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from io import BytesIO

from graphtide.infra.sqlite import large_values
from graphtide.infra.sqlite.bulk import portions
from graphtide.infra.sqlite.large_values import LARGE_BYTES, SLICE_BYTES, is_large
from graphtide.streams.messages.extractions import vectors_in
from graphtide.streams.ports import StoredDocument

_TABLE, _COLUMN = "standings", "extraction"
LOOKUP_DOCUMENTS = 8
"""Maximum number of documents of a lookup."""
LOOKUP_BYTES = 64 << 10
"""Size from which an extraction is too large for a lookup."""
_Row = tuple[str, int, int | None, bytes | None]
"""Document, revision, row number of a large extraction, a small extraction."""


def write(connection: sqlite3.Connection, graph: int, documents: Mapping[str, StoredDocument]) -> None:
    """Insert or replace the documents, in the transaction of the caller."""
    connection.executemany(
        "INSERT INTO standings (graph, doc_id, revision, extraction)"
        " VALUES (?1, ?2, ?3, iif(?5 IS NULL, ?4, zeroblob(?5)))"
        " ON CONFLICT DO UPDATE SET revision = excluded.revision, extraction = excluded.extraction",
        [(graph, doc_id, document.revision, *_value(document)) for doc_id, document in documents.items()],
    )
    for doc_id, document in documents.items():
        if document.extraction is not None and is_large(document.extraction):
            _fill(connection, graph, doc_id, document.extraction)


def read(
    connection: sqlite3.Connection, name: str, doc_ids: Sequence[str], *, vectors: bool = True
) -> dict[str, StoredDocument]:
    """Return the stored ones of these documents, in their order; large ones without their vectors if not `vectors`."""
    stored: dict[str, StoredDocument] = {}
    for portion in portions(doc_ids):
        for doc_id, revision, row, extraction in _rows(connection, name, portion, LARGE_BYTES):
            value = extraction if row is None else _read_large(connection, row, vectors)
            stored[doc_id] = StoredDocument(revision, value)
    return {doc_id: stored[doc_id] for doc_id in doc_ids if doc_id in stored}


def look_up(connection: sqlite3.Connection, name: str, doc_ids: Sequence[str]) -> dict[str, StoredDocument] | None:
    """Return what `read` returns; None, and read none of them, if one has LOOKUP_BYTES or more."""
    rows = _rows(connection, name, doc_ids, LOOKUP_BYTES)
    if any(large is not None for _, _, large, _ in rows):
        return None
    stored = {doc_id: StoredDocument(revision, extraction) for doc_id, revision, _, extraction in rows}
    return {doc_id: stored[doc_id] for doc_id in doc_ids if doc_id in stored}


def _rows(connection: sqlite3.Connection, name: str, doc_ids: Sequence[str], large_bytes: int) -> Sequence[_Row]:
    return connection.execute(_lookup(len(doc_ids)), (name, large_bytes, *doc_ids)).fetchall()


def _value(document: StoredDocument) -> tuple[bytes | None, int | None]:
    """Return the extraction, or the number of bytes to reserve for a large one."""
    if document.extraction is not None and is_large(document.extraction):
        return None, len(document.extraction)
    return document.extraction, None


def _fill(connection: sqlite3.Connection, graph: int, doc_id: str, extraction: bytes) -> None:
    (row,) = connection.execute(
        "SELECT rowid FROM standings WHERE graph = ? AND doc_id = ?", (graph, doc_id)
    ).fetchone()
    large_values.fill(connection, _TABLE, _COLUMN, row, extraction)


def _read_large(connection: sqlite3.Connection, row: int, vectors: bool) -> bytes:
    if vectors:
        return large_values.read(connection, _TABLE, _COLUMN, row)
    with connection.blobopen(_TABLE, _COLUMN, row, readonly=True) as blob:

        def part(first: int, stop: int) -> bytes:
            blob.seek(first)
            return blob.read(stop - first)

        size, kept = len(blob), BytesIO()
        start, end = vectors_in(size, part)
        for left in (range(start), range(end, size)):
            for first in range(left.start, left.stop, SLICE_BYTES):
                kept.write(part(first, min(left.stop, first + SLICE_BYTES)))
        return kept.getvalue()


def _lookup(size: int) -> str:
    # Joined to json_each, or as (graph, doc_id) IN (VALUES ...), SQLite 3.40 reads all stored documents of the graph.
    of_graph = "graph = (SELECT graph FROM graphs WHERE name = ?1)"
    wanted = ",".join(f"?{number}" for number in range(3, 3 + size))
    large = "length(extraction) >= ?2"
    columns = f"doc_id, revision, iif({large}, rowid, NULL), iif({large}, NULL, extraction)"
    return f"SELECT {columns} FROM standings WHERE {of_graph} AND doc_id IN ({wanted})"  # noqa: S608 - numbers
