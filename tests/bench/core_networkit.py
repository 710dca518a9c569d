"""NetworKit's label propagation (PLP) and Louvain (PLM) beside the maintained communities, on the real graphs.

Both compute a partition of a whole graph, so a stream of documents would run them again for each. Their rows have no
target: they show what propagation without modularity gives, and what the maintained communities are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator

import networkit
import numpy as np

from graphtide.graph.communities import build
from graphtide.graph.communities.types import Int32
from tests.bench.core_communities import Costs, ones, split, timed
from tests.bench.core_trussness import Row

ALGORITHMS = {"PLP": networkit.community.PLP, "PLM": networkit.community.PLM}
SEED = 1


def measure(name: str, edges: Int32) -> Iterator[Row]:
    """Yield the modularity of the streamed communities and of both algorithms, and the cost of a run of each."""
    last = len(edges) * 9 // 10
    communities, streamed = build(edges[:last], ones(edges[:last])), Costs()
    streamed.stream(communities, split(edges[last:]))
    yield Row("modularity kept, last 10 % streamed", name, communities.modularity(), "")
    whole = networkit_graph(edges)
    for title, algorithm in ALGORITHMS.items():
        networkit.setSeed(SEED, False)
        run = algorithm(whole)
        seconds = timed(run.run)
        partition = run.getPartition()  # a second call returns an empty one
        found = networkit.community.Modularity().getQuality(partition, whole)
        detail = f"{partition.numberOfSubsets():,} communities; a run costs {seconds / streamed.mean:,.0f} documents"
        yield Row(f"modularity of NetworKit's {title}, whole graph", name, found, detail)


def networkit_graph(edges: Int32) -> networkit.Graph:
    """Return the graph with dense numbers, without repeated edges and loops."""
    _, dense = np.unique(edges, return_inverse=True)
    pairs = np.unique(np.sort(dense.reshape(-1, 2), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = networkit.Graph(int(dense.max()) + 1)
    graph.addEdges((pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)))
    return graph
