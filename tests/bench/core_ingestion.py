"""The MuSiQue passages one by one, then a tenth edited and a tenth deleted: `python -m tests.bench.core_ingestion`.

Reports the cost of each step of a document, the share of graph work in it, and whether the final graph equals a build
from nothing. CPU of the process, without the embedding model. It asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.records import DocumentChange
from graphtide.graph.vector_index import ExactIndex, Vectors
from graphtide.graph.view import LiveView
from tests.bench.core_communities import disconnected, reference
from tests.bench.core_index import recall
from tests.bench.core_trussness import Row
from tests.bench.musique_stream import (
    DIMENSIONS,
    GRAPH,
    KnownVectors,
    TimedGraph,
    collections_timed,
    edited,
    messages,
    opened,
)
from tests.support.bench_data import questions

STEPS = ("extract", "message", "consolidate", "store", "follow")
MUSIQUE = "MuSiQue"


@dataclass(frozen=True, slots=True)
class Ingested:
    """Result of the run: its figures, and the view it filled."""

    rows: list[Row]
    view: LiveView


async def ingest(documents: int | None = None) -> Ingested:
    """Stream, edit and delete; `documents` limits the number of passages."""
    chosen = messages()[:documents]
    with tempfile.TemporaryDirectory() as folder:
        backend, graph = await opened(Path(folder))
        with collections_timed(graph.clock):
            for number, document in enumerate(chosen):
                await graph.publish(document, number)
        rows = [*_shares(graph), *_costs(graph)]
        await _churn(graph, random.Random(1))
        rows += [*_law(graph), *_recalls(graph.view, await _asked())]
        graph.close()
        await backend.close()
    return Ingested(rows, graph.view)


async def _churn(graph: TimedGraph, rng: random.Random) -> None:
    """Edit a tenth and delete another tenth, in a seeded order."""
    names = sorted(graph.live)
    rng.shuffle(names)
    tenth = len(names) // 10
    for doc_id in names[:tenth]:
        await graph.change(doc_id, edited(graph.live[doc_id], graph.live[rng.choice(names)]))
    for doc_id in names[tenth : 2 * tenth]:
        await graph.change(doc_id, None)


async def _asked() -> Vectors:
    return await KnownVectors().embed([one.question for one in questions()])


def _shares(graph: TimedGraph) -> Iterator[Row]:
    clock = graph.clock
    whole = sum(clock.ms(step).sum() for step in STEPS)
    subject = f"{MUSIQUE}, {len(graph.live):,} documents"
    kernels = float(sum(clock.ms(kernel).sum() for kernel in ("trussness", "communities")))
    resolution = float(clock.ms("resolver").sum())
    work = float(clock.ms("consolidate").sum())
    detail = f"{', '.join(f'{step} {clock.ms(step).sum() / whole:.1%}' for step in STEPS)}"
    yield Row("graph work, share of ingestion with index, without LLM, %", subject, 100 * work / whole, detail, 10)
    yield Row("of it trussness and communities alone, %", subject, 100 * kernels / whole)
    yield Row("of it entity resolution, %", subject, 100 * resolution / whole)
    garbage = clock.ms("garbage")
    detail = f"the longest of {len(garbage):,} collections {garbage.max():.0f} ms; all steps' shares include theirs"
    yield Row("Python's garbage collector, %", subject, 100 * float(garbage.sum()) / whole, detail)
    index = float(clock.ms("follow").sum())
    yield Row("graph work / following with the index", subject, work / index)


def _costs(graph: TimedGraph) -> Iterator[Row]:
    clock = graph.clock
    for step in ("trussness", "communities", "resolver", *STEPS, "encode a delta", "decode a delta"):
        yield Row(f"{step}, ms CPU a document", MUSIQUE, float(clock.ms(step).mean()), clock.figures(step))
    tenth = max(1, len(clock.ms("consolidate")) // 10)
    for step in ("consolidate", "follow"):
        early, late = clock.ms(step)[tenth : 2 * tenth], clock.ms(step)[-tenth:]
        detail = f"medians {np.median(early):.2f} and {np.median(late):.2f} ms"
        ratio = float(np.median(late) / np.median(early))
        yield Row(f"{step}, last tenth / second tenth, medians", MUSIQUE, ratio, detail)
    sizes = np.array(graph.delta_bytes) / 1e3
    detail = f"mean {sizes.mean():.1f}, median {np.median(sizes):.1f}, p99 {np.quantile(sizes, 0.99):.1f} kB"
    yield Row("bytes of a delta without sums, kB", MUSIQUE, float(sizes.mean()), detail)


def _law(graph: TimedGraph) -> Iterator[Row]:
    """Compare the edited graph with a clean build, and its communities with fresh ones."""
    subject = f"{MUSIQUE}, 10 % edited, 10 % deleted"
    order = sorted(graph.live)
    random.Random(2).shuffle(order)
    rebuilt = Consolidator(GRAPH).apply([DocumentChange(doc_id, None, graph.live[doc_id]) for doc_id in order])
    mine, theirs = digest(graph.view.rows()), digest(rebuilt)
    yield Row("digest differs from a rebuild's (0: equal)", subject, float(mine != theirs), mine[:12], 0)
    wrong = graph.writer.violations()
    yield Row("edges whose trussness the self-check doubts", subject, len(wrong), "", 0)
    kept, fresh = graph.writer._communities.modularity(), reference(*graph.writer._communities.edges())
    detail = f"kept {kept:.4f}, the best of three Leiden runs {fresh:.4f}; no guard has run"
    yield Row("modularity below a fresh Leiden run's, %", subject, 100 * (fresh - kept) / fresh, detail, 1)
    yield Row("disconnected communities", subject, disconnected(graph.writer._communities), "", 0)


def _recalls(view: LiveView, asked: Vectors) -> Iterator[Row]:
    """Measure the recall of the live indexes against exact search over their vectors."""
    for name in ("chunks", "entities", "statements"):
        index = getattr(view.indexes, name)
        exact = ExactIndex(DIMENSIONS)
        exact.add(index.live_ids(), index.vectors(index.live_ids()))
        found = recall(index.search(asked, 10).ids, exact.search(asked, 10).ids)
        facts = index.statistics()
        detail = f"{facts.live:,} vectors, {facts.kind}, {facts.tombstones:,} tombstones; {len(asked)} questions"
        yield Row("recall@10 of the index", f"{MUSIQUE}, {name}", found, detail, 0.98, at_least=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=None)
    for row in asyncio.run(ingest(parser.parse_args(arguments).documents)).rows:
        print(f"{row.figure:58} {row.subject:32} {row.value:12,.4g} {row.verdict:6} {row.detail}")


if __name__ == "__main__":
    main()
