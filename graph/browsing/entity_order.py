"""Pages of a graph's entities in order, exact while the graph changes.

A listing belongs to the version of its first page: an entity that exists during the whole listing is on exactly one
page, at the place of its sort key at that version, whatever changes meanwhile. A page needs no state of the listing,
only that version and the last key; so every replica of a graph can continue a listing that another one began.

The history makes this possible: each delta records the sort keys that it replaces. It is bounded; a listing from before
its first record has expired. Its records are packed, because few are read.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import merge
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from sortedcontainers import SortedList  # type: ignore[import-untyped]

from graphtide.graph.vector_store import VectorBytes, stored_text, text_of

if TYPE_CHECKING:
    from graphtide.graph.records import GraphDelta
    from graphtide.graph.view_state.adjacency import ViewEdge
    from graphtide.graph.view_state.tables import ViewEntity

HISTORY = 200_000
MIN_HISTORY = 5_000
"""Sort keys that the history holds: twice as many as the graph has entities, between these bounds."""
IDLE_VERSIONS = 10_000
"""An order that no page has read for so many versions is dropped; the next page builds it again."""


class EntitySort(StrEnum):
    """Order of a listing. Equal keys are ordered by entity id."""

    MENTIONS = "mentions"
    """Most mentions first."""
    DEGREE = "degree"
    """Most neighbours first."""
    NAME = "name"
    """By name, without regard to case."""


@dataclass(frozen=True, slots=True)
class EntityKeys:
    """The values of an entity that listings sort by."""

    name: str
    mentions: int
    degree: int

    def key(self, sort: EntitySort, entity_id: str) -> SortKey:
        """Return the sort key: smaller is earlier. The id makes it unique."""
        match sort:
            case EntitySort.MENTIONS:
                return -self.mentions, "", entity_id
            case EntitySort.DEGREE:
                return -self.degree, "", entity_id
            case EntitySort.NAME:
                return 0, self.name.casefold(), entity_id


SortKey = tuple[int, str, str]


class ListingExpired(ValueError):  # noqa: N818 -- it names the state, as the errors of streams do
    """A listing that began at a version which the history no longer covers."""


class EntityTables(Protocol):
    """The tables of a live view that listings read."""

    @property
    def version(self) -> int: ...

    @property
    def entities(self) -> Mapping[int, ViewEntity]: ...

    @property
    def neighbours(self) -> Mapping[int, Mapping[int, ViewEdge]]: ...


PACKED = 64
"""Entities in one text of a record: one of more than 65,532 bytes would not move into a file."""


@dataclass(frozen=True, slots=True)
class _Change:
    """The entities that one delta touched: their keys before it, and the ids that it left.

    In JSON, some 50 bytes for each; see vector_store.py for where these are.
    """

    version: int
    size: int
    _before: tuple[VectorBytes, ...]
    _after: tuple[VectorBytes, ...]

    @classmethod
    def of(cls, version: int, before: Mapping[str, EntityKeys], after: Iterable[str]) -> _Change:
        """Return the record of a delta. Cost: linear in the entities."""
        ids = tuple(after)
        rows = [(entity_id, keys.name, keys.mentions, keys.degree) for entity_id, keys in before.items()]
        return cls(version, len(rows) + len(ids), _packed(rows), _packed(ids))

    def before(self) -> Iterator[tuple[str, EntityKeys]]:
        """Yield the entities before the delta, by id, with their keys. Cost: linear in them."""
        for part in self._before:
            for entity_id, name, mentions, degree in json.loads(text_of(part)):
                yield entity_id, EntityKeys(name, mentions, degree)

    def after(self) -> Iterator[str]:
        """Yield the ids after the delta. Cost: linear in them."""
        for part in self._after:
            yield from json.loads(text_of(part))


def _packed(values: Sequence[object]) -> tuple[VectorBytes, ...]:
    parts = [values[start : start + PACKED] for start in range(0, len(values), PACKED)]
    return tuple([stored_text(json.dumps(part, ensure_ascii=False, separators=(",", ":"))) for part in parts])


@dataclass(frozen=True, slots=True)
class TouchedEntities:
    """The entities that a delta changes: by node, and their keys before it by id."""

    nodes: set[int]
    keys: Mapping[str, EntityKeys]


class EntityOrder:
    """The orders of one view's entities, and the history of their keys.

    `touched` and `follow` are called around each delta under the view's write lock; `page` under its read lock.
    """

    def __init__(self, min_history: int = MIN_HISTORY) -> None:
        self._min_history = min_history
        self._size = 0
        self._changes: deque[_Change] = deque()
        self._floor = 0
        self._orders: dict[EntitySort, SortedList] = {}
        self._read_at: dict[EntitySort, int] = {}
        self._building = Lock()

    def touched(self, view: EntityTables, delta: GraphDelta) -> TouchedEntities | None:
        """Return the entities that a delta is about to change, with their keys. None for a snapshot.

        Cost: the entities and edges of the delta.
        """
        if delta.snapshot:
            return None
        nodes = _nodes(delta)
        return TouchedEntities(nodes, keys_by_id(view, nodes))

    def follow(self, view: EntityTables, delta: GraphDelta, touched: TouchedEntities | None) -> None:
        """Record an applied delta: `touched` is from before it. Cost: the entities and edges of the delta."""
        if touched is None:
            self._changes.clear()
            self._orders.clear()
            self._size, self._floor = 0, delta.version
            return
        before, after = touched.keys, keys_by_id(view, touched.nodes)
        self._changes.append(change := _Change.of(delta.version, before, after))
        self._size += change.size
        limit = min(HISTORY, max(self._min_history, 2 * len(view.entities)))
        while self._size > limit and self._changes:
            oldest = self._changes.popleft()
            self._size -= oldest.size
            self._floor = oldest.version
        self._update_orders(delta.version, before, after)

    def _update_orders(self, version: int, before: Mapping[str, EntityKeys], after: Mapping[str, EntityKeys]) -> None:
        for sort in [sort for sort, read in self._read_at.items() if version - read > IDLE_VERSIONS]:
            del self._read_at[sort]
            self._orders.pop(sort, None)
        for sort, order in self._orders.items():
            for entity_id, keys in before.items():
                order.discard(keys.key(sort, entity_id))
            order.update(keys.key(sort, entity_id) for entity_id, keys in after.items())

    def page(
        self, view: EntityTables, sort: EntitySort, began: int, after: SortKey | None
    ) -> Iterator[tuple[SortKey, str]]:
        """Yield (key, entity id) after a key, in the order that the graph had at version `began`, of those that exist.

        The first page begins at the view's version. Raises ListingExpired when the history does not reach back, and
        ValueError for a version that the view has not reached. Cost of the first page: the graph's entities, once;
        of a later one: the changes since the listing began, and what is consumed.
        """
        if began > view.version:
            raise ValueError(f"the view holds version {view.version}, not {began}")
        if began < self._floor:
            raise ListingExpired(f"the listing began at version {began}, and the history begins at {self._floor}")
        moved = self._moved_since(began)
        order = self.order(view, sort)
        start = 0 if after is None else order.bisect_right(after)
        still = (key for key in order.islice(start) if key[2] not in moved)
        live = self._live(moved)
        then = sorted(
            keys.key(sort, entity_id) for entity_id, keys in moved.items() if keys is not None and entity_id in live
        )
        changed = (key for key in then if after is None or key > after)
        return ((key, key[2]) for key in merge(still, changed))

    def _live(self, moved: Mapping[str, EntityKeys | None]) -> set[str]:
        """Return which of the moved entities exist now: the last record of each decides."""
        state: dict[str, bool] = {}
        for change in reversed(self._changes):
            for entity_id in change.after():
                state.setdefault(entity_id, True)
            for entity_id, _ in change.before():
                state.setdefault(entity_id, False)
            if len(state) >= len(moved) and moved.keys() <= state.keys():
                break
        return {entity_id for entity_id in moved if state.get(entity_id)}

    def _moved_since(self, began: int) -> dict[str, EntityKeys | None]:
        """Return the keys at version `began` of what has changed since; None for what did not exist then."""
        then: dict[str, EntityKeys | None] = {}
        for change in self._changes:
            if change.version > began:
                for entity_id, keys in change.before():
                    then.setdefault(entity_id, keys)
                for entity_id in change.after():
                    then.setdefault(entity_id, None)
        return then

    def order(self, view: EntityTables, sort: EntitySort) -> SortedList:
        """Return the sort keys of all entities, in order. Cost of the first call: the graph's entities."""
        with self._building:
            self._read_at[sort] = view.version
            if sort not in self._orders:
                keys = (_keys(view, node).key(sort, entity.id) for node, entity in view.entities.items())
                self._orders[sort] = SortedList(keys)
            return self._orders[sort]


