"""Mode `dynagrag` by its definition: every sum a loop, every vector by itself, every choice over all alternatives.

It shares with the project the view, the request types, the parameters and the scale of `_cosine`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from graphtide.graph.learning import Discriminant
from graphtide.graph.retrieval.dynagrag.learning import MaskModel, MaskWeights
from graphtide.graph.retrieval.dynagrag.prompt import ENTITIES as SHOWN
from graphtide.graph.retrieval.dynagrag.selection import ENTITIES, PASSAGES, STATEMENTS
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag, Mask, Traversal
from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.scoring.pair_scoring import MIN_SPAN
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph
from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.view import LiveView

Values = list[float]


@dataclass
class SlowEgo:
    """Entities by hop, and (statement, subject, object) among them, by node."""

    nodes: list[int]
    relations: list[tuple[int, int, int]]


@dataclass
class SlowPruned:
    """Masks and refined vectors by node, masks by statement."""

    nodes: dict[int, float]
    relations: dict[int, float]
    refined: dict[int, Values]


def slow_dynagrag(view: LiveView, question: Question, settings: Dynagrag | None = None) -> RetrievalResult:
    """Return the result of mode `dynagrag`, its passages only."""
    settings = settings or Dynagrag()
    wide = replace(settings, caps=replace(settings.caps, nodes=settings.explored))
    chosen = [(value, slow_ego(view, ego.nodes[0], wide)) for value, ego in slow_choice(view, question, settings)]
    support: dict[int, float] = {}
    learned = view.followers.get(MaskModel).weights(view) if settings.mask is Mask.LEARNED else None
    pruned = slow_pruning(view, question, [ego for _, ego in chosen], settings, learned)
    for (similarity, ego), kept in zip(chosen, pruned, strict=True):
        for statement, _, _ in ego.relations:
            for chunk in view.statements[statement].chunks:
                support[chunk] = max(support.get(chunk, 0.0), similarity * kept.relations[statement])
    near = _nearest(view.indexes.chunks, view.chunks, question, _chunk(view), max(NEAR, question.top_k))
    if not near:
        return RetrievalResult((), Subgraph(), view.version, "dynagrag")
    low, span = near[-1][0], max(near[0][0] - near[-1][0], MIN_SPAN)
    score = {n: round((value - low) / span + support.get(n, 0.0), 6) for value, n in near}
    for n, value in support.items():
        score[n] = round((_cosine(_vector(view.indexes.chunks, n), question.vector.tolist()) - low) / span + value, 6)
    order = sorted(score, key=lambda n: (-score[n], view.chunks[n].chunk_id))[: question.top_k]
    passages = (
        RetrievedPassage(view.chunks[n].chunk_id, view.chunks[n].doc_id, score[n], view.chunks[n].text) for n in order
    )
    return RetrievalResult(tuple(passages), Subgraph(), view.version, "dynagrag")


def slow_choice(view: LiveView, question: Question, settings: Dynagrag) -> list[tuple[float, SlowEgo]]:
    """Return the chosen ego-graphs with their similarity, best first."""
    asked = question.vector.tolist()
    centres = {n for _, n in _nearest(view.indexes.entities, view.entities, question, view.entity_id, ENTITIES)}
    for _, n in _nearest(view.indexes.statements, view.statements, question, _statement(view), STATEMENTS):
        centres |= set(view.ends(n))
    for _, n in _nearest(view.indexes.chunks, view.chunks, question, _chunk(view), PASSAGES):
        centres |= {view.labels[mention.label].node for mention in view.chunks[n].mentions}
    ranked = []
    for centre in centres:
        ego = slow_ego(view, centre, settings)
        ranked.append((-round(_cosine(slow_total(view, ego), asked), 6), view.entity_id(centre), ego))
    ranked.sort(key=lambda row: row[:2])
    taken: list[tuple[float, SlowEgo]] = []
    tops: set[int] = set()
    for distance, _, ego in ranked:
        worth = {
            n: view.entities[n].mentions * max(round(_cosine(_vector(view.indexes.entities, n), asked), 6), 0.0)
            for n in ego.nodes
        }
        top = min(ego.nodes, key=lambda n: (-worth[n], view.entity_id(n)))
        if len(taken) < settings.subgraphs and not (settings.diversity and top in tops):
            taken.append((-distance, ego))
            tops.add(top)
    return taken


def slow_ego(view: LiveView, centre: int, settings: Dynagrag) -> SlowEgo:
    """Return the ego-graph, breadth-first by hops: each entity's heaviest relations, and all inner statements."""
    caps, hop, queue = settings.caps, {centre: 0}, deque([centre])
    while queue:
        node = queue.popleft()
        edges = view.neighbours.get(node, {})
        if hop[node] == caps.hops or (node != centre and len(edges) > caps.hub):
            continue
        for other in sorted(edges, key=lambda n: (-edges[n].weight, view.entity_id(n)))[: caps.fan]:
            if other not in hop and len(hop) < caps.nodes:
                hop[other] = hop[node] + 1
                queue.append(other)
    relations = []
    for number in view.statements:
        subject, object_ = view.ends(number)
        if subject != object_ and subject in hop and object_ in hop:
            relations.append((number, subject, object_))
    return SlowEgo(list(hop), relations)


