"""The tables of a view as they are at one version, read while the view follows deltas.

Before the view applies a delta, the rows that it changes are copied, each at its first change. So a reader that takes
the lock for a block of rows at a time sees all rows of one version.

Invariant: `each` makes what it would have made of the view when it was frozen. Memory: the keys of the tables, and the
rows that changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from graphtide.graph.records import GraphDelta
from graphtide.graph.view_state.content import ViewContent

T = TypeVar("T")

BLOCK_ROWS = 1_024
"""Rows that are made under one hold of the lock: some 5 ms."""
_COPY: dict[str, Callable[[Any], Any]] = {
    "documents": lambda row: row,
    "chunks": replace,
    "labels": replace,
    "statements": replace,
    "entities": replace,
    "same_as": lambda row: row,
    "neighbours": dict,
}


class FrozenView:
    """The rows of a view at `version`; see the module. Made under `view.lock.read()`; the caller calls `release`."""

    def __init__(self, view: ViewContent) -> None:
        self.graph = view.graph
        self.version = view.version
        self.indexes = view.indexes
        self.hierarchy = view.hierarchy.hierarchy()
        self.predicate_links = view.predicates.links()
        self.document_count = len(view.documents)
        self._view = view
        self._keys: dict[str, list[Any]] = {table: list(getattr(view, table)) for table in _COPY}
        self._before: dict[str, dict[Any, Any]] = {table: {} for table in _COPY}
        view.undo_logs.add(self)

    def each(self, table: str, make: Callable[[Any, Any], T]) -> Iterator[T]:
        """See RowSource.each. Call without the view's lock."""
        keys, rows, before = self._keys[table], getattr(self._view, table), self._before[table]
        for start in range(0, len(keys), BLOCK_ROWS):
            with self._view.lock.read():
                block = [
                    make(key, before[key] if key in before else rows[key]) for key in keys[start : start + BLOCK_ROWS]
                ]
            yield from block

    def release(self) -> None:
        """Copy no further rows. Call without the view's lock."""
        with self._view.lock.read():
            self._view.undo_logs.discard(self)

    def note(self, view: ViewContent, delta: GraphDelta) -> None:
        """Copy the rows that the view is about to change. See DeltaObserver."""
        gone = delta.gone
        chunks = {row.chunk for rows in (delta.mentions, delta.evidence) for row in rows}
        ends = (end for u, v in (*gone.edges, *((row.u, row.v) for row in delta.edges)) for end in (u, v))
        self._keep("documents", (*gone.documents, *(row.doc_id for row in delta.documents)))
        self._keep("chunks", (*gone.chunks, *(row.chunk for row in delta.chunks), *chunks))
        self._keep("labels", (*gone.labels, *(row.label for row in delta.labels)))
        self._keep("statements", (*gone.statements, *(row.statement for row in delta.statements)))
        self._keep("entities", (*gone.entities, *(row.node for row in delta.entities)))
        self._keep("same_as", (*gone.same_as, *((row.a, row.b) for row in delta.same_as)))
        self._keep("neighbours", ends)

    def _keep(self, table: str, keys: Iterable[Any]) -> None:
        before, rows, copy = self._before[table], getattr(self._view, table), _COPY[table]
        for key in keys:
            if key not in before and (row := rows.get(key)) is not None:
                before[key] = copy(row)
