"""The rows of a live view as columns.

Vectors that an index of the view has as its own rows are not repeated: the index is saved at the same time, and they
are read from it again.

Invariant: `view_rows(view_columns(view, …), …)` are the rows of the view, bit for bit in every vector, or an error.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum
from itertools import islice, repeat
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.communities import Hierarchy
from graphtide.graph.records import (
    ChunkRow,
    DocumentInfo,
    DocumentRow,
    EdgeRow,
    EntityRow,
    EvidenceRow,
    GraphDelta,
    LabelRow,
    MentionRow,
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.text.place import decode_place
from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.vector_store import VectorBytes
from graphtide.graph.vector_sum import vector_of
from graphtide.graph.view import VectorIndexes
from graphtide.graph.view_state.content import row_tables
from graphtide.graph.view_state.frozen import FrozenView
from graphtide.graph.view_state.indexes import PORTION_ROWS, HoldsRows, float16_rows
from graphtide.streams.checkpoints.columns import Columns, ColumnTable, FieldKind, columns_of, rows_of

ID, NUMBER, TEXT, NAME, IDS, _ = FieldKind
_HIERARCHY = ("nodes", "communities", "ids", "levels", "parents")
_NOTHING: Vector = np.empty(0, np.float16)


def _document_fields(row: DocumentRow) -> tuple[Any, ...]:
    info = row.info
    metadata = json.dumps(info.metadata, ensure_ascii=False) if info.metadata else ""
    return row.doc_id, row.revision, info.title, info.source, info.occurred_at, metadata, row.chunks


def _chunk_fields(row: ChunkRow) -> tuple[Any, ...]:
    place = row.place.encode()
    return row.chunk, row.chunk_id, row.doc_id, row.ordinal, row.text, row.title, row.description, place


DOCUMENTS = ColumnTable(
    "documents",
    _document_fields,
    (
        ("doc_id", TEXT), ("revision", NUMBER), ("title", TEXT), ("source", TEXT), ("occurred_at", NAME),
        ("metadata", NAME), ("chunks", IDS),
    ),
)  # fmt: skip
CHUNKS = ColumnTable(
    "chunks",
    _chunk_fields,
    (
        ("chunk", ID), ("chunk_id", TEXT), ("doc_id", NAME), ("ordinal", NUMBER), ("text", TEXT), ("title", TEXT),
        ("description", TEXT), ("place", NAME),
    ),
)  # fmt: skip
LABELS = ColumnTable(
    "labels",
    attrgetter("label", "name", "type", "node", "mentions"),
    (("label", ID), ("name", TEXT), ("type", NAME), ("node", ID), ("mentions", NUMBER)),
)
MENTIONS = ColumnTable(
    "mentions",
    attrgetter("label", "chunk", "name", "description", "count"),
    (("label", ID), ("chunk", ID), ("name", NAME), ("description", TEXT), ("count", NUMBER)),
)
STATEMENTS = ColumnTable(
    "statements",
    attrgetter("statement", "subject", "predicate", "object", "count", "weight_milli"),
    (
        ("statement", ID), ("subject", ID), ("predicate", NAME), ("object", ID), ("count", NUMBER),
        ("weight_milli", NUMBER),
    ),
)  # fmt: skip
EVIDENCE = ColumnTable(
    "evidence",
    attrgetter("statement", "chunk", "description", "sentence", "weight_milli", "count", "valid_from", "valid_to"),
    (
        ("statement", ID), ("chunk", ID), ("description", TEXT), ("sentence", TEXT), ("weight_milli", NUMBER),
        ("count", NUMBER), ("valid_from", NAME), ("valid_to", NAME),
    ),
)  # fmt: skip
SAME_AS = ColumnTable(
    "same_as",
    attrgetter("a", "b", "rule", "score_milli"),
    (("a", ID), ("b", ID), ("rule", NAME), ("score_milli", NUMBER)),
)
ENTITIES = ColumnTable(
    "entities",
    attrgetter("node", "name", "type", "labels", "mentions"),
    (("node", ID), ("name", TEXT), ("type", NAME), ("labels", IDS), ("mentions", NUMBER)),
)
EDGES = ColumnTable(
    "edges",
    attrgetter("u", "v", "weight", "trussness"),
    (("u", ID), ("v", ID), ("weight", NUMBER), ("trussness", NUMBER)),
)
LINKS = ColumnTable("predicate_links", tuple, (("a", NAME), ("b", NAME)))
TABLES = (DOCUMENTS, CHUNKS, LABELS, MENTIONS, STATEMENTS, EVIDENCE, SAME_AS, ENTITIES, EDGES)


@runtime_checkable
class SavesRows(HoldsRows, Protocol):
    """An index that has its rows again after it was saved and loaded, if `saves_rows`."""

    @property
    def saves_rows(self) -> bool: ...


class VectorPlace(IntEnum):
    """The place of a row's vector."""

    ABSENT = 0
    COLUMN = 1
    INDEX = 2


