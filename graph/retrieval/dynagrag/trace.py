"""Trace of mode `dynagrag`: the subgraphs as one, and the result of each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from graphtide.graph.identity import relation_id
from graphtide.graph.retrieval.dynagrag.learning import MaskWeights
from graphtide.graph.retrieval.dynagrag.pruning import Pruned
from graphtide.graph.retrieval.dynagrag.ranking import Ranked
from graphtide.graph.retrieval.dynagrag.selection import EgoGraphSelection
from graphtide.graph.retrieval.dynagrag.traversal import TraversalTree
from graphtide.graph.retrieval.subgraph import MAX_NODES, answer_edges
from graphtide.graph.retrieval.types import AnswerNode, Subgraph, TraceItem, TraceStep
from graphtide.graph.view import LiveView

SHOWN = 10


def subgraph(view: LiveView, pruned: Sequence[Pruned]) -> Subgraph:
    """Return the chosen subgraphs together, at most MAX_NODES and MAX_EDGES, the greatest masks first."""
    scores: dict[int, float] = {}
    for each in pruned:
        for node, mask in zip(each.ego.nodes, each.nodes.tolist(), strict=True):
            scores[node] = max(scores.get(node, 0.0), mask)
    kept = sorted(scores, key=lambda node: (-scores[node], view.entity_id(node)))[:MAX_NODES]
    ids = {node: view.entity_id(node) for node in kept}
    nodes = (AnswerNode(ids[n], view.entities[n].name, view.entities[n].type, scores[n]) for n in kept)
    weight_milli: Counter[tuple[str, str, str]] = Counter()
    for number in {relation.statement for each in pruned for relation in each.ego.relations}:
        subject, object_ = view.ends(number)
        if subject in ids and object_ in ids:
            statement = view.statements[number]
            weight_milli[ids[subject], view.predicate_of(number), ids[object_]] += statement.weight_milli
    names = {id_: view.entities[node].name for node, id_ in ids.items()}
    return Subgraph(tuple(nodes), answer_edges(weight_milli, names))


def steps(
    view: LiveView,
    choice: EgoGraphSelection,
    pruned: Sequence[Pruned],
    trees: Sequence[TraversalTree],
    ranked: Sequence[Ranked],
    learned: MaskWeights | None = None,
) -> tuple[TraceStep, ...]:
    """Return subgraphs with their key entities, the masks of their entities and relations, traversals, passages."""
    source = "" if learned is None else f", learned from {sum(learned.entities.trained_on)} entities around paths"
    return (
        _subgraphs(view, choice),
        TraceStep("pruning: entities", f"Masks of the entities by subgraph{source}.", _entities(view, pruned)),
        TraceStep("pruning: relations", f"Masks of the relations by subgraph{source}.", _relations(view, pruned)),
        TraceStep("traversal", "Entities in the order of exploration, by subgraph.", _traversals(view, pruned, trees)),
        TraceStep(
            "passages",
            "Passages by nearness, and by the relations of the subgraphs that they state.",
            _passages(view, ranked),
        ),
    )


def _subgraphs(view: LiveView, choice: EgoGraphSelection) -> TraceStep:
    items = tuple(
        TraceItem(
            view.entity_id(each.ego.centre),
            view.entities[each.ego.centre].name,
            each.similarity,
            (("entities", float(len(each.ego.nodes))), ("relations", float(len(each.ego.relations)))),
        )
        for each in choice.chosen
    )
    tops = ", ".join(view.entities[each.top].name for each in choice.chosen)
    about = f"The most similar of {choice.considered} ego-graphs with different key entities: {tops}."
    return TraceStep("subgraphs", about, items)


def _entities(view: LiveView, pruned: Sequence[Pruned]) -> tuple[TraceItem, ...]:
    found = []
    for each in pruned:
        rows = zip(each.ego.nodes, each.nodes.tolist(), each.similarity.tolist(), strict=True)
        best = sorted(rows, key=lambda row: (-row[1], view.entity_id(row[0])))[:SHOWN]
        found += [
            TraceItem(view.entity_id(n), view.entities[n].name, mask, (("refined cosine", near),))
            for n, mask, near in best
        ]
    return tuple(found)


def _relations(view: LiveView, pruned: Sequence[Pruned]) -> tuple[TraceItem, ...]:
    found = []
    for each in pruned:
        for relation, mask in zip(each.ego.relations[:SHOWN], each.relations[:SHOWN].tolist(), strict=True):
            statement, nodes = view.statements[relation.statement], each.ego.nodes
            subject, object_ = nodes[relation.subject], nodes[relation.object]
            predicate = view.predicate_of(relation.statement)
            id_ = relation_id(view.entity_id(subject), predicate, view.entity_id(object_))
            name = f"{view.entities[subject].name} | {predicate} | {view.entities[object_].name}"
            found.append(TraceItem(id_, name, mask, (("frequency", float(statement.count)),)))
    return tuple(found)


def _traversals(view: LiveView, pruned: Sequence[Pruned], trees: Sequence[TraversalTree]) -> tuple[TraceItem, ...]:
    found = []
    for graph, tree in zip(pruned, trees, strict=True):
        depths = dict(tree.pre_order())
        for step, place in enumerate(tree.order[:SHOWN]):
            node = graph.ego.nodes[place]
            parts = (("step", float(step)), ("depth", float(depths[place])))
            found.append(
                TraceItem(view.entity_id(node), view.entities[node].name, float(graph.similarity[place]), parts)
            )
    return tuple(found)


def _passages(view: LiveView, ranked: Sequence[Ranked]) -> tuple[TraceItem, ...]:
    return tuple(
        TraceItem(
            view.chunks[each.number].chunk_id, "", each.score, (("nearness", each.nearness), ("support", each.support))
        )
        for each in ranked
    )
