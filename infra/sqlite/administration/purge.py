"""Erasure in the database file: rows that only deleted documents need, then every byte that no row holds.

Deleting a row frees its page, and a freed page keeps its bytes: `compact` writes the file anew from its rows and
empties the write-ahead log. The id of a deleted document stays, in the ledger and among the stored documents: it orders
revisions.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator

from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store import deletion
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT
from graphtide.infra.sqlite.log import TOPIC_SHIFT
from graphtide.streams.dead_letters.erasure import parse_letter_mark
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.messages import DEAD_LETTERS, DELTAS, DOCUMENTS, EXTRACTIONS, decode_dead_letter

CONSUMED = {DOCUMENTS: "extract", EXTRACTIONS: "consolidate", DELTAS: "summarize"}
"""The one group that reads each topic in the embedded runtime: records it has committed are not read again."""
CHECKPOINT_ATTEMPTS = 20
CHECKPOINT_WAIT_S = 0.25
MEMO_BATCH_SIZE = 10_000


async def purge_rows(database: SqliteDatabase) -> dict[str, int]:
    """Delete what only deleted documents and past revisions need; return the deleted rows by kind. One transaction."""
    return await database.write(_purge)


async def compact(database: SqliteDatabase) -> None:
    """Write the file anew without deleted content, and empty the write-ahead log. Writes wait meanwhile.

    Raises Retryable when a reader, such as a backup, keeps the log from being emptied. Cost: the whole file.
    """
    await database.alone(_compact)


def _purge(connection: sqlite3.Connection) -> dict[str, int]:
    removed = {"log_records": sum(_trim(connection, topic, group) for topic, group in CONSUMED.items())}
    deleted = _deleted_documents(connection)
    removed["dead_letters"] = _purge_letters(connection, deleted)
    for name in deletion.deleted_names(connection):
        while deletion.forget_memos(connection, name, MEMO_BATCH_SIZE):
            continue
    connection.executemany(
        "UPDATE revisions SET reason = '' WHERE reason <> '' AND doc_id = ?2"
        " AND graph = (SELECT graph FROM graphs WHERE name = ?1)",
        sorted(deleted),
    )
    # The change logs hold what was overwritten and deleted; readers that are behind begin again.
    removed["changes"] = connection.execute("DELETE FROM changes").rowcount
    connection.execute("DELETE FROM change_revisions")
    removed["verdicts"] = sum(
        _purge_verdicts(connection, graph) for (graph,) in connection.execute("SELECT graph FROM graphs").fetchall()
    )
    return removed


def _trim(connection: sqlite3.Connection, topic: str, group: str) -> int:
    """Delete the records that the topic's reader has committed; of extractions, only those below the watermark."""
    row = connection.execute(
        "SELECT topics.topic, consumer_positions.next_offset FROM topics JOIN consumer_positions USING (topic)"
        " WHERE name = ? AND consumer_group = ?",
        (topic, group),
    ).fetchone()
    if row is None:
        return 0
    number, before = row
    if topic == EXTRACTIONS:
        before = connection.execute("SELECT min(?, ifnull(max(next_offset), 0)) FROM watermarks", (before,)).fetchone()[
            0
        ]
    first = number << TOPIC_SHIFT
    return connection.execute("DELETE FROM records WHERE key >= ? AND key < ?", (first, first | before)).rowcount


def _deleted_documents(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return (graph, doc_id) of the documents whose newest revision is a deletion."""
    newest = "SELECT graph, doc_id, max(revision) AS revision FROM revisions GROUP BY graph, doc_id"
    found = connection.execute(
        f"SELECT name, newest.doc_id FROM ({newest}) AS newest JOIN revisions USING (revision)"  # noqa: S608 - a constant
        " JOIN graphs ON graphs.graph = newest.graph WHERE state = 'deleted'"
    )
    return {(name, doc_id) for name, doc_id in found}


def _purge_letters(connection: sqlite3.Connection, deleted: set[tuple[str, str]]) -> int:
    """Delete the dead letters of deleted documents and graphs, and the records about those letters."""
    doomed: list[int] = []
    settlements: list[tuple[int, str]] = []
    names: set[str] = set()
    ended = {mark[0]: mark[1].offset for _, value in _letters(connection) if (mark := parse_letter_mark(value))}
    for key, value in _letters(connection):
        try:
            letter = decode_dead_letter(value)
        except Rejected:
            settlements.append((key, _settled(value)))
            continue
        offset = key & ((1 << TOPIC_SHIFT) - 1)
        if (letter.graph, letter.doc_id) in deleted or offset < ended.get(letter.graph, 0):
            doomed.append(key)
            names.add(f"0-{offset}")
    doomed += [key for key, name in settlements if name in names]
    connection.executemany("DELETE FROM records WHERE key = ?", [(key,) for key in doomed])
    _keep_end(connection, doomed)
    return len(names)


def _keep_end(connection: sqlite3.Connection, deleted: list[int]) -> None:
    """Put an empty record in the place of a topic's newest one: readers up to the end wait for a record there."""
    for key in deleted:
        connection.execute(
            "INSERT INTO records (key, appended_ms, record_key, headers, value) SELECT ?1, 0, '', NULL, NULL"
            " FROM topics WHERE topic = ?1 >> ?2 AND next_offset - 1 = ?1 & ((1 << ?2) - 1)",
            (key, TOPIC_SHIFT),
        )


def _letters(connection: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    row = connection.execute("SELECT topic FROM topics WHERE name = ?", (DEAD_LETTERS,)).fetchone()
    if row is not None:
        first = row[0] << TOPIC_SHIFT
        bounds = (first, first | ((1 << TOPIC_SHIFT) - 1))
        yield from connection.execute("SELECT key, ifnull(value, '') FROM records WHERE key BETWEEN ? AND ?", bounds)


def _settled(value: bytes) -> str:
    try:
        return str(json.loads(value)["settles"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _purge_verdicts(connection: sqlite3.Connection, graph: int) -> int:
    """Delete the verdicts on names that no live document has: a later document with them is judged again."""
    bounds = (graph << KEY_SHIFT, graph << KEY_SHIFT | 0xFFFFFFFF)
    live = set(connection.execute("SELECT name, type FROM labels WHERE key BETWEEN ? AND ?", bounds).fetchall())
    predicates = connection.execute("SELECT DISTINCT predicate FROM statements WHERE key BETWEEN ? AND ?", bounds)
    live.update((predicate, PREDICATE_TYPE) for (predicate,) in predicates)
    columns = "a_name, a_type, b_name, b_type"
    rows = connection.execute(f"SELECT {columns} FROM verdicts WHERE graph = ?", (graph,)).fetchall()  # noqa: S608 - a constant
    doomed = [(graph, *row) for row in rows if not {row[:2], row[2:]} <= live]
    where = "graph = ? AND a_name = ? AND a_type = ? AND b_name = ? AND b_type = ?"
    connection.executemany(f"DELETE FROM verdicts WHERE {where}", doomed)  # noqa: S608 - a constant
    return len(doomed)


def _compact(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA temp_store = FILE")  # in memory, the copy would be as large as the file
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
    for _ in range(CHECKPOINT_ATTEMPTS):
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy:
            return
        time.sleep(CHECKPOINT_WAIT_S)
    raise Retryable(
        "the write-ahead log still holds deleted rows, because another process reads the database: wait until"
        " graphtide backup or export has ended, then run graphtide purge again"
    )
