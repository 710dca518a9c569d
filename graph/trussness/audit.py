"""The self-check without an oracle, in pure Python: it recounts from the adjacency and uses no stored count.

It mirrors graph/kernels/truss/audit.hpp. Two facts prove every value exact: peeling in the maintained order removes
each edge at its own level, and each edge closes enough triangles at its level. It changes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from graphtide.graph.trussness.state import NONE, PeelState


def check_all(state: PeelState) -> Iterator[str]:
    """Yield every error in the state: of edges, and of the lists of the levels. Cost: all triangles."""
    live = state.live()
    missing = Counter(state.trussness[edge] for edge in live)
    for level in sorted(missing.keys() | state.head.keys()):
        if level != 2:
            yield from _check_level(state, level, missing[level])
    for edge in live:
        yield from _check_edge(state, edge)


def check_edges(state: PeelState, edges: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Yield every error of these edges (u, v in any order). Cost: their triangles."""
    for u, v in edges:
        edge = state.find(u, v)
        if edge is None:
            yield f"edge ({u}, {v}) is not there"
        else:
            yield from _check_edge(state, edge)


def _check_edge(state: PeelState, edge: int) -> Iterator[str]:
    (u, v), value = state.ends_of(edge), state.trussness[edge]
    what = f"edge ({u}, {v}) of trussness {value}"
    if state.find(u, v) != edge or state.find(v, u) != edge:
        yield f"{what} is missing from the adjacency"
    pairs = list(state.triangles(edge))
    later = sum(state.before(edge, a) and state.before(edge, b) for a, b in pairs)
    support = sum(state.trussness[a] >= value and state.trussness[b] >= value for a, b in pairs)
    if later > value - 2:
        yield f"{what} has {later} later triangles: its value is too low"
    if support < value - 2:
        yield f"{what} closes {support} triangles at its level: its value is too high"
    if (later, support) != (state.later[edge], state.support[edge]):
        yield f"{what} has counts that are out of date"


def _check_level(state: PeelState, level: int, expected: int) -> Iterator[str]:
    previous, edge = NONE, state.head.get(level, NONE)
    while edge != NONE and expected >= 0:
        if state.trussness[edge] != level or state.previous[edge] != previous:
            yield f"edge {state.ends[edge]} does not belong in the list of level {level}"
        if previous != NONE and state.label[previous] >= state.label[edge]:
            yield f"edge {state.ends[edge]} has a label out of order"
        previous, edge, expected = edge, state.next[edge], expected - 1
    if expected or state.tail.get(level, NONE) != previous:
        yield f"the list of level {level} does not hold its edges"
