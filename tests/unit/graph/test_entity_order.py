"""Listings of entities: each entity that exists throughout is on exactly one page, whatever changes meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

from graphtide.graph.browsing.entity_order import (
    PACKED,
    EntityKeys,
    EntityOrder,
    EntitySort,
    ListingExpired,
    SortKey,
    _Change,
    matching,
)
from graphtide.graph.records import EdgeRow, EntityRow, GraphDelta, Removals
from graphtide.graph.vector_store import keep_in_chunks
from graphtide.graph.view_state.adjacency import ViewEdge
from graphtide.graph.view_state.tables import ViewEntity

NO_VECTOR = np.empty(0, np.float16)


class Tables:
    """Entities and edges that change at random, with the order that follows them."""

    def __init__(self, min_history: int = 200_000) -> None:
        self.version = 0
        self.entities: dict[int, ViewEntity] = {}
        self.neighbours: dict[int, dict[int, ViewEdge]] = {}
        self.order = EntityOrder(min_history)

    def apply(self, delta: GraphDelta) -> None:
        before = self.order.touched(self, delta)
        for u, v in delta.gone.edges:
            del self.neighbours[u][v], self.neighbours[v][u]
        for node in delta.gone.entities:
            del self.entities[node]
        for row in delta.entities:
            self.entities[row.node] = ViewEntity(f"e-{row.labels[0]:06d}", row.name, "", row.labels, row.mentions, b"")
        for edge in delta.edges:
            self.neighbours.setdefault(edge.u, {})[edge.v] = ViewEdge(edge.weight, edge.trussness)
            self.neighbours.setdefault(edge.v, {})[edge.u] = ViewEdge(edge.weight, edge.trussness)
        self.version = delta.version
        self.order.follow(self, delta, before)

    def keys(self, sort: EntitySort) -> dict[str, SortKey]:
        """Return the sort key of every entity now: the oracle."""
        return {
            entity.id: EntityKeys(entity.name, entity.mentions, len(self.neighbours.get(node, ()))).key(sort, entity.id)
            for node, entity in self.entities.items()
        }


def random_delta(tables: Tables, draw: Random) -> GraphDelta:
    """Return a delta that adds, changes, renumbers and removes entities and edges."""
    nodes = sorted(tables.entities)
    gone = set(draw.sample(nodes, min(len(nodes), draw.randrange(3)))) if len(nodes) > 5 else set()
    kept = [node for node in nodes if node not in gone]
    fresh = max(nodes, default=0) + 1
    rows = [
        EntityRow(node, draw.choice("Aab") + str(draw.randrange(5)), "", (label,), draw.randrange(4), NO_VECTOR)
        for node, label in _labels(tables, kept, gone, fresh, draw)
    ]
    edges = {
        (u, v)
        for u in tables.neighbours
        for v in tables.neighbours[u]
        if u < v and (u in gone or v in gone or draw.random() < 0.1)
    }
    present = sorted({*kept, *(row.node for row in rows)})
    new = {tuple(sorted(draw.sample(present, 2))) for _ in range(draw.randrange(3))} if len(present) > 1 else set()
    return GraphDelta(
        "g",
        tables.version + 1,
        Removals(entities=tuple(gone), edges=tuple(edges)),
        entities=tuple(rows),
        edges=tuple(EdgeRow(u, v, 1, 2) for u, v in sorted(new - edges)),
    )


def _labels(tables: Tables, kept: list[int], gone: set[int], fresh: int, draw: Random) -> list[tuple[int, int]]:
    """Return (node, label): changes of entities, new ones, and ids that move from a removed node to a new one."""
    changed = [(node, tables.entities[node].labels[0]) for node in draw.sample(kept, min(len(kept), 2))]
    moved = [(fresh + n, tables.entities[node].labels[0]) for n, node in enumerate(sorted(gone)) if draw.random() < 0.5]
    return [*changed, *moved, (fresh + len(gone), draw.randrange(100_000, 999_999))]


def listing(
    tables: Tables, sort: EntitySort, limit: int, draw: Random
) -> tuple[list[str], Mapping[str, SortKey], set[str]]:
    """List all pages with changes between; return the ids, the keys at the beginning, the ids that always existed."""
    began, first, always = tables.version, tables.keys(sort), set(tables.keys(sort))
    listed: list[str] = []
    after: SortKey | None = None
    while True:
        page, after = matching(tables.order.page(tables, sort, began, after), lambda _: True, limit, 10**9)
        listed += page
        if after is None:
            return listed, first, always
        for _ in range(draw.randrange(3)):
            tables.apply(random_delta(tables, draw))
            always &= set(tables.keys(sort))


@pytest.mark.parametrize("sort", list(EntitySort))
@pytest.mark.parametrize("seed", range(12))
def test_listing_shows_what_always_existed_exactly_once_in_the_first_pages_order(sort: EntitySort, seed: int) -> None:
    """The oracle is the keys at the version of the first page."""
    draw = Random(seed)
    tables = Tables()
    for _ in range(30):
        tables.apply(random_delta(tables, draw))
    for _ in range(5):
        listed, first, always = listing(tables, sort, draw.randrange(1, 8), draw)
        assert len(listed) == len(set(listed))
        assert always <= set(listed) <= set(first)
        assert listed == sorted(listed, key=lambda entity_id: first[entity_id])


@pytest.mark.parametrize("entities", [0, 1, PACKED, PACKED + 1, 3 * PACKED])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_record_of_a_delta_has_its_keys_and_ids(in_chunks: bool, entities: int) -> None:
    """Names with any letters, surrogates included, in one text or several."""
    names = ("", "Ada", "\u00c9va \u2013 \U0001f600", "\ud83d\ude00", '"\\\n\0')
    before = {f"e-{n}": EntityKeys(names[n % len(names)], n, n % 7) for n in range(entities)}
    after = [f"e-{n}" for n in range(1, entities + 2)]
    keep_in_chunks(in_chunks)
    try:
        change = _Change.of(7, before, after)
    finally:
        keep_in_chunks(False)
    assert (change.version, change.size) == (7, len(before) + len(after))
    assert dict(change.before()) == before and list(change.before()) == list(before.items())
    assert list(change.after()) == after


def test_listing_expires_when_the_history_no_longer_reaches_back() -> None:
    """A page from before the history is refused, and one of a version to come is an error."""
    draw, tables = Random(3), Tables(min_history=20)
    tables.apply(random_delta(tables, draw))
    began = tables.version
    for _ in range(30):
        tables.apply(random_delta(tables, draw))
    with pytest.raises(ListingExpired):
        tables.order.page(tables, EntitySort.NAME, began, None)
    with pytest.raises(ValueError, match="holds version"):
        tables.order.page(tables, EntitySort.NAME, tables.version + 1, None)


def test_snapshot_begins_the_history_anew() -> None:
    """A replica that loaded a snapshot refuses listings from before it."""
    tables = Tables()
    tables.version = 7
    tables.order.follow(tables, GraphDelta("g", 7, snapshot=True), None)
    with pytest.raises(ListingExpired):
        tables.order.page(tables, EntitySort.NAME, 6, None)
    assert list(tables.order.page(tables, EntitySort.NAME, 7, None)) == []


def test_matching_stops_after_the_scan_and_continues_there() -> None:
    """A rare match ends the page early, with the place to continue."""
    page = [((0, "", str(n)), str(n)) for n in range(10)]
    found, after = matching(iter(page), lambda entity_id: entity_id == "9", 5, 4)
    assert (found, after) == ([], (0, "", "3"))
    found, after = matching(iter(page[4:]), lambda entity_id: entity_id == "9", 5, 100)
    assert (found, after) == (["9"], None)
