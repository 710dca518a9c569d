"""The layers by brute force over a snapshot's rows: every pair is examined, nothing is indexed or bounded.

The same interface as `graph.layers`, over the snapshot's own numbers; weights of passages are exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from graphtide.graph.identity import entity_id
from graphtide.graph.layers import LayerLink, Neighbour
from graphtide.graph.records import GraphDelta
from graphtide.graph.vector_index import similarities, unit_rows


class Links:
    """A layer given by all its links."""

    def __init__(self, weights: dict[tuple[int, int], float], name: Callable[[int], str]) -> None:
        self._weights = weights
        self.name = name

    def neighbours(self, number: int) -> list[Neighbour]:
        found = [(a if b == number else b, w) for (a, b), w in self._weights.items() if number in (a, b)]
        return [Neighbour(*pair) for pair in sorted(found, key=lambda pair: (-pair[1], self.name(pair[0])))]

    def induced_edges(self, numbers: Collection[int]) -> list[LayerLink]:
        ends = (sorted(pair, key=self.name) for pair in self._weights if set(pair) <= set(numbers))
        return [LayerLink(a, b, self._weights[min(a, b), max(a, b)]) for a, b in sorted(ends, key=self._names)]

    def _names(self, pair: list[int]) -> list[str]:
        return [self.name(number) for number in pair]


def entity_names(rows: GraphDelta) -> dict[int, str]:
    """Return canonical names by node."""
    labels = {row.label: (row.name, row.type) for row in rows.labels}
    return {row.node: entity_id(labels[number] for number in row.labels) for row in rows.entities}


def chunk_names(rows: GraphDelta) -> dict[int, str]:
    """Return external names by chunk number."""
    return {row.chunk: row.chunk_id for row in rows.chunks}


def incidence(rows: GraphDelta) -> dict[int, set[int]]:
    """Return the entities of each passage."""
    node = {row.label: row.node for row in rows.labels}
    return {c.chunk: {node[m.label] for m in rows.mentions if m.chunk == c.chunk} for c in rows.chunks}


def knowledge_oracle(rows: GraphDelta, min_trussness: int = 2) -> Links:
    edges = {(row.u, row.v): float(row.weight) for row in rows.edges if row.trussness >= min_trussness}
    return Links(edges, entity_names(rows).__getitem__)


def chunk_oracle(rows: GraphDelta, spread: int) -> Links:
    entities_of, totals = incidence(rows), dict[tuple[int, int], Fraction]()
    passages = {row.node: sum(row.node in nodes for nodes in entities_of.values()) for row in rows.entities}
    for (i, j), edge in product(combinations(sorted(entities_of), 2), rows.edges):
        pairs = passages[edge.u] * passages[edge.v]
        ways = (edge.u in entities_of[i] and edge.v in entities_of[j]) + (
            edge.v in entities_of[i] and edge.u in entities_of[j]
        )
        if ways and pairs <= spread:
            totals[i, j] = totals.get((i, j), Fraction(0)) + Fraction(ways * edge.weight, pairs)
    return Links({pair: float(total) for pair, total in totals.items()}, chunk_names(rows).__getitem__)


def similarity_oracle(rows: GraphDelta, nearest: int) -> Links:
    names = entity_names(rows)
    present = [row for row in rows.entities if row.vector.size]
    links: dict[tuple[int, int], float] = {}
    if present:
        vectors = unit_rows(np.stack([row.vector for row in present]).astype(np.float32), present[0].vector.size)
        for place, row in enumerate(present):
            cosines = zip(
                (other.node for other in present), similarities(vectors[place], vectors).tolist(), strict=True
            )
            others = [(node, cosine) for node, cosine in cosines if node != row.node]
            for node, cosine in sorted(others, key=lambda pair: (-pair[1], names[pair[0]]))[:nearest]:
                if cosine > 0:
                    links[min(node, row.node), max(node, row.node)] = cosine
    return Links(links, names.__getitem__)
