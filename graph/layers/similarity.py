"""The similarity layer L_S: each entity linked with its k nearest by vector (DA-RAG, section 3).

Undirected: u and v are linked when either is among the k nearest of the other, and the link's weight is their cosine.
The paper's k is 5 (section 6.3). Deviation: a link of cosine 0 or less is none, however near the ends are to each
other for want of anything nearer.

What is nearest is asked of the view's index when it is needed. The index may be approximate, and then so is the layer;
on an exact index it is a function of the entities and their vectors alone: the k nearest are chosen by the cosine of
the vectors held, and equals by canonical name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import numpy as np

from graph.layers.contract import Link, Neighbour, linked, ranked
from graph.vector_index import PADDING, Ids, Vectors, similarities
from graph.view import LiveView

NEAREST = 5
REACH = 64

ROUNDING = 2e-6
"""An index's similarities are exact to 1e-6: what is closer than twice that is told apart by the vectors themselves."""


class SimilarityLayer:
    """See the module. A `Layer` over entities, by node.

    `among` has every link. `neighbours` looks for those that count the entity among their own nearest within the
    `reach` nearest to it; one that is further down is missed there, and found from its own side.
    """

    def __init__(self, view: LiveView, nearest: int = NEAREST, reach: int = REACH) -> None:
        if not 0 < nearest <= reach:
            raise ValueError(f"nearest must be from 1 to reach, got {nearest} of {reach}")
        self._view = view
        self._index = view.indexes.entities
        self._nearest = nearest
        self._reach = reach

    def neighbours(self, number: int) -> tuple[Neighbour, ...]:
        """See `Layer.neighbours`, and the class. Cost: a search, and one more for each likely link from outside."""
        if number not in self._index:
            return ()
        around = self._nearest_of([number], self._reach)[0]
        found = {other: cosine for other, cosine in around[: self._nearest] if cosine > 0}
        doubtful = self._doubtful(number, around)
        for other, near in zip(doubtful, self.nearest(doubtful), strict=True):
            found.update((other, cosine) for back, cosine in near if back == number)
        return ranked(found.items(), self._view.entity_id)

    def among(self, numbers: Collection[int]) -> tuple[Link, ...]:
        """See `Layer.among`. Cost: a search a number."""
        inside = set(numbers)
        held = [number for number in inside if number in self._index]
        found = {}
        for number, near in zip(held, self.nearest(held), strict=True):
            for other, cosine in near:
                if other in inside:
                    found[min(number, other), max(number, other)] = cosine
        return linked(((a, b, cosine) for (a, b), cosine in found.items()), cache(self._view.entity_id))

    def nearest(self, numbers: Sequence[int]) -> list[tuple[Neighbour, ...]]:
        """The links each entity makes itself: its k nearest, nearest first. Raises KeyError for one without a vector.

        Cost: a search an entity.
        """
        found = self._nearest_of(numbers, self._nearest)
        return [tuple(one for one in near if one.weight > 0) for near in found]

    def _nearest_of(self, numbers: Sequence[int], count: int) -> list[tuple[Neighbour, ...]]:
        """The `count` nearest of each, whatever their cosine."""
        if not numbers:
            return []
        queries = self._vectors(numbers)
        found = self._index.search(queries, count + 2)  # itself, and one more to see whether the last place is disputed
        rows = zip(numbers, queries, found.ids, found.similarities, strict=True)
        return [self._settled(number, query, ids, cosines, count) for number, query, ids, cosines in rows]

    def _settled(self, number: int, query: Vectors, ids: Ids, cosines: Vectors, count: int) -> tuple[Neighbour, ...]:
        """The `count` nearest from what a search returned; asked again, wider, until all who tie for a place are in."""
        while _disputed(ids, cosines, number, count):
            wider = self._index.search(query[None], 4 * len(ids))
            ids, cosines = wider.ids[0], wider.similarities[0]
        others = [id_ for id_ in ids.tolist() if id_ not in (PADDING, number)]
        if not others:
            return ()
        exact = similarities(query, self._vectors(others)).tolist()
        return ranked(zip(others, exact, strict=True), self._view.entity_id)[:count]

    def _doubtful(self, number: int, around: Sequence[Neighbour]) -> list[int]:
        """Those around an entity that may count it among their nearest, beyond its own nearest.

        Whoever has k others nearer than this entity, among those around it, has k nearer ones in the whole graph.
        """
        near = [other for other, _ in around]
        vectors = self._vectors([number, *near])
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -np.inf)
        closer = (cosines[1:, 1:] > cosines[1:, :1] + ROUNDING).sum(axis=1)
        return [near[place] for place in np.flatnonzero(closer < self._nearest) if place >= self._nearest]

    def _vectors(self, numbers: Sequence[int]) -> Vectors:
        return self._index.vectors(np.array(numbers, np.int64))


def _disputed(ids: Ids, cosines: Vectors, number: int, count: int) -> bool:
    """Whether something not returned may be as near as the `count`-th. Padding says that nothing is left."""
    if ids[-1] == PADDING:
        return False
    others = cosines[ids != number]
    return len(others) <= count or bool(others[count - 1] - others[-1] <= ROUNDING)
