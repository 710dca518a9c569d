"""Random graph deltas and commits for tests of storage, and comparison of what the store returns.

A `Walk` imitates the form of a consolidator's output, not its meaning: it creates, changes and removes rows of every
kind, reuses ids in the very delta that frees them, and puts awkward text into every text column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from random import Random
from typing import Any

import numpy as np

from graphtide.graph.communities import CommunityChange
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
    Removals,
    SameAsRow,
    TripleRow,
    Vector,
)
from graphtide.graph.text.place import NO_PLACE, PassageKind, Place
from graphtide.graph.vector_sum import VectorSum
from graphtide.streams.ports import GraphCommit, StoredDocument

TEXTS = (
    "",
    "plain",
    "nul \0 inside",
    "quote \" and \\ and '",
    "שלום",
    "e\u0301 and é",
    "\u200bzero\u200dwidth",
    "🜁🜂",
    "\x01\x1f\x7f\n\t",
    "long " * 300,
)
IDS = 24
KINDS = ("chunks", "labels", "statements", "entities")


def plain(value: Any) -> Any:
    """Return rows as nested tuples that `==` compares to the last bit, arrays and their types included."""
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *(plain(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, tuple | list):
        return tuple(plain(item) for item in value)
    return value


def random_vector(rng: Random, dimensions: int = 8) -> Vector:
    """Return a float16 vector; with `dimensions` 0 the vector of rows that have none."""
    row = np.random.default_rng(rng.getrandbits(32)).standard_normal(dimensions)
    return (row / max(float(np.linalg.norm(row)), 1e-9)).astype(np.float16)


def random_sum(rng: Random, vectors: Sequence[Vector]) -> bytes:
    total = VectorSum()
    for vector in vectors:
        total.add(vector, rng.randint(1, 3))
    return total.to_bytes()


class Walk:
    """A seeded sequence of deltas of one graph, each following the previous one."""

    def __init__(self, rng: Random, graph: str = "g") -> None:
        self.graph = graph
        self.version = 0
        self._rng = rng
        self._live: dict[str, set[int]] = {kind: set() for kind in KINDS}
        self._documents: set[str] = set()
        self._pairs: dict[str, set[tuple[int, int]]] = {"same_as": set(), "edges": set()}
        self._nodes: set[int] = set()
        self._tree: dict[int, int] = {}
        self._next_community = 1

    def delta(self) -> GraphDelta:
        """Return the next delta."""
        self.version += 1
        gone = self._gone()
        chunks = self._chosen("chunks")
        return GraphDelta(
            self.graph,
            self.version,
            gone,
            tuple(self._document(doc_id) for doc_id in self._chosen_documents()),
            tuple(self._chunk(chunk) for chunk in chunks),
            tuple(self._label(label) for label in self._chosen("labels")),
            tuple(self._mention(chunk) for chunk in self._some(chunks) for _ in range(self._rng.randint(1, 4))),
            tuple(self._statement(statement) for statement in self._chosen("statements")),
            tuple(self._evidence(chunk) for chunk in self._some(chunks) for _ in range(self._rng.randint(1, 4))),
            tuple(SameAsRow(a, b, self._text(), self._rng.randint(0, 1000)) for a, b in self._chosen_pairs("same_as")),
            tuple(self._entity(node) for node in self._chosen("entities")),
            tuple(self._edge(u, v) for u, v in self._chosen_pairs("edges")),
            self._community_change() if self._rng.random() < 0.7 else None,
        )

    def commit(self, revision: int) -> GraphCommit:
        """Return the next delta as a commit, with the statuses of two documents."""
        standings = {
            f"d{self._rng.randint(0, 9)}": StoredDocument(
                revision, self._rng.choice((None, b"", self._rng.randbytes(40)))
            )
            for _ in range(2)
        }
        return GraphCommit(self.delta(), standings)

    def _some(self, items: Iterable[Any]) -> list[Any]:
        return [item for item in items if self._rng.random() < 0.6]

    def _chosen(self, kind: str) -> list[int]:
        """Return ids to write: some live, some new."""
        ids = sorted({self._rng.randrange(IDS) for _ in range(self._rng.randint(0, 6))})
        self._live[kind].update(ids)
        return ids

    def _chosen_documents(self) -> list[str]:
        chosen = sorted({f"d{self._rng.randint(0, 9)} \0é" for _ in range(self._rng.randint(0, 3))})
        self._documents.update(chosen)
        return chosen

    def _chosen_pairs(self, kind: str) -> list[tuple[int, int]]:
        drawn = (sorted(self._rng.sample(range(IDS), 2)) for _ in range(self._rng.randint(0, 8)))
        pairs = sorted({(u, v) for u, v in drawn})
        self._pairs[kind].update(pairs)
        return pairs

    def _gone(self) -> Removals:
        gone: dict[str, Any] = {}
        for kind in KINDS:
            gone[kind] = self._dropped(self._live[kind])
        for kind in self._pairs:
            gone[kind] = self._dropped(self._pairs[kind])
        return Removals(documents=self._dropped(self._documents), **gone)

    def _dropped(self, live: set[Any]) -> tuple[Any, ...]:
        dropped = tuple(key for key in sorted(live) if self._rng.random() < 0.25)
        live.difference_update(dropped)
        return dropped

    def _text(self) -> str:
        return self._rng.choice(TEXTS)

    def _ints(self) -> tuple[int, ...]:
        return tuple(self._rng.randrange(IDS) for _ in range(self._rng.randint(0, 3)))

    def _document(self, doc_id: str) -> DocumentRow:
        metadata = tuple(sorted({self._text(): '{"a": "\\u0000 é"}', "n": "1.0"}.items()))
        info = DocumentInfo(self._text(), self._text(), self._text(), self._rng.choice(((), metadata)))
        return DocumentRow(doc_id, self._rng.getrandbits(40), info, self._ints())

    def _chunk(self, chunk: int) -> ChunkRow:
        named = (chunk, f"c{chunk}#{self._text()}", "d", chunk, self._text(), random_vector(self._rng))
        heading = (self._rng.choice(("", self._text())), self._rng.choice(("", self._text())))
        headings, numbers = (self._text(), "B"), (self._rng.randrange(3), self._rng.randrange(3))
        place = Place(headings, *numbers, self._rng.choice(list(PassageKind)), self._text())
        return ChunkRow(*named, 0, *heading, self._rng.choice((NO_PLACE, place)))

    def _label(self, label: int) -> LabelRow:
        vectors = [random_vector(self._rng) for _ in range(self._rng.randint(0, 2))]
        total = random_sum(self._rng, vectors)
        return LabelRow(label, self._text(), self._text(), self._rng.randrange(IDS), len(vectors), total)

    def _mention(self, chunk: int) -> MentionRow:
        return MentionRow(self._rng.randrange(IDS), chunk, self._text(), self._text(), self._rng.randint(1, 3))

    def _statement(self, statement: int) -> TripleRow:
        vector = random_vector(self._rng, self._rng.choice((8, 8, 0)))
        others = [random_vector(self._rng)] if self._rng.random() < 0.5 else []
        total = random_sum(self._rng, [*([vector] if vector.size else []), *others])
        ends = self._rng.randrange(IDS), self._rng.randrange(IDS)
        return TripleRow(statement, ends[0], self._text(), ends[1], 2, 1500, total, vector)

    def _evidence(self, chunk: int) -> EvidenceRow:
        statement = self._rng.randrange(IDS)
        return EvidenceRow(statement, chunk, self._text(), self._text(), 1000, 1, self._text(), self._text())

    def _entity(self, node: int) -> EntityRow:
        vector = random_vector(self._rng, self._rng.choice((8, 0)))
        return EntityRow(node, self._text(), self._text(), self._ints(), self._rng.randint(0, 9), vector)

    def _edge(self, u: int, v: int) -> EdgeRow:
        weight = self._rng.choice((0, 1, 7, 1 << 40))
        if not weight:
            self._pairs["edges"].discard((u, v))
        return EdgeRow(u, v, weight, self._rng.randint(2, 5))

    def _community_change(self) -> CommunityChange:
        removed = self._dropped(set(self._tree))
        for community in removed:
            del self._tree[community]
        fresh = list(range(self._next_community, self._next_community + self._rng.randint(0, 3)))
        self._next_community += len(fresh)
        children = sorted({*fresh, *self._some(self._tree)})
        for community in children:
            self._tree.setdefault(community, self._rng.randint(0, 2))
        nodes = sorted({self._rng.randrange(IDS) for _ in range(self._rng.randint(0, 5))})
        return CommunityChange(
            np.array(nodes, np.int32),
            np.array([self._rng.choice([0, *self._tree]) for _ in nodes], np.int64),
            np.array(children, np.int64),
            np.array([self._tree[community] for community in children], np.int32),
            np.array([self._rng.choice([0, *self._tree]) for _ in children], np.int64),
            np.array(removed, np.int64),
        )


def document_delta(rng: Random, version: int, graph: str = "g", dimensions: int = 384) -> GraphDelta:
    """Return the delta of one ordinary document: 1 chunk, 20 mentions of 10 labels, 11 statements, 10 entities, 12
    edges.

    Half of its labels, entities and edges existed before.
    """
    at = version * 5
    labels = [*range(at, at + 5), *(rng.randrange(at + 1) for _ in range(5))]
    labels = list(dict.fromkeys(labels))
    sentences = [f"{rng.choice(labels)} is known for {rng.choice(labels)}" for _ in range(11)]
    vectors = [random_vector(rng, dimensions) for _ in sentences]
    pairs = sorted({(min(u, v), max(u, v)) for u, v in (rng.sample(labels, 2) for _ in range(12))})
    first = version * 11
    return GraphDelta(
        graph,
        version,
        documents=(DocumentRow(f"doc-{version}", version, DocumentInfo("A title", "a source"), (version,)),),
        chunks=(
            ChunkRow(version, f"doc-{version}#0", f"doc-{version}", 0, "word " * 120, random_vector(rng, dimensions)),
        ),
        labels=tuple(
            LabelRow(label, f"label {label}", "", label, 2, random_sum(rng, [random_vector(rng, dimensions)]))
            for label in labels
        ),
        mentions=tuple(MentionRow(rng.choice(labels), version, f"Label {i}", "", 1) for i in range(20)),
        statements=tuple(
            TripleRow(
                first + i, labels[0], "is known for", labels[1], 1, 1000, random_sum(rng, [vectors[i]]), vectors[i]
            )
            for i in range(11)
        ),
        evidence=tuple(EvidenceRow(first + i, version, "", sentences[i], 1000, 1) for i in range(11)),
        entities=tuple(
            EntityRow(label, f"Label {label}", "", (label,), 2, random_vector(rng, dimensions)) for label in labels
        ),
        edges=tuple(EdgeRow(u, v, 1, 2) for u, v in pairs),
        communities=CommunityChange(
            np.array(labels[:5], np.int32),
            np.full(5, version, np.int64),
            np.array([version], np.int64),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            np.zeros(0, np.int64),
        ),
    )
