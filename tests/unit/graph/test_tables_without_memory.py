"""Packed tables when an allocation fails: a MemoryError, and the entries that they had."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from graphtide.graph._int_sets import NumberSet
from graphtide.graph._tables import Table
from graphtide.graph.view_state.adjacency import Adjacency

_testcapi: Any = pytest.importorskip("_testcapi")


@contextmanager
def failing_allocation(number: int) -> Iterator[None]:
    """Let the allocation of this number in the block fail, and no other."""
    _testcapi.set_nomemory(number, number + 1)
    try:
        yield
    finally:
        _testcapi.remove_mem_hooks()


def attempt(change: Callable[..., object], *given: int, fails: int) -> bool:
    """Make a change while one allocation fails, and return whether it raised MemoryError."""
    try:
        with failing_allocation(fails):
            change(*given)
    except MemoryError:
        return True
    return False


def test_a_table_that_cannot_grow_has_its_entries() -> None:
    """The same holds for the numbers of nodes, of which the largest makes the table grow."""
    for fails in range(6):
        edges, table = Adjacency(), Table[int]()
        for number in range(4):
            edges.put(number, 1, 2, 3)
            table[number] = number
        attempt(edges.put, 50_000, 1, 2, 3, fails=fails)
        attempt(table.__setitem__, 50_000, 1, fails=fails)
        assert [node for node in edges if node < 4] == [0, 1, 2, 3] and 1 in edges[3]
        assert [table.get(number) for number in range(4)] == [0, 1, 2, 3]
        edges.put(50_000, 1, 2, 3)
        table[50_000] = 1
        assert len(edges) == len(table) == 5


def test_a_removal_does_not_fail_where_the_table_cannot_shrink() -> None:
    """The room then stays as it is."""
    for fails in range(6):
        edges, table = Adjacency(), Table[int]()
        for number in (1, 50_000):
            edges.put(number, 1, 2, 3)
            table[number] = number
        attempt(edges.remove, 50_000, 1, fails=fails)
        attempt(table.__delitem__, 50_000, fails=fails)
        assert set(edges) - {50_000} == {1} and len(edges) == len(set(edges))
        assert table[1] == 1 and len(table) == sum(number in table for number in (1, 50_000))


def test_random_changes_without_memory_change_nothing_else() -> None:
    """A change that failed may have had its effect; all other entries are as they were."""
    seed = 11
    print(f"seed {seed}")
    rng, failures = random.Random(seed), 0
    members, wanted = NumberSet(), set[int]()
    edges, pairs = Adjacency(), set[tuple[int, int]]()
    for _ in range(3_000):
        u, v, fails = rng.randrange(30), rng.randrange(40), rng.choice([0, 0, 1, 2])
        failures += attempt(members.add if rng.random() < 0.5 else members.discard, v, fails=fails)
        if rng.random() < 0.5:
            failures += attempt(edges.put, u, v, 1, 2, fails=fails)
        elif (u, v) in pairs:
            failures += attempt(edges.remove, u, v, fails=fails)
        found, ends = set(members), {(a, b) for a in edges for b in edges[a]}
        assert found - {v} == wanted - {v} and len(members) == len(found)
        assert ends - {(u, v)} == pairs - {(u, v)} and len(edges) == len({a for a, _ in ends})
        wanted, pairs = found, ends
    assert failures > 100
