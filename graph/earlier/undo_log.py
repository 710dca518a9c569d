"""The rows of an earlier version that later commits overwrote, and the delta that leads back to it.

Invariant: for each thing that a noted commit changed, the log holds it as it was at `version`: None if it was not.
Cost, in time and memory: the noted changes, however large the graph is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from graphtide.graph.changes.capture import capture
from graphtide.graph.communities import CommunityChange, HierarchyReplica
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
from graphtide.graph.view import LiveView

Key = TypeVar("Key")
Row = TypeVar("Row")
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage with its mentions and evidence, which never change while it exists."""

    row: ChunkRow
    mentions: Sequence[MentionRow]
    evidence: Sequence[EvidenceRow]


@dataclass(eq=False)
class UndoLog:
    """See the module. A log that a view holds in `undo_logs` notes every commit that the view applies."""

    graph: str
    version: int
    documents: dict[str, DocumentRow | None] = field(default_factory=dict)
    passages: dict[int, _Passage | None] = field(default_factory=dict)
    labels: dict[int, LabelRow | None] = field(default_factory=dict)
    statements: dict[int, TripleRow | None] = field(default_factory=dict)
    same_as: dict[Pair, SameAsRow | None] = field(default_factory=dict)
    entities: dict[int, EntityRow | None] = field(default_factory=dict)
    edges: dict[Pair, EdgeRow | None] = field(default_factory=dict)
    predicate_links: dict[tuple[str, str], bool] = field(default_factory=dict)
    members: dict[int, int] = field(default_factory=dict)
    communities: dict[int, Pair | None] = field(default_factory=dict)
    removals: tuple[dict[int, int], dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}, {}))
    """The version that last removed a passage, a label or a statement, by number: the number may be reused since."""

    def note(self, view: LiveView, delta: GraphDelta) -> None:
        """Note the delta that the view is about to apply. Call under its write lock."""
        self.overwritten(delta, capture(view, delta)[0])

    def overwritten(self, delta: GraphDelta, old: GraphDelta) -> None:
        """Note the next commit after those noted: its delta, and the rows that it overwrote."""
        gone, mentions, evidence = delta.gone, _grouped(old.mentions), _grouped(old.evidence)
        earlier = {
            row.chunk: _Passage(row, mentions.get(row.chunk, ()), evidence.get(row.chunk, ())) for row in old.chunks
        }
        _keep(self.documents, (gone.documents, (r.doc_id for r in delta.documents)), _by(old.documents, "doc_id"))
        _keep(self.passages, (gone.chunks, (row.chunk for row in delta.chunks)), earlier)
        _keep(self.labels, (gone.labels, (row.label for row in delta.labels)), _by(old.labels, "label"))
        numbers = (row.statement for row in delta.statements)
        _keep(self.statements, (gone.statements, numbers), _by(old.statements, "statement"))
        links = {(row.a, row.b): row for row in old.same_as}
        _keep(self.same_as, (gone.same_as, ((row.a, row.b) for row in delta.same_as)), links)
        _keep(self.entities, (gone.entities, (row.node for row in delta.entities)), _by(old.entities, "node"))
        edges = {(row.u, row.v): row for row in old.edges}
        _keep(self.edges, (gone.edges, ((row.u, row.v) for row in delta.edges)), edges)
        for pair in delta.predicate_links:  # a delta names a link only if it changes
            self.predicate_links.setdefault(pair, False)
        for pair in gone.predicate_links:
            self.predicate_links.setdefault(pair, True)
        self._keep_communities(delta, old)
        for versions, removed in zip(self.removals, (gone.chunks, gone.labels, gone.statements), strict=True):
            versions.update(dict.fromkeys(removed, delta.version))

    def _keep_communities(self, delta: GraphDelta, old: GraphDelta) -> None:
        change, was = delta.communities, old.communities
        if not isinstance(change, CommunityChange):
            return
        members, tree = _tree(was) if isinstance(was, CommunityChange) else ({}, {})
        for node in change.nodes.tolist():
            self.members.setdefault(node, members.get(node, 0))
        _keep(self.communities, (change.children.tolist(), change.removed.tolist()), tree)

    def continue_with(self, later: UndoLog) -> None:
        """Note all that another log has noted, whose version is that of the last commit noted here."""
        for mine, theirs in zip(self._tables(), later._tables(), strict=True):
            for key, row in theirs.items():
                mine.setdefault(key, row)
        for versions, newer in zip(self.removals, later.removals, strict=True):
            versions.update(newer)

    def _tables(self) -> tuple[dict[object, object], ...]:
        return (
            self.documents, self.passages, self.labels, self.statements, self.same_as, self.entities, self.edges,
            self.predicate_links, self.members, self.communities,
        )  # type: ignore[return-value]  # fmt: skip

    def __len__(self) -> int:
        """Return the number of things that it holds."""
        return sum(map(len, self._tables()))

    def advance(self, delta: GraphDelta) -> None:
        """Move on to the next version, which the first noted commit led to: `delta` is that commit."""
        if delta.version != self.version + 1:
            raise ValueError(
                f"the log is of version {self.version}; a delta to version {delta.version} is not the next"
            )
        gone, mentions, evidence = delta.gone, _grouped(delta.mentions), _grouped(delta.evidence)
        _put(self.documents, gone.documents, _by(delta.documents, "doc_id"))
        _put(self.passages, gone.chunks, {})
        for row in delta.chunks:
            passage = self.passages.get(row.chunk)
            if passage is None:
                passage = _Passage(row, mentions.get(row.chunk, ()), evidence.get(row.chunk, ()))
            self.passages[row.chunk] = _Passage(row, passage.mentions, passage.evidence)
        _put(self.labels, gone.labels, _by(delta.labels, "label"))
        _put(self.statements, gone.statements, _by(delta.statements, "statement"))
        _put(self.same_as, gone.same_as, {(row.a, row.b): row for row in delta.same_as})
        _put(self.entities, gone.entities, _by(delta.entities, "node"))
        _put(self.edges, gone.edges, {(row.u, row.v): row for row in delta.edges})
        self.predicate_links |= dict.fromkeys(gone.predicate_links, False) | dict.fromkeys(delta.predicate_links, True)
        if isinstance(delta.communities, CommunityChange):
            members, tree = _tree(delta.communities)
            self.members |= members
            _put(self.communities, delta.communities.removed.tolist(), tree)
            self.communities |= dict.fromkeys(delta.communities.removed.tolist())
        self.version = delta.version

    # -- the way back --------------------------------------------------------------------------------------------------

    def inverse(self, present: LiveView) -> GraphDelta:
        """Return the delta from the present view to `version`. Call under its read lock; it has applied all that is
        noted here, and nothing more.
        """
        chunks, labels, statements = (
            {number for number, version in versions.items() if version > self.version} for versions in self.removals
        )
        passages = [passage for passage in self.passages.values() if passage is not None]
        whole = [passage for passage in passages if passage.row.chunk in chunks]
        edges = {
            pair for pair, row in self.edges.items() if row is None and pair[1] in present.neighbours.get(pair[0], ())
        }
        return GraphDelta(
            self.graph,
            self.version,
            Removals(
                documents=_lost(self.documents, present.documents),
                chunks=_lost(self.passages, present.chunks, chunks),
                labels=_lost(self.labels, present.labels, labels),
                statements=_lost(self.statements, present.statements, statements),
                same_as=_lost(self.same_as, present.same_as),
                entities=_lost(self.entities, present.entities),
                edges=tuple(edges),
                predicate_links=tuple(
                    pair for pair, was in self.predicate_links.items() if not was and present.predicates.has(pair)
                ),
            ),
            documents=_rows(self.documents),
            chunks=tuple(passage.row for passage in passages),
            labels=_rows(self.labels),
            mentions=tuple(chain.from_iterable(passage.mentions for passage in whole)),
            statements=_rows(self.statements),
            evidence=tuple(chain.from_iterable(passage.evidence for passage in whole)),
            same_as=_rows(self.same_as),
            entities=_rows(self.entities),
            edges=_rows(self.edges),
            communities=self._communities(present.hierarchy),
            predicate_links=tuple(
                pair for pair, was in self.predicate_links.items() if was and not present.predicates.has(pair)
            ),
        )

    def _communities(self, present: HierarchyReplica) -> CommunityChange:
        tree = [(community, *place) for community, place in self.communities.items() if place is not None]
        removed = [community for community, place in self.communities.items() if place is None and community in present]
        members, places = np.array(list(self.members.items()), np.int64).reshape(-1, 2), np.array(tree, np.int64)
        places = places.reshape(-1, 3)
        return CommunityChange(
            members[:, 0].astype(np.int32),
            members[:, 1].copy(),
            places[:, 0].copy(),
            places[:, 1].astype(np.int32),
            places[:, 2].copy(),
            np.array(removed, np.int64),
        )