def _nodes(delta: GraphDelta) -> set[int]:
    nodes = {row.node for row in delta.entities} | set(delta.gone.entities)
    nodes.update(end for row in delta.edges for end in (row.u, row.v))
    nodes.update(end for pair in delta.gone.edges for end in pair)
    return nodes


def keys_by_id(view: EntityTables, nodes: set[int]) -> dict[str, EntityKeys]:
    """Return the sort keys of those of the nodes that exist, by public id."""
    return {view.entities[node].id: _keys(view, node) for node in nodes if node in view.entities}


def _keys(view: EntityTables, node: int) -> EntityKeys:
    entity = view.entities[node]
    return EntityKeys(entity.name, entity.mentions, len(view.neighbours.get(node, ())))


def matching(
    page: Iterable[tuple[SortKey, str]], admits: Callable[[str], bool], limit: int, scan: int
) -> tuple[list[str], SortKey | None]:
    """Return at most `limit` entities of a page that a condition admits, and the key to continue after (None: end).

    Reads at most `scan` entities, so a rare match ends the page early; its key continues the search.
    """
    found: list[str] = []
    last: SortKey | None = None
    for read, (key, entity_id) in enumerate(page):
        if len(found) == limit or read == scan:
            return found, last
        last = key
        if admits(entity_id):
            found.append(entity_id)
    return found, None
