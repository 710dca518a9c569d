"""The digest of a live view, at a cost that depends on what changed since it was last read.

Invariant: `state` is the hash of the view's elements at the version of the last reading, and `before` holds the rows of
every thing that changed since, as they were at that version; so the elements of these rows, then and now, are the
difference. Nothing is kept before the first reading, and after so many changes that a recount costs less.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol, TypeVar

import numpy as np

from graphtide.graph.digest import published
from graphtide.graph.digest.lines import CanonicalNames, LabelName, Triple, elements
from graphtide.graph.digest.multiset_hash import MultisetHash
from graphtide.graph.records import (
    ChunkRow,
    DocumentRow,
    EdgeRow,
    EntityRow,
    GraphDelta,
    LabelRow,
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.resolution.predicates.groups import PredicateGroups
from graphtide.graph.resolution.predicates.pairs import PredicatePair
from graphtide.graph.rwlock import ReadersWriterLock
from graphtide.graph.text.place import Place
from graphtide.graph.view_state.adjacency import ViewEdge
from graphtide.graph.view_state.passage_rows import PassageEvidence, PassageMentions
from graphtide.graph.view_state.tables import FactTables, MentionTables

MIN_CHANGES = 2_000
"""Changed things up to which a reading is always cheap."""
CHANGED_SHARE = 4
"""A recount costs less than the change of a fourth of all things."""
T = TypeVar("T")
_NONE: Vector = np.empty(0, np.float16)
Pair = tuple[int, int]
_Chunk = tuple[str, str, int, str, Place, PassageMentions, PassageEvidence]
_Label = tuple[str, str, int]
_Statement = tuple[int, str, int, int, int]
_Entity = tuple[str, str, str, tuple[int, ...], int]


class DigestTables(MentionTables, FactTables, Protocol):
    """The tables of a live view that its digest is read from."""

    @property
    def version(self) -> int: ...

    @property
    def lock(self) -> ReadersWriterLock: ...

    @property
    def same_as(self) -> Mapping[Pair, SameAsRow]: ...

    @property
    def predicates(self) -> PredicateGroups: ...

    @property
    def neighbours(self) -> Mapping[int, Mapping[int, ViewEdge]]: ...

    @property
    def edge_count(self) -> int: ...

    def rows(self) -> GraphDelta: ...


@dataclass(slots=True)
class _Rows:
    """Things by number, as they were at one version; None for one that did not exist."""

    documents: dict[str, DocumentRow | None] = field(default_factory=dict)
    chunks: dict[int, _Chunk | None] = field(default_factory=dict)
    labels: dict[int, _Label | None] = field(default_factory=dict)
    statements: dict[int, _Statement | None] = field(default_factory=dict)
    entities: dict[int, _Entity | None] = field(default_factory=dict)
    same_as: dict[Pair, SameAsRow | None] = field(default_factory=dict)
    edges: dict[Pair, ViewEdge | None] = field(default_factory=dict)
    predicate_links: dict[PredicatePair, bool] = field(default_factory=dict)

    def __len__(self) -> int:
        some = len(self.documents) + len(self.chunks) + len(self.statements)
        return some + len(self.entities) + len(self.same_as) + len(self.edges) + len(self.predicate_links)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The result of a reading: the elements before and after the changes, or all rows, or neither."""

    version: int
    changes: tuple[set[str], set[str]] = (set(), set())
    rows: GraphDelta | None = None


