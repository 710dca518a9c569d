"""The rows of a delta: labels, statements, entities and documents of the write model as they are stored.

All functions only read, except that the numbers of new chunks are allocated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.consolidation.signed_counts import UNIT_STEP, UnitDiff, label_keys, occurrence_index, predicate_key
from graphtide.graph.consolidation.state import LabelState, Tables
from graphtide.graph.identity import chunk_id
from graphtide.graph.int_sets import shared_tuple, shared_value
from graphtide.graph.records import (
    ChunkContribution,
    ChunkRow,
    DocumentChange,
    DocumentRow,
    EntityRow,
    EvidenceRow,
    Extraction,
    LabelRow,
    MentionRow,
    TripleRow,
    Vector,
)
from graphtide.graph.vector_sum import bytes_of, mean_of_means, vector_of


@dataclass(slots=True)
class DocumentRows:
    """The changes of a batch to documents and their chunks."""

    documents: list[DocumentRow] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    chunks: list[ChunkRow] = field(default_factory=list)
    mentions: list[MentionRow] = field(default_factory=list)
    evidence: list[EvidenceRow] = field(default_factory=list)


def document_rows(tables: Tables, plans: Sequence[tuple[DocumentChange, UnitDiff]], version: int) -> DocumentRows:
    """Return the rows of changed documents. An unchanged unit keeps its chunk, and at the same position its row."""
    rows = DocumentRows()
    for change, plan in plans:
        if change.new is None:
            rows.gone.append(change.doc_id)
            tables.documents.pop(change.doc_id, None)
            continue
        numbers = _chunk_rows(tables, change, change.new, plan, version, rows.chunks)
        for index in with_yields(plan.added, UNIT_STEP):
            rows.mentions.extend(_mention_rows(tables, change.new.units[index], numbers[index]))
            rows.evidence.extend(_evidence_rows(tables, change.new.units[index], numbers[index]))
        tables.documents[change.doc_id] = numbers
        rows.documents.append(DocumentRow(change.doc_id, change.new.revision, change.new.info, numbers))
    return rows


def label_row(label: LabelState) -> LabelRow:
    return LabelRow(label.number, label.name, label.type, label.node, label.mentions, label.encoding())


def statement_row(tables: Tables, number: int, version: int) -> TripleRow:
    statement = tables.statements[number]
    sums = (statement.count, statement.weight_milli, statement.encoding())
    return TripleRow(number, *statement.key, *sums, statement.shared(_stored(statement.mean())), version)


def entity_row(node: int, members: Iterable[LabelState], version: int) -> EntityRow:
    """Return an entity's row from its labels: commonest spelling and type (ties by name), second mean of vectors."""
    labels = sorted(members, key=lambda label: label.key)
    forms: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for label in labels:
        forms.update(label.forms)
        if label.type:
            types[label.type] += label.mentions
    return EntityRow(
        node,
        _commonest(forms),
        _commonest(types),
        shared_tuple([label.number for label in labels]),
        sum(label.mentions for label in labels),
        labels[0].shared(_stored(mean_of_means(label.mean() for label in labels))),
        version,
    )


def _chunk_rows(
    tables: Tables, change: DocumentChange, new: Extraction, plan: UnitDiff, version: int, rows: list[ChunkRow]
) -> tuple[int, ...]:
    """Add the rows of chunks that are new or have another position or place, and return the numbers of all."""
    stored = {}
    if change.old:
        units = zip(change.old.units, occurrence_index(change.old), strict=True)
        places = zip(tables.documents[change.doc_id], units, strict=True)
        stored = {chunk: (at, repeat, unit.place) for at, (chunk, (unit, repeat)) in enumerate(places)}
    numbers = []
    for place, (unit, repeat) in enumerate(zip(new.units, occurrence_index(new), strict=True)):
        kept = plan.kept.get(place)
        number = tables.free_chunks.take() if kept is None else kept
        numbers.append(number)
        if kept is None or stored[kept] != (place, repeat, unit.place):
            name = chunk_id(new.doc_id, unit.text, repeat)
            vector = vector_of(bytes_of(unit.vector))  # not a row of all vectors of the document, kept in memory by it
            columns = (number, name, new.doc_id, place, unit.text, vector, version)
            rows.append(ChunkRow(*columns, unit.title, unit.description, unit.place))
    return shared_tuple(numbers)


def _mention_rows(tables: Tables, unit: ChunkContribution, chunk: int) -> list[MentionRow]:
    counts: Counter[tuple[int, str, str]] = Counter()
    for key, mention in zip(label_keys(unit), unit.mentions, strict=True):
        counts[tables.label_numbers.row(key).number, mention.name, mention.description] += 1
    return [MentionRow(label, chunk, name, description, n) for (label, name, description), n in counts.items()]


def _evidence_rows(tables: Tables, unit: ChunkContribution, chunk: int) -> list[EvidenceRow]:
    keys = [tables.label_numbers.row(key).number for key in label_keys(unit)]
    rows: Counter[tuple[int, str, str, int, str, str]] = Counter()
    for fact in unit.facts:
        key = (keys[fact.subject], predicate_key(fact.predicate), keys[fact.object])
        number = tables.statement_numbers.row(key).number
        rows[number, fact.description, fact.sentence, fact.weight_milli, fact.valid_from, fact.valid_to] += 1
    return [
        EvidenceRow(number, chunk, description, sentence, shared_value(weight), n, since, till)
        for (number, description, sentence, weight, since, till), n in rows.items()
    ]


def _stored(mean: NDArray[np.float32] | None) -> Vector:
    """Return a mean as a row stores it; None for vectors that cancel out, so that no search finds the entity."""
    return vector_of(b"" if mean is None else mean.astype(np.float16).tobytes())


def _commonest(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name)) if counts else ""
