"""Answer the questions of bench/musique from one view, and from the same graph in shards.

Each shard is a process that is asked over a pipe. Compared are recall, whether results are equal, the rounds, requests,
rows and bytes of a question, its time, and the memory of the processes. `--times` adds copies of the corpus.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection

import numpy as np

from graphtide.graph.partitioned import PartitionedView, Shard, Traffic, divide, retrieve_partitioned
from graphtide.graph.partitioned.shards import Reply, Request
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView
from tests.bench.retrieval import hnsw
from tests.bench.retrieval_asking import Asked, Ranking, documents
from tests.bench.retrieval_graph import DIMENSIONS, Shipped, build, copies, extractions
from tests.support.bench_data import corpus, questions

BY_LEVEL = ("global", "global-dynamic", "auto")
"""Modes that rank reports, or choose another mode."""


class ShardProcesses:
    """A transport to shards in processes of their own."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        forking = multiprocessing.get_context("fork")  # a child shares the rows that its parent built
        pairs = [forking.Pipe() for _ in shards]
        self._pipes = [own for own, _ in pairs]
        self._processes = [
            forking.Process(target=_serve, args=(there, shard), daemon=True)
            for (_, there), shard in zip(pairs, shards, strict=True)
        ]
        self.received_bytes = 0
        for process in self._processes:
            process.start()

    def ask(self, requests: Mapping[int, Request]) -> Mapping[int, Reply]:
        """See ShardTransport.ask."""
        for number, request in requests.items():
            self._pipes[number].send_bytes(pickle.dumps(request))
        return {number: self._received(number) for number in requests}

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.terminate()
            process.join()

    def _received(self, number: int) -> Reply:
        data = self._pipes[number].recv_bytes()
        self.received_bytes += len(data)
        reply: Reply = pickle.loads(data)  # noqa: S301 - from a child of this process
        return reply


def _serve(pipe: Connection, shard: Shard) -> None:
    while True:
        pipe.send_bytes(pickle.dumps(shard.serve(pickle.loads(pipe.recv_bytes()))))  # noqa: S301 - from the parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--times", type=int, default=1, help="the size of the graph, in copies of the corpus")
    parser.add_argument("--questions", type=int, default=50)
    options = parser.parse_args()
    shipped, asked = Shipped.read(), questions()[: options.questions]
    ask = Asked(asked, [shipped.vectors[shipped.rows[one.question]] for one in asked])
    originals = extractions(corpus(), shipped)
    view = build(copies(originals, options.times), lambda: hnsw() if options.times > 1 else ExactIndex(DIMENSIONS))
    for line in table(view, ask, options.shards):
        print(line, flush=True)


def table(view: LiveView, ask: Asked, count: int) -> Iterator[str]:
    """Yield a table with a row for each mode."""
    shards, placement = divide(view, count, lambda _: hnsw())
    transport = ShardProcesses(shards)
    parts = PartitionedView(view, transport, placement)
    size = f"{len(view.documents):,} documents, {len(view.entities):,} entities"
    yield f"{size} in {count} shards; {len(ask.questions)} questions."
    yield ""
    yield "| mode | equal, exact | recall@5 one / shards | rounds | rows | KiB | ms, one / shards |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in sorted(set(MODES) - set(BY_LEVEL)):
        yield _row(view, parts, transport, ask, name)
    transport.close()


def _row(view: LiveView, parts: PartitionedView, transport: ShardProcesses, ask: Asked, mode: str) -> str:
    rankings: tuple[list[Ranking], list[Ranking]] = ([], [])
    taken: tuple[list[float], list[float]] = ([], [])
    traffic: list[Traffic] = []
    bytes_before = transport.received_bytes
    for question in ask.each(mode):
        started = time.perf_counter()
        one = retrieve(view, question)
        between = time.perf_counter()
        other, cost = retrieve_partitioned(parts, question)
        ended = time.perf_counter()
        for ranking, result in zip(rankings, (one, other), strict=True):
            ranking.append(documents(result))
        taken[0].append(1000 * (between - started))
        taken[1].append(1000 * (ended - between))
        traffic.append(cost)
    kib = (transport.received_bytes - bytes_before) / len(ask.questions) / 1024
    equal = sum(_is_equal(view, parts, question) for question in ask.each(mode))
    recalls = [ask.recalls(each).mean(axis=0)[1] for each in rankings]
    times = " / ".join(f"{statistics.median(each):.0f}" for each in taken)
    return (
        f"| {mode} | {equal} of {len(ask.questions)} | {recalls[0]:.3f} / {recalls[1]:.3f} "
        f"| {_median(traffic, 'rounds')} | {_median(traffic, 'rows'):,} | {kib:,.0f} | {times} |"
    )


def _is_equal(view: LiveView, parts: PartitionedView, question: Question) -> bool:
    exact = Question(question.text, question.vector, question.top_k, question.mode, exact=True)
    found: RetrievalResult = retrieve_partitioned(parts, exact)[0]
    return found == retrieve(view, exact)


def _median(traffic: Sequence[Traffic], field: str) -> int:
    return int(np.median([getattr(each, field) for each in traffic]))


if __name__ == "__main__":
    main()