class LiveDigest:
    """The digest of one view; see the module. Any thread may call `read`; the view's writer calls `note`."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._state = MultisetHash()
        self._before: _Rows | None = None
        self._last = (0, "")

    def note(self, view: DigestTables, delta: GraphDelta) -> None:
        """Keep the rows that the delta is about to change. Call under the view's write lock. Cost: the delta."""
        before = self._before
        if before is None:
            return
        if delta.snapshot or len(before) > max(MIN_CHANGES, _things(view) // CHANGED_SHARE):
            self._before = None
            return
        _keep(before, view, delta)

    def read(self, view: DigestTables) -> tuple[int, str]:
        """Return the view's version, and its digest. Cost: what changed since the last call; of the first, the graph.

        Waits for other calls, and holds the view's read lock while it reads rows, not while it hashes them.
        """
        with self._reading:
            try:
                return self._read(view)
            except BaseException:
                self._before = None
                raise

    def read_fork(self, view: DigestTables, fork: ForkDigest, forked: DigestTables) -> str:
        """Return the digest of a fork of the view, which shares its lock. Cost: a reading of this one, and the fork's
        changes.
        """
        with self._reading:
            try:
                with forked.lock.read():
                    taken = self._take(view)
                    was, now = _differing(fork.before, forked)
                self._settle(taken)
            except BaseException:
                self._before = None
                raise
            return published(self._state.copy().remove(was - now).add(now - was))

    def _read(self, view: DigestTables) -> tuple[int, str]:
        with view.lock.read():
            taken = self._take(view)
        return self._settle(taken)

    def _take(self, view: DigestTables) -> _Taken:
        """Return what the hash has to take over. Call under the view's read lock."""
        before = self._before
        if view.version == self._last[0] and before is not None:
            return _Taken(view.version)
        self._before = _Rows()
        if before is None:
            return _Taken(view.version, rows=view.rows())
        return _Taken(view.version, _differing(before, view))

    def _settle(self, taken: _Taken) -> tuple[int, str]:
        if taken.rows is not None:
            self._state = MultisetHash().add(elements(taken.rows))
        elif taken.version == self._last[0]:
            return self._last
        else:
            was, now = taken.changes
            self._state.remove(was - now).add(now - was)
        self._last = taken.version, published(self._state)
        return self._last


class ForkDigest(LiveDigest):
    """The digest of a fork of a view: that of the view, and the fork's changes."""

    def __init__(self, view: DigestTables, digests: LiveDigest) -> None:
        super().__init__()
        self._view = view
        self._digests = digests
        self._last = (-1, "")
        self.before = _Rows()
        """The rows that the fork has changed, as they are in the view."""

    def note(self, view: DigestTables, delta: GraphDelta) -> None:
        """See LiveDigest.note."""
        _keep(self.before, view, delta)

    def read(self, view: DigestTables) -> tuple[int, str]:
        """See LiveDigest.read."""
        with self._reading:
            if self._last[0] != view.version:
                self._last = view.version, self._digests.read_fork(self._view, self, view)
            return self._last


def _things(view: DigestTables) -> int:
    some = len(view.documents) + len(view.chunks) + len(view.statements)
    return some + len(view.entities) + len(view.same_as) + view.edge_count


def _keep(before: _Rows, view: DigestTables, delta: GraphDelta) -> None:
    gone = delta.gone
    for doc_id in chain(gone.documents, (row.doc_id for row in delta.documents)):
        if doc_id not in before.documents:
            before.documents[doc_id] = view.documents.get(doc_id)
    parts = (delta.chunks, delta.mentions, delta.evidence)
    for number in {*gone.chunks, *(row.chunk for rows in parts for row in rows)}:
        if number not in before.chunks:
            before.chunks[number] = _chunk(view, number)
    for number in chain(gone.statements, (row.statement for row in delta.statements)):
        if number not in before.statements:
            before.statements[number] = _statement(view, number)
    for pair in chain(gone.same_as, ((row.a, row.b) for row in delta.same_as)):
        if pair not in before.same_as:
            before.same_as[pair] = view.same_as.get(pair)
    for pair in chain(gone.edges, ((row.u, row.v) for row in delta.edges)):
        if pair not in before.edges:
            before.edges[pair] = _edge(view, pair)
    for predicates in chain(gone.predicate_links, delta.predicate_links):
        if predicates not in before.predicate_links:
            before.predicate_links[predicates] = view.predicates.has(predicates)
    _keep_entities(before, view, delta)


def _keep_entities(before: _Rows, view: DigestTables, delta: GraphDelta) -> None:
    """Keep the entities that the delta changes, itself or a label of theirs, and these labels."""
    nodes = {*delta.gone.entities, *(row.node for row in delta.entities), *(row.node for row in delta.labels)}
    for number in chain(delta.gone.labels, (row.label for row in delta.labels)):
        label = view.labels.get(number)
        if label is not None:
            nodes.add(label.node)
        if number not in before.labels:
            before.labels[number] = _label(view, number)
    for node in nodes:
        if node not in before.entities:
            before.entities[node] = _entity(view, node)


def _chunk(view: DigestTables, number: int) -> _Chunk | None:
    row = view.chunks.get(number)
    if row is None:
        return None
    return row.chunk_id, row.doc_id, row.ordinal, row.text, row.place, row.mentions, row.evidence


def _label(view: DigestTables, number: int) -> _Label | None:
    row = view.labels.get(number)
    return (row.name, row.type, row.mentions) if row else None


def _statement(view: DigestTables, number: int) -> _Statement | None:
    row = view.statements.get(number)
    return (row.subject, row.predicate, row.object, row.count, row.weight_milli) if row else None


def _entity(view: DigestTables, node: int) -> _Entity | None:
    row = view.entities.get(node)
    return (row.id, row.name, row.type, row.labels, row.mentions) if row else None


def _edge(view: DigestTables, pair: Pair) -> ViewEdge | None:
    return view.neighbours.get(pair[0], {}).get(pair[1])


def _differing(before: _Rows, view: DigestTables) -> tuple[set[str], set[str]]:
    """Return the elements of everything that changed, as they were and as they are. Cost: these, and the edges of
    entities whose id changed.
    """
    for node, was in list(before.entities.items()):
        now = view.entities.get(node)
        if was is not None and now is not None and was[0] != now.id:
            for other, edge in view.neighbours.get(node, {}).items():
                before.edges.setdefault((min(node, other), max(node, other)), edge)
    now_rows = _Rows(
        {doc_id: view.documents.get(doc_id) for doc_id in before.documents},
        {number: _chunk(view, number) for number in before.chunks},
        {},
        {number: _statement(view, number) for number in before.statements},
        {node: _entity(view, node) for node in before.entities},
        {pair: view.same_as.get(pair) for pair in before.same_as},
        {pair: _edge(view, pair) for pair in before.edges},
        {predicates: view.predicates.has(predicates) for predicates in before.predicate_links},
    )
    return set(_elements(before, view)), set(_elements(now_rows, view))


def _elements(rows: _Rows, view: DigestTables) -> Iterator[str]:
    """Return the elements of the rows; what they refer to is in the rows, or as it is in the view."""

    def label(number: int) -> _Label:
        return _found(rows.labels[number] if number in rows.labels else _label(view, number), "label", number)

    def label_name(number: int) -> LabelName:
        return label(number)[:2]

    def entity(node: int) -> str:
        return _found(rows.entities[node] if node in rows.entities else _entity(view, node), "entity", node)[0]

    def chunk(number: int) -> str:
        return _found(rows.chunks[number] if number in rows.chunks else _chunk(view, number), "passage", number)[0]

    def triple(number: int) -> Triple:
        statement = rows.statements[number] if number in rows.statements else _statement(view, number)
        subject, predicate, object_, _, _ = _found(statement, "statement", number)
        return label_name(subject), predicate, label_name(object_)

    chunks = [(number, row) for number, row in rows.chunks.items() if row is not None]
    entities = [(node, row) for node, row in rows.entities.items() if row is not None]
    members = ((number, node, label(number)) for node, row in entities for number in row[3])
    some = GraphDelta(
        "",
        0,
        documents=tuple(row for row in rows.documents.values() if row is not None),
        chunks=tuple(ChunkRow(n, id_, doc, at, text, _NONE, place=p) for n, (id_, doc, at, text, p, _, _) in chunks),
        labels=tuple(LabelRow(n, name, type_, node, mentions, b"") for n, node, (name, type_, mentions) in members),
        mentions=tuple(mention for _, row in chunks for mention in row[5]),
        statements=tuple(TripleRow(n, *row, b"", _NONE) for n, row in rows.statements.items() if row is not None),
        evidence=tuple(support for _, row in chunks for support in row[6]),
        same_as=tuple(row for row in rows.same_as.values() if row is not None),
        entities=tuple(EntityRow(n, name, type_, of, count, _NONE) for n, (_, name, type_, of, count) in entities),
        edges=tuple(EdgeRow(u, v, e.weight, e.trussness) for (u, v), e in rows.edges.items() if e is not None),
        predicate_links=tuple(pair for pair, is_linked in rows.predicate_links.items() if is_linked),
    )
    return elements(some, CanonicalNames(label_name, entity, chunk, triple))


def _found(row: T | None, kind: str, number: int) -> T:
    if row is None:
        raise LookupError(f"rows refer to a missing {kind}, number {number}")
    return row
