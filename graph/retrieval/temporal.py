"""Validity of the relations in a subgraph: the last step of every mode.

Invariant: under `as_of` no relation is shown that is known not to have been valid then, whatever the mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    validity = ValidityReader(view, as_of)
    for edge in edges:
        numbers = _stating(view, edge)
        if validity.asked and numbers and not any(map(validity.statement_in_force, numbers)):
            continue
        yield _with_times(edge, validity.of_relation(numbers), _trussness(view, edge))


def _trussness(view: LiveView, edge: AnswerEdge) -> int:
    """Return the kept trussness of the edge of two entities, 0 without one."""
    source, target = (view.entity_nodes.get(name, -1) for name in (edge.source, edge.target))
    kept = view.neighbours.get(source, {}).get(target)
    return kept.trussness if kept is not None else 0


def _with_times(edge: AnswerEdge, interval: ValidityInterval, trussness: int) -> AnswerEdge:
    ended_by = interval.ended_by[0] if interval.ended_by else ""
    return replace(
        edge,
        trussness=trussness,
        valid_from=interval.valid_from,
        valid_to=interval.valid_to,
        ended_by=ended_by,
        superseding_value=interval.superseding_value,
    )


def _stating(view: LiveView, edge: AnswerEdge) -> list[int]:
    """Return the statements of a relation; none if both its ends have more than the scan limit."""
    ends = [view.entity_nodes.get(name) for name in (edge.source, edge.target)]
    if None in ends:
        return []
    subject, object_ = (node for node in ends if node is not None)
    fewest = min(
        (subject, object_), key=lambda node: sum(len(view.labels[n].statements) for n in view.entities[node].labels)
    )
    return [
        number
        for number in islice(view.statements_of(fewest), MAX_STATEMENTS)
        if view.ends(number) == (subject, object_) and view.predicate_of(number) == edge.predicate
    ]
