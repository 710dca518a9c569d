"""Recall and cost of retrieval on multi-hop questions: `make bench-retrieval`, or

    python -m tests.bench.retrieval [--times 10] [--quick]

Every registered mode but the global ones (`make bench-reports` measures those), compared with BM25 and plain PageRank:
recall, context tokens, latency with the indexes of a service and their effect, every ablation, and the growth of cost
on a graph `--times` as large. The tables go between the markers of `docs/retrieval.md`; `--quick` leaves out the large
graph and the page. It asserts nothing.

Recall@k is the share of a question's supporting passages among the first k. An interval is 95 %, from resampled
questions in pairs. Latency is CPU of the querying thread, without the question's embedding; compare ratios. On an
otherwise idle machine of two cores everything takes about five minutes, `--quick` one and a half.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphtide.graph.records import Extraction
from graphtide.graph.retrieval.modes.table import MODES
from graphtide.graph.retrieval.types import RetrievalResult
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView
from graphtide.infra.hnsw import HnswIndex
from tests.bench.retrieval_ablations import VARIANTS, mode
from tests.bench.retrieval_asking import (
    DEPTHS,
    Asked,
    Method,
    answered,
    change,
    context_tokens,
    documents,
    latencies_ms,
    overlap,
)
from tests.bench.retrieval_baselines import baselines
from tests.bench.retrieval_graph import DIMENSIONS, Shipped, build, copies, extractions
from tests.bench.retrieval_growth import RememberingIndex, growth_table, own_work_ms, quantiles
from tests.support.bench_data import ROOT, bench_data, corpus, embedder_script, questions
from tests.support.marked_page import write_part

PAGE = ROOT / "docs" / "retrieval.md"
BEGIN, END = "<!-- bench-retrieval: begin -->", "<!-- bench-retrieval: end -->"

ABLATED = (
    "Beneath the recall, the difference to the whole. In parts: the share of the supporting documents that a part "
    "rests on; parts: how many there are."
)

COST = (
    "HNSW indexes, milliseconds of CPU without the embedding call, top_k 5, {entities:,} entities. Overlap: the share "
    "of the first ten passages that exact indexes give too. Tokens: of passages and parts together."
)
GROWTH = (
    "Milliseconds of CPU of everything but the vector search, top_k 5, the least of three rounds; larger is a graph of "
    "{times} times the documents, with fresh names but for a fifth, which the copies have in common: the entity of "
    "such a name is mentioned {times} times as often."
)
BY_LEVEL = ("global", "global-dynamic")
"""Modes that read a whole level of communities by definition: they answer themes instead of ranking passages."""

Table = list[list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="measure latency on so many times the corpus, too")
    parser.add_argument("--quick", action="store_true", help="no larger graph, and the page is left as it is")
    options = parser.parse_args()
    if not (bench_data() / "musique").exists() or not (embedder_script().parent / "vectors.npy").exists():
        sys.exit(f"No bench data in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds musique/.")
    lines = []
    for line in tables(0 if options.quick else options.times):
        print(line, flush=True)
        lines.append(line)
    if not options.quick:
        write_part(PAGE, BEGIN, END, "\n".join(["\n", *lines, "\n"]))


def tables(times: int) -> Iterator[str]:
    """Yield the page's tables as Markdown, line by line as they are measured."""
    shipped, passages, asked = Shipped.read(), corpus(), questions()
    ask = Asked(asked, [shipped.vectors[shipped.rows[one.question]] for one in asked])
    originals = extractions(passages, shipped)
    exact = build(copies(originals, 1), lambda: ExactIndex(DIMENSIONS))
    methods: dict[str, Method] = {**baselines(passages), **{name: mode(name) for name in MODES if name not in BY_LEVEL}}
    found = {name: answered(exact, ask, method) for name, method in methods.items()}
    yield f"One run on {platform.machine()}, {os.cpu_count()} shared cores, Python {platform.python_version()}:"
    yield f"{len(asked)} questions of 2 to 4 hops to {len(exact.chunks):,} passages (MuSiQue), MiniLM vectors."
    yield from section("Recall", "Exact indexes. Beneath the recall, the difference to vector search.")
    yield from markdown(recall_table(ask, found, found["vector"], "mode"))
    yield from section("Cost", COST.format(entities=len(exact.entities)))
    tokens = {name: context_tokens(exact, ask, method) for name, method in methods.items()}
    yield from markdown(cost_table(tokens, cost(build(copies(originals, 1), hnsw), ask, methods, found)))
    if times > 1:
        yield from section("Growth", GROWTH.format(times=times))
        yield from markdown(growth(ask, originals, times, methods))
    for name, variants in VARIANTS.items():
        results = {variant: answered(exact, ask, method) for variant, method in variants.items()}
        yield from section(f"Ablation of {name}", ABLATED)
        yield from markdown(recall_table(ask, results, results["whole"], "variant", parts=True))


