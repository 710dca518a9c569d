"""Pages of the entities of an earlier version: those of the present view without the changed ones, and these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import merge

from graphtide.graph.browsing.entity_order import (
    EntityKeys,
    EntityOrder,
    EntitySort,
    EntityTables,
    ListingExpired,
    SortKey,
    TouchedEntities,
    keys_by_id,
)
from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView


class EarlierEntityOrder(EntityOrder):
    """The order of one earlier view.

    The first page of a sort may sort the entities of the present view once, as a listing of them does.
    """

    def __init__(self, present: LiveView) -> None:
        super().__init__()
        self._present = present
        self._changed: set[str] = set()
        self._own: dict[str, EntityKeys] = {}

    def follow(self, view: EntityTables, delta: GraphDelta, touched: TouchedEntities | None) -> None:
        """See EntityOrder.follow."""
        before: Mapping[str, EntityKeys] = touched.keys if touched is not None else {}
        after = keys_by_id(view, touched.nodes) if touched is not None else {}
        self._changed.update(before, after)
        for entity_id in before:
            self._own.pop(entity_id, None)
        self._own |= after

    def page(
        self, view: EntityTables, sort: EntitySort, began: int, after: SortKey | None
    ) -> Iterator[tuple[SortKey, str]]:
        """See EntityOrder.page. Raises ListingExpired for a listing of another version."""
        if began != view.version:
            raise ListingExpired(f"the listing is of version {began}, and `at` names version {view.version}")
        present = self._present.order.order(self._present, sort)
        start = 0 if after is None else present.bisect_right(after)
        unchanged = (key for key in present.islice(start) if key[2] not in self._changed)
        own = sorted(keys.key(sort, entity_id) for entity_id, keys in self._own.items())
        return ((key, key[2]) for key in merge(unchanged, (key for key in own if after is None or key > after)))
