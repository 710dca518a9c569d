"""Cost and recall of the vector index on real sentence embeddings: run it as a script.

Prints two tables: build parameters against recall@10 and CPU, from which HnswParameters' defaults were chosen; and the
index in use, streamed as documents of 20 vectors, compared with exact search. CPU times are of this process; compare
ratios.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from graphtide.graph.vector_index import ExactIndex, Ids, Vectors, unit_rows
from graphtide.infra.hnsw import HnswIndex, HnswParameters
from graphtide.infra.hnsw.generation import HnswGeneration

DOCUMENT = 20
QUERIES = 500
CHOICES = [(8, 60), (12, 80), (16, 40), (16, 60), (16, 80), (16, 120), (16, 200), (24, 80)]


def embeddings() -> Vectors | None:
    """Return the embeddings shipped with the benchmark's embedding server, unit length, in a seeded order."""
    bench = Path(os.environ.get("GRAPHTIDE_BENCH_DATA", Path(__file__).parents[3] / "shared" / "bench"))
    file = bench.parent / "embedder" / "vectors.npy"
    if not file.is_file():
        return None
    rows = np.load(file).astype(np.float32)
    return unit_rows(rows[np.random.default_rng(1).permutation(len(rows))], rows.shape[1])


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds that the process spends on `work`."""
    start = time.process_time()
    work()
    return time.process_time() - start


def recall(found: Ids, expected: Ids) -> float:
    """Return the mean share of the expected ids that were found."""
    return float(
        np.mean([len(set(f) & set(e)) / len(e) for f, e in zip(found.tolist(), expected.tolist(), strict=True)])
    )


def parameter_table(rows: Vectors, queries: Vectors, expected: Ids) -> None:
    """Yield one line for each build setting, with recall and cost at three search widths."""
    print("| links | build width | add, us CPU | recall@10 and us CPU a query at search width 64 | 128 | 200 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for links, build_width in CHOICES:
        graph = HnswGeneration(rows.shape[1], HnswParameters(links, build_width), len(rows))

        def build(graph: HnswGeneration = graph) -> None:
            for start in range(0, len(rows), DOCUMENT):
                block = rows[start : start + DOCUMENT]
                graph.put(list(range(start, start + len(block))), list(block))

        line = [str(links), str(build_width), f"{cpu_s(build) / len(rows) * 1e6:.0f}"]
        for width in (64, 128, 200):
            graph.tune(HnswParameters(links, build_width, width))
            start = time.process_time()
            found = graph.search(queries, 10).ids
            line.append(f"{recall(found, expected):.4f}, {(time.process_time() - start) / len(queries) * 1e6:.0f}")
        print("|", " | ".join(line), "|", flush=True)


def stream(index: HnswIndex | ExactIndex, rows: Vectors) -> list[float]:
    """Add the rows a document at a time; return CPU microseconds per vector of each document, rebuilds included."""
    costs = []
    for start in range(0, len(rows), DOCUMENT):
        block = rows[start : start + DOCUMENT]
        began = time.process_time()
        index.add(np.arange(start, start + len(block)), block)
        if isinstance(index, HnswIndex):
            index.settle()
        costs.append((time.process_time() - began) / len(block) * 1e6)
    return costs


def use_table(rows: Vectors, queries: Vectors, exact: ExactIndex) -> None:
    """Yield the table of the index as the services run it."""
    index = HnswIndex(rows.shape[1])
    costs = stream(index, rows)
    last = np.array(costs[-len(costs) // 10 :])
    figures = {
        "add, last tenth of the stream, us CPU a vector: median, mean, p99": (
            f"{np.median(last):.0f}, {last.mean():.0f}, {np.quantile(last, 0.99):.0f}"
        ),
        "add, whole stream with promotion, mean": f"{np.mean(costs):.0f}",
        "search of 10, us CPU": f"{_search_us(index, queries):.0f}",
        "the same, exact": f"{_search_us(exact, queries):.0f}",
        "search of 10 among one id in 20": f"{_search_us(index, queries, lambda id_: id_ % 20 == 0):.0f}",
        "recall@10": f"{recall(index.search(queries, 10).ids, exact.search(queries, 10).ids):.4f}",
        f"bytes a vector (4 d = {4 * rows.shape[1]})": f"{index.statistics().size_bytes / len(rows):.0f}",
    }
    figures |= _churn(index, exact, rows, queries)
    with tempfile.TemporaryDirectory() as folder:
        figures["save, ms CPU"] = f"{cpu_s(lambda: index.save(Path(folder), 1)) * 1e3:.0f}"
        figures["load, ms CPU"] = f"{cpu_s(lambda: HnswIndex.load(Path(folder), rows.shape[1], 1).close()) * 1e3:.0f}"
    index.close()
    print(f"\n| {len(rows)} vectors of {rows.shape[1]} dimensions | |\n| --- | --- |")
    for name, figure in figures.items():
        print(f"| {name} | {figure} |")


def _search_us(index: HnswIndex | ExactIndex, queries: Vectors, allowed: Callable[[int], bool] | None = None) -> float:
    def one_by_one() -> None:
        for query in queries:
            index.search(query[None], 10, allowed=allowed)

    return cpu_s(one_by_one) / len(queries) * 1e6


def _churn(index: HnswIndex, exact: ExactIndex, rows: Vectors, queries: Vectors) -> dict[str, str]:
    """Replace a tenth and remove two tenths; measure without and with the rebuild that follows."""
    tenth = len(rows) // 10
    ids, edited = np.arange(tenth), unit_rows(rows[:tenth] + rows[tenth : 2 * tenth], rows.shape[1])
    gone = np.arange(tenth, 3 * tenth - tenth // 10)
    start = time.process_time()
    for step in range(0, tenth, DOCUMENT):
        index.add(ids[step : step + DOCUMENT], edited[step : step + DOCUMENT])
    index.remove(gone)
    churn_us = (time.process_time() - start) / (tenth + len(gone)) * 1e6
    exact.add(ids, edited)
    exact.remove(gone)
    before = index.statistics()
    dead = f"{recall(index.search(queries, 10).ids, exact.search(queries, 10).ids):.4f}"
    dead += f", {_search_us(index, queries):.0f} us a search"
    start = time.process_time()
    index.remove(np.arange(3 * tenth - tenth // 10, 4 * tenth))
    exact.remove(np.arange(3 * tenth - tenth // 10, 4 * tenth))
    index.settle()
    rebuild_s = time.process_time() - start
    after = f"{recall(index.search(queries, 10).ids, exact.search(queries, 10).ids):.4f}"
    return {
        "replace or remove, us CPU a vector": f"{churn_us:.0f}",
        f"recall@10 with {before.tombstones} tombstones": dead,
        f"recall@10 after {index.statistics().rebuilds - before.rebuilds} rebuild": after,
        "that rebuild, us CPU a live vector": f"{rebuild_s / len(index) * 1e6:.0f}",
    }


def main() -> int:
    """Print both tables, or name the missing data."""
    rows = embeddings()
    if rows is None:
        print("no embeddings: set GRAPHTIDE_BENCH_DATA to the folder `bench` that has `embedder` beside it")
        return 1
    rows, queries = rows[:-QUERIES], rows[-QUERIES:]
    exact = ExactIndex(rows.shape[1])
    exact.add(np.arange(len(rows)), rows)
    expected = exact.search(queries, 10).ids
    use_table(rows, queries, exact)
    print()
    parameter_table(rows, queries, expected)
    return 0


if __name__ == "__main__":
    sys.exit(main())
