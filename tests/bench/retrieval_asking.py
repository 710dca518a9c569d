"""Questions with their vectors, the ranking of each method, and the confidence interval of a difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView
from tests.support.bench_data import MultiHop, recall

DEPTHS = (2, 5, 10, 20)
RESAMPLES = 10_000
TOP_K = 5  # the default size of a context

Method = Callable[[LiveView, Question], RetrievalResult]
Ranking = list[str]
Recalls = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions with their vectors."""

    questions: Sequence[MultiHop]
    vectors: Sequence[NDArray[np.float32]]

    def each(self, mode: str = "vector", top_k: int = DEPTHS[-1]) -> Iterator[Question]:
        for one, vector in zip(self.questions, self.vectors, strict=True):
            yield Question(one.question, vector, top_k, mode)

    def recalls(self, rankings: Iterable[Ranking]) -> Recalls:
        """Return the recall as an array (questions, depths)."""
        rows = zip(rankings, self.questions, strict=True)
        return np.array([[recall(ranking, one.supporting, k) for k in DEPTHS] for ranking, one in rows])

    def supported(self, found: Iterable[RetrievalResult]) -> float:
        """Return the share of the supporting documents among the sources of a part, whatever its passages."""
        shares = [
            len({source.split("#")[0] for part in one.parts for source in part.sources} & asked.supporting)
            / len(asked.supporting)
            for one, asked in zip(found, self.questions, strict=True)
        ]
        return float(np.mean(shares))


def documents(result: RetrievalResult) -> Ranking:
    """Return documents in the order of their best passage."""
    return list(dict.fromkeys(passage.doc_id for passage in result.passages))


def answered(view: LiveView, ask: Asked, method: Method) -> list[RetrievalResult]:
    return [method(view, question) for question in ask.each()]


def context_tokens(view: LiveView, ask: Asked, method: Method) -> float:
    """Return the mean context tokens of a question at TOP_K: passages with their titles, and parts."""
    totals = []
    for question in ask.each(top_k=TOP_K):
        found = method(view, question)
        titles = [view.documents[one.doc_id].info.title for one in found.passages]
        texts = [one.text for one in found.passages] + [text for p in found.parts for text in (p.title, p.text)]
        totals.append(sum(map(count_tokens, titles + texts)))
    return float(np.mean(totals))


def latencies_ms(view: LiveView, ask: Asked, method: Method, rounds: int = 1) -> list[float]:
    """Return the CPU of each question at TOP_K, without its embedding: the minimum of some rounds after a warm-up."""
    taken = [[_cpu_ms(method, view, question) for question in ask.each(top_k=TOP_K)] for _ in range(rounds + 1)]
    return [min(row) for row in zip(*taken[1:], strict=True)]


def _cpu_ms(method: Method, view: LiveView, question: Question) -> float:
    before = time.thread_time()
    method(view, question)
    return 1000 * (time.thread_time() - before)


def overlap(one: Sequence[RetrievalResult], other: Sequence[RetrievalResult], depth: int = 10) -> float:
    """Return the mean share of one method's first passages that are among the other's."""
    shares = []
    for first, second in zip(one, other, strict=True):
        left, right = ({passage.chunk_id for passage in found.passages[:depth]} for found in (first, second))
        shares.append(len(left & right) / max(len(left), 1))
    return float(np.mean(shares))


def change(recalls: Recalls, base: Recalls, column: int) -> tuple[float, float, float]:
    """Return the mean difference at a depth and its 95 % interval, by resampling the questions in pairs."""
    draws = np.random.default_rng(0).integers(0, len(base), (RESAMPLES, len(base)))
    differences = (recalls - base)[:, column]
    low, high = np.quantile(differences[draws].mean(axis=1), (0.025, 0.975))
    return float(differences.mean()), float(low), float(high)
