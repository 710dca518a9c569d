"""The rows of one graph, folded from deltas: the reference meaning of a snapshot.

Invariant: after any sequence of deltas, `snapshot()` is one delta from an empty graph to the same rows. Rows are in the
order of their keys, a chunk's mentions and evidence in the order of their delta.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from graphtide.graph.records import (
    ChunkRow,
    DocumentRow,
    EdgeRow,
    EntityRow,
    EvidenceRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    Removals,
    SameAsRow,
    TripleRow,
)
from tests.model.memory.tree import HierarchyRows


class _OfChunk(Protocol):
    @property
    def chunk(self) -> int: ...


_Row = TypeVar("_Row", bound=_OfChunk)


class Rows:
    """A graph's rows by key, at one version."""

    def __init__(self, graph: str) -> None:
        self.graph = graph
        self.version = 0
        self._documents: dict[str, DocumentRow] = {}
        self._chunks: dict[int, ChunkRow] = {}
        self._labels: dict[int, LabelRow] = {}
        self._mentions: dict[int, list[MentionRow]] = {}
        self._statements: dict[int, TripleRow] = {}
        self._evidence: dict[int, list[EvidenceRow]] = {}
        self._same_as: dict[tuple[int, int], SameAsRow] = {}
        self._predicate_links = set[tuple[str, str]]()
        self._entities: dict[int, EntityRow] = {}
        self._edges: dict[tuple[int, int], EdgeRow] = {}
        self._tree = HierarchyRows()

    def apply(self, delta: GraphDelta) -> None:
        """Apply the delta's removals, then its rows. Chunks, statements and entities get its version.

        A snapshot replaces all rows, and its rows keep their versions.
        """
        if delta.snapshot:
            self._clear()
        self.version = delta.version
        self._remove(delta.gone)
        self._documents.update((row.doc_id, row) for row in delta.documents)
        self._labels.update((row.label, row) for row in delta.labels)
        self._same_as.update(((row.a, row.b), row) for row in delta.same_as)
        self._predicate_links.update(delta.predicate_links)
        self._mentions.update(_by_chunk(delta.mentions))
        self._evidence.update(_by_chunk(delta.evidence))
        if delta.communities is not None:
            self._tree.apply(delta.communities)
        for chunk in delta.chunks:
            self._chunks[chunk.chunk] = chunk if delta.snapshot else replace(chunk, version=delta.version)
        for statement in delta.statements:
            stamped = statement if delta.snapshot else replace(statement, version=delta.version)
            self._statements[statement.statement] = stamped
        for entity in delta.entities:
            self._entities[entity.node] = entity if delta.snapshot else replace(entity, version=delta.version)
        for edge in delta.edges:
            self._edges[edge.u, edge.v] = edge
            if not edge.weight:
                del self._edges[edge.u, edge.v]

    def snapshot(self) -> GraphDelta:
        """Return every row as one delta from an empty graph."""
        return GraphDelta(
            self.graph,
            self.version,
            documents=_sorted(self._documents),
            chunks=_sorted(self._chunks),
            labels=_sorted(self._labels),
            mentions=tuple(row for rows in _sorted(self._mentions) for row in rows),
            statements=_sorted(self._statements),
            evidence=tuple(row for rows in _sorted(self._evidence) for row in rows),
            same_as=_sorted(self._same_as),
            entities=_sorted(self._entities),
            edges=_sorted(self._edges),
            communities=self._tree.hierarchy(),
            snapshot=True,
            predicate_links=tuple(sorted(self._predicate_links)),
        )

    def _clear(self) -> None:
        by_int = (self._chunks, self._labels, self._mentions, self._statements, self._evidence, self._entities)
        self._predicate_links.clear()
        for rows in (self._documents, *by_int, self._same_as, self._edges):
            rows.clear()
        self._tree = HierarchyRows()

    def _remove(self, gone: Removals) -> None:
        _drop(self._documents, gone.documents)
        _drop(self._chunks, gone.chunks)
        _drop(self._mentions, gone.chunks)
        _drop(self._evidence, gone.chunks)
        _drop(self._labels, gone.labels)
        _drop(self._statements, gone.statements)
        _drop(self._same_as, gone.same_as)
        self._predicate_links.difference_update(gone.predicate_links)
        _drop(self._entities, gone.entities)
        _drop(self._edges, gone.edges)


_Key = TypeVar("_Key", str, int, tuple[int, int])
_Value = TypeVar("_Value")


def _drop(rows: dict[_Key, _Value], keys: Iterable[_Key]) -> None:
    for key in keys:
        rows.pop(key, None)


def _sorted(rows: dict[_Key, _Value]) -> tuple[_Value, ...]:
    return tuple(rows[key] for key in sorted(rows))


def _by_chunk(rows: Iterable[_Row]) -> dict[int, list[_Row]]:
    grouped: dict[int, list[_Row]] = {}
    for row in rows:
        grouped.setdefault(row.chunk, []).append(row)
    return grouped