def slow_total(view: LiveView, ego: SlowEgo) -> Values:
    """Return the total graph embedding, section 3.2, term by term."""
    total = [0.0] * view.indexes.entities.dimensions
    weight = 0.0
    for node in ego.nodes:
        w = view.entities[node].mentions
        weight += w
        total = [t + w * h for t, h in zip(total, _vector(view.indexes.entities, node), strict=True)]
    for statement, subject, object_ in ego.relations:
        w = view.statements[statement].count
        weight += w
        three = (
            _vector(view.indexes.entities, subject),
            _vector(view.indexes.entities, object_),
            _vector(view.indexes.statements, statement),
        )
        total = [t + w * (a + b + c) / 3 for t, a, b, c in zip(total, *three, strict=True)]
    return [t / weight for t in total]


def slow_pruning(
    view: LiveView, question: Question, egos: list[SlowEgo], settings: Dynagrag, learned: MaskWeights | None = None
) -> list[SlowPruned]:
    """Return masks of each subgraph, section 3.3, with the substitutes of `pruning.py`."""
    entity = {n: _vector(view.indexes.entities, n) for ego in egos for n in ego.nodes}
    statement_vectors = {n: _vector(view.indexes.statements, n) for ego in egos for n, _, _ in ego.relations}
    if not settings.pruning:
        return [
            SlowPruned(dict.fromkeys(ego.nodes, 1.0), {n: 1.0 for n, _, _ in ego.relations}, entity) for ego in egos
        ]
    if learned is not None:
        return [_learned(question.vector.tolist(), ego, entity, statement_vectors, learned) for ego in egos]
    unit = _unit(question.vector.tolist())
    far = {("e", n): math.dist(v, unit) for n, v in entity.items()} | {
        ("s", n): math.dist(v, unit) for n, v in statement_vectors.items()
    }
    mean = sum(far.values()) / max(len(far), 1)
    deviation = math.sqrt(sum((d - mean) ** 2 for d in far.values()) / max(len(far), 1)) or 1.0
    weight = {("e", n): view.entities[n].mentions for n in entity} | {
        ("s", n): view.statements[n].count for n in statement_vectors
    }
    prominence = {}
    for kind in "es":
        largest = max((math.log1p(w) for key, w in weight.items() if key[0] == kind), default=1.0)
        for key in (key for key in far if key[0] == kind):
            relevance = 1 / (1 + math.exp((far[key] - mean) / deviation))
            prominence[key] = relevance * (1 + math.log1p(weight[key]) / largest) / 2
    return [_convolved(ego, prominence, entity) for ego in egos]


def _learned(
    asked: Values, ego: SlowEgo, entity: dict[int, Values], statement_vectors: dict[int, Values], learned: MaskWeights
) -> SlowPruned:
    """Return the masks by learned weights, each feature by its definition."""
    beside = {n: {n} for n in ego.nodes}
    own, best = {n: round(_cosine(entity[n], asked), 6) for n in ego.nodes}, dict.fromkeys(ego.nodes, 0.0)
    stated = {number: round(_cosine(statement_vectors[number], asked), 6) for number, _, _ in ego.relations}
    for number, *ends in ego.relations:
        for n in ends:
            beside[n] |= set(ends)
            best[n] = max(best[n], stated[number])

    def averaged(values: dict[int, float]) -> dict[int, float]:
        return {n: sum(values[other] for other in beside[n]) / len(beside[n]) for n in ego.nodes}

    near, related = averaged(own), averaged(best)
    columns = (own, best, near, averaged(near), related, averaged(related))
    nodes = {n: _probability(learned.entities, [column[n] for column in columns]) for n in ego.nodes}
    relations = {
        number: _probability(
            learned.relations, [stated[number], *((column[a] + column[b]) / 2 for column in (own, best, columns[5]))]
        )
        for number, a, b in ego.relations
    }
    weights = {("e", n): 1.0 for n in ego.nodes} | {("s", number): mask for number, mask in relations.items()}
    return SlowPruned(nodes, relations, _convolved(ego, weights, entity).refined)


