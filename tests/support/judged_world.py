"""A writer with a judge, its follower and the live documents: the random walks of what only a judge may merge."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import differences
from graphtide.graph.records import DocumentChange, Extraction, GraphDelta
from graphtide.graph.resolution import PairQuestion, Verdict
from graphtide.graph.resolution.pair_scoring import PairKey
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.streams.checkpoints.model_columns import model_columns, model_snapshot

EVERYTHING = 10_000


class JudgedWorld:
    """A writer that proposes synonyms, its follower, the live documents, and the verdicts that were stored."""

    def __init__(self, dimensions: int, *, predicates: bool = False) -> None:
        self._dimensions, self._predicates = dimensions, predicates
        self.writer = Consolidator("world", synonyms=True, predicates=predicates)
        self.view = self._new_view()
        self.live: dict[str, Extraction] = {}
        self.verdicts: dict[PairKey, Verdict] = {}

    def change(self, news: dict[str, Extraction | None]) -> None:
        """Apply new revisions and deletions as one batch."""
        changes = [DocumentChange(doc_id, self.live.get(doc_id), new) for doc_id, new in news.items()]
        self.follow(self.writer.apply(changes))
        self.live |= {doc_id: new for doc_id, new in news.items() if new is not None}
        self.live = {doc_id: each for doc_id, each in self.live.items() if news.get(doc_id, each) is not None}

    def judge(self, budget: int = EVERYTHING) -> int:
        """Answer up to `budget` questions; return the number of answers."""
        answered = 0
        while budget > answered and (questions := self.writer.borderline(min(5, budget - answered))):
            for question in questions:
                self.answer(question, scripted(question))
                answered += 1
        return answered

    def answer(self, question: PairQuestion, same: bool) -> None:
        """Store the verdict and follow its delta, if there is one."""
        delta = self.writer.decide(question.pair, question.verdict(same))
        if delta is not None:
            self.verdicts[question.pair] = question.verdict(same)
            self.follow(delta)

    def restart(self) -> None:
        """Restore the writer and its follower from stored rows and verdicts."""
        rows = replace(self.rebuilt(), version=self.writer.version)
        self.writer = Consolidator.restore(rows, verdicts=self.verdicts, synonyms=True, predicates=self._predicates)
        self.view = self._new_view()
        self.view.apply(rows)

    def resume(self) -> None:
        """Restore the writer from its checkpoint. The follower continues."""
        rows = model_snapshot("world", self.writer.version, dict(model_columns(self.writer.stored_rows())))
        self.writer = Consolidator.restore(rows, verdicts=self.verdicts, synonyms=True, predicates=self._predicates)

    def rebuilt(self) -> GraphDelta:
        """Return the rows of a build by a process that asks no judge."""
        writer = Consolidator("world", verdicts=self.verdicts)
        delta = writer.apply([DocumentChange(d, None, self.live[d]) for d in sorted(self.live, reverse=True)])
        return replace(delta, snapshot=True, communities=writer.hierarchy())

    def follow(self, delta: GraphDelta) -> None:
        """Apply a delta to the view."""
        with self.view.lock.write():
            self.view.apply(delta)

    def check_order(self, other: JudgedWorld, rng: random.Random) -> None:
        """Check that the documents in another order, judged at other times, give the same rows once all is judged."""
        self.judge()
        for doc_id in rng.sample(sorted(self.live), len(self.live)):
            other.change({doc_id: self.live[doc_id]})
            other.judge(rng.choice((0, 2, EVERYTHING)))
        other.judge()
        assert differences(self.view.rows(), other.view.rows()) == ()

    def _new_view(self) -> LiveView:
        return LiveView("world", VectorIndexes(*(ExactIndex(self._dimensions) for _ in range(3))))


def scripted(question: PairQuestion) -> bool:
    """Judge by the names and by the contexts, where the question has them: a change of these may change the verdict."""
    return blake2b(repr(question).encode(), digest_size=1).digest()[0] % 3 > 0


def random_changes(
    rng: random.Random, steps: int, document: Callable[[random.Random, str, int], Extraction]
) -> Iterator[dict[str, Extraction | None]]:
    """Yield new revisions, made by `document`, and deletions (None) of nine documents, one or two at a time."""
    live = set[str]()
    for revision in range(1, steps + 1):
        news: dict[str, Extraction | None] = {}
        for _ in range(rng.choice((1, 1, 2))):
            doc_id = f"d{rng.randint(1, 9)}"
            gone = doc_id in live and rng.random() < 0.4
            news[doc_id] = None if gone else document(rng, doc_id, revision)
            (live.discard if gone else live.add)(doc_id)
        yield news
