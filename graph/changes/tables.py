"""The rows of a graph by key, moved forward by deltas and back by the rows that deltas overwrote.

Invariant: after `apply(delta)` and then `revert(delta, old)`, where `old` holds the rows that the delta overwrote, the
tables are what they were before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TypeVar

from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.identity import entity_id
from graphtide.graph.records import (
    ChunkRow,
    DocumentRow,
    EdgeRow,
    EntityRow,
    EvidenceRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    SameAsRow,
    TripleRow,
)

Row = TypeVar("Row")
Key = TypeVar("Key")
Pair = tuple[int, int]


class RowTables:
    """The tables of one graph at one version. Cost of a change: the rows that it names."""

    def __init__(self, graph: str) -> None:
        self.graph = graph
        self.version = 0
        self.documents: dict[str, DocumentRow] = {}
        self.chunks: dict[int, ChunkRow] = {}
        self.labels: dict[int, LabelRow] = {}
        self.mentions: dict[int, tuple[MentionRow, ...]] = {}
        self.statements: dict[int, TripleRow] = {}
        self.evidence: dict[int, tuple[EvidenceRow, ...]] = {}
        self.same_as: dict[Pair, SameAsRow] = {}
        self.predicate_links: set[tuple[str, str]] = set()
        self.entities: dict[int, EntityRow] = {}
        self.edges: dict[Pair, EdgeRow] = {}
        self.members: dict[int, int] = {}
        self.communities: dict[int, Pair] = {}

    def apply(self, delta: GraphDelta) -> None:
        """Apply a delta, or the rows of a snapshot. Removals come first, because numbers are reused."""
        gone = delta.gone
        _pop(self.documents, gone.documents)
        self._drop_chunks(gone.chunks)
        _pop(self.labels, gone.labels)
        _pop(self.statements, gone.statements)
        _pop(self.same_as, gone.same_as)
        _pop(self.entities, gone.entities)
        _pop(self.edges, gone.edges)
        self.predicate_links.difference_update(gone.predicate_links)
        self._put(delta)
        _pop(self.edges, [(row.u, row.v) for row in delta.edges if not row.weight])
        self.version = delta.version

    def revert(self, delta: GraphDelta, old: GraphDelta) -> None:
        """Undo a delta. `old` holds every row that it overwrote, as it was, and possibly rows that it left unchanged.

        Raises ValueError unless the tables are at the delta's version.
        """
        if delta.version != self.version:
            raise ValueError(f"the tables hold version {self.version}, and the delta gives version {delta.version}")
        gone = delta.gone
        _pop(self.documents, chain(gone.documents, (row.doc_id for row in delta.documents)))
        new = {row.chunk for row in delta.chunks} - {row.chunk for row in old.chunks}
        self._drop_chunks(new)
        _pop(self.mentions, (row.chunk for row in delta.mentions))
        _pop(self.evidence, (row.chunk for row in delta.evidence))
        _pop(self.labels, (row.label for row in delta.labels))
        _pop(self.statements, (row.statement for row in delta.statements))
        _pop(self.same_as, ((row.a, row.b) for row in delta.same_as))
        _pop(self.entities, (row.node for row in delta.entities))
        _pop(self.edges, ((row.u, row.v) for row in delta.edges))
        if isinstance(delta.communities, CommunityChange):
            _pop(self.members, delta.communities.nodes.tolist())
            _pop(self.communities, delta.communities.children.tolist())
        self._put(old)
        # A delta names a link only if it changes, so no old row is needed.
        self.predicate_links.difference_update(delta.predicate_links)
        self.predicate_links.update(gone.predicate_links)
        self.version = delta.version - 1

    def _drop_chunks(self, chunks: Iterable[int]) -> None:
        for chunk in chunks:
            self.chunks.pop(chunk, None)
            self.mentions.pop(chunk, None)
            self.evidence.pop(chunk, None)

    def _put(self, rows: GraphDelta) -> None:
        self.documents.update((row.doc_id, row) for row in rows.documents)
        self.chunks.update((row.chunk, row) for row in rows.chunks)
        self.labels.update((row.label, row) for row in rows.labels)
        self.mentions.update(_grouped(rows.mentions, lambda row: row.chunk))
        self.statements.update((row.statement, row) for row in rows.statements)
        self.evidence.update(_grouped(rows.evidence, lambda row: row.chunk))
        self.same_as.update(((row.a, row.b), row) for row in rows.same_as)
        self.entities.update((row.node, row) for row in rows.entities)
        self.edges.update(((row.u, row.v), row) for row in rows.edges)
        self.predicate_links.update(rows.predicate_links)
        if isinstance(rows.communities, CommunityChange):
            self._change_communities(rows.communities)
        elif isinstance(rows.communities, Hierarchy):
            tree = rows.communities
            self.members = dict(zip(tree.nodes.tolist(), tree.communities.tolist(), strict=True))
            places = zip(tree.levels.tolist(), tree.parents.tolist(), strict=True)
            self.communities = dict(zip(tree.ids.tolist(), places, strict=True))

    def _change_communities(self, change: CommunityChange) -> None:
        places = zip(change.levels.tolist(), change.parents.tolist(), strict=True)
        self.communities.update(zip(change.children.tolist(), places, strict=True))
        for node, community in zip(change.nodes.tolist(), change.communities.tolist(), strict=True):
            if community:
                self.members[node] = community
            else:
                self.members.pop(node, None)
        _pop(self.communities, change.removed.tolist())

    def entity_id(self, node: int) -> str:
        """Return the public id of an entity. Cost: its labels."""
        labels = (self.labels[label] for label in self.entities[node].labels)
        return entity_id((label.name, label.type) for label in labels)

    def snapshot(self) -> GraphDelta:
        """Return all rows as one delta from the empty graph."""
        tree = [(community, *place) for community, place in sorted(self.communities.items())]
        return GraphDelta(
            self.graph,
            self.version,
            documents=tuple(self.documents.values()),
            chunks=tuple(self.chunks.values()),
            labels=tuple(self.labels.values()),
            mentions=tuple(chain.from_iterable(self.mentions.values())),
            statements=tuple(self.statements.values()),
            evidence=tuple(chain.from_iterable(self.evidence.values())),
            same_as=tuple(self.same_as.values()),
            entities=tuple(self.entities.values()),
            edges=tuple(self.edges.values()),
            communities=Hierarchy.of_rows(sorted(self.members.items()), tree, 1 + max(self.communities, default=0)),
            snapshot=True,
            predicate_links=tuple(sorted(self.predicate_links)),
        )


def _pop(table: dict[Key, Row], keys: Iterable[Key]) -> None:
    for key in keys:
        table.pop(key, None)


def _grouped(rows: Iterable[Row], chunk_of: Callable[[Row], int]) -> dict[int, tuple[Row, ...]]:
    grouped: dict[int, list[Row]] = {}
    for row in rows:
        grouped.setdefault(chunk_of(row), []).append(row)
    return {chunk: tuple(found) for chunk, found in grouped.items()}
