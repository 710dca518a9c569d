"""Replacement of extraction records in place: those stored for documents, and those in the log that the writer has yet
to read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.log import TOPIC_SHIFT
from graphtide.streams.messages import EXTRACTIONS


async def count_extractions(database: SqliteDatabase) -> int:
    """Return the number of documents with a stored extraction, in all graphs."""
    query = "SELECT count(*) FROM standings WHERE extraction IS NOT NULL"
    return int(await database.read(lambda connection: connection.execute(query).fetchone()[0]))


async def replace_extractions(database: SqliteDatabase, graph: str, records: Mapping[str, bytes]) -> None:
    """Replace the stored records of documents of a graph, by the document's id; revisions stay."""
    rows = [(record, graph, doc_id) for doc_id, record in records.items()]
    query = "UPDATE standings SET extraction = ? WHERE graph = (SELECT graph FROM graphs WHERE name = ?) AND doc_id = ?"
    await database.write(lambda connection: connection.executemany(query, rows))


async def waiting_extractions(database: SqliteDatabase) -> Sequence[tuple[int, bytes]]:
    """Return key and value of the records in `extractions` at and after the writer's watermark."""

    def work(connection: sqlite3.Connection) -> list[tuple[int, bytes]]:
        topic = connection.execute("SELECT topic FROM topics WHERE name = ?", (EXTRACTIONS,)).fetchone()
        if topic is None:
            return []
        [after] = connection.execute("SELECT ifnull(max(next_offset), 0) FROM watermarks").fetchone()
        first, end = topic[0] << TOPIC_SHIFT | after, (topic[0] + 1) << TOPIC_SHIFT
        query = "SELECT key, value FROM records WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
        return connection.execute(query, (first, end)).fetchall()

    return await database.read(work)


async def replace_record(database: SqliteDatabase, key: int, value: bytes) -> None:
    """Replace the value of the record with this key; its offset stays."""
    await database.write(
        lambda connection: connection.execute("UPDATE records SET value = ? WHERE key = ?", (value, key))
    )
