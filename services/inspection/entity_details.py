"""Details of an entity: its labels with their chunks, its merges with their rules, its relations.

Also the documents related to a document, with their shared entities.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphtide.graph.entity_descriptions import describe
from graphtide.graph.identity import relation_id
from graphtide.graph.resolution.predicates.resolver import RULE
from graphtide.graph.retrieval.nakg.related import related_documents
from graphtide.graph.retrieval.nakg.trace import shared_names
from graphtide.graph.retrieval.temporal import dated_edges
from graphtide.graph.view import LiveView
from graphtide.services.application import (
    EntityStatus,
    LabelStatus,
    Merge,
    RelatedDocument,
    RelatedDocuments,
    SubgraphEdge,
)

CHUNKS_SHOWN = 5
RELATIONS_SHOWN = 20


def explain_entity(view: LiveView, node: int) -> EntityStatus:
    """Read an entity. Call under `view.lock.read()`. Cost: its labels, links, passages and statements."""
    entity = view.entities[node]
    relations = _relations(view, node)
    return EntityStatus(
        entity.id,
        entity.name,
        entity.type,
        entity.mentions,
        tuple(_label(view, number) for number in entity.labels),
        (*_merges(view, entity.labels), *_predicate_merges(view, node)),
        tuple(dated_edges(view, relations[:RELATIONS_SHOWN])),
        tuple(_communities(view, node)),
        view.version,
        describe(view, node),
        len(relations),
    )


def explain_related(view: LiveView, doc_id: str, count: int) -> RelatedDocuments:
    """Return the documents most related to one. Call under `view.lock.read()`. Raises KeyError if it is not live.

    Cost: a search, and the passages of some hundred documents, whatever the graph's size.
    """
    rows = (
        RelatedDocument(
            other.doc_id,
            view.documents[other.doc_id].info.title,
            other.score,
            other.weight,
            other.shared,
            tuple(shared_names(view, doc_id, other.doc_id)),
        )
        for other in related_documents(view, doc_id, count)
    )
    return RelatedDocuments(doc_id, view.version, tuple(rows))


def _label(view: LiveView, number: int) -> LabelStatus:
    label = view.labels[number]
    chunks = sorted(view.chunks[chunk].chunk_id for chunk in label.chunks)
    return LabelStatus(label.name, label.type, label.mentions, tuple(chunks[:CHUNKS_SHOWN]))


def _merges(view: LiveView, labels: tuple[int, ...]) -> Iterator[Merge]:
    """Yield the links of the entity's labels, including overruled ones."""
    links = {(link.a, link.b): link for number in labels for link in view.links_of(number)}
    for (a, b), link in sorted(links.items()):
        left, right = view.labels[a], view.labels[b]
        yield Merge(left.name, right.name, link.rule, link.score_milli / 1000, left.node == right.node)


def _predicate_merges(view: LiveView, node: int) -> Iterator[Merge]:
    """Yield the links between predicates by which relations of the entity are shown as one, in order.

    The judge's verdict is all their evidence, so the score is 1. Cost: the entity's statements.
    """
    stated = (
        {view.statements[number].predicate for number in view.statements_of(node)} if len(view.predicates) else set()
    )
    for a, b in sorted({pair for predicate in stated for pair in view.predicates.links_of(predicate)}):
        yield Merge(a, b, RULE, 1.0, True)


def _relations(view: LiveView, node: int) -> list[SubgraphEdge]:
    """Return the relations of the entity, the strongest first."""
    weights: dict[tuple[str, str, str], int] = {}
    for number in view.statements_of(node):
        statement, (subject, object_) = view.statements[number], view.ends(number)
        key = (view.entities[subject].id, view.predicate_of(number), view.entities[object_].id)
        weights[key] = max(statement.weight_milli, weights.get(key, 0))
    ends = {id_ for source, _, target in weights for id_ in (source, target)}
    names = {id_: view.entities[view.entity_nodes[id_]].name for id_ in ends}
    edges = (
        SubgraphEdge(relation_id(*key), *key, weight / 1000, source_name=names[key[0]], target_name=names[key[2]])
        for key, weight in weights.items()
    )
    return sorted(edges, key=lambda edge: (-edge.weight, edge.id))


def _communities(view: LiveView, node: int) -> Iterator[int]:
    community = view.hierarchy.community(node)
    while community:
        yield community
        community = view.hierarchy.parent(community)
