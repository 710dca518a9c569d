"""The write model of one graph: applies changes of documents, updates all derived data, and returns the delta.

It holds labels, statements, their clusters, the topology and the kernels (trussness, communities). Text, provenance and
indexes are in `graphtide.graph.view`. It is not durable: it is restored from a snapshot.

Invariant (incremental = rebuilt): after any sequence of `apply`, the sum of the deltas has the same rows as one `apply`
of all live extractions to an empty consolidator, except for internal ints and communities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphtide.graph import communities
from graphtide.graph.algorithms.in_parts import sorted_in_parts
from graphtide.graph.algorithms.trussness import Trussness
from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.communities.drift import DriftGuard, Partition
from graphtide.graph.consolidation.entities import Entities, PlacementResult
from graphtide.graph.consolidation.judge_questions import label_questions, predicate_questions
from graphtide.graph.consolidation.kernel_work import KernelWork, kernel_work_of
from graphtide.graph.consolidation.predicate_features import LivePredicates
from graphtide.graph.consolidation.rows import document_rows, entity_row, label_row, statement_row
from graphtide.graph.consolidation.signed_counts import (
    LabelKey,
    MentionKey,
    SignedCounts,
    UnitDiff,
    as_vector,
    counted,
    diff_units,
)
from graphtide.graph.consolidation.state import EdgeKey, LabelState, Tables
from graphtide.graph.consolidation.stored_rows import StoredRows, ViewVectors, fill, stored_rows
from graphtide.graph.consolidation.topology import edge_array, edge_pairs
from graphtide.graph.int_sets import shared_value
from graphtide.graph.records import DocumentChange, EdgeRow, GraphDelta, Removals, SameAsRow
from graphtide.graph.resolution import (
    ClusterChange,
    PairKey,
    PairQuestion,
    Resolver,
    SameAs,
    Verdict,
    rounded,
)
from graphtide.graph.resolution.predicates.pairs import is_predicate_pair
from graphtide.graph.resolution.predicates.resolver import PredicateResolver, has_link
from graphtide.graph.vector_sum import VectorSum


@dataclass(slots=True)
class _Batch:
    """The labels, statements, nodes and edges touched so far by one change of the graph."""

    plans: list[tuple[DocumentChange, UnitDiff]] = field(default_factory=list)
    labels: set[int] = field(default_factory=set)
    judged: dict[int, LabelState | None] = field(default_factory=dict)
    """The labels to resolve again, in the order of their first change; None for a removed one."""
    means: set[int] = field(default_factory=set)
    """The labels with another mean, and those removed."""
    statements: set[int] = field(default_factory=set)
    described: set[int] = field(default_factory=set)
    """The labels whose statements are others than before."""
    gone_labels: set[int] = field(default_factory=set)
    gone_statements: set[int] = field(default_factory=set)
    gone_chunks: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DriftSnapshot:
    """A copy of the topology, (n, 2) edges with weights (n,), and the modularity of its maintained communities."""

    edges: np.ndarray
    weights: np.ndarray
    modularity: float


class Consolidator:
    """The write model; see the module. It has one owner and is not safe to share between threads."""

    def __init__(
        self,
        graph: str,
        guard: DriftGuard | None = None,
        verdicts: Mapping[PairKey, Verdict] | None = None,
        *,
        synonyms: bool = False,
        predicates: bool = False,
    ) -> None:
        """Create an empty graph. `verdicts` are a judge's decisions on pairs of labels: input, like documents.

        With `synonyms`, `borderline` also returns pairs with similar vectors, with `predicates` pairs of predicates. No
        row depends on either.
        """
        self.graph = graph
        self.version = 0
        self._tables = Tables()
        by_label = {pair: verdict for pair, verdict in (verdicts or {}).items() if not is_predicate_pair(pair)}
        self._resolver = Resolver(by_label, synonyms=synonyms)
        resolver = PredicateResolver(verdicts or {}) if predicates or has_link(verdicts or {}) else None
        self._predicates = LivePredicates(self._tables, resolver) if resolver else None
        self._entities = Entities(self._tables)
        self._trussness = Trussness(edge_array([]))
        self._communities = communities.build(edge_array([]), np.empty(0, np.int64))
        self._guard = guard or DriftGuard()

    @classmethod
    def restore(
        cls,
        snapshot: GraphDelta,
        guard: DriftGuard | None = None,
        verdicts: Mapping[PairKey, Verdict] | None = None,
        *,
        synonyms: bool = False,
        predicates: bool = False,
        vectors: ViewVectors | None = None,
    ) -> Consolidator:
        """Restore the write model as of the snapshot. Its sums refer to the `vectors` of a view that equal them.

        Cost: linear in the rows.
        """
        restored = cls(snapshot.graph, guard, verdicts, synonyms=synonyms, predicates=predicates)
        restored.version = snapshot.version
        fill(restored._tables, snapshot, vectors or ViewVectors())
        restored._entities.restore((row.node, row.labels) for row in snapshot.entities)
        restored._restore_derived(snapshot)
        return restored

    def kernel_work(self) -> KernelWork:
        """Return the kernels' work since this object was made or restored; O(1)."""
        return kernel_work_of(self._trussness, self._communities)

    def hierarchy(self) -> communities.Hierarchy:
        """Return the whole present hierarchy of communities. Cost: linear in the nodes."""
        return self._communities.hierarchy()

    def stored_rows(self) -> StoredRows:
        """Return the rows from which `restore` makes this model again, between two changes."""
        links = self._predicates.resolver.stored_links if self._predicates is not None else ()
        return stored_rows(self._tables, self._entities, self._resolver.links(), links, self.hierarchy())

    def violations(self) -> list[str]:
        """Return the errors that the trussness self-check finds; empty when it proves every value exact."""
        return self._trussness.violations()

    # -- changes -------------------------------------------------------------------------------------------------------

    def apply(self, changes: Sequence[DocumentChange]) -> GraphDelta:
        """Apply the changes (at most one per document) as one batch, and return the delta to the next version.

        `old` must be what the graph holds of the document; otherwise raises ValueError and changes nothing. Cost: the
        contributions of the changed units and the neighbourhoods they touch; not the size of the graph.
        """
        self._check(changes)
        batch = _Batch()
        for change in changes:
            self._plan(change, batch)
        for net in counted(batch.plans):
            self._count_labels(net, batch)
            self._count_statements(net, batch)
        clusters = self._resolver.update(batch.judged)
        if self._resolver.proposes_synonyms:
            self._resolver.note_contexts(batch.described)
        if self._predicates is not None:
            self._predicates.follow(batch.statements, batch.gone_statements, batch.means)
        return self._conclude(batch, clusters)

    def borderline(self, limit: int) -> list[PairQuestion]:
        """Return up to `limit` questions to a judge: pairs that the rules leave open, then those found by vectors, then
        pairs of predicates.

        A pair found by vectors is asked about when no verdict on it saw the present statements. Cost: the sorted pairs,
        and the statements of the labels in those that changed since the last call.
        """
        questions = label_questions(self._tables, self._resolver, limit)
        if self._predicates is not None:
            questions += predicate_questions(self._predicates.resolver, limit - len(questions))
        return questions

    def decide(self, pair: PairKey, verdict: Verdict) -> GraphDelta | None:
        """Apply a judge's verdict on a pair and return the delta; None when one of the labels no longer exists, or two
        predicates are no candidates any more.

        `verdict` is that of the question (`PairQuestion.verdict`). It is kept for the lifetime of this object; the
        caller makes it durable.
        """
        if is_predicate_pair(pair):
            decided = self._predicates is not None and self._predicates.resolver.decide(pair, verdict)
            return self._conclude(_Batch(), ClusterChange()) if decided else None
        a, b = (self._tables.label_numbers.get(key) for key in pair)
        if a is None or b is None:
            return None
        return self._conclude(_Batch(), self._resolver.decide((a, b), verdict))

    def drift_check(self) -> DriftSnapshot | None:
        """Return the input of a comparison with a fresh Leiden run, or None while too little changed since the last
        check.

        The check itself (`graph.communities.drift.leiden`) works on this copy, in any thread. Cost: the edges.
        """
        if not self._guard.due(self._communities.total_weight):
            return None
        self._guard.started()
        edges, weights = self._communities.edges()
        return DriftSnapshot(edges, weights, self._communities.modularity())

    def adopt(self, check: DriftSnapshot, fresh: Partition) -> GraphDelta | None:
        """Adopt a fresh partition that is better by more than the guard's tolerance and return the delta; None
        otherwise.
        """
        if not self._guard.adopts(check.modularity, fresh):
            return None
        self.version += 1
        change = self._communities.adopt(fresh.nodes, fresh.labels)
        return GraphDelta(self.graph, self.version, communities=change)

    # -- what documents contribute -------------------------------------------------------------------------------------

    def _check(self, changes: Sequence[DocumentChange]) -> None:
        if len({change.doc_id for change in changes}) != len(changes):
            raise ValueError("a batch must hold at most one change per document")
        for change in changes:
            stored, given = self._tables.documents.get(change.doc_id), len(change.old.units) if change.old else None
            if (None if stored is None else len(stored)) != given:
                raise ValueError(f"document {change.doc_id!r}: the graph does not hold the given old revision")

    def _plan(self, change: DocumentChange, batch: _Batch) -> None:
        plan = diff_units(change, self._tables.documents.get(change.doc_id, ()))
        batch.gone_chunks.extend(chunk for _, chunk in plan.retracted)
        batch.plans.append((change, plan))

    def _count_labels(self, net: SignedCounts, batch: _Batch) -> None:
        for key, seen in with_yields(net.labels.items()):
            changes = {how: count for how, count in seen.items() if count}
            if changes:
                self._count_label(key, changes, batch)

    def _count_label(self, key: LabelKey, changes: Mapping[MentionKey, int], batch: _Batch) -> None:
        """Change a label's sums, and resolve it again if it is new, removed, or has another `rounded` mean."""
        label = self._tables.label(key)
        fresh, before, forms = not label.mentions, label.mean(), label.forms
        for (form, vector), count in changes.items():
            forms[form] += count
            _add(label, vector, count)
        label.forms = forms
        batch.labels.add(label.number)
        if not label.mentions:
            batch.judged[label.number] = None
            batch.means.add(label.number)
            batch.gone_labels.add(label.number)
            return
        after = None if fresh else label.mean()
        if fresh or not _same(before, after):
            batch.means.add(label.number)
            if fresh or not _same(rounded(before), rounded(after)):
                batch.judged[label.number] = label

    def _count_statements(self, net: SignedCounts, batch: _Batch) -> None:
        for triple, forms in with_yields(net.triples.items()):
            changes = {how: count for how, count in forms.items() if count}
            if not changes:
                continue
            statement = self._tables.statement(triple)
            before = statement.count
            for (weight_milli, vector), count in changes.items():
                statement.weight_milli = shared_value(statement.weight_milli + weight_milli * count)
                _add(statement, vector, count)
            batch.statements.add(statement.number)
            if not before or not statement.count:
                batch.described.update(statement.ends)
            if not statement.count:
                batch.gone_statements.add(statement.number)

    # -- what follows from it ------------------------------------------------------------------------------------------

    def _conclude(self, batch: _Batch, clusters: ClusterChange) -> GraphDelta:
        """Update entities, edges and kernels, return the delta, and drop the labels and statements whose count became
        zero.
        """
        self.version += 1
        placed = self._entities.place(clusters, batch.statements)
        delta = self._delta(batch, clusters, placed)
        self._tables.forget(batch.gone_labels, batch.gone_statements, batch.gone_chunks)
        self._entities.forget(placed.gone)
        return delta

    def _delta(self, batch: _Batch, clusters: ClusterChange, placed: PlacementResult) -> GraphDelta:
        tables, version = self._tables, self.version
        edges = self._entities.topology.changed()
        edge_rows, gone_edges = self._edge_rows(edges)
        documents = document_rows(tables, batch.plans, version)
        live = batch.labels - batch.gone_labels
        linked, unlinked = self._predicates.resolver.drain() if self._predicates is not None else ((), ())
        nodes = placed.nodes | {tables.labels[number].node for number in live}
        gone = Removals(
            tuple(documents.gone),
            tuple(sorted(batch.gone_chunks)),
            tuple(sorted(batch.gone_labels)),
            tuple(sorted(batch.gone_statements)),
            tuple((link.a, link.b) for link in clusters.links_removed),
            tuple(placed.gone),
            gone_edges,
            unlinked,
        )
        stated = sorted(batch.statements - batch.gone_statements)
        return GraphDelta(
            self.graph,
            version,
            gone,
            tuple(documents.documents),
            tuple(documents.chunks),
            tuple(
                label_row(tables.labels[number])
                for number in with_yields(sorted(live | (placed.moved.keys() - batch.gone_labels)))
            ),
            tuple(documents.mentions),
            tuple(statement_row(tables, number, version) for number in with_yields(stated)),
            tuple(documents.evidence),
            tuple(SameAsRow(link.a, link.b, link.rule, link.score_milli) for link in clusters.links_added),
            tuple(entity_row(node, self._members(node), version) for node in with_yields(sorted(nodes))),
            edge_rows,
            self._follow_weights(edges),
            predicate_links=linked,
        )

    def _members(self, node: int) -> list[LabelState]:
        return [self._tables.labels[number] for number in self._entities.clusters[node]]

    def _edge_rows(self, changes: list[tuple[EdgeKey, int, int]]) -> tuple[tuple[EdgeRow, ...], tuple[EdgeKey, ...]]:
        """Return the rows of edges whose weight or trussness changed, and the removed edges."""
        gone = edge_pairs(changes, appeared=False)
        change = self._trussness.update(edge_array(edge_pairs(changes, appeared=True)), edge_array(gone))
        values = {(u, v): value for (u, v), value in zip(change.edges.tolist(), change.values.tolist(), strict=True)}
        for (u, v), _, new in with_yields(changes):
            if new and (u, v) not in values:
                values[u, v] = self._trussness.trussness(u, v)
        weights = self._entities.topology.weights
        return tuple(EdgeRow(u, v, weights[u, v], value) for (u, v), value in sorted_in_parts(values.items())), tuple(
            gone
        )

    def _follow_weights(self, changes: list[tuple[EdgeKey, int, int]]) -> communities.CommunityChange:
        deltas = np.array([new - old for _, old, new in changes], np.int64)
        self._guard.note(deltas)
        return self._communities.update(edge_array([key for key, _, _ in changes]), deltas)

    def _restore_derived(self, snapshot: GraphDelta) -> None:
        links = [SameAs(row.a, row.b, row.rule, row.score_milli) for row in snapshot.same_as]
        self._resolver.restore(self._tables.labels.items(), links)
        if self._predicates is not None:
            self._predicates.resolver.know(snapshot.predicate_links)
            self._predicates.follow(self._tables.statements, (), ())
        for row in snapshot.edges:
            self._entities.topology.weights[row.u, row.v] = row.weight
        edges = edge_array([(row.u, row.v) for row in snapshot.edges])
        weights = np.array([row.weight for row in snapshot.edges], np.int64)
        hierarchy = snapshot.communities if isinstance(snapshot.communities, communities.Hierarchy) else None
        self._trussness = Trussness(edges)
        self._communities = communities.build(edges, weights, snapshot=hierarchy)


def _add(total: VectorSum, vector: bytes, count: int) -> None:
    if count > 0:
        total.add(as_vector(vector), count)
    else:
        total.retract(as_vector(vector), -count)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
