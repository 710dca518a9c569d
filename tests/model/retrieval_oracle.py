"""Retrieval by its definition: small graphs from plain documents, and every step by loops over all of them.

No index, no push, no array trick: cosines one by one, PageRank by iteration on the whole graph until convergence, pairs
by their sums. `slow_vector`, `slow_local` and `slow_passages` have the signature of the modes they check, so that one
suite compares them. They share with the project the view, the request types and the parameters.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
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
from graphtide.graph.retrieval import Question, RetrievalResult, RetrievedPassage
from graphtide.graph.retrieval.modes.local import DIVERSITY
from graphtide.graph.retrieval.scoring.candidates import HUB, NEAR, WALKED
from graphtide.graph.retrieval.scoring.pair_scoring import DECADES, MIN_SPAN, Weighting
from graphtide.graph.retrieval.search.ppr import RESTART
from graphtide.graph.retrieval.seeds import ENTITIES, ENTITY_SHARE, PASSAGE_SHARE, PASSAGES, STATEMENTS
from graphtide.graph.retrieval.types import Subgraph
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
    said: Counter[int] = Counter()
    for support in evidence:
        said[support.statement] += support.count
    edges: Counter[tuple[int, int]] = Counter()
    for (subject, _, object_), number in statements.items():
        u, v = sorted((labels[subject], labels[object_]))
        if u != v:
            edges[u, v] += said[number]
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
                TripleRow(n, labels[s], p, labels[o], said[n], 1000 * said[n], b"", stored(f"{s} {p} {o}"), 1)
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


# -- the modes, by brute force -----------------------------------------------------------------------------------------


def slow_vector(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `vector`, one cosine at a time."""
    ranked = _ranked({n: _cosine(view.indexes.chunks, n, question) for n in view.chunks}, _chunk_name(view))
    return _retrieved(view, [(cosine, n) for n, cosine in ranked[: question.top_k]], "vector")


