"""Small live views from plain documents, given or random, with vectors that count words."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.algorithms.trussness import Trussness
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
    TripleRow,
    Vector,
)
from graphtide.graph.vector_index import ExactIndex, VectorIndex
from graphtide.graph.view import LiveView, VectorIndexes

DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class SmallDocument:
    """A document of one passage: its title, text, and statements (subject, predicate, object)."""

    doc_id: str
    text: str
    entities: tuple[str, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    info: DocumentInfo = field(default_factory=DocumentInfo)


def bag_of_words(text: str) -> NDArray[np.float32]:
    """Return a unit vector that texts of the same words share: a sum of one random direction per word."""
    total = np.sum([np.zeros(DIMENSIONS), *map(_direction, text.lower().split())], axis=0)
    length = np.linalg.norm(total)
    unit: NDArray[np.float32] = (total / length if length else total).astype(np.float32)
    return unit


@cache
def _direction(word: str) -> NDArray[np.float64]:
    """Return a word's direction, the same in every process."""
    return np.random.default_rng(list(word.encode())).normal(size=DIMENSIONS)


def stored(text: str) -> Vector:
    """Return the vector of a text as a row holds it."""
    return bag_of_words(text).astype(np.float16)


def small_view(
    documents: Sequence[SmallDocument], index: Callable[[], VectorIndex] = lambda: ExactIndex(DIMENSIONS)
) -> LiveView:
    """Return a view of the documents, each name an entity of its own. Numbers follow the order of the documents."""
    labels: dict[str, int] = {}
    statements: dict[tuple[str, str, str], int] = {}
    mentions: list[MentionRow] = []
    evidence: list[EvidenceRow] = []
    for chunk, document in enumerate(documents):
        ends = [name for subject, _, object_ in document.triples for name in (subject, object_)]
        for name, times in Counter([*document.entities, *ends]).items():
            mentions.append(MentionRow(labels.setdefault(name, len(labels)), chunk, name, "", times))
        for triple, times in Counter(document.triples).items():
            number = statements.setdefault(triple, len(statements))
            evidence.append(EvidenceRow(number, chunk, "", "", 1000 * times, times))
    mentioned: Counter[int] = Counter()
    for mention in mentions:
        mentioned[mention.label] += mention.count
    counts: Counter[int] = Counter()
    for support in evidence:
        counts[support.statement] += support.count
    edges: Counter[tuple[int, int]] = Counter()
    for (subject, _, object_), number in statements.items():
        u, v = sorted((labels[subject], labels[object_]))
        if u != v:
            edges[u, v] += counts[number]
    pairs, values = Trussness(np.array(list(edges), np.int32).reshape(-1, 2)).edges()
    view = LiveView("small", VectorIndexes(index(), index(), index()))
    view.apply(
        GraphDelta(
            "small",
            1,
            documents=tuple(DocumentRow(d.doc_id, n, d.info, (n,)) for n, d in enumerate(documents)),
            chunks=tuple(
                ChunkRow(n, f"{d.doc_id}#0", d.doc_id, 0, d.text, stored(d.text), 1) for n, d in enumerate(documents)
            ),
            labels=tuple(LabelRow(number, name, "", number, mentioned[number], b"") for name, number in labels.items()),
            mentions=tuple(mentions),
            statements=tuple(
                TripleRow(n, labels[s], p, labels[o], counts[n], 1000 * counts[n], b"", stored(f"{s} {p} {o}"), 1)
                for (s, p, o), n in statements.items()
            ),
            evidence=tuple(evidence),
            entities=tuple(
                EntityRow(number, name, "", (number,), mentioned[number], stored(name), 1)
                for name, number in labels.items()
            ),
            edges=tuple(
                EdgeRow(u, v, edges[u, v], k) for (u, v), k in zip(pairs.tolist(), values.tolist(), strict=True)
            ),
            snapshot=True,
            communities=_hierarchy(labels),
        )
    )
    return view


def _hierarchy(labels: dict[str, int]) -> Hierarchy:
    """Return a tree over the names alone, so that it is the same in any order: groups of six, groups of four, all."""
    nodes = [labels[name] for name in sorted(labels)]
    sizes = (6, 24, max(24, len(nodes)))
    ids, levels, parents = [], [], []
    first = [1, 1 + -(-len(nodes) // 6), 1 + -(-len(nodes) // 6) + -(-len(nodes) // 24)]
    for level, size in enumerate(sizes):
        for place in range(-(-len(nodes) // size)):
            ids.append(first[level] + place)
            levels.append(level)
            parents.append(0 if level == 2 else first[level + 1] + place * size // sizes[level + 1])
    order = np.argsort(nodes)
    return Hierarchy(
        np.array(nodes, np.int32)[order],
        np.array([1 + place // 6 for place in range(len(nodes))], np.int64)[order],
        np.array(ids, np.int64),
        np.array(levels, np.int32),
        np.array(parents, np.int64),
        len(ids) + 1,
    )


WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch")


def random_documents(rng: random.Random, count: int) -> list[SmallDocument]:
    """Return documents over a small vocabulary, so that names, words and statements are shared, and some are alike."""
    names = [f"{a} {b}" for a in WORDS[:6] for b in WORDS[6:10]]
    documents = []
    for number in range(count):
        mine = rng.sample(names, rng.randint(1, 4))
        triples = tuple((rng.choice(mine), rng.choice(("near", "of", "led by")), rng.choice(mine)) for _ in mine[1:])
        text = " ".join([*mine, *rng.choices(WORDS, k=rng.randint(1, 6))])
        info = DocumentInfo(title=rng.choice(names), source=rng.choice("ab"), occurred_at=f"20{rng.randint(10, 25)}")
        documents.append(SmallDocument(f"d{number:03d}", text, tuple(mine), triples, info))
    return documents
