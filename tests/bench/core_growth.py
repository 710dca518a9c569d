"""The figures of the communities that have a target, and the joint cost of trussness and communities.

It measures with the functions of `core_communities`, which prints more and asserts nothing either; streams are the
same.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from graphtide.graph.algorithms.trussness import NO_EDGES, Trussness
from graphtide.graph.communities import Communities
from graphtide.graph.communities import build as build_communities
from graphtide.graph.communities.drift import DriftGuard, leiden
from graphtide.graph.communities.types import Int32
from tests.bench import core_networkit
from tests.bench.core_communities import Costs, disconnected, ones, real_graph, reference, split
from tests.bench.core_trussness import Row
from tests.bench.document_stream import documents

GRAPHS = ("WN18RR", "NELL-995", "FB15K237", "ca-CondMat", "cit-HepPh")
MARKS = (30_000, 100_000, 300_000, 1_000_000, 3_000_000)
WINDOW = 1_500


def measure(*, quick: bool = False) -> list[Row]:
    """Return all rows; `quick` takes the three knowledge graphs and a stream of 300 thousand edges."""
    graphs = {name: edges for name in GRAPHS[: 3 if quick else None] if (edges := real_graph(name)) is not None}
    rows: list[Row] = []
    for name, edges in graphs.items():
        fresh = reference(edges, ones(edges))
        rows += [*_last_tenth(name, edges, fresh), *_hundredfold(name, edges, fresh)]
        rows += core_networkit.measure(name, edges)
    return [*rows, *_stream(MARKS[: 3 if quick else None])]


def _last_tenth(name: str, edges: Int32, fresh: float) -> Iterator[Row]:
    """Add the last tenth, compare with Leiden, and remove it again."""
    last = len(edges) * 9 // 10
    communities = build_communities(edges[:last], ones(edges[:last]))
    inserted, deleted = Costs(), Costs()
    inserted.stream(communities, split(edges[last:]))
    kept, apart = communities.modularity(), disconnected(communities)
    deleted.stream(communities, split(edges[last:]), -1)
    apart += disconnected(communities)
    yield Row("communities, µs CPU a document of 30 edges", name, inserted.mean * 1e6, figures(inserted))
    yield Row("the same, deleted", name, deleted.mean * 1e6, figures(deleted))
    detail = f"kept {kept:.4f}, the best of three Leiden runs {fresh:.4f}"
    yield Row("modularity below Leiden's, last 10 % streamed", name, fresh - kept, detail, 0.005)
    yield Row("disconnected communities, streamed and deleted again", name, apart, "", 0)


def _hundredfold(name: str, edges: Int32, fresh: float) -> Iterator[Row]:
    """Grow from 1 % to the whole graph, with the drift check."""
    first = len(edges) // 100
    communities = build_communities(edges[:first], ones(edges[:first]))
    guard, checks, adopted = DriftGuard(), 0, 0
    for batch in split(edges[first:]):
        communities.update(batch, ones(batch))
        guard.note(ones(batch))
        if guard.due(communities.total_weight):
            guard.started()
            checks += 1
            found = leiden(*communities.edges())
            if guard.adopts(communities.modularity(), found):
                communities.adopt(found.nodes, found.labels)
                adopted += 1
    kept = communities.modularity()
    detail = f"kept {kept:.4f}, Leiden {fresh:.4f}; {checks} checks, {adopted} adopted"
    yield Row("modularity below Leiden's, grown 100x with the guard", name, fresh - kept, detail, 0.01)
    yield Row("disconnected communities, grown 100x", name, disconnected(communities), "", 0)


def _stream(marks: tuple[int, ...]) -> Iterator[Row]:
    """Measure the cost of a document as the graph grows from nothing, and the memory of both kernels."""
    communities, trussness = build_communities(NO_EDGES, ones(NO_EDGES)), Trussness(NO_EDGES)
    stream, edges = documents(7, marks[-1]), 0
    means: list[float] = []
    for mark in marks:
        while edges < mark:
            edges += _grow(communities, trussness, list(islice(stream, 500)))
        window = list(islice(stream, WINDOW))
        costs = Costs()
        costs.stream(communities, window)
        for batch in window:
            trussness.update(batch, NO_EDGES)
        edges += sum(map(len, window))
        means.append(costs.mean)
        parts = trussness.memory_bytes() / edges, communities.memory_bytes() / edges
        detail = f"topology and trussness {parts[0]:.0f}, communities {parts[1]:.0f}"
        yield Row("bytes an edge: topology, trussness, communities", f"{mark:,} edges", sum(parts), detail, 150)
        yield from _at_mark(communities, f"{mark:,} edges", costs, mark)
    detail = f"means {means[0] * 1e6:.0f} and {means[-1] * 1e6:.0f} µs"
    yield Row(
        "communities, document at the end / at 30 thousand", f"{marks[-1]:,} edges", means[-1] / means[0], detail, 1.5
    )


def _grow(communities: Communities, trussness: Trussness, batches: list[Int32]) -> int:
    for batch in batches:
        communities.update(batch, ones(batch))
        trussness.update(batch, NO_EDGES)
    return sum(map(len, batches))


def _at_mark(communities: Communities, size: str, costs: Costs, mark: int) -> Iterator[Row]:
    yield Row("communities, µs CPU a document of the stream", size, costs.mean * 1e6, figures(costs))
    present = communities.edges()
    rebuild_s = cpu_s(lambda: build_communities(*present))
    target = 5_000 if mark == 1_000_000 else None
    detail = f"{rebuild_s * 1e3:,.0f} ms"
    yield Row("communities, full rebuild / document", size, rebuild_s / costs.mean, detail, target, at_least=True)
    if mark <= 1_000_000:
        fresh = reference(*present)
        below = fresh - communities.modularity()
        yield Row("modularity below Leiden's, whole stream without guard", size, below, f"Leiden {fresh:.4f}")


def figures(costs: Costs) -> str:
    """Return mean, median and p99 in microseconds."""
    micros = np.array(costs.seconds) * 1e6
    return f"mean {micros.mean():.0f}, median {np.median(micros):.0f}, p99 {np.quantile(micros, 0.99):.0f} µs"


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call, without Python's garbage collector."""
    gc.collect()
    gc.disable()
    started = time.thread_time()
    work()
    spent = time.thread_time() - started
    gc.enable()
    return spent
