"""Cost and quality of maintained communities: `python -m tests.bench.core_communities`.

Real graphs stream their last tenth, and grow a hundredfold with the drift check, in documents of 30 edges; a generated
stream grows from 30 thousand to 3 million edges in documents of about 16. Times are CPU time of this thread, so that a
busy machine shifts them little; compare ratios, which come from one run. Nothing here asserts.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import networkit
import numpy as np

from graphtide.graph.communities import Communities, build
from graphtide.graph.communities.drift import DriftGuard, leiden
from graphtide.graph.communities.types import Int32, Int64
from tests.bench.document_stream import documents
from tests.support.bench_data import bench_data

GRAPHS = ("WN18RR", "NELL-995", "FB15K237", "ca-CondMat", "ca-GrQc", "cit-HepPh")
DOCUMENT = 30


def timed(action: Callable[..., object], *arguments: object) -> float:
    """Return the CPU seconds of this thread."""
    started = time.thread_time()
    action(*arguments)
    return time.thread_time() - started


@dataclass(slots=True)
class Costs:
    """CPU seconds of single updates."""

    seconds: list[float] = field(default_factory=list)

    def stream(self, communities: Communities, batches: Iterable[Int32], sign: int = 1) -> None:
        """Apply each batch with weight 1 and record its cost, without Python's garbage collector (as timeit does)."""
        gc.collect()
        gc.disable()
        for edges in batches:
            deltas = np.full(len(edges), sign, dtype=np.int64)
            self.seconds.append(timed(communities.update, edges, deltas))
        gc.enable()

    @property
    def mean(self) -> float:
        """Return the mean in seconds."""
        return float(np.mean(self.seconds))

    def __str__(self) -> str:
        microseconds = np.array(self.seconds) * 1e6
        return (
            f"{microseconds.mean():6.0f} {np.median(microseconds):6.0f} {np.percentile(microseconds, 99):6.0f}"
            f" {microseconds.max():7.0f}"
        )


def ones(edges: Int32) -> Int64:
    """Return weight 1 for each edge."""
    return np.ones(len(edges), dtype=np.int64)


def reference(edges: Int32, weights: Int64) -> float:
    """Return ParallelLeiden's modularity, the best of three seeds: single runs differ by up to 0.015."""
    return max(leiden(edges, weights, seed=seed).modularity for seed in range(3))


def split(edges: Int32, size: int = DOCUMENT) -> Iterator[Int32]:
    """Split edges into documents of that many edges."""
    return (edges[start : start + size] for start in range(0, len(edges), size))


def disconnected(communities: Communities) -> int:
    """Count the connected parts in excess of the communities, over all levels, with NetworKit."""
    excess = 0
    for level in range(communities.levels()):
        graph = communities.graph(level)
        above = {
            int(unit): communities.community(int(unit)) if level == 0 else communities.parent(int(unit))
            for unit in graph.units
        }
        place = {unit: position for position, unit in enumerate(above)}
        within = networkit.Graph(len(above))
        for u, v in graph.edges.tolist():
            if above[u] == above[v]:
                within.addEdge(place[u], place[v])
        parts = networkit.components.ConnectedComponents(within)
        parts.run()
        excess += parts.numberOfComponents() - len(set(above.values()))
    return excess


def real_graph(name: str) -> Int32 | None:
    """Return a real graph's edges in a seeded random order, or None with one line of output."""
    path = bench_data() / "graphs" / f"{name}.npz"
    if not path.exists():
        print(f"{name}: not there; GRAPHTIDE_BENCH_DATA names the folder of the benchmark data")
        return None
    edges: Int32 = np.load(path)["edges"].astype(np.int32)
    return np.random.default_rng(1).permutation(edges)


