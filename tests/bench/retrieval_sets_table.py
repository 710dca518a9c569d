"""Recall on several question sets without a language model: `python -m tests.bench.retrieval_sets_table [--sets ...]`.

Each set has a graph of its own, built by the extract stage (retrieval_sets.py), and every method is asked the same
questions of it. The table goes between markers of `docs/retrieval.md`, unless `--no-page`. It asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator, Mapping

import numpy as np

from graphtide.graph.retrieval.modes.table import MODES
from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.scoring.candidates import gather
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from tests.bench.retrieval_ablations import VARIANTS, mode
from tests.bench.retrieval_asking import DEPTHS, Method, Recalls, change, documents
from tests.bench.retrieval_baselines import baselines
from tests.bench.retrieval_growth import quantiles
from tests.bench.retrieval_sets import MUSIQUE, QuestionSet, Source, load
from tests.support.bench_data import ROOT
from tests.support.marked_page import write_part

PAGE = ROOT / "docs" / "retrieval.md"
BEGIN, END = "<!-- bench-retrieval-sets: begin -->", "<!-- bench-retrieval-sets: end -->"
SOURCES = (
    Source("2wiki-dev"),
    Source("hotpot-dev"),
    Source("musique-dev"),
    Source("2wiki-train", limit=300),
    Source(MUSIQUE),
    Source(MUSIQUE, "minilm", brought_along=True),
    Source("2wiki-dev", "minilm"),
    Source("hotpot-dev", "minilm"),
    Source("musique-dev", "minilm"),
)
ABLATED = (Source("2wiki-dev"), Source(MUSIQUE, "minilm", brought_along=True))
PARTS = tuple(name for name in VARIANTS["passages"] if name.startswith(("no ", "pairs")))
"""The variants of mode `passages` that lack a part."""
FITTED = {"2wiki-train", MUSIQUE}
"""Sets that the weights of pair scoring were fitted on: their figures describe the fit."""


def main() -> None:
    """Print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [source.title for source in SOURCES]
    parser.add_argument(
        "--sets",
        nargs="*",
        default=names[:7],
        choices=names,
        help="default: all but the last two",
    )
    parser.add_argument("--no-page", action="store_true", help="print only")
    options = parser.parse_args()
    lines = []
    for line in tables([source for source in SOURCES if source.title in options.sets]):
        print(line, flush=True)
        lines.append(line)
    if not options.no_page:
        write_part(PAGE, BEGIN, END, "\n".join(["\n", *lines, "\n"]))


def tables(sources: list[Source]) -> Iterator[str]:
    """Yield the tables, set by set: the methods, and for two sets `passages` without each of its parts."""
    yield f"One run on {platform.machine()}, {os.cpu_count()} shared cores, Python {platform.python_version()}."
    for source in sources:
        loaded = load(source)
        fitted = " The weights were fitted on this set." if source.name in FITTED else ""
        asked = f"{len(loaded.ask.questions)} questions, {len(loaded.view.chunks):,} passages."
        share = f"{among_candidates(loaded):.3f} of the supporting passages are among the candidates."
        yield from ("", f"### {source.title}", "", f"{asked} {share}{fitted}", "")
        methods: dict[str, Method] = {**baselines(loaded.documents)}
        methods |= {name: mode(name) for name in ("vector", "local", "passages")}
        if source in ABLATED:
            methods |= {name: VARIANTS["passages"][name] for name in PARTS}
        yield from rows(loaded, methods)


def rows(loaded: QuestionSet, methods: Mapping[str, Method]) -> Iterator[str]:
    """Yield a row for each method: recall, the difference to vector search at 5, and CPU."""
    yield "| mode | " + " | ".join(f"R@{k}" for k in DEPTHS) + " | to vector, R@5 | p50 ms | p95 ms |"
    yield "| --- |" + " ---: |" * (len(DEPTHS) + 3)
    asked = {name: timed(loaded, method) for name, method in methods.items()}
    base = asked["vector"][0]
    for name, (found, taken_ms) in asked.items():
        mean, low, high = change(found, base, DEPTHS.index(5))
        times = [f"{value:.1f}" for value in quantiles(taken_ms)] if name in MODES else ["", ""]
        cells = [*(f"{value:.3f}" for value in found.mean(axis=0)), f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]", *times]
        yield f"| {name} | " + " | ".join(cells) + " |"


def timed(loaded: QuestionSet, method: Method) -> tuple[Recalls, list[float]]:
    """Return the recall of each question, and the milliseconds of CPU that it took."""
    rankings, taken = [], []
    for question in loaded.ask.each():
        before = time.thread_time()
        rankings.append(documents(method(loaded.view, question)))
        taken.append(1000 * (time.thread_time() - before))
    return loaded.ask.recalls(rankings), taken


def among_candidates(loaded: QuestionSet) -> float:
    """Return the mean share of a question's supporting passages among the candidates of `local` and `passages`."""
    shares = []
    for one, question in zip(loaded.ask.questions, loaded.ask.each(), strict=True):
        found = _candidates(loaded.view, question)
        shares.append(len(found & one.supporting) / len(one.supporting))
    return float(np.mean(shares))


def _candidates(view: LiveView, question: Question) -> set[str]:
    seeds = find_seeds(view, question.vector, None, PairSettings().near)
    pool = gather(view, question, seeds, personalised_pagerank(view.walk, restart(view, seeds)))
    return {view.chunks[number].doc_id for number in pool.numbers} if pool else set()


if __name__ == "__main__":
    main()
