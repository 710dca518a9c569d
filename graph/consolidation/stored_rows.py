"""The rows from which a write model is restored, read from the model itself.

They are the stored rows of its version without what restoration does not read: texts, evidence, provenance, names and
vectors of entities. So a checkpoint of them replaces the snapshot of a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from graphtide.graph.communities import Hierarchy
from graphtide.graph.consolidation.entities import Entities
from graphtide.graph.consolidation.rows import label_row
from graphtide.graph.consolidation.state import Tables
from graphtide.graph.records import (
    DocumentInfo,
    DocumentRow,
    EdgeRow,
    EntityRow,
    LabelRow,
    MentionRow,
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.resolution import SameAs

NO_CHUNK = 0
"""The chunk of mentions that are summed over all chunks."""
NO_INFO = DocumentInfo()
NO_VECTOR: Vector = np.empty(0, np.float16)


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


def _mentions(tables: Tables) -> Iterator[MentionRow]:
    for label in tables.labels.values():
        for form, count in label.forms.items():
            yield MentionRow(label.number, NO_CHUNK, form, "", count)


def _statements(tables: Tables) -> Iterator[TripleRow]:
    for one in tables.statements.values():
        yield TripleRow(one.number, *one.key, one.count, one.weight_milli, one.encoding(), NO_VECTOR)
