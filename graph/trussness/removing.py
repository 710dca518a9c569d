"""Deletion, pure Python: edges are removed, and an edge that loses too many triangles sinks to the level it supports.

It mirrors graph/kernels/truss/remove.hpp, which explains the method: sinking to the h-index of an edge's triangles
until nothing sinks gives the exact values (Sariyuce et al. 2018), and the end of the lower level is a valid position in
the order.
"""

from graphtide.graph.trussness.state import PeelState


def remove(state: PeelState, edges: list[int]) -> None:
    """Remove existing edges, each once. Cost: their triangles, and those of every edge that sinks."""
    weak: list[int] = []
    for edge in edges:
        for a, b in state.walk(edge):
            _lose_triangle(state, edge, (a, b), weak)
        state.destroy(edge)
    while weak:
        edge = weak.pop()
        if state.ends[edge] is not None and state.support[edge] < state.trussness[edge] - 2:
            _sink(state, edge, weak)


def _lose_triangle(state: PeelState, gone: int, pair: tuple[int, int], weak: list[int]) -> None:
    a, b = pair
    trussness = state.trussness
    first = a if state.before(a, b) else b
    if state.before(first, gone):
        state.later[first] -= 1
    lowest = min(trussness[gone], trussness[a], trussness[b])
    for edge in pair:
        if trussness[edge] == lowest:
            _lose_support(state, edge, weak)


def _lose_support(state: PeelState, edge: int, weak: list[int]) -> None:
    state.support[edge] -= 1
    if state.support[edge] == state.trussness[edge] - 3:
        weak.append(edge)


def _sink(state: PeelState, edge: int, weak: list[int]) -> None:
    before = state.trussness[edge]
    triangles = list(state.walk(edge))
    level = _h_index(state, triangles, before - 1)
    state.later[edge] = state.support[edge] = 0
    for pair in triangles:
        _release_triangle(state, edge, pair, level, weak)
    state.unlink(edge)
    state.changes.setdefault(edge, before)
    state.link_last(edge, level)


def _h_index(state: PeelState, triangles: list[tuple[int, int]], limit: int) -> int:
    """Return the largest k <= limit at which k - 2 triangles have both edges at k or above."""
    at_level = [0] * (limit + 1)
    for a, b in triangles:
        at_level[min(state.trussness[a], state.trussness[b], limit)] += 1
    level, above = limit, at_level[limit]
    while level > 2 and above < level - 2:
        level -= 1
        above += at_level[level]
    return level


def _release_triangle(state: PeelState, edge: int, pair: tuple[int, int], level: int, weak: list[int]) -> None:
    """Update the counts of one triangle of a sinking edge: its own at the lower level, and those of the edges above."""
    a, b = pair
    lowest, before = min(state.trussness[a], state.trussness[b]), state.trussness[edge]
    if lowest > level:
        state.later[edge] += 1
        first = a if state.before(a, b) else b
        if state.before(first, edge):
            state.later[first] -= 1
    if lowest >= level:
        state.support[edge] += 1
    for other in pair:
        if level < state.trussness[other] <= before and state.trussness[other] == lowest:
            _lose_support(state, other, weak)
