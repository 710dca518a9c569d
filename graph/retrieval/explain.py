"""Explanation of a ranking, step by step, in readable names. It is built only when a question requests it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphtide.graph.identity import relation_id
from graphtide.graph.retrieval.scoring.candidates import CandidatePool, best_first
from graphtide.graph.retrieval.scoring.links import bridge_strength, entities_of
from graphtide.graph.retrieval.scoring.pair_scoring import Scores, Weighting, nearness, next_terms, reach
from graphtide.graph.retrieval.seeds import PASSAGES, Hit, Seeds
from graphtide.graph.retrieval.types import TraceItem, TraceStep
from graphtide.graph.view import LiveView, walk_entity

SHOWN = 10


def seed_steps(view: LiveView, seeds: Seeds) -> tuple[TraceStep, ...]:
    """Return the neighbours of the question that restart the walk, with their cosines."""
    return (
        TraceStep(
            "relation seeds",
            "Statements nearest to the question.",
            tuple(_statement(view, h) for h in seeds.statements),
        ),
        TraceStep("entity seeds", "Entities nearest to the question.", tuple(_entity(view, h) for h in seeds.entities)),
        TraceStep(
            "passage seeds",
            "Passages nearest to the question.",
            tuple(TraceItem(hit.key, "", hit.cosine, (("cosine", hit.cosine),)) for hit in seeds.passages[:PASSAGES]),
        ),
    )


def walk_step(view: LiveView, restart: Mapping[int, float], mass: Mapping[int, float]) -> TraceStep:
    """Return the entities and passages with most of the walk's mass, with their restart mass."""
    named = [(value, *_walk_name(view, node), restart.get(node, 0.0)) for node, value in mass.items()]
    named.sort(key=lambda row: (-row[0], row[1]))
    items = tuple(TraceItem(id_, name, value, (("restart", again),)) for value, id_, name, again in named[:SHOWN])
    return TraceStep("personalised PageRank", "Entities and passages by the walk's stationary mass.", items)


def named_step(view: LiveView, pool: CandidatePool) -> TraceStep:
    """Return the candidates that are about something the question names, with the specificity of the name."""
    named = pool.candidates.named
    items = tuple(
        TraceItem(view.chunks[number].chunk_id, _asked_name(view, pool, number), float(named[place]))
        for place in best_first(named, SHOWN).tolist()
        if named[place] > 0
        for number in (pool.numbers[place],)
    )
    return TraceStep("named", "Passages about something that the question names.", items)


def pair_step(view: LiveView, pool: CandidatePool, scores: Scores, weighting: Weighting) -> TraceStep:
    """Return the best pairs of passages and every term of their scores."""
    items: dict[frozenset[int], TraceItem] = {}
    totals = scores + pool.opening[pool.firsts][:, np.newaxis]
    for place in best_first(totals.ravel(), 2 * SHOWN):
        row, second = divmod(int(place), scores.shape[1])
        first = int(pool.firsts[row])
        both = frozenset((first, second))
        if np.isfinite(scores[row, second]) and both not in items:
            items[both] = _pair(view, pool, row, second, float(totals[row, second]), weighting)
    about = "Passages that answer together, named by the entity that links one to the other."
    return TraceStep("pairs", about, tuple(items.values())[:SHOWN])


def word_step(pool: CandidatePool) -> TraceStep:
    """Return the question's words that distinguish the candidates."""
    rows = zip(pool.words, pool.candidates.words.tolist(), strict=True)
    items = sorted((TraceItem(word, word, weight) for word, weight in rows), key=lambda item: (-item.score, item.id))
    return TraceStep("words", "Words of the question, weighted by how few of the candidates have them.", tuple(items))


def choice_step(view: LiveView, pool: CandidatePool, relevance: Scores, order: Sequence[int]) -> TraceStep:
    """Return the chosen passages, in order, with each one's relevance and unary score."""
    near, reached = nearness(pool.candidates), reach(pool.candidates.walk)
    items = tuple(
        TraceItem(
            view.chunks[pool.numbers[place]].chunk_id,
            "",
            float(relevance[place]),
            (
                ("cosine", float(pool.candidates.cosine[place])),
                ("nearness", float(near[place])),
                ("walk", float(reached[place])),
                ("named", float(pool.candidates.named[place])),
                ("words", float(pool.candidates.contained[place] @ pool.candidates.words)),
            ),
        )
        for place in order
    )
    return TraceStep("passages", "Passages by their part in good pairs, and by what they add to the set.", items)


def _pair(view: LiveView, pool: CandidatePool, row: int, second: int, score: float, weighting: Weighting) -> TraceItem:
    first = int(pool.firsts[row])
    made_of = next_terms(pool.candidates, (first,), pool.links[row], pool.mean, weighting)
    ids = " + ".join(view.chunks[pool.numbers[place]].chunk_id for place in (first, second))
    name = _bridge_name(view, pool.numbers[first], pool.numbers[second])
    parts = (("first", float(pool.opening[first])), *((part, float(values[second])) for part, values in made_of))
    return TraceItem(ids, name, score, parts)


def _asked_name(view: LiveView, pool: CandidatePool, number: int) -> str:
    """Return the longest key of a passage that the question contains."""
    return max((key for key in view.about.keys(number) if key in pool.names), key=lambda key: (len(key), key))


def _bridge_name(view: LiveView, first: int, second: int) -> str:
    """Return the entity that links two passages most strongly, if there is one."""
    leading = [node for node in entities_of(view, first) & entities_of(view, second) if bridge_strength(view, node)]
    best = min(leading, key=lambda node: (-bridge_strength(view, node), view.entity_id(node)), default=None)
    return "" if best is None else view.entities[best].name


def _statement(view: LiveView, hit: Hit) -> TraceItem:
    statement = view.statements[hit.number]
    subject, object_ = view.labels[statement.subject], view.labels[statement.object]
    predicate = view.predicate_of(hit.number)
    id_ = relation_id(view.entity_id(subject.node), predicate, view.entity_id(object_.node))
    return TraceItem(id_, f"{subject.name} | {predicate} | {object_.name}", hit.cosine)


def _entity(view: LiveView, hit: Hit) -> TraceItem:
    entity = view.entities[hit.number]
    return TraceItem(hit.key, entity.name, hit.cosine, (("passages", float(len(entity.chunks))),))


def _walk_name(view: LiveView, node: int) -> tuple[str, str]:
    if node == walk_entity(node // 2):
        return view.entity_id(node // 2), view.entities[node // 2].name
    return view.chunks[node // 2].chunk_id, ""
