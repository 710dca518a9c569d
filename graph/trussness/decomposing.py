"""Static decomposition of a whole graph by peeling, pure Python (Cohen 2008; buckets as Batagelj & Zaversnik 2003).

It mirrors graph/kernels/truss/decompose.hpp: updates maintain the order of peeling.
"""

from graphtide.graph.trussness.state import PeelState


def decompose(state: PeelState, edges: list[tuple[int, int]]) -> None:
    """Fill an empty state with these edges (u < v, sorted). Cost: O(sum over edges of the smaller degree)."""
    ids = [state.create(u, v) for u, v in edges]
    for edge in ids:
        u, v = state.ends_of(edge)
        state.later[edge] = len(state.adjacency[u].keys() & state.adjacency[v].keys())
    buckets: list[list[int]] = [[] for _ in range(max(state.later, default=0) + 1)]
    for edge in ids:
        buckets[state.later[edge]].append(edge)
    for count, bucket in enumerate(buckets):
        for edge in bucket:  # grows during the iteration
            # An edge moves down by being listed again; its entries at higher levels are then stale.
            if state.trussness[edge] == 0 and state.later[edge] <= count:
                _peel(state, edge, count + 2, buckets)


def _peel(state: PeelState, edge: int, level: int, buckets: list[list[int]]) -> None:
    trussness, later = state.trussness, state.later
    for a, b in state.triangles(edge):
        at_a, at_b = trussness[a], trussness[b]
        state.support[edge] += at_a in (0, level) and at_b in (0, level)
        if at_a == 0 and at_b == 0:
            for other in (a, b):
                later[other] -= 1
                if later[other] >= level - 2:
                    buckets[later[other]].append(other)
    state.link_last(edge, level)
