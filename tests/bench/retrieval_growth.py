"""Growth of a question's cost with the graph: the modes' own work, without the vector search.

Vector search is excluded by remembering its results: the index is measured by itself (`make bench-core`), and an exact
one, which is quickly built and alike in both graphs, would dominate the rest. The measurement covers the rest: every
node, edge, passage and vector that a mode reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphtide.graph.vector_index import ExactIndex, SearchResult, Vectors
from graphtide.graph.view import LiveView
from tests.bench.retrieval_asking import Asked, Method, latencies_ms

ROUNDS = 3

Quantiles = tuple[float, float]


class RememberingIndex(ExactIndex):
    """An exact index that returns remembered results at once. For graphs that no longer change, without filters."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self._known: dict[tuple[bytes, int], SearchResult] = {}

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """See `VectorIndex.search`."""
        if allowed is not None:
            return super().search(queries, k, allowed=allowed)
        key = queries.tobytes(), k
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = super().search(queries, k)
        return found


def own_work_ms(view: LiveView, ask: Asked, methods: Mapping[str, Method]) -> dict[str, Quantiles]:
    """Return p50 and p95 of the CPU of a question by method, on a view of `RememberingIndex`es."""
    return {name: quantiles(latencies_ms(view, ask, method, ROUNDS)) for name, method in methods.items()}


def quantiles(taken: list[float]) -> Quantiles:
    return float(np.median(taken)), float(np.quantile(taken, 0.95))


def growth_table(sizes: tuple[Mapping[str, Quantiles], Mapping[str, Quantiles]]) -> list[list[str]]:
    """Return a row for each method: the cost on both graphs, and their ratio."""
    small, large = sizes
    table = [["mode", "p50", "p95", "p50, larger", "p95, larger", "p50 ratio", "p95 ratio"]]
    for name, (half, whole) in small.items():
        times = (half, whole, *large[name])
        ratios = (large[name][0] / half, large[name][1] / whole)
        table.append([name, *(f"{value:.1f}" for value in times), *(f"{value:.2f}" for value in ratios)])
    return table