def _probability(fit: Discriminant, row: Values) -> float:
    return 1 / (1 + math.exp(-sum(a * b for a, b in zip(fit.weights, row, strict=True)) - fit.bias))


def _convolved(ego: SlowEgo, prominence: dict[tuple[str, int], float], vectors: dict[int, Values]) -> SlowPruned:
    link = {(n, n): 1.0 for n in ego.nodes}
    for statement, subject, object_ in ego.relations:
        for pair in ((subject, object_), (object_, subject)):
            link[pair] = link.get(pair, 0.0) + prominence["s", statement]
    degree = {n: sum(w for (a, _), w in link.items() if a == n) for n in ego.nodes}
    score, refined = {n: prominence["e", n] for n in ego.nodes}, {n: vectors[n] for n in ego.nodes}
    for _ in range(2):
        share = {(a, b): w / math.sqrt(degree[a] * degree[b]) for (a, b), w in link.items()}
        score = {n: sum(w * score[b] for (a, b), w in share.items() if a == n) for n in ego.nodes}
        refined = {n: _summed((w, refined[b]) for (a, b), w in share.items() if a == n) for n in ego.nodes}
    nodes = {n: value / max(score.values()) for n, value in score.items()}
    relations = {s: (prominence["s", s] + (nodes[a] + nodes[b]) / 2) / 2 for s, a, b in ego.relations}
    return SlowPruned(nodes, relations, refined)


def slow_order(view: LiveView, question: Question, ego: SlowEgo, pruned: SlowPruned, settings: Dynagrag) -> list[int]:
    """Return nodes in the order of exploration, by scanning all discovered nodes at each step."""
    asked = question.vector.tolist()
    beside = {
        n: {b for _, a, b in ego.relations if a == n} | {a for _, a, b in ego.relations if b == n} for n in ego.nodes
    }
    discovered, order = [ego.nodes[0]], list[int]()
    while len(order) < min(SHOWN, len(ego.nodes)):
        left = [n for n in discovered if n not in order]
        if settings.traversal is Traversal.SIMILARITY:
            left.sort(key=lambda n: -round(pruned.nodes[n] * (1 + round(_cosine(pruned.refined[n], asked), 6)) / 2, 6))
        order.append(left[0])
        discovered += [n for n in ego.nodes if n in beside[left[0]] and n not in discovered]
    return order


def _nearest(
    index: VectorIndex, numbers: Iterable[int], question: Question, name: Callable[[int], str], count: int
) -> list[tuple[float, int]]:
    found = [(_cosine(_vector(index, n), question.vector.tolist()), n) for n in numbers]
    return sorted(found, key=lambda row: (-row[0], name(row[1])))[:count]


def _chunk(view: LiveView) -> Callable[[int], str]:
    return lambda n: view.chunks[n].chunk_id


def _statement(view: LiveView) -> Callable[[int], str]:
    def name(number: int) -> str:
        statement = view.statements[number]
        return f"{view.labels[statement.subject].name}|{statement.predicate}|{view.labels[statement.object].name}"

    return name


def _vector(index: VectorIndex, number: int) -> Values:
    vector: Values = index.vectors(np.array([number]))[0].astype(np.float64).tolist()
    return vector


def _summed(terms: Iterable[tuple[float, Values]]) -> Values:
    rows = [[weight * x for x in vector] for weight, vector in terms]
    return [sum(column) for column in zip(*rows, strict=True)]


def _unit(vector: Values) -> Values:
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else vector


def _cosine(one: Values, other: Values) -> float:
    return sum(a * b for a, b in zip(_unit(one), _unit(other), strict=True))
