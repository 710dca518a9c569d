"""The read model of one graph: every query process answers questions from it.

It applies the writer's deltas in order and runs no kernel of its own: the same deltas give the same view in every
process. It owns the vector indexes and the walk graph; it holds no file and waits for nothing.

Invariant: at `version`, every table equals the writer's rows, and content that only a removed document supported is in
none of them. One writer calls `apply` under `lock.write()`; readers hold `lock.read()` and see one version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TypeVar

import numpy as np

from graphtide.graph.aboutness import identity_of
from graphtide.graph.algorithms.in_parts import sorted_in_parts
from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.communities import CommunityChange, Hierarchy, HierarchyReplica
from graphtide.graph.identity import entity_id
from graphtide.graph.int_sets import EMPTY, excluding, including
from graphtide.graph.records import (
    EdgeRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    Removals,
    TripleRow,
)
from graphtide.graph.vector_store import stored_text
from graphtide.graph.view_state.adjacency import ViewEdge
from graphtide.graph.view_state.content import ViewContent
from graphtide.graph.view_state.indexes import (
    NOTHING_LOADED,
    IndexVersions,
    LoadedIndexes,
    LoadedVectors,
    VectorIndexes,
    stale,
    sync,
)
from graphtide.graph.view_state.passage_rows import PassageEvidence, PassageMentions
from graphtide.graph.view_state.tables import (
    ViewChunk,
    ViewEntity,
    ViewLabel,
    ViewStatement,
    walk_chunk,
    walk_chunks,
    walk_entities,
    walk_entity,
)

__all__ = [
    "IndexVersions",
    "LiveView",
    "VectorIndexes",
    "ViewEdge",
    "walk_chunk",
    "walk_chunks",
    "walk_entities",
    "walk_entity",
]

Row = TypeVar("Row")

CHUNK_STEP = 4
"""Passages between two yield points: each has some forty rows."""


class LiveView(ViewContent):
    """The read model; see the module. `apply` alone writes its tables."""

    # -- following -----------------------------------------------------------------------------------------------------

    def apply(self, delta: GraphDelta, *, indexed: IndexVersions | None = None) -> None:
        """Apply a delta and move to `delta.version`. Call under `lock.write()`.

        `indexed` gives, for a snapshot, the vectors that the indexes hold already. Raises ValueError, with nothing
        changed, for a delta that does not follow the present version: the replica has then missed a delta.
        """
        if delta.snapshot and (self.version or self.documents):
            raise ValueError(f"a snapshot needs an empty view, but the view holds version {self.version}")
        if not delta.snapshot and delta.version != self.version + 1:
            raise ValueError(
                f"the view holds version {self.version}: a delta to version {delta.version} does not follow it"
            )
        for undo_log in self.undo_logs:
            undo_log.note(self, delta)
        self._take(delta, indexed or IndexVersions())

    def _take(self, delta: GraphDelta, indexed: IndexVersions) -> None:
        """Change the tables by a delta, and move to its version."""
        self.digests.note(self, delta)
        self._walked.clear()
        self.new_names.clear()
        touched = self.order.touched(self, delta)
        self._drop(delta)
        spelled = {row.name: row.name for row in delta.mentions} | {row.doc_id: row.doc_id for row in delta.documents}
        is_restored = delta.snapshot and indexed != IndexVersions()
        loaded = LoadedIndexes.of(self.indexes, delta) if is_restored else NOTHING_LOADED
        self._take_labels(delta.labels, spelled)
        self._take_statements(delta.statements, loaded.statements)
        self._take_chunks(delta, spelled, loaded.chunks)
        self._take_entities(delta, spelled, loaded.entities)
        self._take_edges(delta.edges)
        for link in delta.same_as:
            self.same_as[link.a, link.b] = link
            for one, other in ((link.a, link.b), (link.b, link.a)):
                self._linked[one] = including(self._linked.get(one, EMPTY), other)
        self.predicates.apply(delta.predicate_links, delta.gone.predicate_links)
        renamed = [row for row in delta.documents if identity_of(self.documents.get(row.doc_id)) != identity_of(row)]
        for document in delta.documents:
            self.documents[document.doc_id] = document
        self.about.follow(self, delta, renamed)
        if isinstance(delta.communities, Hierarchy):
            self.hierarchy = HierarchyReplica(delta.communities)
        elif delta.communities is not None:
            self.hierarchy.apply(delta.communities)
        self.contents.follow(self, delta)
        if isinstance(delta.communities, CommunityChange):
            self.reports.drop(delta.communities.removed.tolist())
        self._index(delta, indexed)
        self.exact.follow(delta)
        self._relate(delta)
        if self.followers:
            self.followers.follow(delta, self._touched(delta))
        self._walk()
        self.version = delta.version
        self.order.follow(self, delta, touched)

    def _drop(self, delta: GraphDelta) -> None:
        gone = delta.gone
        for doc_id in gone.documents:
            self.documents.pop(doc_id, None)
        for chunk in gone.chunks:
            self._forget_contents(chunk)
            popped = self.chunks.pop(chunk)
            self.text_bytes -= len(popped.utf8)
            gone_id = popped.chunk_id
            del self.chunk_numbers[gone_id]
            self._invalidate_chunk(gone_id)
        for pair in gone.same_as:
            self.same_as.pop(pair, None)
            for one, other in (pair, pair[::-1]):
                self._unlink(one, other)
        for number in gone.statements:
            statement = self.statements.pop(number)
            for end in (statement.subject, statement.object):
                label = self.labels[end]
                label.statements = excluding(label.statements, number)
        for number in gone.labels:
            self.names.exclude(self.labels[number].name, number)
            del self.labels[number]
            self._linked.pop(number, None)
        self.edge_count -= len(gone.edges)
        for u, v in gone.edges:
            self._walked.add((walk_entity(u), walk_entity(v)))
            self.neighbours.disconnect(u, v)

    def _invalidate_chunk(self, chunk_id: str) -> None:
        self.reports.invalidate_chunk(chunk_id)
        self.summaries.invalidate_chunk(chunk_id)

    def _unlink(self, label: int, other: int) -> None:
        left = excluding(self._linked.get(label, EMPTY), other)
        if left:
            self._linked[label] = left
        else:
            self._linked.pop(label, None)

    def _take_labels(self, rows: Iterable[LabelRow], spelled: Mapping[str, str]) -> None:
        """Insert or change labels. A name that a mention of the delta has, too, is the string of the mention."""
        for row in with_yields(rows):
            label = self.labels.get(row.label)
            if label is None:
                name = spelled.get(row.name, row.name)
                self.labels[row.label] = ViewLabel(name, row.type, row.node, row.mentions)
                self.names.include(name, row.label)
                self.new_names.add(name)
                continue
            if label.node != row.node:
                self._move_label(row.label, label, row.node)
            label.mentions = row.mentions

    def _move_label(self, number: int, label: ViewLabel, node: int) -> None:
        """Move the label's passages to its present entity. Cost: its passages."""
        left, joined = self._entity(label.node), self._entity(node)
        for chunk in label.chunks:
            times = self.chunks[chunk].mentions.count_of(number)
            self._count(label.node, left, chunk, -times)
            self._count(node, joined, chunk, times)
        label.node = node

    def _take_chunks(self, delta: GraphDelta, spelled: Mapping[str, str], loaded: LoadedVectors) -> None:
        for row in delta.chunks:
            stored = self.chunks.get(row.chunk)
            if stored is None:
                doc_id = spelled.get(row.doc_id, row.doc_id)
                utf8, vector = stored_text(row.text), loaded.bytes_for(row.chunk, row.vector)
                fresh = ViewChunk(row.chunk_id, doc_id, row.ordinal, utf8, vector)
                fresh.title, fresh.description, fresh.place = row.title, row.description, row.place
                self.chunks[row.chunk] = fresh
                self.text_bytes += len(utf8)
            else:
                del self.chunk_numbers[stored.chunk_id]
                if stored.chunk_id != row.chunk_id:
                    self._invalidate_chunk(stored.chunk_id)
                stored.chunk_id, stored.ordinal, stored.place = row.chunk_id, row.ordinal, row.place
        for row in delta.chunks:
            self.chunk_numbers[row.chunk_id] = row.chunk
        for chunk, seen in with_yields(_by_chunk(delta.mentions, lambda mention: mention.chunk).items(), CHUNK_STEP):
            self._take_mentions(chunk, seen)
        for chunk, shown in with_yields(_by_chunk(delta.evidence, lambda support: support.chunk).items(), CHUNK_STEP):
            stating = self.chunks[chunk]
            stating.evidence = PassageEvidence(shown, stating.utf8)
            self.contents.count(self, stating, 1)
            for support in shown:
                statement = self.statements[support.statement]
                statement.chunks = including(statement.chunks, chunk)

    def _take_statements(self, rows: Iterable[TripleRow], loaded: LoadedVectors) -> None:
        for row in with_yields(rows):
            vector = loaded.bytes_for(row.statement, row.vector)
            stored = self.statements.get(row.statement)
            if stored is not None:
                stored.count, stored.weight_milli, stored.vector_bytes = row.count, row.weight_milli, vector
                continue
            fields = (row.subject, row.predicate, row.object, row.count, row.weight_milli, vector)
            self.statements[row.statement] = ViewStatement(*fields)
            for end in (row.subject, row.object):
                label = self.labels[end]
                label.statements = including(label.statements, row.statement)

    def _take_mentions(self, chunk: int, rows: list[MentionRow]) -> None:
        self.chunks[chunk].mentions = PassageMentions(rows, self.chunks[chunk].utf8)
        for row in rows:
            label = self.labels[row.label]
            label.chunks = including(label.chunks, chunk)
            self._count(label.node, self._entity(label.node), chunk, row.count)

    def _forget_contents(self, number: int) -> None:
        chunk = self.chunks[number]
        for row in chunk.mentions:
            label = self.labels[row.label]
            label.chunks = excluding(label.chunks, number)
            self._count(label.node, self._entity(label.node), number, -row.count)
        self.contents.count(self, chunk, -1)
        for stated in chunk.evidence.statements:
            statement = self.statements[stated]
            statement.chunks = excluding(statement.chunks, number)

    def _take_entities(self, delta: GraphDelta, spelled: Mapping[str, str], loaded: LoadedVectors) -> None:
        for node in with_yields(delta.gone.entities):
            gone = self.entities.get(node)
            if gone is not None:
                self.entity_nodes.pop(gone.id, None)  # first, because it finds the node by the entity's row
                del self.entities[node]
        for row in delta.entities:
            # Two passes: an id may move from one node to another within a delta.
            self.entity_nodes.pop(self._entity(row.node).id, None)
        for row in with_yields(delta.entities):
            entity = self._entity(row.node)
            labels = (self.labels[number] for number in row.labels)
            public_id = entity_id((label.name, label.type) for label in labels)
            if entity.id != public_id:
                entity.id = public_id
            self.entity_nodes[entity.id] = row.node
            entity.name = spelled.get(row.name, row.name)
            entity.type, entity.labels, entity.mentions = row.type, row.labels, row.mentions
            entity.vector_bytes = loaded.bytes_for(row.node, row.vector)

    def _take_edges(self, rows: Iterable[EdgeRow]) -> None:
        for row in with_yields(rows):
            stored = self.neighbours.get(row.u, {}).get(row.v)
            self.edge_count += stored is None
            if stored is None or stored.weight != row.weight:
                self._walked.add((walk_entity(row.u), walk_entity(row.v)))
            self.neighbours.connect(row.u, row.v, row.weight, row.trussness)

    def _entity(self, node: int) -> ViewEntity:
        entity = self.entities.get(node)
        if entity is None:
            entity = self.entities[node] = ViewEntity("", "", "", (), 0, b"")
        return entity

    def _count(self, node: int, entity: ViewEntity, chunk: int, times: int) -> None:
        entity.count(chunk, times)
        self._walked.add((walk_entity(node), walk_chunk(chunk)))

    # -- indexes -------------------------------------------------------------------------------------------------------

    def _index(self, delta: GraphDelta, indexed: IndexVersions) -> None:
        gone, indexes = delta.gone, self.indexes
        if delta.snapshot:
            gone = Removals(
                chunks=tuple(stale(indexes.chunks, self.chunks)),
                statements=tuple(stale(indexes.statements, self.statements)),
                entities=tuple(stale(indexes.entities, self.entities)),
            )
        # Arrays over the bytes in the tables, so that the indexes hold no copies of their own.
        chunks = ((row.chunk, self.chunks[row.chunk].vector, row.version) for row in delta.chunks)
        entities = ((row.node, self.entities[row.node].vector, row.version) for row in delta.entities)
        statements = ((row.statement, self.statements[row.statement].vector, row.version) for row in delta.statements)
        sync(indexes.chunks, gone.chunks, chunks, indexed.chunks)
        sync(indexes.entities, gone.entities, entities, indexed.entities)
        sync(indexes.statements, gone.statements, statements, indexed.statements)

    def _relate(self, delta: GraphDelta) -> None:
        """Pass this delta and the entities whose incidences it changed to the relatedness model."""
        self.relatedness.follow(self, delta, {a // 2 for a, b in self._walked if b % 2})

    def _touched(self, delta: GraphDelta) -> set[int]:
        """Return the entities whose row, relations or passages a delta changed, by node."""
        ends = {number // 2 for pair in self._walked for number in pair if number % 2 == 0}
        return ends.union(delta.gone.entities, (row.node for row in delta.entities))

    def _walk(self) -> None:
        """Update the walk graph by the edges and incidences of this delta."""
        pairs = sorted_in_parts(self._walked)
        ends = np.fromiter(chain.from_iterable(pairs), np.int32, 2 * len(pairs))
        self.changed_links = ends.reshape(-1, 2)
        self.lowered_nodes.clear()
        if pairs:
            weights = np.array([self._walk_weight(a, b) for a, b in with_yields(pairs)], np.float64)
            before = {node: self.walk.degree(node) for pair in pairs for node in pair}
            self.walk.update(self.changed_links, weights)
            self.lowered_nodes.update(node for node, degree in before.items() if self.walk.degree(node) < degree)
        self._walked.clear()

    def _walk_weight(self, a: int, b: int) -> float:
        if b % 2:
            entity = self.entities.get(a // 2)
            return float(entity.times(b // 2)) if entity else 0.0
        edge = self.neighbours.get(a // 2, {}).get(b // 2)
        return float(edge.weight) if edge else 0.0


def _by_chunk(rows: Iterable[Row], chunk: Callable[[Row], int]) -> dict[int, list[Row]]:
    grouped: dict[int, list[Row]] = {}
    for row in rows:
        grouped.setdefault(chunk(row), []).append(row)
    return grouped
