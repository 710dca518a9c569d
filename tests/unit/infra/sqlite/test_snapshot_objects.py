"""Rows that are read from the database hold one object for equal numbers and texts, as rows of deltas do.

A view keeps them: as objects of their own they were a fifth of its memory after a restart.
"""

from __future__ import annotations

import numpy as np

from graphtide.graph.int_sets import shared_int
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
)
from graphtide.graph.vector_sum import VectorSum
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.ports import SnapshotUse

FIRST, ROWS = 1_000, 700
"""Python holds small ints once anyway; a block that is read has 512 rows."""
NUMBERS = range(FIRST, FIRST + ROWS)


def snapshot() -> GraphDelta:
    """Return rows whose numbers, names and sentences occur in several tables and rows."""
    vector = np.full(4, 0.5, np.float16)
    total = VectorSum()
    total.add(vector)
    encoded = total.to_bytes()
    pairs = [(n, n + 1) for n in NUMBERS[:-1]]
    return GraphDelta(
        "g",
        1,
        documents=(DocumentRow("d", 1, DocumentInfo(), (FIRST,)),),
        chunks=(ChunkRow(FIRST, "c", "d", 0, "text", vector, 1),),
        labels=tuple(LabelRow(n, f"name {n}", "a type", n, 1, encoded) for n in NUMBERS),
        mentions=tuple(MentionRow(n, FIRST, f"Name {n // 2}", "", 1) for n in NUMBERS),
        statements=tuple(TripleRow(a, a, "knows", b, 1, 3_000, encoded, vector, 1) for a, b in pairs),
        evidence=tuple(EvidenceRow(a, FIRST, "", f"sentence {a // 2}", 3_000, 1) for a, _ in pairs),
        same_as=tuple(SameAsRow(a, b, "a rule", 900) for a, b in pairs),
        entities=tuple(EntityRow(n, f"Name {n}", "a type", (n,), 1, vector, 1) for n in NUMBERS),
        edges=tuple(EdgeRow(a, b, 3_000, 2) for a, b in pairs),
        snapshot=True,
    )


async def test_numbers_and_repeated_texts_are_one_object_each(backend: SqliteBackend) -> None:
    """In all tables; the rows read equal those written."""
    written = snapshot()
    await backend.store.replace(written)
    found = await backend.store.snapshot("g")
    assert [row.name for row in found.labels] == [row.name for row in written.labels]
    numbers = [
        *(n for row in found.labels for n in (row.label, row.node)),
        *(n for row in found.mentions for n in (row.label, row.chunk)),
        *(n for row in found.statements for n in (row.statement, row.subject, row.object)),
        *(n for row in found.evidence for n in (row.statement, row.chunk)),
        *(n for row in found.same_as for n in (row.a, row.b)),
        *(n for row in found.entities for n in (row.node, *row.labels)),
        *(n for row in found.edges for n in (row.u, row.v)),
    ]
    assert len(numbers) > 10 * ROWS and all(number is shared_int(number) for number in numbers)
    texts = [
        [row.type for row in found.labels] + [row.type for row in found.entities],
        [row.name for row in found.mentions],
        [row.predicate for row in found.statements],
        [row.sentence for row in found.evidence],
        [row.rule for row in found.same_as],
    ]
    for column in texts:
        assert len({id(text) for text in column}) == len(set(column)) < len(column)


async def test_rows_for_a_write_model_have_no_texts_and_those_for_a_view_no_sums(backend: SqliteBackend) -> None:
    """Columns that a use does not read are not read from the file."""
    await backend.store.replace(snapshot())
    view = await backend.store.snapshot("g", SnapshotUse.VIEW)
    assert {bytes(row.vector_sum) for row in view.labels} == {bytes(row.vector_sum) for row in view.statements} == {b""}
    assert all(row.vector.size for row in view.statements) and all(row.vector.size for row in view.entities)
    model = await backend.store.snapshot("g", SnapshotUse.WRITE_MODEL)
    assert not model.evidence and not any(row.text for row in model.chunks)
    assert not any(row.vector.size for row in model.statements) and not any(row.vector.size for row in model.entities)
    assert all(bytes(row.vector_sum) for row in model.labels) and all(bytes(row.vector_sum) for row in model.statements)
