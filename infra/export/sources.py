"""Row sources of an export: the port, and its implementation on the embedded runtime's data folder.

Rows come a portion at a time and are not all in memory at once (a hierarchy of communities is).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from graphtide.graph.records import GraphDelta
from graphtide.infra.sqlite.connection import open_reader
from graphtide.infra.sqlite.errors import failure
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.infra.sqlite.graph_store import graphs
from graphtide.infra.sqlite.graph_store import snapshot as sqlite_rows
from graphtide.streams.errors import NotFound

PORTION_ROWS = 1_000
COMMUNITIES = "communities"


class ExportSource(Protocol):
    """One graph, open for reading. Blocking."""

    version: int

    def count(self, kinds: Collection[str]) -> int:
        """Return the number of rows of these types, without communities."""
        ...

    def rows(self, kinds: Collection[str]) -> Iterator[GraphDelta]:
        """Yield every row of these types once, in portions of one type. May be called again."""
        ...

    def check(self) -> None:
        """Raise Retryable, after the last row, when the graph has changed and the rows may be of several versions."""
        ...

    def close(self) -> None: ...


class SqliteSource:
    """A graph in a data folder, which a service may be using: the read transaction sees one version throughout."""

    def __init__(self, folder: Path, graph: str) -> None:
        self._graph = graph
        if not (folder / DATABASE).exists():
            raise NotFound(f"{folder} is not a data folder: it has no {DATABASE}")
        try:
            self._connection = open_reader(folder / DATABASE)
            self._connection.execute("BEGIN")
            number = graphs.known(self._connection, graph)
            self.version = graphs.version(self._connection, number) if number is not None else 0
        except sqlite3.Error as error:
            raise failure(error) from error
        if number is None or not self.version:
            self.close()
            raise NotFound(f"there is no graph {graph!r}")
        self._number = number

    def count(self, kinds: Collection[str]) -> int:
        """See ExportSource.count."""
        try:
            return sum(sqlite_rows.count(self._connection, self._number, kind) for kind in kinds if kind != COMMUNITIES)
        except sqlite3.Error as error:
            raise failure(error) from error

    def rows(self, kinds: Collection[str]) -> Iterator[GraphDelta]:
        """See ExportSource.rows."""
        try:
            for kind in kinds:
                if kind == COMMUNITIES:
                    tree = sqlite_rows.hierarchy(self._connection, self._number)
                    yield GraphDelta(self._graph, self.version, communities=tree)
                else:
                    yield from batched(self._graph, kind, sqlite_rows.rows_of(self._connection, self._number, kind))
        except sqlite3.Error as error:
            raise failure(error) from error

    def check(self) -> None:
        """See ExportSource.check: the version never changes."""

    def close(self) -> None:
        self._connection.close()


def batched(graph: str, kind: str, rows: Iterator[Any]) -> Iterator[GraphDelta]:
    """Yield the rows of one type, PORTION_ROWS at a time."""
    while portion := tuple(islice(rows, PORTION_ROWS)):
        yield GraphDelta(graph, 0, **{kind: portion})  # type: ignore[arg-type]
