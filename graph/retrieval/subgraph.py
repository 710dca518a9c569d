"""Supported subgraph: the part of the graph that a list of passages states, shown beside the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from graphtide.graph.identity import relation_id
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.search.walk_mass import WalkMass
from graphtide.graph.retrieval.types import AnswerEdge, AnswerNode, Subgraph
from graphtide.graph.view import LiveView, walk_entities, walk_entity

MAX_NODES = 40
MAX_EDGES = 60


def supported_subgraph(view: LiveView, chunks: Sequence[int], mass: Mapping[int, float] | None = None) -> Subgraph:
    """Return the entities the passages mention, the walk's best of them first, and the relations the passages state.

    Without `mass` (by walk node) an entity's score is the number of passages that mention it. At most MAX_NODES and
    MAX_EDGES, the heaviest. Cost: linear in the passages' mentions.
    """
    mentioned = Counter(node for chunk in chunks for node in entities_of(view, chunk))
    scores = _scores(mentioned, mass)
    ids = {node: view.entity_id(node) for node in mentioned}
    kept = sorted(mentioned, key=lambda node: (-scores[node], -mentioned[node], ids[node]))[:MAX_NODES]
    nodes = (AnswerNode(ids[n], view.entities[n].name, view.entities[n].type, scores[n]) for n in kept)
    return Subgraph(tuple(nodes), _relations(view, chunks, {node: ids[node] for node in kept}))


def _scores(mentioned: Mapping[int, int], mass: Mapping[int, float] | None) -> Mapping[int, float]:
    if mass is None:
        return {node: float(times) for node, times in mentioned.items()}
    if isinstance(mass, WalkMass):
        return dict(zip(mentioned, mass.of(walk_entities(list(mentioned))).tolist(), strict=True))
    return {node: mass.get(walk_entity(node), 0.0) for node in mentioned}


def _relations(view: LiveView, chunks: Iterable[int], ids: Mapping[int, str]) -> tuple[AnswerEdge, ...]:
    """Return the relations stated between shown entities. Statements in other spellings of the same relation add up."""
    stated = {number for chunk in chunks for number in view.chunks[chunk].evidence.statements}
    weight_milli: Counter[tuple[str, str, str]] = Counter()
    for number in stated:
        subject, object_ = view.ends(number)
        if subject in ids and object_ in ids:
            statement = view.statements[number]
            weight_milli[ids[subject], view.predicate_of(number), ids[object_]] += statement.weight_milli
    return answer_edges(weight_milli, {id_: view.entities[node].name for node, id_ in ids.items()})


def answer_edges(weight_milli: Mapping[tuple[str, str, str], int], names: Mapping[str, str]) -> tuple[AnswerEdge, ...]:
    """Return the heaviest relations, at most MAX_EDGES, from (source, predicate, target) and the entities' names."""
    edges = [
        AnswerEdge(
            relation_id(*triple),
            *triple,
            milli / 1000,
            source_name=names.get(triple[0], ""),
            target_name=names.get(triple[2], ""),
        )
        for triple, milli in weight_milli.items()
    ]
    return tuple(sorted(edges, key=lambda edge: (-edge.weight, edge.id))[:MAX_EDGES])