def _by(rows: Iterable[Row], key: str) -> dict[Any, Row]:
    return {getattr(row, key): row for row in rows}


def _grouped(rows: Iterable[Row]) -> dict[int, tuple[Row, ...]]:
    """Return the rows of passages by passage."""
    grouped: dict[int, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.chunk, []).append(row)  # type: ignore[attr-defined]
    return {chunk: tuple(found) for chunk, found in grouped.items()}


def _keep(table: dict[Key, Row | None], keys: Iterable[Iterable[Key]], old: Mapping[Key, Row]) -> None:
    """Keep the rows of the keys as they were, unless an earlier commit changed them: the log has these."""
    for key in chain.from_iterable(keys):
        table.setdefault(key, old.get(key))


def _put(table: dict[Key, Row | None], gone: Iterable[Key], rows: Mapping[Key, Row]) -> None:
    table.update(dict.fromkeys(gone))
    table.update(rows)


def _rows(table: Mapping[Key, Row | None]) -> tuple[Row, ...]:
    return tuple(row for row in table.values() if row is not None)


def _lost(
    table: Mapping[Key, Row | None], present: Mapping[Key, object], reused: Collection[Key] = ()
) -> tuple[Key, ...]:
    """Return what exists now and did not, or was another thing under the same number."""
    return tuple(key for key, row in table.items() if key in present and (row is None or key in reused))


def _tree(change: CommunityChange) -> tuple[dict[int, int], dict[int, Pair]]:
    places = zip(change.levels.tolist(), change.parents.tolist(), strict=True)
    members = dict(zip(change.nodes.tolist(), change.communities.tolist(), strict=True))
    return members, dict(zip(change.children.tolist(), places, strict=True))
