"""The canonical SHA-256 of a graph, and the differences between two graphs.

A graph's rows are written as lines of canonical strings (no internal int, no revision, no version, no float), sorted
and hashed. Communities are left out: they are heuristic, and compared by quality instead. A chunk's model-written title
and description are left out too.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from graphtide.graph.identity import entity_id
from graphtide.graph.records import GraphDelta


def digest(rows: GraphDelta) -> str:
    """Return the hex SHA-256 of a snapshot's canonical lines. Cost: n log n in the rows."""
    canonical = hashlib.sha256()
    for line in sorted(canonical_lines(rows)):
        canonical.update(line.encode())
        canonical.update(b"\n")
    return canonical.hexdigest()


def differences(left: GraphDelta, right: GraphDelta, limit: int = 20) -> tuple[str, ...]:
    """Return up to `limit` rows that only one graph has: `- …` those of `left`, `+ …` those of `right`."""
    a, b = Counter(canonical_lines(left)), Counter(canonical_lines(right))
    found = sorted([f"- {line}" for line in (a - b).elements()] + [f"+ {line}" for line in (b - a).elements()])
    return tuple(found[:limit])


def canonical_lines(rows: GraphDelta) -> Iterator[str]:
    """Yield one JSON line for each row of a snapshot, in no particular order."""
    labels = {row.label: (row.name, row.type) for row in rows.labels}
    nodes = {row.node: entity_id(labels[number] for number in row.labels) for row in rows.entities}
    chunks = {row.chunk: row.chunk_id for row in rows.chunks}
    triples = {row.statement: (labels[row.subject], row.predicate, labels[row.object]) for row in rows.statements}
    for d in rows.documents:
        info = (d.info.title, d.info.source, d.info.occurred_at, d.info.metadata)
        yield _line("document", d.doc_id, *info, [chunks[chunk] for chunk in d.chunks])
    for c in rows.chunks:
        place = c.place.encode()
        yield _line("chunk", c.chunk_id, c.doc_id, c.ordinal, c.text, *([place] if place else ()))
    for lab in rows.labels:
        yield _line("label", *labels[lab.label], nodes[lab.node], lab.mentions)
    for m in rows.mentions:
        yield _line("mention", labels[m.label], chunks[m.chunk], m.name, m.description, m.count)
    for s in rows.statements:
        yield _line("statement", *triples[s.statement], s.count, s.weight_milli)
    for e in rows.evidence:
        shown = (e.description, e.sentence, e.weight_milli, e.count, e.valid_from, e.valid_to)
        yield _line("evidence", *triples[e.statement], chunks[e.chunk], *shown)
    for same in rows.same_as:
        yield _line("same-as", sorted((labels[same.a], labels[same.b])), same.rule)
    for n in rows.entities:
        yield _line("entity", nodes[n.node], n.name, n.type, sorted(labels[number] for number in n.labels), n.mentions)
    for edge in rows.edges:
        yield _line("edge", sorted((nodes[edge.u], nodes[edge.v])), edge.weight, edge.trussness)


def _line(*fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
