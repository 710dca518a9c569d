"""Large values of a table, written and read in slices.

Invariant: a large value passes in slices between its bytes and the pages of the file. As a value of a statement, SQLite
would hold two further copies of it, and Python would copy it while it holds the interpreter lock.

In SQLite 3.40, generated columns of the table must follow the column of the values.
"""

from __future__ import annotations

import sqlite3

LARGE_BYTES = 1 << 20
"""Size from which a value is written and read in slices."""
SLICE_BYTES = 1 << 20


def is_large(value: bytes | None) -> bool:
    """Return whether the value is written and read in slices."""
    return len(value or b"") >= LARGE_BYTES


def fill(connection: sqlite3.Connection, table: str, column: str, row: int, value: bytes) -> None:
    """Write the value to a row for which `zeroblob` has reserved its size, in the transaction of the caller."""
    whole = memoryview(value)
    with connection.blobopen(table, column, row) as blob:
        for start in range(0, len(whole), SLICE_BYTES):
            blob.write(whole[start : start + SLICE_BYTES])


def read(connection: sqlite3.Connection, table: str, column: str, row: int) -> bytes:
    """Return the value of a row."""
    with connection.blobopen(table, column, row, readonly=True) as blob:
        return blob.read()
