"""Validity of the relations in a subgraph: the last step of every mode.

Invariant: under `as_of` no relation is shown that is known not to have been valid then, whatever the mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from graphtide.graph.retrieval.types import AnswerEdge, RetrievalResult, Subgraph
from graphtide.graph.validity.intervals import MAX_STATEMENTS, ValidityInterval, ValidityReader
from graphtide.graph.view import LiveView


def dated(view: LiveView, retrieved: RetrievalResult, as_of: str) -> RetrievalResult:
    """Return the result with the validity of its relations. Cost: the statements of the relations' less connected ends,
    bounded.
    """
    edges = tuple(dated_edges(view, retrieved.subgraph.edges, as_of))
    return replace(retrieved, subgraph=Subgraph(retrieved.subgraph.nodes, edges))


def dated_edges(view: LiveView, edges: Iterable[AnswerEdge], as_of: str = "") -> Iterator[AnswerEdge]:
    """Yield the edges with their validity and their trussness, without those not in force at the moment."""
    validity, listed = ValidityReader(view, as_of), list(edges)
    for edge, numbers in zip(listed, _stating(view, listed), strict=True):
        if validity.asked and numbers and not any(map(validity.statement_in_force, numbers)):
            continue
        yield _with_times(edge, validity.of_relation(numbers), _trussness(view, edge))


def _trussness(view: LiveView, edge: AnswerEdge) -> int:
    """Return the kept trussness of the edge of two entities, 0 without one."""
    source, target = (view.entity_nodes.get(name, -1) for name in (edge.source, edge.target))
    kept = view.neighbours.get(source, {}).get(target)
    return kept.trussness if kept is not None else 0


def _with_times(edge: AnswerEdge, interval: ValidityInterval, trussness: int) -> AnswerEdge:
    return AnswerEdge(  # `replace` takes twice as long
        edge.id,
        edge.source,
        edge.predicate,
        edge.target,
        edge.weight,
        interval.valid_from,
        interval.valid_to,
        interval.ended_by[0] if interval.ended_by else "",
        interval.superseding_value,
        edge.source_name,
        edge.target_name,
        trussness,
    )


def _stating(view: LiveView, edges: Sequence[AnswerEdge]) -> list[list[int]]:
    """Return the statements of each relation; none if both its ends have more than the scan limit.

    The statements of an entity are read once, for all relations of which it is the less connected end.
    """
    found: list[list[int]] = [[] for _ in edges]
    by_end: dict[int, dict[tuple[int, int], list[int]]] = {}
    connected: dict[int, int] = {}
    for place, edge in enumerate(edges):
        subject, object_ = (view.entity_nodes.get(name) for name in (edge.source, edge.target))
        if subject is None or object_ is None:
            continue
        for node in (subject, object_):
            if node not in connected:
                connected[node] = sum(len(view.labels[label].statements) for label in view.entities[node].labels)
        fewest = object_ if connected[object_] < connected[subject] else subject
        by_end.setdefault(fewest, {}).setdefault((subject, object_), []).append(place)
    for node, places in by_end.items():
        for number in islice(view.statements_of(node), MAX_STATEMENTS):
            for place in places.get(view.ends(number), ()):
                if view.predicate_of(number) == edges[place].predicate:
                    found[place].append(number)
    return found
