"""Readers of `graph-changes`: the topic after compaction, its operations applied to Neo4j, and the canonical rows."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256, shake_128
from typing import Any

from graphtide.streams.messages import metadata_pairs
from graphtide.streams.ports import ConsumedRecord, Log, Record

TOPIC = "graph-changes"
Body = dict[str, Any]


@dataclass
class Elements:
    """The nodes of a graph by key, and its relationships as (type, start, end, properties)."""

    nodes: dict[str, tuple[str, Body]] = field(default_factory=dict)
    relationships: list[tuple[str, str, str, Body]] = field(default_factory=list)

    def of(self, type_: str) -> list[tuple[str, str, Body]]:
        return [(start, end, own) for kind, start, end, own in self.relationships if kind == type_]


def compacted(records: Iterable[Record]) -> list[Record]:
    """Return what compaction leaves: the newest record of each key, in the order of the log, without tombstones."""
    newest = {(record.partition, record.key): (at, record) for at, record in enumerate(records)}
    left = [record for _, record in sorted(newest.values(), key=lambda each: each[0]) if record.value is not None]
    assert len({record.key for record in left}) == len(left), "a key is left in two partitions"
    return left


def elements(records: Iterable[Record], graph: str) -> Elements:
    """Return the elements of a graph after all operations; relationships need both ends."""
    bodies: dict[str, Body] = {}
    for record in records:
        body = json.loads(record.value) if record.value is not None else None
        if body is None or body["op"] == "delete":
            bodies.pop(record.key, None)
        elif record.key.startswith(f"{graph}|"):
            bodies[record.key] = body
    found = Elements()
    for key, body in bodies.items():
        if body["type"] == "node":
            found.nodes[key] = (body["labels"][0], body["properties"])
        else:
            ends = body["from"]["ids"]["key"], body["to"]["ids"]["key"]
            found.relationships.append((body["rel_type"], *ends, body["properties"]))
    return found


def digest_of(elements: Elements) -> str:
    """Return the digest of a graph from its elements: that of `graph/digest` from its rows."""
    things = defaultdict[object, list[str]](list)
    for number, line in enumerate(_lines(elements)):
        things[_thing(line) or number].append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    lanes = [0] * 1024
    for lines in things.values():
        expanded = shake_128("\n".join(sorted(lines)).encode()).digest(2048)
        lanes = [lane + more for lane, more in zip(lanes, struct.unpack("<1024H", expanded), strict=True)]
    state = struct.pack("<1024H", *(lane % 65536 for lane in lanes))
    return "2-" + sha256(b"graphtide digest 2\0" + state).hexdigest()


def _thing(line: Sequence[object]) -> object:
    """Return the passage or the entity whose element holds the line; None for an element of one line."""
    places = {"chunk": 1, "mention": 2, "evidence": 4, "label": 3, "entity": 1}
    return line[places[str(line[0])]] if line[0] in places else None


def _lines(elements: Elements) -> Iterable[Sequence[object]]:
    nodes = elements.nodes
    about = {key: own for key, (_, own) in nodes.items()}
    labels = {key: (own["name"], own["type"]) for key, (kind, own) in nodes.items() if kind == "Label"}
    entity_of = {start: about[end]["id"] for start, end, _ in elements.of("NAMES")}
    subject = {start: end for start, end, _ in elements.of("SUBJECT")}
    object_ = {start: end for start, end, _ in elements.of("OBJECT")}
    chunks: dict[str, list[Body]] = defaultdict(list)
    for start, end, _ in elements.of("HAS"):
        chunks[start].append(about[end])
    named: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for label, entity in entity_of.items():
        named[entity].append(labels[label])

    def triple(key: str) -> tuple[object, ...]:
        return labels[subject[key]], about[key]["predicate"], labels[object_[key]]

    for key, (kind, own) in nodes.items():
        if kind == "Document":
            inner = [each["chunk_id"] for each in sorted(chunks[key], key=lambda each: each["ordinal"])]
            pairs = metadata_pairs(json.loads(own["metadata"]))
            yield "document", own["doc_id"], own["title"], own["source"], own["occurred_at"], pairs, inner
        elif kind == "Chunk":
            place = [own["place"]] if own["place"] else []
            yield "chunk", own["chunk_id"], own["doc_id"], own["ordinal"], own["text"], *place
        elif kind == "Label":
            yield "label", *labels[key], entity_of[key], own["mentions"]
        elif kind == "Statement":
            yield "statement", *triple(key), own["count"], round(own["weight"] * 1000)
        elif kind == "Entity":
            yield "entity", own["id"], own["name"], own["type"], sorted(named[own["id"]]), own["mentions"]
    for start, end, own in elements.of("MENTIONS"):
        yield "mention", labels[end], about[start]["chunk_id"], own["name"], own["description"], own["count"]
    for start, end, own in elements.of("SUPPORTS"):
        shown = own["description"], own["sentence"], round(own["weight"] * 1000), own["count"]
        yield "evidence", *triple(end), about[start]["chunk_id"], *shown, own["valid_from"], own["valid_to"]
    for start, end, own in elements.of("SAME_AS"):
        yield "same-as", sorted((labels[start], labels[end])), own["rule"]
    for start, end, own in elements.of("RELATES"):
        yield "edge", sorted((about[start]["id"], about[end]["id"])), own["weight"], own["trussness"]


async def read_topic(log: Log, topic: str = TOPIC) -> list[Record]:
    """Return the records of all partitions that the topic holds now, each partition in order."""
    starts, ends = await log.start(topic), await log.end(topic)
    left = sum(ends.values()) - sum(starts.values())
    reader, found = log.reader(topic, {}), list[ConsumedRecord]()
    try:
        while len(found) < left:
            found += await reader.poll(1_000, 5.0)
    finally:
        await reader.close()
    ordered = sorted(found, key=lambda each: each.position)
    return [replace(each.record, partition=each.position.partition) for each in ordered]


CYPHER: Mapping[tuple[str, str], str] = {
    ("node", "merge"): "MERGE (n:`{label}` {{key: $ids.key}}) SET n += $properties",
    ("node", "delete"): "MATCH (n:`{label}` {{key: $ids.key}}) DETACH DELETE n",
    ("relationship", "merge"): (
        "MERGE (a:`{start}` {{key: $from.ids.key}}) MERGE (b:`{end}` {{key: $to.ids.key}})"
        " MERGE (a)-[r:`{label}` {{key: $ids.key}}]->(b) SET r += $properties"
    ),
    ("relationship", "delete"): (
        "MATCH (a:`{start}` {{key: $from.ids.key}}) MATCH (b:`{end}` {{key: $to.ids.key}})"
        " MATCH (a)-[r:`{label}` {{key: $ids.key}}]->(b) DELETE r"
    ),
}
"""The statements into which the documentation of the sink says that CUD operations are transformed."""


_RELATED = {"type", "op", "rel_type", "from", "to", "ids"}
FIELDS: Mapping[tuple[str, str], set[str]] = {
    ("node", "merge"): {"type", "op", "labels", "ids", "properties"},
    ("node", "delete"): {"type", "op", "labels", "ids", "detach"},
    ("relationship", "merge"): {*_RELATED, "properties"},
    ("relationship", "delete"): _RELATED,
}
"""The fields that the sink's schema of operations allows: it refuses others."""


def cypher_of(body: Body) -> tuple[str, Body]:
    """Return the statement of a CUD operation, and its parameters."""
    assert set(body) == FIELDS[body["type"], body["op"]], body
    start, end = (body.get(name, {}).get("labels", [""])[0] for name in ("from", "to"))
    label = body["labels"][0] if body["type"] == "node" else body["rel_type"]
    return CYPHER[body["type"], body["op"]].format(label=label, start=start, end=end), body
