"""Mode `nakg` by its definition, by loops over documents and words.

It shares with the project the view, the request types, the parameters, and the names of a title.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from graphtide.graph.aboutness import title_keys
from graphtide.graph.relatedness.statistics import PRIOR, TEMPERATURE
from graphtide.graph.retrieval.nakg.clustering import ROUNDING
from graphtide.graph.retrieval.nakg.documents import FIRSTS
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.scoring.links import HUB
from graphtide.graph.retrieval.scoring.pair_scoring import MIN_SPAN
from graphtide.graph.retrieval.seeds import STATEMENTS
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph
from graphtide.graph.view import LiveView
from tests.model.dbscan_oracle import slow_dbscan
from tests.model.relatedness_oracle import slow_weights

Values = list[float]
Pair = tuple[str, str]


def slow_nakg(view: LiveView, question: Question) -> RetrievalResult:
    """Return the result of mode `nakg`, its passages only."""
    settings, asked = Nakg(), question.vector.tolist()
    candidates = slow_candidates(view, question)
    if not candidates:
        return RetrievalResult((), Subgraph(), view.version, "nakg")
    vector = {n: _unit(view.chunks[n].vector.astype(float).tolist()) for n in candidates}
    best: dict[str, float] = {}
    for n in candidates:
        doc_id = view.chunks[n].doc_id
        best[doc_id] = max(best.get(doc_id, -1.0), _cosine(vector[n], asked))
    documents = sorted(sorted(best, key=lambda doc_id: (-best[doc_id], doc_id))[: settings.documents])
    before = {doc_id: slow_document(view, doc_id) for doc_id in documents}
    after = slow_propagation(before, slow_attention(view, before, settings), settings)
    cosine = {}
    for n in candidates:
        doc_id = view.chunks[n].doc_id
        moved = (
            [a - b for a, b in zip(after[doc_id], before[doc_id], strict=True)]
            if doc_id in after
            else [0.0] * len(asked)
        )
        cosine[n] = round(_cosine([v + m for v, m in zip(vector[n], moved, strict=True)], asked), 6)
    low, span = min(cosine.values()), max(max(cosine.values()) - min(cosine.values()), MIN_SPAN)
    lexical = slow_lexical(view, question, candidates)
    own = {n: 0.4 * lexical[n][0] + 0.3 * lexical[n][1] + 0.3 * (cosine[n] - low) / span for n in candidates}
    total = {n: round(own[n] + slow_message(view, n, own, settings), 6) for n in candidates}
    order = sorted(candidates, key=lambda n: (-total[n], view.chunks[n].chunk_id))
    mean = sum(total.values()) / len(total)
    passages = []
    for rank, n in enumerate(order[: question.top_k]):
        score = settings.decay**rank / (1 + math.exp(-8 * (total[n] - mean)))
        passages.append(RetrievedPassage(view.chunks[n].chunk_id, view.chunks[n].doc_id, score, view.chunks[n].text))
    return RetrievalResult(tuple(passages), Subgraph(), view.version, "nakg")


def slow_candidates(view: LiveView, question: Question) -> list[int]:
    """Return passages near the question, in the same document as the nearest, or stating the nearest statements."""
    asked = question.vector.tolist()
    near = sorted(
        view.chunks,
        key=lambda n: (-_indexed(view, "chunks", n, asked), view.chunks[n].chunk_id),
    )[: max(NEAR, question.top_k)]
    found = set(near)
    for entity in view.entities.values():
        if 2 <= len(entity.chunks) <= HUB and set(entity.chunks) & set(near[:FIRSTS]):
            found |= set(entity.chunks)
    ranked = sorted(
        view.statements,
        key=lambda n: (-_indexed(view, "statements", n, asked), _words_of(view, n)),
    )[:STATEMENTS]
    for n in ranked:
        if len(view.statements[n].chunks) <= HUB:
            found.update(view.statements[n].chunks)
    return sorted(found, key=lambda n: view.chunks[n].chunk_id)


def slow_message(view: LiveView, passage: int, relevance: dict[int, float], settings: Nakg) -> float:
    """Return the strongest relevance that a linked passage of another document passes on."""
    found = [0.0]
    for other, value in relevance.items():
        if view.chunks[other].doc_id == view.chunks[passage].doc_id:
            continue
        holders = [set(entity.chunks) for entity in view.entities.values()]
        counts = [len(mentioned) for mentioned in holders if {passage, other} <= mentioned and len(mentioned) <= HUB]
        found += [settings.relevance_share * value / (1 + math.log(count)) for count in counts]
        if slow_titled(view, [passage], [other]):
            found.append(settings.relevance_share * value * settings.title_link)
    return max(found)


def slow_titled(view: LiveView, one: list[int], other: list[int]) -> bool:
    """Return whether passages mention the title of the document that others belong to, in either direction."""
    for ours, theirs in ((one, other), (other, one)):
        names = {view.labels[mention.label].name for n in ours for mention in view.chunks[n].mentions}
        for n in theirs:
            if names & title_keys(view.documents[view.chunks[n].doc_id].info.title):
                return True
    return False


def slow_document(view: LiveView, doc_id: str) -> Values:
    """Return the mean of a document's passages, of unit length."""
    rows = [_unit(view.chunks[n].vector.astype(float).tolist()) for n in view.documents[doc_id].chunks]
    return _unit([sum(column) for column in zip(*rows, strict=True)])


