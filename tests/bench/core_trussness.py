"""Measures dynamic trussness, on real graphs and on growing document streams: `python -m tests.bench.core_trussness`.

Every figure that has a target is a ratio of two measurements of the same run: the kernel against the bare adjacency it
is built on, NetworKit's addEdge, its own rebuild, or itself on a smaller graph. Means are of CPU time (other processes
do not count), medians and p99 of wall time per document. It asserts nothing; the table shows which figures met their
target. The real graphs are read from $GRAPHTIDE_BENCH_DATA/graphs, or ../shared/bench/graphs beside the repository.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import networkit
import numpy as np
from numpy.typing import NDArray

from graphtide.graph._trussness import BareAdjacency
from graphtide.graph.algorithms.trussness import NO_EDGES, EdgeArray, Trussness
from tests.bench.document_stream import documents

EDGES_PER_DOCUMENT = 16
# The target for the mean per edge relative to a bare adjacency insert.
REAL_GRAPHS: dict[str, float | None] = {
    "WN18RR": 2.0,
    "NELL-995": 6.0,
    "FB15K237": 30.0,
    "ca-GrQc": None,
    "ca-CondMat": None,
    "cit-HepPh": None,
}
STREAM_EDGES = (30_000, 100_000, 300_000, 1_000_000, 3_000_000)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the table; `target` is an upper bound unless `at_least`."""

    figure: str
    subject: str
    value: float
    detail: str = ""
    target: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Return whether the target was met, as text; empty without a target."""
        if self.target is None:
            return ""
        met = self.value >= self.target if self.at_least else self.value <= self.target
        return "met" if met else "MISSED"


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a run over many documents."""

    cpu_us: float
    """Mean CPU time of a document."""
    median_us: float
    p99_us: float

    def __str__(self) -> str:
        return f"mean {self.cpu_us:.2f}, median {self.median_us:.2f}, p99 {self.p99_us:.2f} µs"


class Stopwatch:
    """Times documents one by one, by the wall for median and p99, by the thread's CPU for the mean."""

    def __init__(self) -> None:
        self._walls: list[int] = []
        self._cpus: list[int] = []
        self._own_ns = 0
        for _ in range(2000):
            self.lap(lambda _: None, None)
        self._own_ns = int(np.median(self._cpus))
        self._walls.clear()
        self._cpus.clear()

    def lap(self, work: Callable[[T], object], batch: T) -> None:
        """Do the work once; the cost of reading the CPU clock is subtracted."""
        cpu = time.thread_time_ns()
        wall = time.perf_counter_ns()
        work(batch)
        self._walls.append(time.perf_counter_ns() - wall)
        self._cpus.append(time.thread_time_ns() - cpu - self._own_ns)

    def timing(self) -> Timing:
        """Return the times of the laps."""
        walls = np.array(self._walls) / 1e3
        return Timing(float(np.mean(self._cpus)) / 1e3, float(np.median(walls)), float(np.quantile(walls, 0.99)))


def timed(work: Callable[[T], object], batches: Sequence[T]) -> Timing:
    """Do the work on each batch once, in order."""
    watch = Stopwatch()
    for batch in batches:
        watch.lap(work, batch)
    return watch.timing()


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def graph_folder() -> Path:
    """Return the expected folder of the real graphs."""
    beside = Path(__file__).parents[2].parent / "shared" / "bench"
    return Path(os.environ.get("GRAPHTIDE_BENCH_DATA", beside)) / "graphs"


def shuffled(name: str) -> EdgeArray:
    """Return a real graph's edges in a seeded random order."""
    with np.load(graph_folder() / f"{name}.npz") as archive:
        edges = archive["edges"].astype(np.int32)
    return np.ascontiguousarray(edges[np.random.default_rng(1).permutation(len(edges))])


def split(edges: EdgeArray) -> list[EdgeArray]:
    """Cut edges into documents."""
    return [edges[start : start + EDGES_PER_DOCUMENT] for start in range(0, len(edges), EDGES_PER_DOCUMENT)]


