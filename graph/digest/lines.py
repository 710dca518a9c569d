"""The canonical lines of a graph's rows, the elements that they form, and the differences between two graphs.

A row is written as a JSON line of canonical strings (no internal int, no revision, no version, no float). Communities
are left out: they are heuristic, and compared by quality instead. A chunk's model-written title and description are
left out too.

An element is the sorted lines of one thing, joined by line feeds, which no line contains: a passage with its mentions
and its evidence, an entity with its labels; any other line is an element of its own. No two elements of a graph are
equal.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphtide.graph.identity import entity_id
from graphtide.graph.records import (
    ChunkRow,
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

LabelName = tuple[str, str]
Triple = tuple[LabelName, str, LabelName]


def differences(left: GraphDelta, right: GraphDelta, limit: int = 20) -> tuple[str, ...]:
    """Return up to `limit` rows that only one graph has: `- …` those of `left`, `+ …` those of `right`."""
    a, b = Counter(canonical_lines(left)), Counter(canonical_lines(right))
    found = sorted([f"- {line}" for line in (a - b).elements()] + [f"+ {line}" for line in (b - a).elements()])
    return tuple(found[:limit])


def canonical_lines(rows: GraphDelta) -> Iterator[str]:
    """Yield one JSON line for each row of a snapshot, in no particular order."""
    lines = Lines(names_of(rows))
    yield from map(lines.document, rows.documents)
    yield from map(lines.chunk, rows.chunks)
    yield from map(lines.label, rows.labels)
    yield from map(lines.mention, rows.mentions)
    yield from map(lines.statement, rows.statements)
    yield from map(lines.evidence, rows.evidence)
    yield from map(lines.same_as, rows.same_as)
    yield from map(lines.predicate_link, rows.predicate_links)
    yield from map(lines.entity, rows.entities)
    yield from map(lines.edge, rows.edges)


def elements(rows: GraphDelta, names: CanonicalNames | None = None) -> Iterator[str]:
    """Yield the elements of a snapshot, or of some rows with the `names` that they refer to.

    Some rows must hold each thing whole: a passage with all its mentions and evidence, an entity with all its labels.
    Raises LookupError for rows that refer to missing ones.
    """
    lines = Lines(names or names_of(rows))
    yield from map(lines.document, rows.documents)
    yield from map(lines.statement, rows.statements)
    yield from map(lines.same_as, rows.same_as)
    yield from map(lines.predicate_link, rows.predicate_links)
    yield from map(lines.edge, rows.edges)
    mentions, evidence, labels = defaultdict[int, list[MentionRow]](list), _by_chunk(rows), _by_entity(rows)
    for mention in rows.mentions:
        mentions[mention.chunk].append(mention)
    for chunk in rows.chunks:
        inner = [
            *map(lines.mention, mentions.pop(chunk.chunk, ())),
            *map(lines.evidence, evidence.pop(chunk.chunk, ())),
        ]
        yield "\n".join(sorted([lines.chunk(chunk), *inner]))
    for entity in rows.entities:
        yield "\n".join(sorted([lines.entity(entity), *map(lines.label, labels.pop(entity.node, ()))]))
    for missing in (mentions, evidence, labels):
        if missing:
            raise LookupError(f"rows refer to a missing passage or entity, number {min(missing)}")


def _by_chunk(rows: GraphDelta) -> dict[int, list[EvidenceRow]]:
    grouped = defaultdict[int, list[EvidenceRow]](list)
    for row in rows.evidence:
        grouped[row.chunk].append(row)
    return grouped


def _by_entity(rows: GraphDelta) -> dict[int, list[LabelRow]]:
    grouped = defaultdict[int, list[LabelRow]](list)
    for row in rows.labels:
        grouped[row.node].append(row)
    return grouped


@dataclass(frozen=True, slots=True)
class CanonicalNames:
    """The canonical names of numbers: labels, entities, passages, statements. Each raises LookupError."""

    label: Callable[[int], LabelName]
    entity: Callable[[int], str]
    chunk: Callable[[int], str]
    triple: Callable[[int], Triple]


def names_of(rows: GraphDelta) -> CanonicalNames:
    """Return the names of a snapshot's numbers. Cost: the rows."""
    labels = {row.label: (row.name, row.type) for row in rows.labels}
    nodes = {row.node: entity_id(labels[number] for number in row.labels) for row in rows.entities}
    chunks = {row.chunk: row.chunk_id for row in rows.chunks}
    triples = {row.statement: (labels[row.subject], row.predicate, labels[row.object]) for row in rows.statements}
    return CanonicalNames(labels.__getitem__, nodes.__getitem__, chunks.__getitem__, triples.__getitem__)


class Lines:
    """The lines of rows whose numbers have these names."""

    def __init__(self, names: CanonicalNames) -> None:
        self._names = names

    def document(self, row: DocumentRow) -> str:
        info = (row.info.title, row.info.source, row.info.occurred_at, row.info.metadata)
        return _line("document", row.doc_id, *info, list(map(self._names.chunk, row.chunks)))

    def chunk(self, row: ChunkRow) -> str:
        place = row.place.encode()
        return _line("chunk", row.chunk_id, row.doc_id, row.ordinal, row.text, *([place] if place else ()))

    def label(self, row: LabelRow) -> str:
        return _line("label", *self._names.label(row.label), self._names.entity(row.node), row.mentions)

    def mention(self, row: MentionRow) -> str:
        names = self._names
        return _line("mention", names.label(row.label), names.chunk(row.chunk), row.name, row.description, row.count)

    def statement(self, row: TripleRow) -> str:
        return _line("statement", *self._names.triple(row.statement), row.count, row.weight_milli)

    def evidence(self, row: EvidenceRow) -> str:
        shown = (row.description, row.sentence, row.weight_milli, row.count, row.valid_from, row.valid_to)
        return _line("evidence", *self._names.triple(row.statement), self._names.chunk(row.chunk), *shown)

    def same_as(self, row: SameAsRow) -> str:
        return _line("same-as", sorted((self._names.label(row.a), self._names.label(row.b))), row.rule)

    def predicate_link(self, pair: tuple[str, str]) -> str:
        return _line("predicates", *pair)

    def entity(self, row: EntityRow) -> str:
        labels = sorted(map(self._names.label, row.labels))
        return _line("entity", self._names.entity(row.node), row.name, row.type, labels, row.mentions)

    def edge(self, row: EdgeRow) -> str:
        ends = sorted((self._names.entity(row.u), self._names.entity(row.v)))
        return _line("edge", ends, row.weight, row.trussness)


def _line(*fields: object) -> str:
    return _JSON.encode(fields)


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
