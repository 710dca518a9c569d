"""Connections to the database file, and its schema.

Invariant: a file is either empty, or complete at a schema this code reads; a newer or foreign one is refused,
unchanged.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from graphtide.infra.private_files import make_private_file
from graphtide.streams.errors import Broken

log = logging.getLogger("graphtide")

SCHEMA_VERSION = 6
_STEPS = {
    1: (
        "ALTER TABLE reports ADD COLUMN findings TEXT NOT NULL DEFAULT '[]';"
        "ALTER TABLE reports ADD COLUMN rating REAL NOT NULL DEFAULT 0;"
    ),
    2: (
        "ALTER TABLE chunks ADD COLUMN title TEXT NOT NULL DEFAULT '';"
        "ALTER TABLE chunks ADD COLUMN description TEXT NOT NULL DEFAULT '';"
    ),
    3: "ALTER TABLE chunks ADD COLUMN place TEXT NOT NULL DEFAULT '';",
    4: (
        "CREATE TABLE deletions (graph INTEGER PRIMARY KEY, version INTEGER NOT NULL, before INTEGER NOT NULL,"
        " old INTEGER NOT NULL, erased INTEGER NOT NULL DEFAULT 0);"
        "CREATE TRIGGER revision_moves AFTER UPDATE OF graph ON revisions BEGIN"
        " UPDATE revision_totals SET revisions = revisions - 1 WHERE graph = OLD.graph AND state = OLD.state;"
        " INSERT INTO revision_totals VALUES (NEW.graph, NEW.state, 1)"
        " ON CONFLICT DO UPDATE SET revisions = revisions + 1; END;"
    ),
    5: (  # the generated columns of records come last (infra/sqlite/large_values.py); no row is written
        "ALTER TABLE records DROP COLUMN topic; ALTER TABLE records DROP COLUMN position;"
        "ALTER TABLE records ADD COLUMN topic INTEGER AS (key >> 48);"
        "ALTER TABLE records ADD COLUMN position INTEGER AS (key & 281474976710655);"
    ),
}
"""The statements that upgrade a schema to the next."""
APPLICATION_ID = 0x47544445
"""A number in the file's header that identifies the file's owner, for `file` and for Graphtide."""

WRITER_CACHE_KIB = 2 * 1024
READER_CACHE_KIB = 512
"""Pages that a connection holds itself. The operating system's cache holds the rest of the file: reading a page from
there costs microseconds, and 16 times these sizes made no document cheaper."""
BUSY_TIMEOUT_MS = 5000
CHECKPOINT_PAGES = 4000
CACHED_STATEMENTS = 256
LARGE_BYTES = 1 << 20
"""Size from which a value that was written is not kept by its statement."""
WAL_SIZE_LIMIT_BYTES = 64 << 20


def open_writer(path: Path, max_pages: int | None = None) -> sqlite3.Connection:
    """Return the writing connection; create the schema in a new file. `max_pages` bounds the file's size.

    Raises Broken for a file of another program or of a newer schema, sqlite3.Error for a damaged one.
    """
    try:
        make_private_file(path)  # SQLite gives the write-ahead log the permissions of the file
    except OSError as error:
        log.warning("%s cannot be made private to its owner: %s", path, error.strerror)
    connection = _connect(path, WRITER_CACHE_KIB)
    try:
        _check(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_SIZE_LIMIT_BYTES}")
        if not _has_schema(connection):
            schema = files("graphtide.infra.sqlite").joinpath("schema.sql").read_text()
            connection.executescript(f"BEGIN; {schema}; PRAGMA application_id = {APPLICATION_ID}; COMMIT;")
        else:
            _upgrade(connection)
        if max_pages is not None:
            connection.execute(f"PRAGMA max_page_count = {max_pages}")
    except (sqlite3.Error, Broken):
        connection.close()
        raise
    return connection


def schema_version(path: Path, uri: str = "") -> int:
    """Return the number of the file's schema; 0 for a missing file. Takes no lock and changes nothing.

    `uri` is the address by which the file is opened, by default read-only.

    Raises Broken for a file of another program or of a newer schema, sqlite3.Error for a damaged one.
    """
    if not path.exists():
        return 0
    with closing(sqlite3.connect(uri or f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        _check(connection, path)
        if not _has_schema(connection):
            return 0
        return int(connection.execute("SELECT max(version) FROM schema_version").fetchone()[0])


def open_reader(path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """Return a read-only connection."""
    connection = _connect(path, READER_CACHE_KIB, busy_timeout_ms)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _connect(path: Path, cache_kib: int, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    # Transactions are begun by hand; one thread at a time uses a connection, but another closes it.
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=CACHED_STATEMENTS
    )
    try:
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")  # reads the file's header, which may be damaged
        connection.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def drop_large_value(connection: sqlite3.Connection, size_bytes: int) -> None:
    """Free the copies of large values that cached statements hold until their next use, by replacing all of these."""
    if size_bytes >= LARGE_BYTES:
        for number in range(CACHED_STATEMENTS):
            connection.execute(f"SELECT {number}")


def _has_schema(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])


def _upgrade(connection: sqlite3.Connection) -> None:
    """Upgrade an older file to this version's schema, completely or not at all."""
    version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    steps = [_STEPS[step] for step in range(version, SCHEMA_VERSION)]
    if steps:
        update = f"UPDATE schema_version SET version = {SCHEMA_VERSION};"  # noqa: S608 - a constant
        connection.executescript("".join(("BEGIN;", *steps, update, "COMMIT;")))
        log.warning(
            "the data folder was migrated from schema %d to %d; an earlier version of Graphtide no longer opens it",
            *(version, SCHEMA_VERSION),
        )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if not _has_schema(connection):
        return
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise Broken(f"{path} is a database of another program: name another data folder")
    version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    if not isinstance(version, int) or version < 1:
        raise Broken(f"{path} has no schema version: restore it from a backup")
    if version > SCHEMA_VERSION:
        raise Broken(
            f"{path} has schema {version}, which a newer version of Graphtide wrote; "
            f"this version reads schema {SCHEMA_VERSION}: upgrade Graphtide, or restore a backup from before the "
            "upgrade (graphtide restore) into another data folder"
        )
