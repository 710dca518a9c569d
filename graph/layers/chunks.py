"""The chunk layer L_C: passages, linked where a relation of the graph connects them (DA-RAG, section 3).

Two passages i and j are linked when an entity u that i mentions and an entity w that j mentions have a relation,
wherever it is stated (the set P of E_intra). A passage that states a relation of u is thus linked to every other
passage that mentions u. The layer stores nothing: it reads the links from the relations and the incidence of entities
and passages.

Deviations:
- Links have weights; the paper's have none. A relation of frequency f between entities of m and n passages adds f / (m
  n) to each pair of passages it connects, and a link's weight is the sum over its relations.
- A relation with m n above `spread` links nothing. Two entities mentioned everywhere would link all passages with each
  other, which is quadratic and carries little information. This drops exactly the contributions below f / `spread` and
  leaves at most `spread` pairs per relation, so the layer is linear in the relations. The rule uses the live graph
  alone, so the order of arrival has no influence; it is symmetric, so links are undirected.
- The title and description of a passage (`headings.py`) are for display; search uses the vector of the passage's text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import product

from graphtide.graph.layers.types import LayerLink, Neighbour, intersection, linked, ranked
from graphtide.graph.view import LiveView

SPREAD = 256

_ONE = 1 << 32
"""Weights are summed in fixed point: a sum of floats would depend on the order of its terms."""


class ChunkLayer:
    """The chunk layer; see the module. A `Layer` over passages, by chunk number."""

    def __init__(self, view: LiveView, spread: int = SPREAD) -> None:
        self._view = view
        self._spread = spread

    def neighbours(self, number: int) -> tuple[Neighbour, ...]:
        """See `Layer.neighbours`. Cost: the relations of the passage's entities, and at most `spread` per relation."""
        totals: dict[int, int] = defaultdict(int)
        entities = self._view.entities
        for node in entities_in(self._view, number):
            for other, share in self._shares(node, self._view.neighbours.get(node, ())):
                for chunk in entities[other].chunks:
                    totals[chunk] += share
        totals.pop(number, None)
        return ranked(((chunk, share / _ONE) for chunk, share in totals.items()), self._name)

    def induced_edges(self, numbers: Collection[int]) -> tuple[LayerLink, ...]:
        """See `Layer.induced_edges`. Cost: the relations among the passages' entities, and at most `spread` per
        relation.
        """
        holders: dict[int, list[int]] = defaultdict(list)
        for number in set(numbers):
            for node in entities_in(self._view, number):
                holders[node].append(number)
        totals: dict[tuple[int, int], int] = defaultdict(int)
        for node, chunks in holders.items():
            others = intersection(self._view.neighbours.get(node, {}), holders)
            for other, share in self._shares(node, [other for other in others if node < other]):
                for pair in product(chunks, holders[other]):
                    totals[pair] += share
        found: dict[tuple[int, int], int] = defaultdict(int)
        for (a, b), total in totals.items():
            if a != b:
                found[min(a, b), max(a, b)] += total
        return linked({pair: total / _ONE for pair, total in found.items()}, self._name)

    def _shares(self, node: int, others: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the weight that the relation to each other entity adds to every pair of passages, in fixed point."""
        entities = self._view.entities
        edges, count = self._view.neighbours.get(node, {}), len(entities[node].chunks)
        if count > self._spread:
            return
        for other in others:
            pairs = count * len(entities[other].chunks)
            if pairs <= self._spread:
                yield other, edges[other].weight * _ONE // pairs

    def _name(self, chunk: int) -> str:
        return self._view.chunks[chunk].chunk_id


def entities_in(view: LiveView, chunk: int) -> set[int]:
    """Return the entities that a passage mentions, by node: the links E_inter between the layers (section 3).

    Returns an empty set for an unknown passage.
    """
    row = view.chunks.get(chunk)
    return {view.labels[label].node for label in row.mentions.labels} if row else set()


def working_entities(view: LiveView, chunks: Iterable[int]) -> set[int]:
    """Return the entities linked to any of the passages: V_work, the search space of the finer layers (section 4)."""
    found: set[int] = set()
    for chunk in chunks:
        found |= entities_in(view, chunk)
    return found
