"""The write model of one graph: takes changes of documents, keeps everything derived current, says what changed.

It owns labels, statements, their clusters, the topology and the kernels (trussness, communities); it holds no text,
no provenance and no index, which live in `graph.view`. It is not durable: it is restored from a snapshot.

Invariant (the one law): after any sequence of `apply`, the rows that the deltas add up to are those of one `apply`
of all live extractions to an empty consolidator, but for inner ints and communities.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graph import communities, trussness
from graph.communities.guard import DriftGuard, Partition
from graph.consolidation.netting import (
    Net,
    Seen,
    Triple,
    UnitPlan,
    as_vector,
    label_keys,
    plan_units,
    predicate_key,
    repeats,
)
from graph.consolidation.state import Label, LabelKey, Numbers, Statement, StatementKey
from graph.consolidation.topology import EdgeKey, Topology, edge_pairs, placement
from graph.identity import chunk_id
from graph.records import (
    Change,
    ChunkRow,
    DocumentRow,
    EdgeRow,
    EntityRow,
    EvidenceRow,
    Extraction,
    Gone,
    GraphDelta,
    LabelRow,
    MentionRow,
    SameAsRow,
    StatementRow,
    Unit,
    Vector,
)
from graph.resolution.judgement import LabelView, PairKey
from graph.resolution.resolver import ClusterChange, Resolver, SameAs
from graph.vector_sum import VectorSum, mean_of_means


@dataclass(slots=True)
class _Batch:
    """What one `apply` has touched so far."""

    net: Net = field(default_factory=Net)
    plans: list[tuple[Change, UnitPlan]] = field(default_factory=list)
    labels: set[int] = field(default_factory=set)
    judged: dict[int, LabelView | None] = field(default_factory=dict)
    statements: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    gone_labels: list[int] = field(default_factory=list)
    gone_statements: list[int] = field(default_factory=list)
    gone_nodes: list[int] = field(default_factory=list)
    gone_chunks: list[int] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """A copy of the topology, (n, 2) edges with weights (n,), and the modularity of the communities kept on it."""

    edges: np.ndarray
    weights: np.ndarray
    modularity: float


class Consolidator:
    """See the module. One owner; not safe to share between threads."""

    def __init__(
        self, graph: str, guard: DriftGuard | None = None, verdicts: Mapping[PairKey, bool] | None = None
    ) -> None:
        """An empty graph. `verdicts` are what a judge has said of pairs of labels so far: input, like documents."""
        self.graph = graph
        self.version = 0
        self._documents: dict[str, tuple[int, ...]] = {}
        self._labels: dict[int, Label] = {}
        self._label_numbers: dict[LabelKey, int] = {}
        self._statements: dict[int, Statement] = {}
        self._statement_numbers: dict[StatementKey, int] = {}
        self._clusters: dict[int, frozenset[int]] = {}
        self._numbers = {kind: Numbers() for kind in ("label", "statement", "chunk", "node")}
        self._resolver = Resolver(verdicts)
        self._topology = Topology()
        self._trussness = trussness.build(np.empty((0, 2), np.int32))
        self._communities = communities.build(np.empty((0, 2), np.int32), np.empty(0, np.int64))
        self._guard = guard or DriftGuard()

    @classmethod
    def restore(
        cls, snapshot: GraphDelta, guard: DriftGuard | None = None, verdicts: Mapping[PairKey, bool] | None = None
    ) -> Consolidator:
        """The write model as it was when the snapshot's rows were written. Cost: linear in the rows."""
        restored = cls(snapshot.graph, guard, verdicts)
        restored.version = snapshot.version
        restored._restore_contributions(snapshot)
        restored._restore_derived(snapshot)
        return restored

    @property
    def kernels(self) -> Mapping[str, str]:
        """Which implementation each kernel runs on."""
        return {"trussness": self._trussness.name, "communities": self._communities.name}

    def hierarchy(self) -> communities.Hierarchy:
        """The communities as they stand, whole. Cost: linear in the nodes."""
        return self._communities.hierarchy()

    def borderline(self, most: int) -> list[PairKey]:
        """Up to `most` pairs of labels that the rules leave to a judge and that no verdict is known of."""
        keys = ((self._labels[a].key, self._labels[b].key) for a, b in self._resolver.borderline())
        return [(a, b) if a <= b else (b, a) for a, b in itertools.islice(keys, most)]

    def decide(self, pair: PairKey, same: bool) -> GraphDelta | None:
        """Take a judge's verdict on a pair, and say what it changed; None when one of the labels is gone by now.

        A verdict is remembered for as long as this object lives; keeping it beyond is the caller's part.
        """
        numbers = [self._label_numbers.get(key) for key in pair]
        if numbers[0] is None or numbers[1] is None:
            return None
        batch = _Batch()
        clusters = self._resolver.decide((numbers[0], numbers[1]), same)
        self._place_clusters(clusters, batch)
        self._place_statements(batch)
        delta = self._emit(batch, clusters)
        self._forget(batch)
        return delta

    def drift_check(self) -> DriftCheck | None:
        """When enough of the graph changed since the last check: what a fresh Leiden run is to be compared with.

        The check itself (`graph.communities.guard.leiden`) works on this copy, in any thread. Cost: the edges.
        """
        if not self._guard.due(self._communities.total_weight):
            return None
        self._guard.started()
        edges, weights = self._communities.edges()
        return DriftCheck(edges, weights, self._communities.modularity())

    def adopt(self, check: DriftCheck, fresh: Partition) -> GraphDelta | None:
        """Take a fresh partition over where it is better by more than the guard's tolerance; None where it is not."""
        if not self._guard.adopts(check.modularity, fresh):
            return None
        self.version += 1
        change = self._communities.adopt(fresh.nodes, fresh.labels)
        return GraphDelta(self.graph, self.version, communities=change)

    def violations(self) -> list[str]:
        """What the trussness self-check finds wrong; empty when it proves every value exact."""
        return self._trussness.violations()

    def apply(self, changes: Sequence[Change]) -> GraphDelta:
        """Take the changes (at most one a document) as one batch, and return what they changed, at the next version.

        `old` must be what the graph holds of the document: ValueError otherwise, with nothing changed.
        Cost: what the changed units contribute and the neighbourhoods they touch; not the size of the graph.
        """
        batch = _Batch()
        self._check(changes)
        for change in changes:
            self._plan(change, batch)
        self._apply_labels(batch)
        clusters = self._resolver.update(batch.judged)
        self._apply_triples(batch)
        self._place_clusters(clusters, batch)
        self._place_statements(batch)
        delta = self._emit(batch, clusters)
        self._forget(batch)
        return delta

    # -- what a document contributes -----------------------------------------------------------------------------

    def _check(self, changes: Sequence[Change]) -> None:
        if len({change.doc_id for change in changes}) != len(changes):
            raise ValueError("a batch holds one change a document")
        for change in changes:
            held, given = self._documents.get(change.doc_id), len(change.old.units) if change.old else None
            if (None if held is None else len(held)) != given:
                raise ValueError(f"document {change.doc_id!r}: the graph does not hold the old revision that was given")

    def _plan(self, change: Change, batch: _Batch) -> None:
        plan = plan_units(change, self._documents.get(change.doc_id, ()))
        for unit, chunk in plan.retracted:
            batch.net.count(unit, -1)
            batch.gone_chunks.append(chunk)
        units = change.new.units if change.new else ()
        for index in plan.added:
            batch.net.count(units[index], 1)
        batch.plans.append((change, plan))

    def _apply_labels(self, batch: _Batch) -> None:
        for key, seen in batch.net.labels.items():
            changes = {how: count for how, count in seen.items() if count}
            if changes:
                self._change_label(key, changes, batch)

    def _change_label(self, key: LabelKey, changes: Mapping[Seen, int], batch: _Batch) -> None:
        label = self._label(key)
        fresh, before = not label.mentions, label.vectors.mean()
        for (form, vector), count in changes.items():
            label.mentions += count
            label.forms[form] += count
            _add(label.vectors, vector, count)
        label.forms = +label.forms
        batch.labels.add(label.number)
        if not label.mentions:
            batch.judged[label.number] = None
            batch.gone_labels.append(label.number)
            return
        after = label.vectors.mean()
        if fresh or not _same(before, after):
            batch.judged[label.number] = LabelView(*key, after)

    def _apply_triples(self, batch: _Batch) -> None:
        for triple, said in batch.net.triples.items():
            changes = {how: count for how, count in said.items() if count}
            if changes:
                statement = self._statement(triple)
                for (weight_milli, vector), count in changes.items():
                    statement.count += count
                    statement.weight_milli += weight_milli * count
                    _add(statement.vectors, vector, count)
                batch.statements.add(statement.number)
                if not statement.count:
                    batch.gone_statements.append(statement.number)

    def _label(self, key: LabelKey) -> Label:
        number = self._label_numbers.get(key)
        if number is None:
            number = self._label_numbers[key] = self._numbers["label"].take()
            self._labels[number] = Label(number, key)
        return self._labels[number]

    def _statement(self, triple: Triple) -> Statement:
        subject, predicate, object_ = triple
        key = (self._label_numbers[subject], predicate, self._label_numbers[object_])
        number = self._statement_numbers.get(key)
        if number is None:
            number = self._statement_numbers[key] = self._numbers["statement"].take()
            self._statements[number] = Statement(number, key)
            for end in (key[0], key[2]):
                self._labels[end].statements.add(number)
        return self._statements[number]

    # -- entities and edges ----------------------------------------------------------------------------------------

    def _place_clusters(self, change: ClusterChange, batch: _Batch) -> None:
        """Give every new cluster a node: of those its labels came from, the one that brings most statements along."""
        freed = {self._labels[next(iter(cluster))].node for cluster in change.dissolved}
        freed.discard(-1)
        claims: dict[tuple[int, frozenset[int]], int] = defaultdict(int)
        for cluster in change.formed:
            for number in cluster:
                label = self._labels[number]
                if label.node in freed:
                    claims[label.node, cluster] += 1 + len(label.statements)
        taken: dict[frozenset[int], int] = {}
        for (node, cluster), _ in sorted(claims.items(), key=lambda claim: (-claim[1], claim[0][0])):
            if node in freed and cluster not in taken:
                taken[cluster] = node
                freed.discard(node)
        for cluster in change.formed:
            self._move(cluster, taken.get(cluster, -1), batch)
        batch.gone_nodes.extend(freed)
        for node in freed:
            del self._clusters[node]

    def _move(self, cluster: frozenset[int], node: int, batch: _Batch) -> None:
        if node < 0:
            node = self._numbers["node"].take()
        self._clusters[node] = cluster
        batch.nodes.add(node)
        for number in cluster:
            label = self._labels[number]
            if label.node != node:
                label.node = node
                batch.moved.add(number)

    def _place_statements(self, batch: _Batch) -> None:
        touched = set(batch.statements)
        for number in batch.moved:
            touched |= self._labels[number].statements
        for number in touched:
            statement = self._statements[number]
            subject, object_ = self._labels[statement.key[0]].node, self._labels[statement.key[2]].node
            now = placement(subject, object_, statement.count)
            if now == statement.placed:
                continue
            if statement.placed:
                self._topology.lift(statement.placed)
            if now:
                self._topology.place(now)
            statement.placed = now

    # -- what changed ------------------------------------------------------------------------------------------------

    def _emit(self, batch: _Batch, clusters: ClusterChange) -> GraphDelta:
        self.version += 1
        edges = self._topology.changed()
        weights = np.array([new - old for _, old, new in edges], np.int64)
        self._guard.note(weights)
        edge_rows, gone_edges = self._edge_rows(edges)
        documents, gone_documents, chunks, mentions, evidence = self._emit_documents(batch)
        gone_labels, gone_statements = set(batch.gone_labels), set(batch.gone_statements)
        live = (batch.labels | batch.moved) - gone_labels
        nodes = batch.nodes | {self._labels[number].node for number in batch.labels - gone_labels}
        return GraphDelta(
            self.graph,
            self.version,
            Gone(
                gone_documents,
                tuple(sorted(batch.gone_chunks)),
                tuple(sorted(gone_labels)),
                tuple(sorted(gone_statements)),
                tuple((link.a, link.b) for link in clusters.links_removed),
                tuple(sorted(batch.gone_nodes)),
                gone_edges,
            ),
            documents,
            chunks,
            tuple(self._label_row(number) for number in sorted(live)),
            mentions,
            tuple(self._statement_row(number) for number in sorted(batch.statements - gone_statements)),
            evidence,
            tuple(SameAsRow(link.a, link.b, link.rule, link.score_milli) for link in clusters.links_added),
            tuple(self._entity_row(node) for node in sorted(nodes)),
            edge_rows,
            self._communities.update(_pairs([key for key, _, _ in edges]), weights),
        )

    def _edge_rows(self, changes: list[tuple[EdgeKey, int, int]]) -> tuple[tuple[EdgeRow, ...], tuple[EdgeKey, ...]]:
        gone = edge_pairs(changes, appeared=False)
        change = self._trussness.update(_pairs(edge_pairs(changes, appeared=True)), _pairs(gone))
        values = dict(zip(map(tuple, change.edges.tolist()), change.values.tolist(), strict=True))
        for (u, v), _, new in changes:
            if new and (u, v) not in values:
                values[u, v] = self._trussness.trussness(u, v)
        rows = (EdgeRow(u, v, self._topology.weights[u, v], value) for (u, v), value in sorted(values.items()))
        return tuple(rows), tuple(gone)

    def _emit_documents(
        self, batch: _Batch
    ) -> tuple[
        tuple[DocumentRow, ...],
        tuple[str, ...],
        tuple[ChunkRow, ...],
        tuple[MentionRow, ...],
        tuple[EvidenceRow, ...],
    ]:
        documents: list[DocumentRow] = []
        gone: list[str] = []
        chunks: list[ChunkRow] = []
        mentions: list[MentionRow] = []
        evidence: list[EvidenceRow] = []
        for change, plan in batch.plans:
            if change.new is None:
                gone.append(change.doc_id)
                self._documents.pop(change.doc_id, None)
                continue
            numbers = self._emit_chunks(change, change.new, plan, chunks)
            for index in plan.added:
                unit = change.new.units[index]
                mentions.extend(self._mention_rows(unit, numbers[index]))
                evidence.extend(self._evidence_rows(unit, numbers[index]))
            self._documents[change.doc_id] = numbers
            documents.append(DocumentRow(change.doc_id, change.new.revision, change.new.info, numbers))
        return tuple(documents), tuple(gone), tuple(chunks), tuple(mentions), tuple(evidence)

    def _emit_chunks(self, change: Change, new: Extraction, plan: UnitPlan, rows: list[ChunkRow]) -> tuple[int, ...]:
        held = {}
        if change.old:
            places = zip(self._documents[change.doc_id], repeats(change.old), strict=True)
            held = {chunk: (place, repeat) for place, (chunk, repeat) in enumerate(places)}
        numbers = []
        for place, (unit, repeat) in enumerate(zip(new.units, repeats(new), strict=True)):
            kept = plan.kept.get(place)
            number = self._numbers["chunk"].take() if kept is None else kept
            numbers.append(number)
            if kept is None or held[kept] != (place, repeat):
                name = chunk_id(new.doc_id, unit.text, repeat)
                rows.append(ChunkRow(number, name, new.doc_id, place, unit.text, unit.vector, self.version))
        return tuple(numbers)

    def _mention_rows(self, unit: Unit, chunk: int) -> Iterable[MentionRow]:
        counts: Counter[tuple[int, str, str]] = Counter()
        for key, mention in zip(label_keys(unit), unit.mentions, strict=True):
            counts[self._label_numbers[key], mention.name, mention.description] += 1
        return [MentionRow(label, chunk, name, said, n) for (label, name, said), n in counts.items()]

    def _evidence_rows(self, unit: Unit, chunk: int) -> Iterable[EvidenceRow]:
        keys = [self._label_numbers[key] for key in label_keys(unit)]
        rows: Counter[tuple[int, str, str, int, str, str]] = Counter()
        for fact in unit.facts:
            number = self._statement_numbers[keys[fact.subject], predicate_key(fact.predicate), keys[fact.object]]
            rows[number, fact.description, fact.sentence, fact.weight_milli, fact.valid_from, fact.valid_to] += 1
        return [
            EvidenceRow(number, chunk, said, sentence, weight, n, since, till)
            for (number, said, sentence, weight, since, till), n in rows.items()
        ]

    def _label_row(self, number: int) -> LabelRow:
        label = self._labels[number]
        return LabelRow(number, *label.key, label.node, label.mentions, label.vectors.to_bytes())

    def _statement_row(self, number: int) -> StatementRow:
        statement = self._statements[number]
        subject, predicate, object_ = statement.key
        counts = (statement.count, statement.weight_milli, statement.vectors.to_bytes())
        return StatementRow(
            number, subject, predicate, object_, *counts, _stored(statement.vectors.mean()), self.version
        )

    def _entity_row(self, node: int) -> EntityRow:
        """The entity as its labels make it: commonest spelling and type (ties by name), second mean of the vectors."""
        labels = sorted((self._labels[number] for number in self._clusters[node]), key=lambda label: label.key)
        forms: Counter[str] = Counter()
        types: Counter[str] = Counter()
        for label in labels:
            forms.update(label.forms)
            if label.key[1]:
                types[label.key[1]] += label.mentions
        return EntityRow(
            node,
            _commonest(forms),
            _commonest(types),
            tuple(label.number for label in labels),
            sum(label.mentions for label in labels),
            _stored(mean_of_means(label.vectors.mean() for label in labels)),
            self.version,
        )

    def _forget(self, batch: _Batch) -> None:
        """Drop what died, and make its numbers free for the next batch."""
        for number in batch.gone_statements:
            statement = self._statements.pop(number)
            del self._statement_numbers[statement.key]
            for end in (statement.key[0], statement.key[2]):
                self._labels[end].statements.discard(number)
            self._numbers["statement"].release(number)
        for number in batch.gone_labels:
            del self._label_numbers[self._labels.pop(number).key]
            self._numbers["label"].release(number)
        for kind, numbers in (("node", batch.gone_nodes), ("chunk", batch.gone_chunks)):
            for number in numbers:
                self._numbers[kind].release(number)
        for held in self._numbers.values():
            held.settle()

    # -- restoring ---------------------------------------------------------------------------------------------------

    def _restore_contributions(self, snapshot: GraphDelta) -> None:
        for row in snapshot.labels:
            key = (row.name, row.type)
            self._labels[row.label] = Label(
                row.label, key, row.node, row.mentions, vectors=VectorSum.from_bytes(row.vector_sum)
            )
            self._label_numbers[key] = row.label
        for mention in snapshot.mentions:
            self._labels[mention.label].forms[mention.name] += mention.count
        for said in snapshot.statements:
            ends = (said.subject, said.predicate, said.object)
            statement = Statement(
                said.statement, ends, said.count, said.weight_milli, VectorSum.from_bytes(said.vector_sum)
            )
            subject, object_ = self._labels[said.subject], self._labels[said.object]
            statement.placed = placement(subject.node, object_.node, said.count)
            self._statements[said.statement] = statement
            self._statement_numbers[ends] = said.statement
            subject.statements.add(said.statement)
            object_.statements.add(said.statement)
        self._documents = {row.doc_id: row.chunks for row in snapshot.documents}

    def _restore_derived(self, snapshot: GraphDelta) -> None:
        self._clusters = {row.node: frozenset(row.labels) for row in snapshot.entities}
        views = {number: LabelView(*label.key, label.vectors.mean()) for number, label in self._labels.items()}
        self._resolver.restore(views, [SameAs(row.a, row.b, row.rule, row.score_milli) for row in snapshot.same_as])
        self._topology.weights = {(row.u, row.v): row.weight for row in snapshot.edges}
        edges = _pairs(list(self._topology.weights))
        weights = np.array(list(self._topology.weights.values()), np.int64)
        self._trussness = trussness.build(edges)
        hierarchy = snapshot.communities if isinstance(snapshot.communities, communities.Hierarchy) else None
        self._communities = communities.build(edges, weights, snapshot=hierarchy)
        self._numbers = {
            "label": Numbers(self._labels),
            "statement": Numbers(self._statements),
            "chunk": Numbers(row.chunk for row in snapshot.chunks),
            "node": Numbers(self._clusters),
        }


def _add(total: VectorSum, vector: bytes, count: int) -> None:
    if count > 0:
        total.add(as_vector(vector), count)
    else:
        total.retract(as_vector(vector), -count)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _stored(mean: np.ndarray | None) -> Vector:
    """A mean as a row keeps it; vectors that cancel out leave none, and nothing is near them."""
    return np.empty(0, np.float16) if mean is None else mean.astype(np.float16)


def _commonest(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name)) if counts else ""


def _pairs(edges: Sequence[EdgeKey]) -> np.ndarray:
    return np.array(edges, np.int32).reshape(-1, 2)