def slow_edges(
    view: LiveView, vectors: dict[str, Values], settings: Nakg
) -> tuple[dict[Pair, float], dict[Pair, float]]:
    """Return e_ij of every candidate pair, and the strength of each pair's shared entities."""
    ids, learned = list(vectors), slow_weights(view)
    chunks = {a: list(view.documents[a].chunks) for a in ids}
    cosine = {(a, b): round(_cosine(vectors[a], vectors[b]), 6) for a in ids for b in ids if a != b}
    clusters = slow_clusters(vectors, settings)
    shared: dict[Pair, float] = {}
    for entity in view.entities.values():
        holders = {view.chunks[n].doc_id for n in entity.chunks} & set(ids)
        if len(entity.chunks) <= HUB:
            for a in holders:
                for b in holders - {a}:
                    shared[a, b] = max(shared.get((a, b), 0.0), 1 / (1 + math.log(len(entity.chunks))))
    nearest = {
        a: sorted((b for b in ids if b != a), key=lambda b: (-cosine[a, b], b))[: settings.min_links] for a in ids
    }
    weights = {}
    for a, b in ((a, b) for a, b in cosine if a < b):
        together = clusters[a] == clusters[b] != -1
        titled = slow_titled(view, chunks[a], chunks[b])
        if together or titled or (a, b) in shared or b in nearest[a] or a in nearest[b]:
            odds = learned.bias + learned.cosine * cosine[a, b] + (learned.titled if titled else learned.untitled)
            weights[a, b] = weights[b, a] = 1 / (1 + math.exp((-PRIOR - odds) / TEMPERATURE))
    return weights, shared


def slow_clusters(vectors: dict[str, Values], settings: Nakg) -> dict[str, int]:
    """Return the clusters of DBSCAN on cosine distances."""
    matrix = np.array(list(vectors.values()))
    found = slow_dbscan((1 - matrix @ matrix.T).tolist(), settings.eps + ROUNDING, settings.min_samples)
    return dict(zip(vectors, found, strict=True))


def slow_attention(view: LiveView, vectors: dict[str, Values], settings: Nakg) -> dict[Pair, float]:
    """Return alpha_ij of the edges that are kept."""
    weights, shared = slow_edges(view, vectors, settings)
    worth = {pair: round(weight + shared.get(pair, 0.0), 6) for pair, weight in weights.items()}
    kept: set[Pair] = set()
    beside: dict[str, list[str]] = defaultdict(list)
    for a, b in worth:
        beside[a].append(b)
    for a in vectors:
        ranked = sorted(beside[a], key=lambda b: (-worth[a, b], b))
        many = min(max(2, int(0.3 * len(vectors))), settings.connections)
        kept |= {(a, b) for b in ranked[:many] if worth[a, b] >= settings.threshold}
        kept |= {(a, b) for b in ranked[: settings.min_links]}
    kept |= {(b, a) for a, b in kept}
    total: Counter[str] = Counter()
    for a, b in kept:
        total[a] += worth[a, b]  # type: ignore[assignment]
    return {(a, b): worth[a, b] / total[a] for a, b in kept}


def slow_propagation(vectors: dict[str, Values], attention: dict[Pair, float], settings: Nakg) -> dict[str, Values]:
    """Return Equation 2 with residuals, one coordinate after the other."""
    moved = dict(vectors)
    beside: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for (a, b), share in attention.items():
        beside[a].append((b, share))
    for _ in range(settings.layers):
        new = {}
        for a, own in moved.items():
            terms = [(share, moved[b]) for b, share in beside[a]]
            new[a] = _unit([x + math.tanh(sum(s * v[k] for s, v in terms)) for k, x in enumerate(own)])
        moved = new
    return moved


def slow_lexical(view: LiveView, question: Question, candidates: list[int]) -> dict[int, tuple[float, float]]:
    """Return the word and order scores of each passage under its document's title."""
    tokens = {}
    for n in candidates:
        title = view.documents[view.chunks[n].doc_id].info.title
        tokens[n] = re.findall(r"\w+", f"{title}\n{view.chunks[n].text}".casefold())
    sequence = [w for w in re.findall(r"\w+", question.text.casefold()) if any(w in row for row in tokens.values())]
    square = {}
    for word in set(sequence):
        having = sum(word in row for row in tokens.values())
        square[word] = math.log(1 + (len(tokens) - having + 0.5) / (having + 0.5)) ** 2
    weight = {word: value / sum(square.values()) for word, value in square.items()}
    return {n: (_weight_of(row, weight), _ordered(row, sequence, weight)) for n, row in tokens.items()}


def _weight_of(row: list[str], weight: dict[str, float]) -> float:
    value = 0.0
    for word, share in weight.items():
        stem = word[: max(4, len(word) - 2)]
        if word in row:
            value += share
        elif len(word) > 4 and any(token.startswith(stem) for token in row):
            value += share / 2
    return value


def _ordered(row: list[str], sequence: list[str], weight: dict[str, float]) -> float:
    near = total = 0.0
    for one, other in pairwise(sequence):
        total += weight[one] + weight[other]
        gaps = [b - a for a, x in enumerate(row) for b, y in enumerate(row) if x == one and y == other and b > a]
        near += (weight[one] + weight[other]) / min(gaps) if gaps else 0.0
    return near / total if total else 0.0


def _indexed(view: LiveView, kind: str, number: int, asked: Values) -> float:
    index = view.indexes.chunks if kind == "chunks" else view.indexes.statements
    return _cosine(index.vectors(np.array([number]))[0].astype(float).tolist(), asked)


def _words_of(view: LiveView, number: int) -> str:
    statement = view.statements[number]
    return f"{view.labels[statement.subject].name}|{statement.predicate}|{view.labels[statement.object].name}"


def _unit(vector: Values) -> Values:
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else vector


def _cosine(one: Values, other: Values) -> float:
    length = math.sqrt(sum(x * x for x in one) * sum(x * x for x in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0
