"""Error translation of SQLite: one table from its codes to the errors of Graphtide.

Invariant: no exception of the driver leaves the adapter.
"""

from __future__ import annotations

import sqlite3

from graphtide.streams.errors import Broken, GraphtideError, Rejected, Retryable

_RETRYABLE = {
    sqlite3.SQLITE_FULL: "the disk (or the database's quota) is full; work continues when there is space again",
    sqlite3.SQLITE_BUSY: "the database is locked by another program",
    sqlite3.SQLITE_LOCKED: "the database is locked",
    sqlite3.SQLITE_NOMEM: "out of memory",
}
_BROKEN = {
    sqlite3.SQLITE_CORRUPT: "the database file is damaged; restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the file is not a database, or its beginning is damaged",
    sqlite3.SQLITE_IOERR: "reading or writing the database file failed",
    sqlite3.SQLITE_READONLY: "the database file cannot be written to",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_PERM: "access to the database file is denied",
    sqlite3.SQLITE_CONSTRAINT: "a row contradicts the schema",
}
_NO_SPACE_FOR_SHARED_MEMORY = 4874
"""SQLITE_IOERR_SHMSIZE, the one I/O error that means a full disk."""


def failure(error: sqlite3.Error) -> GraphtideError:
    """Return the error to raise from `error`. An unlisted kind is Broken: continuing may be unsafe."""
    code = getattr(error, "sqlite_errorcode", None)
    detail = f"({getattr(error, 'sqlite_errorname', type(error).__name__)}: {error})"
    if code is None:
        return Broken(f"the database cannot be used {detail}")
    kind = code & 0xFF
    if code == _NO_SPACE_FOR_SHARED_MEMORY:
        kind = sqlite3.SQLITE_FULL
    if kind in _RETRYABLE:
        return Retryable(f"{_RETRYABLE[kind]} {detail}")
    if kind == sqlite3.SQLITE_TOOBIG:
        return Rejected(f"a value is larger than the database can hold {detail}")
    return Broken(f"{_BROKEN.get(kind, 'the database failed')} {detail}")


def unencodable(error: UnicodeEncodeError) -> Rejected:
    """Return the error for a lone surrogate, which has no UTF-8 form, so no text column can hold it."""
    return Rejected(f"a text cannot be stored: {error.reason} at character {error.start}")
