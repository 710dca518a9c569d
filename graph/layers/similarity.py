"""The similarity layer L_S: each entity linked with its k nearest by vector (DA-RAG, section 3).

It is undirected: u and v are linked when either is among the k nearest of the other, and the link's weight is their
cosine. The paper's k is 5 (section 6.3). Deviation: a cosine of 0 or less gives no link, even between nearest
neighbours.

The view's index is searched on request. The index may be approximate, and then so is the layer. On an exact index the
layer is a function of the entities and their vectors alone: the k nearest are chosen by the cosine of the stored
vectors, and equals by canonical name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from graphtide.graph.layers.types import LayerLink, Neighbour, linked, ranked
from graphtide.graph.vector_index import PADDING, Ids, Vectors, similarities
from graphtide.graph.view import LiveView

NEAREST = 5
REACH = 64

ROUNDING = 2e-6
"""An index's similarities are exact to 1e-6: values closer than twice that are compared by the vectors themselves."""


class SimilarityLayer:
    """The similarity layer; see the module. A `Layer` over entities, by node.

    `induced_edges` returns every link. `neighbours` looks for the entities that have this entity among their own
    nearest only within its `reach` nearest; it misses one beyond them, which finds the link from its own side.
    """

    def __init__(self, view: LiveView, nearest: int = NEAREST, reach: int = REACH) -> None:
        if not 0 < nearest <= reach:
            raise ValueError(f"nearest must be from 1 to reach, got {nearest} of {reach}")
        self._view = view
        self._index = view.indexes.entities
        self._nearest = nearest
        self._reach = reach

    def neighbours(self, number: int) -> tuple[Neighbour, ...]:
        """See `Layer.neighbours`, and the class. Cost: one search, and one more for each candidate link from another
        entity.
        """
        if number not in self._index:
            return ()
        query = self._vectors([number])
        row = self._index.search(query, self._reach + 1)
        found = set(self._chosen(number, query[0], row.ids[0], row.similarities[0]))
        around = [other for other in row.ids[0].tolist() if other not in (PADDING, number)]
        doubtful = [other for other in self._doubtful(number, around) if other not in found]
        near = zip(doubtful, self._nearest_of(doubtful, self._vectors(doubtful)), strict=True)
        found.update(other for other, others in near if number in others)
        return self._ranked(query[0], list(found))

    def induced_edges(self, numbers: Collection[int]) -> tuple[LayerLink, ...]:
        """See `Layer.induced_edges`. Cost: one search per number."""
        place = {number: row for row, number in enumerate(number for number in set(numbers) if number in self._index)}
        vectors = self._vectors(list(place))
        near = zip(place, self._nearest_of(list(place), vectors), strict=True)
        pairs = list({(min(one, two), max(one, two)) for one, others in near for two in others if two in place})
        ends = np.array([(place[one], place[two]) for one, two in pairs], np.intp).reshape(-1, 2)
        cosines = similarities(vectors[ends[:, 0]], vectors[ends[:, 1]]).tolist()
        found = {pair: cosine for pair, cosine in zip(pairs, cosines, strict=True) if cosine > 0}
        return linked(found, self._view.entity_id)

    def nearest(self, number: int) -> tuple[Neighbour, ...]:
        """Return an entity's own links: its k nearest, nearest first; none without a vector. Cost: one search."""
        if number not in self._index:
            return ()
        query = self._vectors([number])
        return self._ranked(query[0], self._nearest_of([number], query)[0])

    def _nearest_of(self, numbers: Sequence[int], queries: Vectors) -> list[list[int]]:
        """Return the k nearest of each number, in no particular order and whatever their cosine."""
        if not numbers:
            return []
        # Two more than requested: the entity itself, and one to detect a tie for the last place.
        found = self._index.search(queries, self._nearest + 2)
        rows = zip(numbers, queries, found.ids, found.similarities, strict=True)
        return [self._chosen(number, query, ids, cosines) for number, query, ids, cosines in rows]

    def _chosen(self, number: int, query: Vectors, ids: Ids, cosines: Vectors) -> list[int]:
        """Return the k nearest of a search's results, most similar first; search wider until all tied results are
        included.
        """
        while True:
            rows = zip(ids.tolist(), cosines.tolist(), strict=True)
            others = [(id_, cosine) for id_, cosine in rows if id_ not in (PADDING, number)]
            if len(others) <= self._nearest and ids[-1] == PADDING:
                return [id_ for id_, _ in others]
            last = others[self._nearest - 1][1] - ROUNDING if len(others) > self._nearest else -math.inf
            tied = [id_ for id_, cosine in others if cosine >= last]
            if len(tied) < len(others) or ids[-1] == PADDING:
                break
            wider = self._index.search(query[None], 4 * len(ids))
            ids, cosines = wider.ids[0], wider.similarities[0]
        if len(tied) == self._nearest:
            return tied
        exact = zip(tied, similarities(query, self._vectors(tied)).tolist(), strict=True)
        return [each.number for each in ranked(exact, self._view.entity_id)][: self._nearest]

    def _doubtful(self, number: int, around: Sequence[int]) -> list[int]:
        """Return the entities around an entity that may have it among their nearest.

        An entity that has k others nearer than this one, among those around it, has k nearer ones in the whole graph.
        """
        vectors = self._vectors([number, *around])
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -np.inf)
        closer = (cosines[1:, 1:] > cosines[1:, :1] + ROUNDING).sum(axis=1)
        return [around[place] for place in np.flatnonzero(closer < self._nearest).tolist()]

    def _ranked(self, query: Vectors, others: Sequence[int]) -> tuple[Neighbour, ...]:
        """Return the entities with a cosine above 0 to one entity's vector; the cosine is symmetric."""
        cosines = zip(others, similarities(query, self._vectors(others)).tolist(), strict=True)
        return ranked(((other, cosine) for other, cosine in cosines if cosine > 0), self._view.entity_id)

    def _vectors(self, numbers: Sequence[int]) -> Vectors:
        return self._index.vectors(np.array(numbers, np.int64))
