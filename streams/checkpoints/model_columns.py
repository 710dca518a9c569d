"""The rows of a write model as columns, in parts, so that not all of them are in memory at a time.

Invariant: a write model that is restored from `model_snapshot(… model_columns(rows) …)` equals the one whose rows they
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.consolidation.stored_rows import NO_CHUNK, NO_INFO, NO_VECTOR, StoredRows
from graphtide.graph.records import (
    DocumentRow,
    EdgeRow,
    EntityRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    SameAsRow,
    TripleRow,
)
from graphtide.streams.checkpoints.columns import Columns, ColumnTable, FieldKind, columns_of, rows_of
from graphtide.streams.checkpoints.view_columns import EDGES, LINKS, SAME_AS, hierarchy_columns, hierarchy_of

PART_ROWS = 1 << 16
"""Rows of a part: 35 MB of statements with vectors of 256 dimensions."""
ROWS = "rows"
"""The column with the number of rows of each table, in the order of TABLES."""


def _label_fields(row: LabelRow) -> tuple[Any, ...]:
    return row.label, row.name, row.type, row.node, bytes(row.vector_sum)


def _statement_fields(row: TripleRow) -> tuple[Any, ...]:
    return row.statement, row.subject, row.predicate, row.object, row.weight_milli, bytes(row.vector_sum)


DOCUMENTS = ColumnTable(
    "documents", attrgetter("doc_id", "chunks"), (("doc_id", FieldKind.TEXT), ("chunks", FieldKind.IDS))
)
LABELS = ColumnTable(
    "labels",
    _label_fields,
    (
        ("label", FieldKind.ID), ("name", FieldKind.TEXT), ("type", FieldKind.NAME), ("node", FieldKind.ID),
        ("sum", FieldKind.BYTES),
    ),
)  # fmt: skip
FORMS = ColumnTable(
    "mentions",
    attrgetter("label", "name", "count"),
    (("label", FieldKind.ID), ("name", FieldKind.TEXT), ("count", FieldKind.NUMBER)),
)
STATEMENTS = ColumnTable(
    "statements",
    _statement_fields,
    (
        ("statement", FieldKind.ID), ("subject", FieldKind.ID), ("predicate", FieldKind.NAME),
        ("object", FieldKind.ID), ("weight_milli", FieldKind.NUMBER), ("sum", FieldKind.BYTES),
    ),
)  # fmt: skip
CLUSTERS = ColumnTable("entities", attrgetter("node", "labels"), (("node", FieldKind.ID), ("labels", FieldKind.IDS)))
TABLES = (DOCUMENTS, LABELS, FORMS, STATEMENTS, SAME_AS, CLUSTERS, EDGES)


def model_columns(rows: StoredRows) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the columns of the rows by name. Cost: the whole graph; memory: one part."""
    counts = []
    for table in TABLES:
        number = 0
        for part, block in enumerate(_blocks(getattr(rows, table.name))):
            yield from columns_of(_part(table, part), block).items()
            number += len(block)
        counts.append(number)
    yield from columns_of(LINKS, rows.predicate_links).items()
    yield from hierarchy_columns(rows.hierarchy).items()
    yield ROWS, np.array(counts, np.int64)


def model_snapshot(graph: str, version: int, columns: Columns) -> GraphDelta:
    """Return the rows as a snapshot for `Consolidator.restore`. Raises KeyError or ValueError for other columns."""
    counts = dict(zip((table.name for table in TABLES), columns[ROWS].tolist(), strict=True))

    def read(table: ColumnTable) -> Iterator[tuple[Any, ...]]:
        for part in range(-(-counts[table.name] // PART_ROWS)):
            yield from rows_of(_part(table, part), columns)

    found = GraphDelta(
        graph,
        version,
        documents=tuple(DocumentRow(doc_id, 0, NO_INFO, chunks) for doc_id, chunks in read(DOCUMENTS)),
        labels=tuple(LabelRow(number, name, type_, node, 0, data) for number, name, type_, node, data in read(LABELS)),
        mentions=tuple(MentionRow(label, NO_CHUNK, form, "", times) for label, form, times in read(FORMS)),
        statements=tuple(
            TripleRow(number, subject, predicate, object_, 0, weight, data, NO_VECTOR)
            for number, subject, predicate, object_, weight, data in read(STATEMENTS)
        ),
        same_as=tuple(SameAsRow(*row) for row in read(SAME_AS)),
        entities=tuple(EntityRow(node, "", "", labels, 0, NO_VECTOR) for node, labels in read(CLUSTERS)),
        edges=tuple(EdgeRow(*row) for row in read(EDGES)),
        communities=hierarchy_of(columns),
        snapshot=True,
        predicate_links=tuple((a, b) for a, b in rows_of(LINKS, columns)),
    )
    for name, expected in counts.items():
        if len(getattr(found, name)) != expected:
            raise ValueError(f"{len(getattr(found, name))} rows of {name}, but {expected} were saved")
    return found


def _blocks(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    remaining = iter(rows)
    while block := tuple(islice(remaining, PART_ROWS)):
        yield block


def _part(table: ColumnTable, part: int) -> ColumnTable:
    return replace(table, name=f"{table.name}.{part:05d}")
