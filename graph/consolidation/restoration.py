"""Restoration of the write model's tables from the rows of a snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain

from graphtide.graph.consolidation.state import LabelState, StatementState, Tables
from graphtide.graph.consolidation.topology import edge_between
from graphtide.graph.records import GraphDelta


def fill(tables: Tables, snapshot: GraphDelta) -> None:
    """Load the stored sums into empty tables.

    Sums of one vector refer to that of the row, which a view of the same rows holds, too.
    """
    for row in snapshot.labels:
        label = LabelState(row.label, (row.name, row.type), row.node)
        label.load(bytes(row.vector_sum))
        tables.labels[row.label] = label
        tables.label_numbers[label.key] = row.label
    for entity in snapshot.entities:
        for number in entity.labels:
            tables.labels[number].share(entity.vector)
    forms: dict[int, Counter[str]] = defaultdict(Counter)
    for mention in snapshot.mentions:
        forms[mention.label][mention.name] += mention.count
    for number, counts in forms.items():
        tables.labels[number].forms = counts
    for triple in snapshot.statements:
        statement = StatementState(triple.statement, (triple.subject, triple.predicate, triple.object))
        statement.load(bytes(triple.vector_sum))
        statement.share(triple.vector)
        statement.weight_milli = triple.weight_milli
        tables.hold(statement)
        statement.edge = edge_between(*tables.nodes(statement), statement.count)
        statement.edge_count = statement.count if statement.edge else 0
    tables.documents = {row.doc_id: row.chunks for row in snapshot.documents}
    tables.renumber(chain.from_iterable(tables.documents.values()))
