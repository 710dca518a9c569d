"""The tables of a live view, look-ups in them, and the rows they came from.

`graph/view.py` applies the deltas that keep them current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from itertools import chain
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from graphtide.graph.aboutness import AboutnessIndex
from graphtide.graph.algorithms.pagerank import Nodes, WalkGraph
from graphtide.graph.browsing.entity_order import EntityOrder
from graphtide.graph.communities import HierarchyReplica
from graphtide.graph.digest.live import LiveDigest
from graphtide.graph.int_sets import IntSet
from graphtide.graph.learning.followers import Followers
from graphtide.graph.number_table import Groups, KeyGroups, KeyIndex, NumberTable
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
from graphtide.graph.relatedness import RelatednessModel
from graphtide.graph.reports.cache import ReportCache
from graphtide.graph.reports.entity_summaries import EntitySummaryCache
from graphtide.graph.reports.fingerprint import CommunityFingerprints
from graphtide.graph.resolution.predicates.groups import PredicateGroups
from graphtide.graph.rwlock import ReadersWriterLock
from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view_state.adjacency import Adjacency, Edges, Neighbours
from graphtide.graph.view_state.exact_indexes import ExactIndexes
from graphtide.graph.view_state.indexes import VectorIndexes
from graphtide.graph.view_state.tables import (
    ViewChunk,
    ViewEntity,
    ViewLabel,
    ViewStatement,
)

T = TypeVar("T")


class DeltaObserver(Protocol):
    """A keeper of the rows that deltas overwrite."""

    def note(self, view: Any, delta: GraphDelta) -> None:
        """Note a delta that the view is about to apply."""
        ...


NO_VECTOR: Vector = np.empty(0, np.float16)


class ViewContent:
    """The content of one graph at `version`. Read it under `lock.read()`; only `LiveView.apply` writes it.

    `functional_predicates` are those that contradict each other (graph/validity): they affect how the tables are
    read, not their content.
    """

    def __init__(
        self, graph: str, indexes: VectorIndexes, functional_predicates: FunctionalPredicates = DEFAULT
    ) -> None:
        self.graph = graph
        self.version = 0
        self.lock = ReadersWriterLock()
        self.indexes = indexes
        self.exact = ExactIndexes()
        self.digests = LiveDigest()
        self.functional_predicates = functional_predicates
        self.walk = WalkGraph()
        self.relatedness = RelatednessModel()
        self.followers = Followers()
        self.about = AboutnessIndex()
        self.hierarchy = HierarchyReplica()
        self.contents = CommunityFingerprints()
        self.reports = ReportCache()
        self.summaries = EntitySummaryCache()
        self.order = EntityOrder()
        self.documents: MutableMapping[str, DocumentRow] = {}
        self.chunks: MutableMapping[int, ViewChunk] = {}
        self.text_bytes = 0
        """UTF-8 bytes of all passages."""
        self.chunk_numbers: MutableMapping[str, int] = {}
        self.labels: MutableMapping[int, ViewLabel] = (labels := NumberTable[ViewLabel]())
        self.names: Groups[str] = KeyGroups(labels, "name")
        self.statements: MutableMapping[int, ViewStatement] = NumberTable()
        self.entities: MutableMapping[int, ViewEntity] = (entities := NumberTable[ViewEntity]())
        self.entity_nodes: MutableMapping[str, int] = KeyIndex(entities, "id")
        self.neighbours: Edges = Adjacency()
        self.edge_count = 0
        self.same_as: MutableMapping[tuple[int, int], SameAsRow] = {}
        self._linked: MutableMapping[int, IntSet] = {}
        """The labels that a same-as link leads to from each label."""
        self.predicates = PredicateGroups()
        self._walked: set[tuple[int, int]] = set()
        self.changed_links: Nodes = np.empty((0, 2), np.int32)
        """The links of the walk graph that the last delta changed, (n, 2): 8 bytes each, where tuples take 100."""
        self.lowered_nodes: set[int] = set()
        """The nodes of the walk graph whose degree the last delta made smaller."""
        self.new_names: set[str] = set()
        """The names of the labels that the last delta added."""
        self.undo_logs: WeakSet[DeltaObserver] = WeakSet()
        """The logs that note each delta before it is applied, under the write lock."""

    # -- reading -------------------------------------------------------------------------------------------------------

    def content_count(self, doc_id: str) -> int:
        """Return the number of mentions and facts of a document, without the lock: approximate during a change."""
        row = self.documents.get(doc_id)
        chunks = [self.chunks.get(number) for number in row.chunks] if row else []
        return sum(len(chunk.mentions) + len(chunk.evidence) for chunk in chunks if chunk is not None)

    def entity_id(self, node: int) -> str:
        """Return the canonical name of an entity: equal for equal content, whatever the order of arrival."""
        return self.entities[node].id

    def ends(self, statement: int) -> tuple[int, int]:
        """Return the entities a statement connects (subject, object), by node."""
        triple = self.statements[statement]
        return self.labels[triple.subject].node, self.labels[triple.object].node

    def exact_indexes(self) -> VectorIndexes:
        """Return exact indexes of all vectors. Cost of the first call: the vectors of the graph."""
        return self.exact.build(self.chunks, self.entities, self.statements)

    def links_of(self, label: int) -> list[SameAsRow]:
        """Return the same-as links of a label, including those that a constraint overruled."""
        others = sorted(self._linked.get(label, ()))
        return [self.same_as[min(label, other), max(label, other)] for other in others]

    def predicate_of(self, statement: int) -> str:
        """Return the predicate of a statement under the name of its group (resolution/predicates/groups.py)."""
        return self.predicates.name(self.statements[statement].predicate)

    def named(self, name: str) -> set[int]:
        """Return the entities that a normalised name may mean, by node. Cost: its types."""
        return {self.labels[label].node for label in self.names.get(name, ())}

    def statements_of(self, node: int) -> Iterator[int]:
        """Yield the statements an entity is subject or object of, each once per end."""
        for number in self.entities[node].labels:
            yield from self.labels[number].statements

    # -- the rows again ------------------------------------------------------------------------------------------------

    def rows(self, *, vectors: bool = False) -> GraphDelta:
        """Return all tables as rows: without vectors and communities for the digest, with both for a copy of the view.

        Call under `lock.read()`. Cost: the whole graph.
        """
        tables: dict[str, Any] = {name: tuple(rows) for name, rows in row_tables(self, vectors=vectors).items()}
        return GraphDelta(
            self.graph,
            self.version,
            **tables,
            communities=self.hierarchy.hierarchy() if vectors else None,
            snapshot=True,
            predicate_links=self.predicates.links(),
        )

    def each(self, table: str, make: Callable[[Any, Any], T]) -> Iterator[T]:
        """Yield what `make` returns for the key and the row of each row of a table."""
        return (make(key, row) for key, row in getattr(self, table).items())


class RowSource(Protocol):
    """Tables of a view at one version: those of the view itself, or as they were while it follows deltas."""

    @property
    def version(self) -> int: ...

    def each(self, table: str, make: Callable[[Any, Any], T]) -> Iterator[T]:
        """Yield what `make` returns for the key and the row of each row of a table. `make` keeps neither."""
        ...


def row_tables(source: RowSource, *, vectors: bool = False) -> dict[str, Iterator[Any]]:
    """Return the rows of each table by its name in `GraphDelta`, made as they are read."""
    version = source.version

    def vector(row: ViewChunk | ViewStatement | ViewEntity) -> Vector:
        return row.vector if vectors else NO_VECTOR

    def statement(number: int, row: ViewStatement) -> TripleRow:
        fields = row.subject, row.predicate, row.object, row.count, row.weight_milli
        return TripleRow(number, *fields, b"", vector(row), version)

    def edges(u: int, ends: Neighbours) -> list[EdgeRow]:
        return [EdgeRow(u, v, edge.weight, edge.trussness) for v, edge in sorted(ends.items()) if u < v]

    return {
        "documents": source.each("documents", lambda _, row: row),
        "chunks": source.each("chunks", lambda number, row: _chunk_row(number, row, vector(row), version)),
        "labels": source.each(
            "labels", lambda number, row: LabelRow(number, row.name, row.type, row.node, row.mentions, b"")
        ),
        "mentions": chain.from_iterable(source.each("chunks", lambda _, row: row.mentions)),
        "statements": source.each("statements", statement),
        "evidence": chain.from_iterable(source.each("chunks", lambda _, row: row.evidence)),
        "same_as": source.each("same_as", lambda _, row: row),
        "entities": source.each(
            "entities",
            lambda node, row: EntityRow(node, row.name, row.type, row.labels, row.mentions, vector(row), version),
        ),
        "edges": chain.from_iterable(source.each("neighbours", edges)),
    }


def _chunk_row(number: int, chunk: ViewChunk, vector: Vector, version: int) -> ChunkRow:
    return ChunkRow(
        number,
        chunk.chunk_id,
        chunk.doc_id,
        chunk.ordinal,
        chunk.text,
        vector,
        version,
        chunk.title,
        chunk.description,
        chunk.place,
    )
