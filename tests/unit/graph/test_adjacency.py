"""Edges by node: those of nested dictionaries, whatever the sequence of changes, also in a fork."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from graphtide.graph.view_state.adjacency import Adjacency, AdjacencyOverlay, Edges, Neighbours, ViewEdge
from graphtide.graph.view_state.overlay import Writing

Model = dict[int, dict[int, ViewEdge]]


def put(model: Model, u: int, v: int, edge: ViewEdge) -> None:
    """Insert or change an edge of the model."""
    model.setdefault(u, {})[v] = edge
    model.setdefault(v, {})[u] = edge


def take(model: Model, u: int, v: int) -> None:
    """Remove an edge of the model."""
    for a, b in ((u, v), (v, u)):
        del model[a][b]
        if not model[a]:
            del model[a]


def as_model(edges: Mapping[int, Neighbours]) -> Model:
    """Return the edges as dictionaries."""
    return {node: dict(around.items()) for node, around in edges.items()}


def walk(rng: random.Random, steps: int, edges: Edges, model: Model) -> None:
    """Connect and disconnect at random: a few hubs, many nodes with one neighbour, growth and shrinkage by turns."""
    for step in range(steps):
        u, v = rng.choice((0, 1, 17, rng.randrange(400))), rng.randrange(400)
        if u == v:
            continue
        if rng.random() < (0.75 if step // 2_000 % 2 == 0 else 0.2):
            edge = ViewEdge(rng.randrange(1, 900), rng.randrange(2, 9))
            edges.connect(u, v, edge.weight, edge.trussness)
            put(model, u, v, edge)
        elif v in model.get(u, {}):
            edges.disconnect(u, v)
            take(model, u, v)
        else:
            with pytest.raises(KeyError):
                edges.disconnect(u, v)
        if step % 500 == 0:
            assert as_model(edges) == model
        assert len(edges.get(u, {})) == len(model.get(u, {})) and (u in edges) == (u in model)


def test_changes_equal_those_of_dictionaries() -> None:
    """A random walk holds the edges of nested dictionaries, and nothing once all are removed."""
    seed = 41
    print(f"seed {seed}")
    rng, model = random.Random(seed), Model()
    edges = Adjacency()
    empty = sys.getsizeof(edges)
    walk(rng, 12_000, edges, model)
    assert list(edges) == sorted(model) and len(edges) == len(model) and isinstance(edges, Mapping)
    for node, wanted in model.items():
        around = edges[node]
        assert isinstance(around, Mapping) and len(around) == len(around.items()) == len(around.values()) == len(wanted)
        assert sorted(around) == sorted(wanted) and around.keys() == wanted.keys() and dict(around) == wanted
        assert {(e.weight, e.trussness) for e in around.values()} == {(e.weight, e.trussness) for e in wanted.values()}
        assert all(around[other] == around.get(other) == edge for other, edge in wanted.items())
        assert around.get(400) is None and around.get(400, 3) == 3 and 400 not in around
    for u, v in [(u, v) for u, around in model.items() for v in around if u < v]:
        edges.disconnect(u, v)
    assert not edges and list(edges) == [] and edges.bound() == 0 and sys.getsizeof(edges) <= empty + 64


def test_a_fork_has_its_own_edges() -> None:
    """Random changes of a fork equal those of dictionaries, and leave the edges below as they are."""
    for seed in range(5):
        print(f"seed {seed}")
        rng, model = random.Random(seed), Model()
        edges = Adjacency()
        walk(rng, 1_500, edges, model)
        before, forked = as_model(edges), as_model(edges)
        writing = Writing()
        fork = AdjacencyOverlay(edges, writing)
        assert as_model(fork) == before and writing.entries == 0
        writing.on = True
        walk(rng, 3_000, fork, forked)
        writing.on = False
        assert as_model(fork) == forked != before == as_model(edges) == model and writing.entries


def test_a_row_shows_the_present_edges() -> None:
    """A row refers to the table, also when the node has no edges left; iteration notices a change."""
    edges = Adjacency()
    edges.connect(1, 2, 5, 2)
    edges.connect(1, 3, 6, 2)
    around = edges[1]
    edges.connect(1, 2, 7, 3)
    assert around[2] == ViewEdge(7, 3) and around[2] is edges[2][1]
    with pytest.raises(RuntimeError, match="changed during iteration"):
        for other in around:
            edges.disconnect(1, other)
    edges.disconnect(*next((1, other) for other in around))
    assert not around and dict(around) == {} and around.get(2) is None and 1 not in edges
    with pytest.raises(KeyError):
        around[2]
    del edges
    gc.collect()
    assert len(around) == 0


def test_numbers_out_of_range_are_no_nodes() -> None:
    """Ints of NumPy are nodes; ints out of range find nothing and cannot be stored; another type is an error."""
    edges = Adjacency()
    edges.connect(np.int64(3), np.int32(2**31 - 1) % 1_000, 1, 2)  # type: ignore[arg-type]
    assert np.int32(3) in edges and np.int64(647) in edges[3]
    for number in (-1, 2**32 - 1, 2**32, 2**70, -(2**70)):
        assert number not in edges and edges.get(number) is None and number not in edges[3]
        with pytest.raises(KeyError):
            edges[number]
        with pytest.raises(KeyError):
            edges[3][number]
        with pytest.raises(KeyError):
            edges.disconnect(3, number)
        for numbers in ((number, 1, 1, 1), (1, number, 1, 1), (1, 2, number, 1), (1, 2, 1, number)):
            with pytest.raises(OverflowError, match=r"not from 0 to 2\*\*32 - 2"):
                edges.put(*numbers)
    assert as_model(edges).keys() == {3, 647}
    text: Any = "3"
    for call in (edges.get, edges.__getitem__, edges.__contains__, edges[3].get, edges[3].__contains__):
        with pytest.raises(TypeError):
            call(text)


def test_edges_take_few_bytes() -> None:
    """A tree of hubs takes at most 60 bytes an edge, where dictionaries take some 300."""
    edges, count = Adjacency(), 60_000
    for node in range(1, count):
        edges.connect(node // 8, node, 1 + node % 5, 2)
    assert sys.getsizeof(edges) < 60 * count