def slow_passages(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `passages` by its definition."""
    relevance = _relevance(view, question)
    ranked = _ranked(relevance, _chunk_name(view))[: question.top_k]
    return _retrieved(view, [(value, n) for n, value in ranked], "passages")


def slow_local(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `local` by its definition: the same relevance, then maximal marginal relevance one by one."""
    relevance = _relevance(view, question)
    taken: list[int] = []
    while len(taken) < min(question.top_k, len(relevance)):
        value = {
            n: DIVERSITY * relevance[n]
            - (1 - DIVERSITY) * max((_dot(view.indexes.chunks, n, other) for other in taken), default=0.0)
            for n in relevance
            if n not in taken
        }
        taken.append(_ranked(value, _chunk_name(view))[0][0])
    return _retrieved(view, [(relevance[n], n) for n in taken], "local")


def exact_pagerank(view: LiveView, restart: dict[int, float], probability: float) -> dict[int, float]:
    """Return the stationary mass of the walk that restarts with `probability`, by iteration over the walk graph."""
    weight: dict[int, dict[int, float]] = defaultdict(dict)
    for node, entity in view.entities.items():
        for chunk, times in entity.chunks.items():
            weight[2 * node][2 * chunk + 1] = weight[2 * chunk + 1][2 * node] = float(times)
        for other, edge in view.neighbours.get(node, {}).items():
            weight[2 * node][2 * other] = float(edge.weight)
    mass = dict(restart)
    for _ in range(200):
        following = {node: probability * share for node, share in restart.items()}
        for node, share in mass.items():
            total = sum(weight[node].values())
            for other, w in weight[node].items():
                following[other] = following.get(other, 0.0) + (1 - probability) * share * w / total
        mass = following
    return mass


def slow_restart(view: LiveView, question: Question) -> dict[int, float]:
    """Return the restart distribution: three families of seeds with their shares."""
    statements = _nearest(view.indexes.statements, view.statements, question, _statement_name(view), STATEMENTS)
    entities = _nearest(view.indexes.entities, view.entities, question, view.entity_id, ENTITIES)
    passages = _nearest(view.indexes.chunks, view.chunks, question, _chunk_name(view), NEAR)
    floor = passages[-1][1] if len(passages) > PASSAGES else 0.0
    families: list[tuple[float, Counter[int]]] = [
        (1 - ENTITY_SHARE - PASSAGE_SHARE, Counter()),
        (ENTITY_SHARE, Counter()),
        (PASSAGE_SHARE, Counter()),
    ]
    for number, cosine in statements:
        for end in (view.statements[number].subject, view.statements[number].object):
            families[0][1][2 * end] += max(cosine, 0) / len(view.entities[end].chunks)  # type: ignore[assignment]
    for node, cosine in entities:
        families[1][1][2 * node] += max(cosine, 0) / len(view.entities[node].chunks)  # type: ignore[assignment]
    for number, cosine in passages[:PASSAGES]:
        families[2][1][2 * number + 1] += max(cosine - floor, 0)  # type: ignore[assignment]
    used = [(share, mass) for share, mass in families if sum(mass.values()) > 0]
    whole = sum(share for share, _ in used)
    return {
        node: sum(share / whole * mass[node] / sum(mass.values()) for share, mass in used)
        for node in {node for _, mass in used for node in mass if mass[node] > 0}
    }


def _relevance(view: LiveView, question: Question) -> dict[int, float]:
    """Return every candidate's share in good pairs, from 0 to 1."""
    weighting = Weighting()
    cosine = {n: _cosine(view.indexes.chunks, n, question) for n in view.chunks}
    near = _ranked(cosine, _chunk_name(view))[: max(NEAR, question.top_k)]
    if not near:
        return {}
    mass = exact_pagerank(view, slow_restart(view, question), RESTART)
    reached = {n: mass.get(2 * n + 1, 0.0) for n in view.chunks}
    best = max(reached.values())
    far = {n: m for n, m in reached.items() if m > best / 10**DECADES}
    walked = _ranked(far, _chunk_name(view))[: max(WALKED, question.top_k)]
    span = max(near[0][1] - near[-1][1], MIN_SPAN)
    worth = {
        n: (cosine[n] - near[-1][1]) / span
        + weighting.walk * (max(0.0, 1 + math.log10(reached[n] / best) / DECADES) if reached[n] > 0 else 0.0)
        for n in view.chunks
    }
    found = {n for n, _ in near} | {n for n, _ in walked}
    firsts = [n for n, _ in _ranked({n: worth[n] for n in found}, _chunk_name(view))[: weighting.firsts]]
    led_to = {first: _bridges(view, first) for first in firsts}
    found |= {n for reach in led_to.values() for n in reach}
    has = {n: set(_words(f"{view.documents[view.chunks[n].doc_id].info.title}\n{view.chunks[n].text}")) for n in found}
    weight = _word_weights(question, has)
    pairs: dict[tuple[int, int], float] = {}
    for first in firsts:
        for second in found - {first}:
            pairs[first, second] = (
                worth[first]
                + worth[second]
                - weighting.redundancy * cosine[first] * _dot(view.indexes.chunks, first, second) / span
                + weighting.bridge * led_to[first].get(second, 0.0)
                + weighting.coverage * sum(w for word, w in weight.items() if word in has[first] | has[second])
            )
    if not pairs:
        return dict.fromkeys(found, 1.0)
    part: Counter[int] = Counter()
    for (first, second), score in pairs.items():
        good = math.exp((score - max(pairs.values())) / weighting.temperature)
        part[first] += good  # type: ignore[assignment]
        part[second] += good  # type: ignore[assignment]
    logs = {n: weighting.temperature * math.log(max(part[n], 1e-300)) + 1e-6 * worth[n] for n in found}
    low, high = min(logs.values()), max(logs.values())
    return {n: (value - low) / (high - low) if high > low else 1.0 for n, value in logs.items()}


def _bridges(view: LiveView, first: int) -> dict[int, float]:
    strengths: dict[int, float] = {}
    for entity in view.entities.values():
        if first in entity.chunks and 2 <= len(entity.chunks) <= HUB:
            for other in set(entity.chunks) - {first}:
                strengths[other] = max(strengths.get(other, 0.0), 1 / (1 + math.log(len(entity.chunks))))
    return strengths


def _word_weights(question: Question, has: dict[int, set[str]]) -> dict[str, float]:
    squares = {}
    for word in sorted(set(_words(question.text))):
        having = sum(word in words for words in has.values())
        if having:
            squares[word] = math.log(1 + (len(has) - having + 0.5) / (having + 0.5)) ** 2
    return {word: square / sum(squares.values()) for word, square in squares.items()}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _nearest(
    index: VectorIndex,
    numbers: Iterable[int],
    question: Question,
    name: Callable[[int], str],
    k: int,
) -> list[tuple[int, float]]:
    return _ranked({n: _cosine(index, n, question) for n in numbers}, name)[:k]


def _ranked(values: dict[int, float], name: Callable[[int], str]) -> list[tuple[int, float]]:
    return sorted(values.items(), key=lambda item: (-item[1], name(item[0])))


def _cosine(index: VectorIndex, number: int, question: Question) -> float:
    held = [float(x) for x in index.vectors(np.array([number]))[0]]
    asked = [float(x) for x in question.vector]
    return sum(a * b for a, b in zip(held, asked, strict=True)) / math.sqrt(sum(a * a for a in asked))


def _dot(index: VectorIndex, a: int, b: int) -> float:
    first, second = index.vectors(np.array([a, b]))
    return float(sum(float(x) * float(y) for x, y in zip(first, second, strict=True)))


def _chunk_name(view: LiveView) -> Callable[[int], str]:
    return lambda n: view.chunks[n].chunk_id


def _statement_name(view: LiveView) -> Callable[[int], str]:
    def name(number: int) -> str:
        said = view.statements[number]
        return f"{view.labels[said.subject].name}|{said.predicate}|{view.labels[said.object].name}"

    return name


def _retrieved(view: LiveView, ranked: list[tuple[float, int]], mode: str) -> RetrievalResult:
    passages = tuple(
        RetrievedPassage(view.chunks[n].chunk_id, view.chunks[n].doc_id, score, view.chunks[n].text)
        for score, n in ranked
    )
    return RetrievalResult(passages, Subgraph(), view.version, mode)
