"""Statements over many rows at once.

Python releases its global lock around every step of SQLite, and while another thread computes it takes up to a switch
interval to get it back: a hundred single-row steps can take half a second in a busy process. So statements handle 64 or
8 rows at a time. (Measured for 100 rows of 800 bytes beside a busy thread: 180 ms one by one, 40-60 ms in bulk.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

T = TypeVar("T")

SIZES = (64, 8, 1)


def insert(connection: sqlite3.Connection, into: str, rows: Sequence[tuple[Any, ...]], conflict: str = "") -> None:
    """Insert rows: `into` is the statement up to and without VALUES, for example `INSERT INTO t`.

    `conflict` is the clause that follows the values, for example `ON CONFLICT DO NOTHING`.
    """
    if rows:
        _run(connection, lambda size: _insert(into, len(rows[0]), size) + conflict, rows)


def delete(connection: sqlite3.Connection, table: str, columns: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> None:
    """Delete the rows whose columns equal one of the keys."""
    if keys:
        _run(connection, lambda size: _delete(table, tuple(columns), size), keys)


def portions(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split the rows, in order, into the sizes that statements are prepared for."""
    at = 0
    for size in SIZES:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


def _run(connection: sqlite3.Connection, statement: Callable[[int], str], rows: Sequence[tuple[Any, ...]]) -> None:
    for portion in portions(rows):
        connection.execute(statement(len(portion)), tuple(chain.from_iterable(portion)))


@lru_cache(maxsize=256)
def _insert(into: str, width: int, size: int) -> str:
    row = f"({','.join('?' * width)})"
    return f"{into} VALUES {','.join([row] * size)}"


@lru_cache(maxsize=256)
def _delete(table: str, columns: tuple[str, ...], size: int) -> str:
    # Written out with OR: given as (a, b) IN (VALUES ...), SQLite 3.40 reads the whole table.
    key = f"({' AND '.join(f'{column} = ?' for column in columns)})"
    return f"DELETE FROM {table} WHERE {' OR '.join([key] * size)}"  # noqa: S608 - constants of the callers
