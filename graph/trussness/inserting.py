"""Insertion, first step, pure Python: the position of a batch of new edges in the peel order.

It mirrors graph/kernels/truss/insert.hpp, which explains the method: the batch is peeled while every other edge keeps
its trussness. The result is the best lower bound of each edge of the batch, and no edge of the batch violates the
order.
"""

from dataclasses import dataclass, field

from graphtide.graph.trussness.raising import raise_violating
from graphtide.graph.trussness.state import PeelState


@dataclass(slots=True)
class _Triangle:
    edges: tuple[int, int, int]
    leaves_after: int | None
    """The level at which its first old edge leaves; None if all three are of the batch."""
    dead: bool = False


@dataclass(slots=True)
class _Batch:
    triangles: list[_Triangle] = field(default_factory=list)
    of: dict[int, list[_Triangle]] = field(default_factory=dict)
    """The triangles of each edge of the batch."""
    alive: dict[int, int] = field(default_factory=dict)
    """The number of remaining triangles, for the edges not yet placed."""
    violating: list[int] = field(default_factory=list)


def insert(state: PeelState, edges: list[int]) -> None:
    """Place edges that are in the adjacency and in no list, and raise the edges they affect.

    Cost: the triangles of the new edges, and of the edges that become candidates to be raised.
    """
    batch = _Batch()
    for edge in edges:
        _join(state, batch, edge, 0)
    _enumerate(state, batch, edges)
    _peel(state, batch)
    for triangle in batch.triangles:
        lowest = min(state.trussness[edge] for edge in triangle.edges)
        for edge in triangle.edges:
            state.support[edge] += state.trussness[edge] == lowest
    raise_violating(state, batch.violating)


def _join(state: PeelState, batch: _Batch, edge: int, trussness_before: int) -> None:
    batch.of[edge] = []
    state.changes.setdefault(edge, trussness_before)


def _enumerate(state: PeelState, batch: _Batch, edges: list[int]) -> None:
    """List the triangles of the new edges, each once; old edges without triangles so far join the batch."""
    done: set[int] = set()
    for edge in edges:
        for a, b in state.walk(edge):
            if a in done or b in done:
                continue
            for other in (a, b):
                if state.trussness[other] == 2 and other not in batch.of:
                    _join(state, batch, other, 2)
            _add_triangle(state, batch, (edge, a, b))
        done.add(edge)
    batch.alive = {edge: len(triangles) for edge, triangles in batch.of.items()}


def _add_triangle(state: PeelState, batch: _Batch, edges: tuple[int, int, int]) -> None:
    old = [state.trussness[edge] for edge in edges if edge not in batch.of]
    triangle = _Triangle(edges, min(old, default=None))
    batch.triangles.append(triangle)
    for edge in edges:
        if edge in batch.of:
            batch.of[edge].append(triangle)


def _peel(state: PeelState, batch: _Batch) -> None:
    by_level: dict[int, list[_Triangle]] = {}
    for triangle in batch.triangles:
        if triangle.leaves_after is not None:
            by_level.setdefault(triangle.leaves_after, []).append(triangle)
    level = 2
    while batch.alive:
        for triangle in by_level.pop(level, ()):
            _lose_old_edge(state, batch, triangle)
        leaving = [edge for edge, alive in batch.alive.items() if alive <= level - 2]
        for edge in leaving:  # grows during the iteration
            _leave(state, batch, edge, level, leaving)
        level = max(level + 1, min([*by_level, *(alive + 2 for alive in batch.alive.values())], default=0))


def _lose_old_edge(state: PeelState, batch: _Batch, triangle: _Triangle) -> None:
    """Remove the triangle's first old edge: it is the first edge of the triangle, and counts it."""
    if triangle.dead:
        return
    triangle.dead = True
    for edge in triangle.edges:
        if edge in batch.alive:
            batch.alive[edge] -= 1
    old = [edge for edge in triangle.edges if edge not in batch.of]
    first = min(old, key=lambda edge: (state.trussness[edge], state.label[edge]))
    state.later[first] += 1
    if state.later[first] == state.trussness[first] - 1:
        batch.violating.append(first)


def _leave(state: PeelState, batch: _Batch, edge: int, level: int, leaving: list[int]) -> None:
    state.later[edge] = batch.alive.pop(edge)
    state.link_last(edge, level)
    for triangle in batch.of[edge]:
        if triangle.dead:
            continue
        triangle.dead = True
        for other in triangle.edges:
            if other in batch.alive:
                batch.alive[other] -= 1
                if batch.alive[other] == level - 2:
                    leaving.append(other)