def view_columns(view: FrozenView) -> dict[str, NDArray[Any]]:
    """Return the rows of a view as columns, while it follows deltas. Cost: the whole graph."""
    tables = row_tables(view)
    columns: dict[str, NDArray[Any]] = {}
    for table in TABLES:
        columns |= columns_of(table, tables[table.name])
    columns |= columns_of(LINKS, view.predicate_links)
    columns |= hierarchy_columns(view.hierarchy)
    columns |= _vector_columns("chunks", view, view.indexes.chunks)
    columns |= _vector_columns("entities", view, view.indexes.entities)
    columns |= _vector_columns("statements", view, view.indexes.statements)
    return columns


def view_rows(graph: str, version: int, columns: Columns, indexes: VectorIndexes) -> GraphDelta:
    """Return the rows as a snapshot of the graph at `version`, with the vectors of indexes of that version.

    Raises KeyError, TypeError or ValueError for other columns than `view_columns` makes, and for other indexes.
    """
    chunk_vectors = _vectors("chunks", columns, columns["chunks.chunk"], indexes.chunks)
    entity_vectors = _vectors("entities", columns, columns["entities.node"], indexes.entities)
    statement_vectors = _vectors("statements", columns, columns["statements.statement"], indexes.statements)
    return GraphDelta(
        graph,
        version,
        documents=tuple(_document(*row) for row in rows_of(DOCUMENTS, columns)),
        chunks=tuple(
            ChunkRow(chunk, name, doc_id, ordinal, text, vector, version, title, description, decode_place(place))
            for (chunk, name, doc_id, ordinal, text, title, description, place), vector in zip(
                rows_of(CHUNKS, columns), chunk_vectors, strict=True
            )
        ),
        labels=tuple(
            LabelRow(label, name, type_, node, mentions, b"")
            for label, name, type_, node, mentions in rows_of(LABELS, columns)
        ),
        mentions=tuple(MentionRow(*row) for row in rows_of(MENTIONS, columns)),
        statements=tuple(
            TripleRow(number, subject, predicate, object_, count, weight, b"", vector, version)
            for (number, subject, predicate, object_, count, weight), vector in zip(
                rows_of(STATEMENTS, columns), statement_vectors, strict=True
            )
        ),
        evidence=tuple(EvidenceRow(*row) for row in rows_of(EVIDENCE, columns)),
        same_as=tuple(SameAsRow(*row) for row in rows_of(SAME_AS, columns)),
        entities=tuple(
            EntityRow(node, name, type_, labels, mentions, vector, version)
            for (node, name, type_, labels, mentions), vector in zip(
                rows_of(ENTITIES, columns), entity_vectors, strict=True
            )
        ),
        edges=tuple(EdgeRow(*row) for row in rows_of(EDGES, columns)),
        communities=hierarchy_of(columns),
        snapshot=True,
        predicate_links=tuple((a, b) for a, b in rows_of(LINKS, columns)),
    )


