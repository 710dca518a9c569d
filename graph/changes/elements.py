"""A graph's rows as nodes and relationships under public keys, and those that a delta changes.

Keys consist of public ids, so they are equal for equal content, and a rebuild changes none. A relationship's key names
both ends: one whose end changes is another relationship.

Invariant: the elements before a delta, with `ElementTables.change` applied to them, are the elements after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from graphtide.graph.changes.rows import rows_in, rows_out
from graphtide.graph.changes.tables import RowTables
from graphtide.graph.identity import short_digest
from graphtide.graph.records import DocumentInfo, EvidenceRow, GraphDelta, MentionRow

Row = TypeVar("Row")
Key = TypeVar("Key")
Value = str | int | float
Pair = tuple[int, int]
End = tuple[str, str]
"""The label and the key of a node."""


@dataclass(frozen=True, slots=True)
class GraphElement:
    """A node with the label `type`, or a relationship of that type between `start` and `end`."""

    key: str
    type: str
    properties: Mapping[str, Value]
    start: End | None = None
    end: End | None = None


@dataclass(frozen=True, slots=True)
class ElementChange:
    """The elements to write, and those to remove, by key."""

    written: Mapping[str, GraphElement]
    removed: Mapping[str, GraphElement]


@dataclass(slots=True)
class _Scope:
    """The rows whose elements are looked at, by their keys in the tables."""

    documents: set[str] = field(default_factory=set)
    chunks: set[int] = field(default_factory=set)
    labels: set[int] = field(default_factory=set)
    statements: set[int] = field(default_factory=set)
    same_as: set[Pair] = field(default_factory=set)
    entities: set[int] = field(default_factory=set)
    edges: set[Pair] = field(default_factory=set)


class ElementTables(RowTables):
    """The rows of one graph without vectors, and the neighbours of each entity. Memory: the rows."""

    def __init__(self, graph: str) -> None:
        super().__init__(graph)
        self._neighbours: dict[int, set[int]] = {}

    @classmethod
    def of(cls, snapshot: GraphDelta) -> ElementTables:
        """Return the tables of a snapshot."""
        tables = cls(snapshot.graph)
        tables.apply(_without_vectors(snapshot))
        return tables

    def apply(self, delta: GraphDelta) -> None:
        """Apply a delta; see RowTables.apply."""
        super().apply(delta)
        for u, v in delta.gone.edges:
            self._unlink(u, v)
        for row in delta.edges:
            if row.weight:
                self._neighbours.setdefault(row.u, set()).add(row.v)
                self._neighbours.setdefault(row.v, set()).add(row.u)
            else:
                self._unlink(row.u, row.v)

    def change(self, delta: GraphDelta) -> ElementChange:
        """Apply a delta and return what it changes.

        Cost: the rows that it names, and the labels and edges of the entities that it names.
        """
        delta = _without_vectors(delta)
        scope = _named(delta)
        before = self._elements(self._around(scope))
        self.apply(delta)
        after = self._elements(self._around(scope))
        written = {key: each for key, each in after.items() if before.get(key) != each}
        return ElementChange(written, {key: each for key, each in before.items() if key not in after})

    def elements(self) -> Iterator[GraphElement]:
        """Yield all elements, nodes first. Cost: the graph."""
        yield from self._nodes(self._all())
        yield from self._relationships(self._all())

    def _unlink(self, u: int, v: int) -> None:
        for one, other in ((u, v), (v, u)):
            around = self._neighbours.get(one, set())
            around.discard(other)
            if not around:
                self._neighbours.pop(one, None)

    def _all(self) -> _Scope:
        return _Scope(
            set(self.documents), set(self.chunks), set(self.labels), set(self.statements), set(self.same_as),
            set(self.entities), set(self.edges),
        )  # fmt: skip

    def _around(self, scope: _Scope) -> _Scope:
        """Return the scope with the labels and edges of its entities: they name the entity by an id that may change."""
        entities = [self.entities[node] for node in scope.entities if node in self.entities]
        labels = scope.labels.union(*(row.labels for row in entities))
        near = {(min(n, m), max(n, m)) for n in scope.entities for m in self._neighbours.get(n, ())}
        return _Scope(
            scope.documents, scope.chunks, labels, scope.statements, scope.same_as, scope.entities, scope.edges | near
        )

    def _elements(self, scope: _Scope) -> dict[str, GraphElement]:
        return {each.key: each for each in chain(self._nodes(scope), self._relationships(scope))}

    def _nodes(self, scope: _Scope) -> Iterator[GraphElement]:
        for d in _rows(self.documents, scope.documents):
            about: dict[str, Value] = {"doc_id": d.doc_id, "revision": d.revision, "title": d.info.title}
            about |= {"source": d.info.source, "occurred_at": d.info.occurred_at, "metadata": _metadata(d.info)}
            yield GraphElement(f"document|{d.doc_id}", "Document", about)
        for c in _rows(self.chunks, scope.chunks):
            passage: dict[str, Value] = {"chunk_id": c.chunk_id, "doc_id": c.doc_id, "ordinal": c.ordinal}
            yield GraphElement(f"chunk|{c.chunk_id}", "Chunk", {**passage, "text": c.text, "place": c.place.encode()})
        for row in _rows(self.labels, scope.labels):
            own: dict[str, Value] = {"name": row.name, "type": row.type, "mentions": row.mentions}
            yield GraphElement(self._label(row.label)[1], "Label", own)
        for s in _rows(self.statements, scope.statements):
            own = {"predicate": s.predicate, "count": s.count, "weight": s.weight_milli / 1000}
            yield GraphElement(self._statement(s.statement)[1], "Statement", own)
        for e in _rows(self.entities, scope.entities):
            own = {"id": self.entity_id(e.node), "name": e.name, "type": e.type, "mentions": e.mentions}
            yield GraphElement(self._entity(e.node)[1], "Entity", own)

    def _relationships(self, scope: _Scope) -> Iterator[GraphElement]:
        for d in _rows(self.documents, scope.documents):
            for chunk in d.chunks:
                inner = self._chunk(chunk)
                yield _edge("HAS", ("Document", f"document|{d.doc_id}"), inner, f"has|{inner[1]}")
        for number in scope.chunks:
            for m in self.mentions.get(number, ()):
                yield self._mention(m)
            for e in self.evidence.get(number, ()):
                yield self._evidence(e)
        for row in _rows(self.labels, scope.labels):
            label, entity = self._label(row.label), self._entity(row.node)
            yield _edge("NAMES", label, entity, f"names|{label[1]}|{entity[1]}")
        for s in _rows(self.statements, scope.statements):
            statement = self._statement(s.statement)
            yield _edge("SUBJECT", statement, self._label(s.subject), f"subject|{statement[1]}")
            yield _edge("OBJECT", statement, self._label(s.object), f"object|{statement[1]}")
        for same in _rows(self.same_as, scope.same_as):
            start, end = sorted((self._label(same.a), self._label(same.b)))
            own: dict[str, Value] = {"rule": same.rule, "score": same.score_milli / 1000}
            yield _edge("SAME_AS", start, end, f"same-as|{start[1]}|{end[1]}", own)
        for edge in _rows(self.edges, scope.edges):
            start, end = sorted((self._entity(edge.u), self._entity(edge.v)))
            own = {"weight": edge.weight, "trussness": edge.trussness}
            yield _edge("RELATES", start, end, f"relates|{start[1]}|{end[1]}", own)

    def _mention(self, m: MentionRow) -> GraphElement:
        chunk, label = self._chunk(m.chunk), self._label(m.label)
        own: dict[str, Value] = {"name": m.name, "description": m.description, "count": m.count}
        key = f"mentions|{chunk[1]}|{label[1]}|{short_digest(m.name, m.description)}"
        return _edge("MENTIONS", chunk, label, key, own)

    def _evidence(self, e: EvidenceRow) -> GraphElement:
        chunk, statement = self._chunk(e.chunk), self._statement(e.statement)
        own: dict[str, Value] = {"description": e.description, "sentence": e.sentence, "count": e.count}
        own |= {"weight": e.weight_milli / 1000, "valid_from": e.valid_from, "valid_to": e.valid_to}
        stated = short_digest(e.description, e.sentence, str(e.weight_milli), e.valid_from, e.valid_to)
        return _edge("SUPPORTS", chunk, statement, f"supports|{chunk[1]}|{statement[1]}|{stated}", own)

    def _chunk(self, number: int) -> End:
        return "Chunk", f"chunk|{self.chunks[number].chunk_id}"

    def _label(self, number: int) -> End:
        row = self.labels[number]
        return "Label", f"label|{short_digest(row.name, row.type)}"

    def _statement(self, number: int) -> End:
        row = self.statements[number]
        name = short_digest(self._label(row.subject)[1], row.predicate, self._label(row.object)[1])
        return "Statement", f"statement|{name}"

    def _entity(self, node: int) -> End:
        return "Entity", f"entity|{self.entity_id(node)}"


def _named(delta: GraphDelta) -> _Scope:
    """Return the rows that a delta writes or removes."""
    gone = delta.gone
    return _Scope(
        {*gone.documents, *(row.doc_id for row in delta.documents)},
        {
            *gone.chunks,
            *(row.chunk for row in delta.chunks),
            *(row.chunk for row in delta.mentions),
            *(row.chunk for row in delta.evidence),
        },
        {*gone.labels, *(row.label for row in delta.labels)},
        {*gone.statements, *(row.statement for row in delta.statements)},
        {*gone.same_as, *((row.a, row.b) for row in delta.same_as)},
        {*gone.entities, *(row.node for row in delta.entities)},
        {*gone.edges, *((row.u, row.v) for row in delta.edges)},
    )


def _without_vectors(delta: GraphDelta) -> GraphDelta:
    return rows_in(delta.graph, delta.version, rows_out(delta), snapshot=delta.snapshot)


def _rows(table: Mapping[Key, Row], keys: Iterable[Key]) -> Iterator[Row]:
    """Yield the rows of the keys that the table has."""
    return (table[key] for key in keys if key in table)


def _edge(type_: str, start: End, end: End, key: str, properties: Mapping[str, Value] | None = None) -> GraphElement:
    return GraphElement(key, type_, properties or {}, start, end)


def _metadata(info: DocumentInfo) -> str:
    """Return the metadata as one JSON object: each of its values is JSON text."""
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{value}" for name, value in info.metadata) + "}"