def growth(ask: Asked, originals: list[Extraction], times: int, methods: Mapping[str, Method]) -> Table:
    """Measure the modes' own work on the corpus, and on a graph `times` as large."""
    bounded = {name: method for name, method in methods.items() if name != "BM25"}
    small, large = (
        own_work_ms(build(copies(originals, size), lambda: RememberingIndex(DIMENSIONS)), ask, bounded)
        for size in (1, times)
    )
    return growth_table((small, large))


def hnsw() -> HnswIndex:
    return HnswIndex(DIMENSIONS)


def recall_table(
    ask: Asked,
    found: Mapping[str, Sequence[RetrievalResult]],
    base: Sequence[RetrievalResult],
    what: str,
    *,
    parts: bool = False,
) -> Table:
    """Return a row for each method: recall at each depth, and the difference to the base with its interval."""
    reference = ask.recalls(map(documents, base))
    last = ["in parts", "parts"] if parts else []
    table = [[what, *(f"recall@{depth}" for depth in DEPTHS), *last]]
    for name, results in found.items():
        recalls = ask.recalls(map(documents, results))
        row = [name]
        for column in range(len(DEPTHS)):
            mean, low, high = change(recalls, reference, column)
            beside = "" if results is base else f"<br>{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
            row.append(f"{recalls[:, column].mean():.3f}{beside}")
        if parts:
            row += [f"{ask.supported(results):.2f}", f"{np.mean([len(one.parts) for one in results]):.1f}"]
        table.append(row)
    return table


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost on a graph with approximate indexes: p50 and p95 by mode, and the overlap with the exact results."""

    quantiles_ms: dict[str, tuple[float, float]]
    overlaps: dict[str, float]


def cost(
    view: LiveView, ask: Asked, methods: Mapping[str, Method], found: Mapping[str, Sequence[RetrievalResult]]
) -> Cost:
    """Measure the cost, and return the graph's indexes."""
    settle(view)
    timed = {name: method for name, method in methods.items() if name != "BM25"}
    taken = {name: quantiles(latencies_ms(view, ask, method)) for name, method in timed.items()}
    near = {name: overlap(found[name], answered(view, ask, method)) for name, method in timed.items()}
    close(view)
    return Cost(taken, near)


def cost_table(tokens: Mapping[str, float], measured: Cost) -> Table:
    """Return a row for each method: tokens, and the effect and time of approximate indexes, where it uses them."""
    table = [["mode", "tokens", "overlap", "p50", "p95"]]
    for name, count in tokens.items():
        row = [name, f"{count:,.0f}", "", "", ""]
        if name in measured.overlaps:
            row[2:] = [f"{measured.overlaps[name]:.2f}", *(f"{value:.1f}" for value in measured.quantiles_ms[name])]
        table.append(row)
    return table


def settle(view: LiveView) -> None:
    """Wait for background rebuilds."""
    for index in (view.indexes.chunks, view.indexes.entities, view.indexes.statements):
        if isinstance(index, HnswIndex):
            index.settle()


def close(view: LiveView) -> None:
    for index in (view.indexes.chunks, view.indexes.entities, view.indexes.statements):
        if isinstance(index, HnswIndex):
            index.close()


# -- the page ----------------------------------------------------------------------------------------------------------


def section(title: str, note: str) -> Iterator[str]:
    yield from ("", f"### {title}", "", note, "")


def markdown(table: Table) -> Iterator[str]:
    for number, row in enumerate(table):
        yield "| " + " | ".join(row) + " |"
        if number == 0:
            yield "| --- |" + " ---: |" * (len(row) - 1)


if __name__ == "__main__":
    main()
