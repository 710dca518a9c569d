"""The rows from which a write model's tables are restored, and the same rows read from the model itself.

The latter are the stored rows of its version without what restoration does not read: texts, evidence, provenance, names
and vectors of entities. So a checkpoint of them replaces the snapshot of a store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from graphtide.graph.communities import Hierarchy
from graphtide.graph.consolidation.entities import Entities
from graphtide.graph.consolidation.rows import label_row
from graphtide.graph.consolidation.state import LabelState, StatementState, Tables
from graphtide.graph.records import (
    DocumentInfo,
    DocumentRow,
    EdgeRow,
    EntityRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.resolution import SameAs
from graphtide.graph.vector_store import VectorBytes
from graphtide.graph.view_state.tables import FactTables

NO_CHUNK = 0
"""The chunk of mentions that are summed over all chunks."""
NO_INFO = DocumentInfo()
NO_VECTOR: Vector = np.empty(0, np.float16)
NO_BYTES = b""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of a write model. Each table is made while it is read, once, and the model must not change meanwhile."""

    documents: Iterable[DocumentRow]
    labels: Iterable[LabelRow]
    mentions: Iterable[MentionRow]
    statements: Iterable[TripleRow]
    same_as: Iterable[SameAsRow]
    entities: Iterable[EntityRow]
    edges: Iterable[EdgeRow]
    predicate_links: tuple[tuple[str, str], ...]
    hierarchy: Hierarchy


def stored_rows(
    tables: Tables,
    entities: Entities,
    links: Iterable[SameAs],
    predicate_links: tuple[tuple[str, str], ...],
    hierarchy: Hierarchy,
) -> StoredRows:
    """Return the rows of a model's tables. Trussness, which restoration computes, is 0."""
    return StoredRows(
        documents=(DocumentRow(doc_id, 0, NO_INFO, chunks) for doc_id, chunks in tables.documents.items()),
        labels=map(label_row, tables.labels.values()),
        mentions=_mentions(tables),
        statements=_statements(tables),
        same_as=(SameAsRow(link.a, link.b, link.rule, link.score_milli) for link in links),
        entities=(EntityRow(node, "", "", members, 0, NO_VECTOR) for node, members in entities.clusters.items()),
        edges=(EdgeRow(u, v, weight, 0) for (u, v), weight in entities.topology.weights.items()),
        predicate_links=predicate_links,
        hierarchy=hierarchy,
    )


@dataclass(frozen=True, slots=True)
class ViewVectors:
    """Vectors by number that another object of the process holds, a view of the same rows: sums refer to equal ones."""

    statements: Mapping[int, VectorBytes] = field(default_factory=dict)
    entities: Mapping[int, VectorBytes] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: FactTables) -> ViewVectors:
        """Return those of a view's rows. Cost: the rows. Call under its read lock."""
        return cls(
            {number: row.vector_bytes for number, row in tables.statements.items()},
            {node: row.vector_bytes for node, row in tables.entities.items()},
        )


def fill(tables: Tables, snapshot: GraphDelta, vectors: ViewVectors) -> None:
    """Load the stored sums into empty tables."""
    for row in snapshot.labels:
        label = LabelState(row.label, (row.name, row.type), row.node)
        label.load(bytes(row.vector_sum), vectors.entities.get(row.node, NO_BYTES))
        tables.hold_label(label)
    _fill_forms(tables, snapshot.mentions)
    for triple in snapshot.statements:
        statement = StatementState(triple.statement, (triple.subject, triple.predicate, triple.object))
        statement.load(bytes(triple.vector_sum), vectors.statements.get(triple.statement, NO_BYTES))
        statement.weight_milli = triple.weight_milli
        tables.hold(statement)
        statement.placed_count = statement.count
    tables.documents = {row.doc_id: row.chunks for row in snapshot.documents}
    tables.renumber(chain.from_iterable(tables.documents.values()))


def _fill_forms(tables: Tables, mentions: Sequence[MentionRow]) -> None:
    """Count the mentions of labels that have several spellings; most have one, which has all of them."""
    first: dict[int, str] = {}
    several: dict[int, Counter[str]] = {}
    for mention in mentions:
        if first.setdefault(mention.label, mention.name) != mention.name:
            several[mention.label] = Counter()
    for mention in mentions:
        if (counts := several.get(mention.label)) is not None:
            counts[mention.name] += mention.count
    for number, form in first.items():
        label = tables.labels[number]
        label.forms = several.get(number) or Counter({form: label.mentions})


def _mentions(tables: Tables) -> Iterator[MentionRow]:
    for label in tables.labels.values():
        for form, count in label.forms.items():
            yield MentionRow(label.number, NO_CHUNK, form, "", count)


def _statements(tables: Tables) -> Iterator[TripleRow]:
    for one in tables.statements.values():
        yield TripleRow(one.number, *one.key, one.count, one.weight_milli, one.encoding(), NO_VECTOR)
