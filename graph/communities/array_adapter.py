"""Array interface over the pure core, the same as the compiled kernel's (``graphtide.graph._communities.Kernel``).

The module only converts arrays and validates batches. Invariant: a rejected batch changes nothing.
"""

import sys
from collections.abc import Iterable

import numpy as np

from graphtide.graph.communities.pure import PureCore
from graphtide.graph.communities.types import Int32, Int64

LIMIT = 2**56  # maximum of the total weight: keeps resolution x degree x degree within the kernel's 128 bits

KernelReport = tuple[Int32, Int64, Int64, Int32, Int64, Int64]
KernelTree = tuple[Int32, Int64, Int64, Int32, Int64, int]


def column(values: Iterable[int]) -> Int64:
    """Return ints as an int64 array."""
    return np.array(list(values), dtype=np.int64)


class PureKernel:
    """The pure kernel. ``graph/_communities.pyi`` holds the contract of each method."""

    def __init__(self) -> None:
        self.core = PureCore()

    def update(self, edges: Int32, deltas: Int64) -> KernelReport:
        batch = self.checked(edges, deltas)
        self.core.update(batch)
        nodes, children, removed = self.core.changes()
        return (
            column(n for n, _ in nodes).astype(np.int32),
            column(c for _, c in nodes),
            column(c for c, _, _ in children),
            column(h for _, h, _ in children).astype(np.int32),
            column(p for _, _, p in children),
            column(removed),
        )

    def checked(self, edges: Int32, deltas: Int64) -> dict[tuple[int, int], int]:
        """Return the batch summed by edge, without zeros. Raises ValueError for an invalid edge or weight."""
        batch: dict[tuple[int, int], int] = {}
        for (u, v), delta in zip(edges.tolist(), deltas.tolist(), strict=True):
            if u == v or u < 0 or v < 0:
                raise ValueError(f"edge ({u}, {v}): the ends must be two different non-negative nodes")
            edge = (u, v) if u < v else (v, u)
            batch[edge] = batch.get(edge, 0) + delta
        adjacency, grown = self.core.levels[0].adjacency, self.core.total_weight
        for (u, v), delta in batch.items():
            weight = adjacency[u].get(v, 0) if u < len(adjacency) else 0
            if weight + delta < 0:
                raise ValueError(f"edge ({u}, {v}) has weight {weight}: a change by {delta} would make it negative")
            grown += max(delta, 0)
        if grown > LIMIT:
            raise ValueError(f"the total weight would exceed the maximum of {LIMIT}")
        return {edge: delta for edge, delta in batch.items() if delta}

    def fill(self, edges: Int32, weights: Int64) -> None:
        batch = self.checked(edges, weights)
        self.core.fill((u, v, w) for (u, v), w in batch.items())

    def build(self) -> None:
        self.core.build()

    def load(self, tree: KernelTree) -> None:
        nodes, communities, ids, levels, parents, next_id = tree
        assigned = dict(zip(nodes.tolist(), communities.tolist(), strict=True))
        self.core.load(assigned, list(zip(ids.tolist(), levels.tolist(), parents.tolist(), strict=True)), next_id)

    def settle(self) -> None:
        self.core.settle()

    def hierarchy(self) -> KernelTree:
        core = self.core
        nodes = [u for u, community in enumerate(core.levels[0].community) if community >= 0]
        rows = [(ident, h - 1, core.parent_id(h, slot)) for ident, (h, slot) in sorted(core.slots.items())]
        return (
            column(nodes).astype(np.int32),
            column(core.parent_id(0, u) for u in nodes),
            column(row[0] for row in rows),
            column(row[1] for row in rows).astype(np.int32),
            column(row[2] for row in rows),
            core.next_id,
        )

    def graph(self, level: int) -> tuple[Int64, Int64, Int64, Int64]:
        graph = self.core.levels[level]
        key = {u: self.core.key(level, u) for u, degree in enumerate(graph.degree) if degree}
        units = sorted(key, key=key.__getitem__)
        edges = sorted((key[u], key[v], w) for u in units for v, w in graph.adjacency[u].items() if key[u] < key[v])
        return (
            column(key[u] for u in units),
            column(graph.degree[u] for u in units),
            column(end for u, v, _ in edges for end in (u, v)).reshape(-1, 2),
            column(w for _, _, w in edges),
        )

    def levels(self) -> int:
        return self.core.top

    def community(self, node: int, level: int) -> int:
        if not 0 <= level < self.core.top:
            raise IndexError(f"unknown level {level}: the hierarchy has the levels 0 to {self.core.top}")
        bottom = self.core.levels[0].community
        if not 0 <= node < len(bottom) or bottom[node] < 0:
            return 0
        return self.core.levels[level + 1].ident[self.core.chain(0, bottom[node])[level]]

    def level(self, community: int) -> int:
        return self.core.slots[community][0] - 1

    def parent(self, community: int) -> int:
        return self.core.parent_id(*self.core.slots[community])

    def members(self, community: int) -> Int64:
        h, slot = self.core.slots[community]
        return column(sorted(self.core.key(h - 1, u) for u in self.core.levels[h].members[slot]))

    def sums(self, level: int) -> tuple[int, int, int]:
        return self.core.levels[level].inside, self.core.levels[level + 1].squares, self.core.total_weight

    def work(self) -> tuple[int, int]:
        return self.core.units_examined, self.core.links_read

    def memory_bytes(self) -> int:
        total = sys.getsizeof(self.core.slots)
        for level in self.core.levels:
            columns = (level.degree, level.size, level.community, level.ident, level.adjacency, level.members)
            total += sum(sys.getsizeof(values) for values in columns)
            total += sum(sys.getsizeof(d) for d in level.adjacency) + sum(sys.getsizeof(m) for m in level.members)
        return total
