"""A database file to be read by a program that may not write beside it: how it is opened, and what it must hold.

The invariants: a read changes no byte of the folder, and what is read is one state of the database.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from graphtide.infra.sqlite.errors import failure
from graphtide.streams.errors import Broken

_LOG, _SHARED_MEMORY = "-wal", "-shm"


@contextmanager
def reading(path: Path) -> Iterator[str]:
    """Yield the URI by which to open the file for reads, during the block.

    SQLite needs files beside the database, which it cannot create in a folder that is mounted read-only. Without a
    write-ahead log the file alone is the database, and is read as one that nothing changes; a change during the block
    is detected.

    Raises Broken when the log can be applied in a writable folder only, and for a file that changed.
    """
    plain = f"{path.resolve().as_uri()}?mode=ro"
    if os.access(path.parent, os.W_OK) or _beside(path, _SHARED_MEMORY):
        yield plain
        return
    if _beside(path, _LOG):
        raise Broken(_LOGGED.format(folder=path.parent, log=path.name + _LOG))
    before = _state(path)
    yield f"{plain}&immutable=1"
    if _state(path) != before or _beside(path, _LOG):
        raise Broken(f"{path} was changed while it was read in a folder that cannot be written to: run it again")


_LOGGED = (
    "{folder} cannot be written to, and {log} in it holds changes that SQLite applies in a writable folder only: stop"
    " the service, which writes them back, or run the command where the folder is writable, or on a copy of the folder"
)
_DENIED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def open_failure(error: sqlite3.Error, folder: Path) -> Exception:
    """Return the error to raise for a database in `folder` that could not be opened or read."""
    kind = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if kind not in _DENIED or os.access(folder, os.W_OK):
        return failure(error)
    return Broken(
        f"the database in {folder} cannot be opened ({error}), because the folder cannot be written to: run the command"
        " as the user of the service where the folder is writable, or on a copy of the folder"
    )


def check_filled(uri: str, path: Path) -> None:
    """Raise Broken for a file without a table: it was emptied, or was never used."""
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise Broken(
                f"{path} is empty: the database was lost, or no service has used the folder; restore it from a backup"
            )


def _beside(path: Path, suffix: str) -> bool:
    file = path.with_name(path.name + suffix)
    return file.exists() and file.stat().st_size > 0


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
