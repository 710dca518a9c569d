"""Packed tables that are made of what another one lists: their growth costs what that of any table costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from graphtide.graph._int_sets import NumberSet
from graphtide.graph.number_table import PairCounts
from graphtide.graph.view_state.adjacency import Adjacency
from graphtide.graph.view_state.tables import ViewEntity

COUNT = 30_000
"""In the order of their hashes, so many entries take a hundred times as long as in another order."""


def number_set(members: Iterable[int]) -> NumberSet:
    """Return a set of these members, added in their order."""
    made = NumberSet()
    for member in members:
        made.add(member)
    return made


def hub(neighbours: Iterable[int]) -> Adjacency:
    """Return the edges of one node to these, added in their order."""
    made = Adjacency()
    for node in neighbours:
        made.put(0, node, 1, 1)
    return made


def counts(entries: Iterable[tuple[tuple[int, int], int]]) -> PairCounts:
    """Return counts with these entries, added in their order."""
    made = PairCounts()
    for pair, count in entries:
        made[pair] = count
    return made


def entity(chunks: Iterable[int]) -> ViewEntity:
    """Return an entity that these passages mention, counted in their order."""
    made = ViewEntity("", "", "", (), 0, b"")
    for chunk in chunks:
        made.count(chunk, 1)
    return made


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of three calls."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    ("make", "plain", "listed"),
    [
        (number_set, range(COUNT), list),
        (hub, range(1, COUNT), lambda made: list(made[0])),
        (counts, [((number, 2 * number), 1) for number in range(COUNT)], lambda made: list(made.items())),
        (entity, range(COUNT), lambda made: list(made.chunks)),
    ],
    ids=["set", "edges", "counts", "entity"],
)
def test_a_table_made_of_what_another_lists_costs_as_much(
    make: Callable[[Any], Any], plain: Iterable[Any], listed: Callable[[Any], list[Any]]
) -> None:
    """Restored weights of edges, and passages that follow a label to another entity, are entered in such an order."""
    entries = listed(make(plain))
    assert sorted(entries) == sorted(plain)
    assert seconds(lambda: make(entries)) < 20 * seconds(lambda: make(plain))
    assert sorted(listed(make(entries))) == sorted(plain)


def test_members_are_removed_in_any_order_at_the_same_cost() -> None:
    """In the order of their homes, those that are left would fill a part of the slots that they are moved to."""

    def removal(order: list[int]) -> Callable[[], None]:
        def work() -> None:
            members, edges = number_set(range(COUNT)), hub(range(COUNT))
            for number in order:
                members.discard(number)
                edges.remove(0, number)
            assert len(members) == len(edges) == 0

        return work

    assert seconds(removal(list(number_set(range(COUNT))))) < 10 * seconds(removal(list(range(COUNT))))


def test_counts_are_listed_in_order() -> None:
    """Whatever the order of their insertion: so are edges in a saved write model."""
    pairs = [(number * 7_919 % 1_009, number * 31 % 17) for number in range(1_000)]
    made = counts((pair, 1 + place) for place, pair in enumerate(pairs))
    assert list(made) == sorted(set(pairs))
    assert [pair for pair, _ in made.items()] == sorted(set(pairs))


@pytest.mark.parametrize("size", [1, 2, 8, 9, 100, 4_099])
def test_an_iteration_that_sees_another_table_ends_with_an_error(size: int) -> None:
    """Also where the number of members is the same again, and at every size each member is seen once."""
    members, edges = number_set(range(size)), hub(range(1, size + 1))
    assert sorted(members) == list(range(size))
    assert sorted(edges[0]) == list(range(1, size + 1))
    sets, rows = iter(members), iter(edges[0])
    next(sets), next(rows)
    for number in range(size, 3 * size + 10):
        members.add(number)
        edges.put(0, number + 1, 1, 1)
    with pytest.raises(RuntimeError, match="changed"):
        next(sets)
    with pytest.raises(RuntimeError, match="changed"):
        next(rows)
    for number in range(size, 3 * size + 10):
        members.discard(number)
        edges.remove(0, number + 1)
    assert sorted(members) == list(range(size))
    for iterator in (sets, rows):
        try:
            list(iterator)
        except RuntimeError as error:
            assert "changed" in str(error)
