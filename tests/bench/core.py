"""Every figure of the core in one run: `make bench-core`, or `python -m tests.bench.core [--quick]`.

It calls the core's benches, prints their rows, and writes them as tables between the markers of `docs/core.md`; a quick
run prints only. Each figure with a target is a ratio of two measurements of this run, or a count. It asserts nothing.
The real data is read from $GRAPHTIDE_BENCH_DATA, or ../shared/bench beside the repository; one line reports missing
data, which is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import platform
from collections.abc import Callable, Iterator, Sequence

import networkit
import numpy as np

from graphtide.graph.vector_index import ExactIndex, Vectors
from graphtide.infra.hnsw import HnswIndex
from tests.bench import core_growth, core_index, core_layers, core_resolution, core_trussness
from tests.bench.core_ingestion import ingest
from tests.bench.core_trussness import Row
from tests.support.bench_data import ROOT
from tests.support.marked_page import write_part

PAGE = ROOT / "docs" / "core.md"
BEGIN, END = "<!-- bench-core: begin -->", "<!-- bench-core: end -->"
NEAREST = 10

Section = tuple[str, list[Row]]


def measure(*, quick: bool) -> Iterator[Section]:
    """Yield the sections as they finish."""
    networkit.setNumberOfThreads(1)
    yield "Trussness", core_trussness.measure(quick=quick)
    yield "Communities", core_growth.measure(quick=quick)
    if core_resolution.find_data() is None:
        print("no passages or vectors: set GRAPHTIDE_BENCH_DATA; ingestion, layers, index and resolution are left out")
        return
    ingested = asyncio.run(ingest(400 if quick else None))
    yield "Ingestion", ingested.rows
    yield "Layers", core_layers.measure(ingested.view, quick=quick)
    yield "Vector index", list(_index(2_000 if quick else None))
    yield "Entity resolution", list(_resolution())


def _index(limit: int | None) -> Iterator[Row]:
    """Measure the index alone, streamed, and exact search over the same vectors."""
    rows = core_index.embeddings()
    if rows is None:
        print("no embeddings beside the benchmark data; the index is left out")
        return
    rows, queries = rows[:limit][: -core_index.QUERIES], rows[-core_index.QUERIES :]
    subject = f"{len(rows):,} vectors of {rows.shape[1]}"
    index, exact = HnswIndex(rows.shape[1]), ExactIndex(rows.shape[1])
    costs = np.array(core_index.stream(index, rows))
    exact.add(np.arange(len(rows)), rows)
    detail = f"mean {costs.mean():.0f}, median {np.median(costs):.0f}, p99 {np.quantile(costs, 0.99):.0f} µs"
    yield Row("add, µs CPU a vector, whole stream with rebuilds", subject, float(costs.mean()), detail)
    last = costs[-len(costs) // 10 :]
    detail = f"mean {last.mean():.0f}, median {np.median(last):.0f}, p99 {np.quantile(last, 0.99):.0f} µs"
    yield Row("add, µs CPU a vector, last tenth", subject, float(last.mean()), detail)
    took = [core_index.cpu_s(_searching(one, queries)) for one in (index, exact)]
    each = [
        f"{name} {seconds / len(queries) * 1e6:.0f}" for name, seconds in zip(("index", "exact"), took, strict=True)
    ]
    yield Row("exact search / search of the index", subject, took[1] / took[0], f"µs a search: {', '.join(each)}")
    found = core_index.recall(index.search(queries, NEAREST).ids, exact.search(queries, NEAREST).ids)
    yield Row("recall@10 of the index", subject, found, f"{len(queries)} queries", 0.98, at_least=True)
    index.close()


def _searching(index: HnswIndex | ExactIndex, queries: Vectors) -> Callable[[], object]:
    return lambda: [index.search(query[None], NEAREST) for query in queries]


def _resolution() -> Iterator[Row]:
    """Measure the judgements on pairs labelled by hand: those the rule was tuned on, and those held out."""
    data = core_resolution.find_data()
    if data is None:
        return
    models = {"MiniLM": core_resolution.load_vectors(data), "static": core_resolution.static_vectors()}
    reports = [(name, core_resolution.measure_pairs(vectors)) for name, vectors in models.items()]
    for model, half, report in ((name, half, report) for name, halves in reports for half, report in halves.items()):
        subject = f"{report.pairs} pairs ({half}), {model}"
        yield Row("precision", subject, report.precision, f"{report.positive} pairs are the same", 0.97, at_least=True)
        yield Row("recall", subject, report.recall, f"candidates {report.blocked:.3f}", 0.80, at_least=True)


# -- the table ---------------------------------------------------------------------------------------------------------


def page(sections: Sequence[Section]) -> str:
    """Return the tables as Markdown: first the figures with a target, the worst of each, then all rows."""
    machine = f"{platform.machine()}, {os.cpu_count()} shared cores, Python {platform.python_version()}"
    lines = [f"One run on {machine}. Times are CPU time unless they say otherwise.", "", "### Targets", ""]
    lines += ["| | figure | worst on | measured | target | |", "| --- | --- | --- | ---: | ---: | --- |"]
    for title, rows in sections:
        lines += [_line(title, *_cells(row), row.verdict) for row in worst(rows)]
    for title, rows in sections:
        lines += ["", f"### {title}", "", "| figure | on | measured | target | | |"]
        lines += ["| --- | --- | ---: | ---: | --- | --- |"]
        lines += [_line(*_cells(row), row.verdict, row.detail) for row in rows]
    return "\n".join(lines)


def worst(rows: Sequence[Row]) -> list[Row]:
    """Return the row of each figure and target that is furthest from meeting it, in order of appearance."""
    found: dict[tuple[str, float], Row] = {}
    for row in rows:
        if row.target is not None:
            known = found.setdefault((row.figure, row.target), row)
            if (row.value < known.value) if row.at_least else (row.value > known.value):
                found[row.figure, row.target] = row
    return list(found.values())


def number(value: float) -> str:
    """Format a number with three significant digits, or as a whole number."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 5)}f}"


def _cells(row: Row) -> tuple[str, str, str, str]:
    return row.figure, row.subject, number(row.value), bound(row)


def bound(row: Row) -> str:
    return "" if row.target is None else f"{'≥' if row.at_least else '≤'} {row.target:,.10g}"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def main() -> None:
    """Print every row as it is measured; then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything, and the page is left as it is")
    quick = parser.parse_args().quick
    sections: list[Section] = []
    for title, rows in measure(quick=quick):
        print(f"\n{title}")
        for row in rows:
            figure, subject, measured, target = _cells(row)
            print(f"{figure:60} {subject:32} {measured:>10} {target:>10} {row.verdict:6} {row.detail}")
        sections.append((title, rows))
    if not quick:
        write_part(PAGE, BEGIN, END, f"\n\n{page(sections)}\n\n")


if __name__ == "__main__":
    main()
