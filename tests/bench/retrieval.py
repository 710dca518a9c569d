"""What retrieval finds and costs on multi-hop questions: `python -m tests.bench.retrieval [--times 10]`.

Prints recall of BM25 and of every mode, beside vector search; what each part of mode `passages` contributes, and what
two parts that were left out would; mode `local` with approximate indexes; the walk's precision against what is found;
and latency, also on a graph `--times` as large. It asserts nothing.

Recall@k is the share of a question's supporting passages among the first k. An interval is 95 %, from resampled
questions in pairs. Latency is CPU of the asking thread with indexes as a service has them; compare ratios.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

from graph.retrieval import MODES, Question, candidates, paired, retrieve, walk
from graph.retrieval.candidates import Pool, bridge_strength, entities_of
from graph.retrieval.evidence import WEIGHTING, Scores, Weighting, inclusion
from graph.retrieval.seeds import Seeds, find_seeds, restart
from graph.vector_index import ExactIndex
from graph.view import LiveView
from infra.hnsw import HnswIndex
from tests.bench.retrieval_graph import DIMENSIONS, Shipped, build, copies, extractions
from tests.support.bench_data import (
    MultiHop,
    Passage,
    bench_data,
    corpus,
    embedder_script,
    lexical_words,
    questions,
    recall,
)

DEPTHS = (2, 5, 10, 20)
RESAMPLES = 10_000
EPSILONS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4)
WITHOUT = {
    "no bridge": replace(WEIGHTING, bridge=0.0),
    "no coverage": replace(WEIGHTING, coverage=0.0),
    "no redundancy": replace(WEIGHTING, redundancy=0.0),
    "no walk": replace(WEIGHTING, walk=0.0),
    "nearness and walk": replace(WEIGHTING, bridge=0.0, coverage=0.0, redundancy=0.0),
}

Ranking = list[str]
Recalls = NDArray[np.float64]
Extra = Callable[[LiveView, Seeds, Pool], Scores]


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions with their vectors."""

    questions: Sequence[MultiHop]
    vectors: Sequence[NDArray[np.float32]]

    def each(self, mode: str, top_k: int = DEPTHS[-1]) -> Iterable[Question]:
        for one, vector in zip(self.questions, self.vectors, strict=True):
            yield Question(one.question, vector, top_k, mode)

    def recalls(self, rankings: Sequence[Ranking]) -> Recalls:
        """(questions, depths)."""
        rows = zip(rankings, self.questions, strict=True)
        return np.array([[recall(ranking, one.supporting, k) for k in DEPTHS] for ranking, one in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1, help="measure latency on so many times the corpus, too")
    times = parser.parse_args().times
    if not (bench_data() / "musique").exists() or not (embedder_script().parent / "vectors.npy").exists():
        sys.exit(f"No bench data in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds musique/.")
    shipped, passages, asked = Shipped.read(), corpus(), questions()
    ask = Asked(asked, [shipped.vectors[shipped.rows[one.question]] for one in asked])
    documents = extractions(passages, shipped)
    view = build(copies(documents, 1), lambda: ExactIndex(DIMENSIONS))
    modes_table(ask, passages, view)
    ablation_table(ask, view)
    precision_table(ask, view)
    approximate_tables(ask, lambda size: build(copies(documents, size), lambda: HnswIndex(DIMENSIONS)), times)


# -- rankings ----------------------------------------------------------------------------------------------------------


def ranked(view: LiveView, ask: Asked, mode: str) -> list[Ranking]:
    """Documents in the order of their best passage."""
    found = (retrieve(view, question) for question in ask.each(mode))
    return [list(dict.fromkeys(passage.doc_id for passage in result.passages)) for result in found]


def by_words(ask: Asked, passages: Sequence[Passage]) -> list[Ranking]:
    """Okapi BM25 over titles and texts."""
    index = BM25Okapi([lexical_words(f"{one.title} {one.text}") for one in passages])
    rankings = []
    for one in ask.questions:
        order = np.argsort(-index.get_scores(lexical_words(one.question)), kind="stable")[: DEPTHS[-1]]
        rankings.append([passages[place].doc_id for place in order])
    return rankings


def by_pairs(view: LiveView, ask: Asked, weighting: Weighting, extra: Extra | None = None) -> list[Ranking]:
    """Mode `passages` with other weights, and with a further term of the pairs' scores."""
    rankings = []
    for question in ask.each("passages"):
        seeds = find_seeds(view, question.vector, None, candidates.NEAR)
        mass = walk.walk(view.walk, restart(view, seeds))
        pool = candidates.gather(view, question, seeds, mass, weighting=weighting)
        if pool is None:
            rankings.append(Ranking())
            continue
        scores = paired.pair_scores(pool, weighting) + (extra(view, seeds, pool) if extra else 0.0)
        relevance = inclusion(scores, pool.firsts, pool.worth, weighting.temperature)
        best = candidates.best_first(relevance, DEPTHS[-1]).tolist()
        rankings.append(list(dict.fromkeys(view.chunks[pool.numbers[place]].doc_id for place in best)))
    return rankings


# -- parts that were left out ------------------------------------------------------------------------------------------


def trussness(view: LiveView, _: Seeds, pool: Pool) -> Scores:
    """The strongest relation between the two passages' entities: log2 of trussness - 1, 0 outside of triangles."""
    holders = _holders(view, pool)
    found = np.zeros(pool.bridges.shape)
    for row, first in enumerate(pool.firsts.tolist()):
        for node in entities_of(view, pool.numbers[first]):
            for other, edge in view.neighbours.get(node, {}).items():
                if edge.trussness > 2 and len(view.entities[other].chunks) <= candidates.HUB:
                    places = holders.get(other, [])
                    found[row, places] = np.maximum(found[row, places], math.log2(edge.trussness - 1))
    return found


def path_from_seed(view: LiveView, seeds: Seeds, pool: Pool) -> Scores:
    """The strength of the best shared entity that the question names, or that is one relation away from one."""
    named = {hit.number for hit in seeds.entities} | {end for hit in seeds.statements for end in view.ends(hit.number)}
    near = named.union(*(view.neighbours.get(node, {}) for node in named))
    holders = _holders(view, pool)
    found = np.zeros(pool.bridges.shape)
    for row, first in enumerate(pool.firsts.tolist()):
        for node in entities_of(view, pool.numbers[first]) & near:
            places = holders[node]
            found[row, places] = np.maximum(found[row, places], bridge_strength(view, node))
    return found


def _holders(view: LiveView, pool: Pool) -> dict[int, list[int]]:
    """The candidates that mention each entity."""
    holders: dict[int, list[int]] = {}
    for place, number in enumerate(pool.numbers):
        for node in entities_of(view, number):
            holders.setdefault(node, []).append(place)
    return holders


# -- tables ------------------------------------------------------------------------------------------------------------


def modes_table(ask: Asked, passages: Sequence[Passage], view: LiveView) -> None:
    print(
        f"\n{len(ask.questions)} questions to {len(view.chunks)} passages, exact indexes; difference to vector search"
    )
    base = ask.recalls(ranked(view, ask, "vector"))
    rows = {"BM25": ask.recalls(by_words(ask, passages)), "vector": base}
    rows |= {mode: ask.recalls(ranked(view, ask, mode)) for mode in MODES if mode != "vector"}
    print_rows(rows, base)


def ablation_table(ask: Asked, view: LiveView) -> None:
    print("\nMode passages, by what is left out or added; difference to the whole")
    base = ask.recalls(by_pairs(view, ask, WEIGHTING))
    rows = {"whole": base}
    rows |= {name: ask.recalls(by_pairs(view, ask, weighting)) for name, weighting in WITHOUT.items()}
    for extra in (trussness, path_from_seed):
        for weight in (0.25, 0.5, 1.0):
            rows[f"{weight} {extra.__name__}"] = ask.recalls(by_pairs(view, ask, WEIGHTING, times(weight, extra)))
    print_rows(rows, base)


def times(weight: float, extra: Extra) -> Extra:
    """The term, weighed."""
    return lambda view, seeds, pool: weight * extra(view, seeds, pool)


def precision_table(ask: Asked, view: LiveView) -> None:
    print("\nMode passages by the walk's epsilon: nodes reached, CPU of a walk, recall")
    starts = [restart(view, find_seeds(view, vector, None, candidates.NEAR)) for vector in ask.vectors]
    chosen, rows = walk.EPSILON, {}
    for epsilon in EPSILONS:
        walk.EPSILON = epsilon
        taken_ms, reached = [], []
        for start in starts:
            before = time.thread_time()
            reached.append(len(walk.walk(view.walk, start)))
            taken_ms.append(1000 * (time.thread_time() - before))
        label = f"{epsilon:.0e} {np.mean(reached):6.0f} {np.median(taken_ms):6.2f} ms"
        rows[label] = ask.recalls(by_pairs(view, ask, WEIGHTING))
    walk.EPSILON = chosen
    print_rows(rows, next(iter(rows.values())))


def approximate_tables(ask: Asked, built: Callable[[int], LiveView], largest: int) -> None:
    for size in sorted({1, largest}):
        view = built(size)
        indexes = (view.indexes.chunks, view.indexes.entities, view.indexes.statements)
        for index in indexes:
            if isinstance(index, HnswIndex):
                index.settle()
        print(f"\n{len(view.chunks)} passages, {len(view.entities)} entities, HNSW; milliseconds of CPU, top_k 5")
        for mode in MODES:
            taken = latencies_ms(view, ask, mode)
            print(f"{mode:26} p50 {np.median(taken):6.1f}   p95 {np.quantile(taken, 0.95):6.1f}")
        if size == 1:
            base = ask.recalls(ranked(view, ask, "vector"))
            print_rows({"local": ask.recalls(ranked(view, ask, "local"))}, base)
        for index in indexes:
            if isinstance(index, HnswIndex):
                index.close()


def latencies_ms(view: LiveView, ask: Asked, mode: str) -> list[float]:
    """CPU of each question, the second time all are asked."""
    taken: list[float] = []
    for _ in range(2):
        taken.clear()
        for question in ask.each(mode, top_k=5):
            before = time.thread_time()
            retrieve(view, question)
            taken.append(1000 * (time.thread_time() - before))
    return taken


def print_rows(rows: dict[str, Recalls], base: Recalls) -> None:
    draws = np.random.default_rng(0).integers(0, len(base), (RESAMPLES, len(base)))
    print(" " * 26 + "".join(f"{f'recall@{k}':>26}" for k in DEPTHS))
    for name, recalls in rows.items():
        cells = []
        for column in range(len(DEPTHS)):
            change = (recalls - base)[:, column]
            low, high = np.quantile(change[draws].mean(axis=1), (0.025, 0.975))
            beside = "" if recalls is base else f"{change.mean():+.3f} [{low:+.2f},{high:+.2f}]"
            cells.append(f"{recalls[:, column].mean():6.3f} {beside:19}")
        print(f"{name:26}" + "".join(cells))


if __name__ == "__main__":
    main()