def hierarchy_columns(hierarchy: Hierarchy) -> dict[str, NDArray[Any]]:
    """Return the arrays of a hierarchy as columns."""
    arrays: dict[str, NDArray[Any]] = {f"hierarchy.{name}": getattr(hierarchy, name) for name in _HIERARCHY}
    return arrays | {"hierarchy.next_id": np.array([hierarchy.next_id], np.int64)}


def hierarchy_of(columns: Columns) -> Hierarchy:
    """Return the hierarchy of the output of `hierarchy_columns`. Raises KeyError or TypeError for others."""
    arrays = {name: columns[f"hierarchy.{name}"] for name in _HIERARCHY}
    return Hierarchy(**arrays, next_id=int(columns["hierarchy.next_id"][0]))


def _document(
    doc_id: str,
    revision: int,
    title: str,
    source: str,
    occurred_at: str,
    metadata: str,
    chunks: tuple[int, ...],
) -> DocumentRow:
    pairs = tuple((key, value) for key, value in json.loads(metadata)) if metadata else ()
    return DocumentRow(doc_id, revision, DocumentInfo(title, source, occurred_at, pairs), chunks)


def _vector_columns(table: str, view: FrozenView, index: VectorIndex) -> dict[str, NDArray[Any]]:
    """Return where the vector of each row is, those that are in no index, and the checksum of all."""
    places = bytearray()
    kept: list[VectorBytes] = []
    checksum = 0
    vectors = view.each(table, lambda number, row: (number, row.vector_bytes))
    while portion := list(islice(vectors, PORTION_ROWS)):
        saved = _saved_rows(index, [number for number, _ in portion])
        for (_, data), loaded in zip(portion, saved, strict=True):
            if not data:
                places.append(VectorPlace.ABSENT)
                continue
            checksum = zlib.crc32(data, checksum)
            if loaded is not None and loaded.tobytes() == data:
                places.append(VectorPlace.INDEX)
            else:
                places.append(VectorPlace.COLUMN)
                kept.append(data)
    size = len(kept[0]) // _NOTHING.itemsize if kept else 0
    return {
        f"{table}.vector_places": np.frombuffer(places, np.uint8),
        f"{table}.vectors": np.frombuffer(b"".join(kept), "<f2").reshape(len(kept), size),
        f"{table}.vectors_crc32": np.array([checksum], np.uint32),
    }


def _vectors(name: str, columns: Columns, numbers: NDArray[Any], index: VectorIndex) -> Sequence[Vector]:
    """Return the vectors of the rows with these numbers. Raises ValueError where the index has others."""
    kept: Iterator[Vector] = iter(columns[f"{name}.vectors"])
    vectors: list[Vector] = []
    checksum = 0
    ids = numbers.tolist()
    places = columns[f"{name}.vector_places"].tolist()
    for number, place, saved in zip(ids, places, _saved_rows(index, ids), strict=True):
        vector: Vector | None = _NOTHING
        if place == VectorPlace.INDEX:
            vector = saved
        elif place == VectorPlace.COLUMN:
            vector = vector_of(next(kept).tobytes())
        if vector is None:
            raise ValueError(f"the index of {name} has no vector for row {number}")
        checksum = zlib.crc32(vector.data, checksum)
        vectors.append(vector)
    if checksum != int(columns[f"{name}.vectors_crc32"][0]):
        raise ValueError(f"the vectors of {name} differ from those that were saved")
    return vectors


def _saved_rows(index: VectorIndex, ids: Collection[int]) -> Iterator[Vector | None]:
    """Yield the float16 vector of each row in the saved index, None where it has none."""
    return float16_rows(index, ids) if isinstance(index, SavesRows) and index.saves_rows else repeat(None, len(ids))