def last_tenth(graphs: dict[str, Int32]) -> None:
    """Add the last tenth, compare with Leiden, and remove it again."""
    print("\nLast 10 % streamed and deleted again, per 30-edge document: CPU us mean, median, p99, max")
    print("graph        insert                       delete                       rebuild/mean  Q kept  Leiden  below"
          "   disconnected  B/edge")  # fmt: skip
    for name, edges in graphs.items():
        last = len(edges) * 9 // 10
        communities = build(edges[:last], ones(edges[:last]))
        inserted, deleted = Costs(), Costs()
        inserted.stream(communities, split(edges[last:]))
        kept, apart = communities.modularity(), disconnected(communities)
        size = communities.memory_bytes() / len(edges)
        rebuild = timed(build, edges, ones(edges))
        fresh = reference(edges, ones(edges))
        deleted.stream(communities, split(edges[last:]), -1)
        apart += disconnected(communities)
        print(f"{name:10} {inserted}  {deleted}  {rebuild / inserted.mean:12.0f}  {kept:.4f}  {fresh:.4f}"
              f"  {fresh - kept:+.4f}  {apart:11d}  {size:6.0f}", flush=True)  # fmt: skip


def hundredfold(graphs: dict[str, Int32]) -> None:
    """Grow from 1 % to the whole graph, with and without the drift check."""
    print("\nGrown 100x: below Leiden without the guard, and with it (checked each 25 % of change, adopted above 0.01)")
    print("graph        without     with  checks  adopted  disconnected")
    for name, edges in graphs.items():
        fresh = reference(edges, ones(edges))
        row = []
        for guarded in (False, True):
            communities = build(edges[: len(edges) // 100], ones(edges[: len(edges) // 100]))
            guard, checks, adopted = DriftGuard(), 0, 0
            for batch in split(edges[len(edges) // 100 :]):
                communities.update(batch, ones(batch))
                guard.note(ones(batch))
                if guarded and guard.due(communities.total_weight):
                    guard.started()
                    checks += 1
                    found = leiden(*communities.edges())
                    if guard.adopts(communities.modularity(), found):
                        communities.adopt(found.nodes, found.labels)
                        adopted += 1
            row.append(fresh - communities.modularity())
        print(f"{name:10} {row[0]:+9.4f} {row[1]:+8.4f}  {checks:6d}  {adopted:7d}  {disconnected(communities):12d}",
              flush=True)  # fmt: skip


def growing_stream(limit: int) -> None:
    """Measure the cost of a document as the graph grows from nothing, in windows of 1,500 documents."""
    print(
        "\nGenerated stream from nothing, documents of about 16 edges: CPU us mean, median, p99, max of 1,500 documents"
    )
    print("edges                                      rebuild ms  rebuild/mean  Q kept  Leiden  below   B/edge")
    communities, edges, first, last = build(np.zeros((0, 2), np.int32), np.zeros(0, np.int64)), 0, 0.0, 0.0
    stream = documents(7, limit)
    for mark in [size for size in (30_000, 100_000, 300_000, 1_000_000, 3_000_000) if size <= limit]:
        while edges < mark:
            for batch in islice(stream, 500):
                communities.update(batch, ones(batch))
                edges += len(batch)
        costs = Costs()
        window = list(islice(stream, 1_500))
        costs.stream(communities, window)
        edges += sum(len(batch) for batch in window)
        first, last = first or costs.mean, costs.mean
        present = communities.edges()
        rebuild = timed(build, *present)
        fresh, kept = reference(*present), communities.modularity()
        print(f"{edges:9,d}  {costs}  {rebuild * 1e3:9.0f}  {rebuild / costs.mean:12.0f}  {kept:.4f}  {fresh:.4f}"
              f"  {fresh - kept:+.4f}  {communities.memory_bytes() / edges:6.0f}", flush=True)  # fmt: skip
    print(f"cost of a document at the end / at the beginning: {last / first:.2f}")


def main() -> None:
    """Run every measurement, or those that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="*", default=GRAPHS, help="real graphs to run on")
    parser.add_argument("--edges", type=int, default=3_000_000, help="where the generated stream ends")
    chosen = parser.parse_args()
    networkit.setNumberOfThreads(1)
    graphs = {name: edges for name in chosen.graphs if (edges := real_graph(name)) is not None}
    print(f"Python {sys.version.split()[0]}")
    last_tenth(graphs)
    hundredfold(graphs)
    growing_stream(chosen.edges)


if __name__ == "__main__":
    main()
