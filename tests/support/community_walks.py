"""Random changes of a graph, for tests of communities."""

from collections.abc import Iterator
from itertools import combinations
from random import Random

import numpy as np

from graphtide.graph.communities.types import Int32, Int64

Batch = tuple[Int32, Int64]


def batch(edges: list[tuple[int, int]], deltas: list[int] | int = 1) -> Batch:
    """Return arrays of a list of edges with their deltas, or one delta for all."""
    values = [deltas] * len(edges) if isinstance(deltas, int) else deltas
    return np.array(edges, dtype=np.int32).reshape(-1, 2), np.array(values, dtype=np.int64)


def cliques(*sizes: int) -> list[tuple[int, int]]:
    """Return the edges of disjoint cliques over consecutive nodes."""
    edges: list[tuple[int, int]] = []
    start = 0
    for size in sizes:
        edges += combinations(range(start, start + size), 2)
        start += size
    return edges


def walk(seed: int, steps: int) -> Iterator[Batch]:
    """Yield batches of insertions and deletions, in phases of growth and of decay, on a graph with some locality.

    A separate heavy edge determines the total weight, and so how large communities can be at each level.
    """
    random = Random(seed)
    nodes = random.choice([6, 12, 30, 60])
    yield batch([(nodes, nodes + 1)], 10 ** random.randrange(7))
    weights: dict[tuple[int, int], int] = {}
    for step in range(steps):
        edges, deltas = [], []
        for _ in range(random.randrange(1, 9)):
            if weights and random.random() < (0.7 if step % 20 > 12 else 0.2):
                edge = random.choice(sorted(weights))
                delta = -weights[edge] if random.random() < 0.7 else -random.randint(1, weights[edge])
            else:
                u = random.randrange(nodes)
                v = (u + random.choice([1, 1, 2, 3, nodes // 2, random.randrange(1, nodes)])) % nodes
                edge, delta = (min(u, v), max(u, v)), random.randint(1, 3)
            weights[edge] = weights.get(edge, 0) + delta
            if not weights[edge]:
                del weights[edge]
            edges.append(edge)
            deltas.append(delta)
        yield batch(edges, deltas)