def wrong_edges(kept: Trussness, edges: EdgeArray) -> int:
    """Count edges whose maintained value differs from a decomposition from scratch, and the self-check's findings."""
    scratch_edges, scratch_values = Trussness(edges).edges()
    kept_edges, kept_values = kept.edges()
    if not np.array_equal(kept_edges, scratch_edges):
        return len(edges)
    return int(np.sum(kept_values != scratch_values)) + len(kept.violations())


def add(kept: Trussness) -> Callable[[EdgeArray], object]:
    """Return the function that inserts one document."""
    return lambda batch: kept.update(batch, NO_EDGES)


def remove(kept: Trussness) -> Callable[[EdgeArray], object]:
    """Return the function that deletes one document."""
    return lambda batch: kept.update(NO_EDGES, batch)


def measure_real_graph(name: str, target: float | None, repeats: int) -> Iterator[Row]:
    """Stream a whole real graph in as documents of 16 edges in random order, then half of it out again."""
    edges = shuffled(name)
    batches = split(edges)
    ratio, bare, insert, kept = sorted((_filled(batches) for _ in range(repeats)), key=itemgetter(0))[repeats // 2]
    yield Row("mean per edge / bare adjacency insert", name, ratio, f"document of 16: {insert}; bare {bare}", target)
    size, wrong, highest = kept.memory_bytes() / len(edges), wrong_edges(kept, edges), int(kept.edges()[1].max())
    rebuild_s = cpu_s(lambda: Trussness(edges))
    order = np.random.default_rng(2).permutation(len(batches))
    leaving, staying = order[: len(batches) // 2], order[len(batches) // 2 :]
    delete = timed(remove(kept), [batches[place] for place in leaving])
    wrong += wrong_edges(kept, np.concatenate([batches[place] for place in staying]))
    yield Row("mean per edge deleted, µs", name, delete.cpu_us / EDGES_PER_DOCUMENT, f"document of 16: {delete}")
    yield Row("wrong edges, after insertion and after deletion of half", name, wrong, f"largest {highest}", 0)
    yield Row("rebuild, edges a second", name, len(edges) / rebuild_s, f"{rebuild_s * 1e3:.0f} ms")
    yield Row("bytes an edge, topology and trussness", name, size)
    ratio, bare, insert, _ = _filled(list(edges[:, None, :]))
    yield Row("the same, each edge a document", name, ratio, f"edge: {insert}; bare {bare}")


def _filled(batches: list[EdgeArray]) -> tuple[float, Timing, Timing, Trussness]:
    """Fill a bare adjacency, then a decomposition; return the ratio of their means, both timings, and the latter."""
    adjacency, kept = BareAdjacency(), Trussness(NO_EDGES)
    bare = timed(adjacency.insert, batches)
    insert = timed(add(kept), batches)
    return insert.cpu_us / bare.cpu_us, bare, insert, kept


def measure_stream(total_edges: tuple[int, ...], probes: int) -> Iterator[Row]:
    """Measure the next documents of one synthetic stream at growing sizes."""
    stream = list(documents(1, total_edges[-1] // EDGES_PER_DOCUMENT + probes + 1000))
    sizes = np.cumsum([len(document) for document in stream])
    costs: dict[int, Timing] = {}
    for wanted in total_edges:
        at = int(np.searchsorted(sizes, wanted))
        base, probe = np.concatenate(stream[:at]), stream[at : at + probes]
        started = time.thread_time()
        kept = Trussness(base)
        rebuild_s = time.thread_time() - started
        costs[wanted], rows = _probe(kept, base, probe)
        yield from rows
        yield Row(
            "full rebuild / mean per document",
            f"{wanted:,} edges",
            rebuild_s / costs[wanted].cpu_us * 1e6,
            f"{len(base) / rebuild_s:,.0f} edges a second",
            50_000 if wanted == 1_000_000 else None,
            at_least=True,
        )
    first, last = total_edges[0], total_edges[-1]
    for what, ratio in (
        ("mean", costs[last].cpu_us / costs[first].cpu_us),
        ("median", costs[last].median_us / costs[first].median_us),
    ):
        yield Row(f"{what} per document, largest / smallest", f"{last:,} / {first:,}", ratio, "", 1.3)


def _probe(kept: Trussness, base: EdgeArray, probe: list[EdgeArray]) -> tuple[Timing, list[Row]]:
    """Add the same documents here and to NetworKit, by turns; then remove a third of them and check."""
    subject = f"{len(base):,} edges"
    graph = _networkit(base, max(int(document.max()) for document in probe) + 1)
    add_edge = graph.addEdge

    def add_edges(pairs: list[list[int]]) -> None:
        for u, v in pairs:
            add_edge(u, v)

    ours, theirs = Stopwatch(), Stopwatch()
    for document in probe:
        # Both get a document that has just been generated, as they would in a stream.
        ours.lap(add(kept), document.copy())
        theirs.lap(add_edges, document.tolist())
    cost, addition = ours.timing(), theirs.timing()
    ratio = cost.median_us / addition.median_us
    size = kept.memory_bytes() / len(kept)
    delete = timed(remove(kept), probe[::3])
    rest = [document for place, document in enumerate(probe) if place % 3]
    wrong = wrong_edges(kept, np.concatenate([base, *rest]))
    return cost, [
        Row("median per document / NetworKit addEdge", subject, ratio, f"{cost}; addEdge {addition}", 2.0),
        Row("mean per document / NetworKit addEdge", subject, cost.cpu_us / addition.cpu_us),
        Row("mean per document deleted, µs", subject, delete.cpu_us, str(delete)),
        Row("wrong edges, after insertion and deletion", subject, wrong, "", 0),
        Row("bytes an edge, topology and trussness", subject, size, "", 80),
    ]


def _networkit(base: EdgeArray, nodes: int) -> networkit.Graph:
    graph = networkit.Graph(max(nodes, int(base.max()) + 1))
    columns: NDArray[np.uint64] = base.T.astype(np.uint64)
    graph.addEdges((np.ascontiguousarray(columns[0]), np.ascontiguousarray(columns[1])))
    return graph


def measure_clique(kept_edges: int) -> Iterator[Row]:
    """Measure the most expensive document: 60 entities that all link to each other, in a graph of some size."""
    base = np.concatenate(list(documents(1, kept_edges // EDGES_PER_DOCUMENT)))
    kept = Trussness(base)
    first = int(base.max()) + 1
    clique = np.array(list(combinations(range(first, first + 60), 2)), dtype=np.int32)
    came = timed(add(kept), [clique])
    wrong = len(kept.violations())
    went = timed(remove(kept), [clique])
    yield Row("one document of 60 entities, all linked, ms", f"{len(base):,} edges", came.cpu_us / 1e3, f"out: {went}")
    yield Row("wrong edges, 60 entities all linked", f"{len(base):,} edges", wrong + len(kept.violations()), "", 0)


def measure(*, quick: bool = False) -> list[Row]:
    """Return all rows; `quick` leaves out what takes more than a few seconds (the largest graphs and streams)."""
    graphs = dict(list(REAL_GRAPHS.items())[: 3 if quick else None])
    rows: list[Row] = []
    if graph_folder().is_dir():
        for name, target in graphs.items():
            rows += measure_real_graph(name, target, repeats=1 if quick else 3)
    else:
        print(f"no real graphs in {graph_folder()}: set GRAPHTIDE_BENCH_DATA; measuring synthetic streams only")
    rows += measure_stream(STREAM_EDGES[: 3 if quick else None], probes=500 if quick else 2000)
    rows += measure_clique(100_000)
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    for row in measure(quick=parser.parse_args().quick):
        bound = "" if row.target is None else f"{'>=' if row.at_least else '<='} {row.target:,.10g}"
        print(f"{row.figure:58} {row.subject:22} {row.value:12,.2f} {bound:>10} {row.verdict:6} {row.detail}")


if __name__ == "__main__":
    main()
