"""A writer and its live extractions, changed at random: for tests of a writer's followers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, Extraction, GraphDelta
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from tests.support.extractions import random_extraction

DIMENSIONS = 16


class RandomWorld:
    """Inserts, edits and deletions of a few documents about few names, so that entities merge, split and vanish."""

    def __init__(self, rng: random.Random, documents: int = 8) -> None:
        self.rng = rng
        self.writer = Consolidator("world")
        self.live: dict[str, Extraction] = {}
        self.changes: list[DocumentChange] = []
        """The changes of the last step."""
        self._documents = documents
        self._revision = 0

    def step(self) -> GraphDelta:
        """Make one random change, or several as one batch."""
        news: dict[str, Extraction | str] = {}
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            doc_id = f"d{self.rng.randint(1, self._documents)}"
            self._revision += 1
            if doc_id in self.live and self.rng.random() < 0.4:
                news[doc_id] = doc_id
            else:
                news[doc_id] = random_extraction(self.rng, doc_id, self._revision, self.live.get(doc_id))
        return self.change(*news.values())

    def change(self, *news: Extraction | str) -> GraphDelta:
        """Apply new revisions, or deletions by document id, as one batch."""
        self.changes = changes = []
        for new in news:
            doc_id = new if isinstance(new, str) else new.doc_id
            changes.append(DocumentChange(doc_id, self.live.get(doc_id), None if isinstance(new, str) else new))
        delta = self.writer.apply(changes)
        for change in changes:
            self.live.pop(change.doc_id, None)
            if change.new is not None:
                self.live[change.doc_id] = change.new
        return delta


def empty_view(dimensions: int = DIMENSIONS) -> LiveView:
    """Return a view on exact indexes."""
    return LiveView("world", VectorIndexes(ExactIndex(dimensions), ExactIndex(dimensions), ExactIndex(dimensions)))


def snapshot_of(live: Mapping[str, Extraction]) -> GraphDelta:
    """Return the snapshot of a build from nothing, all documents in one batch, in another order."""
    writer = Consolidator("world")
    delta = writer.apply([DocumentChange(doc_id, None, live[doc_id]) for doc_id in sorted(live, reverse=True)])
    return replace(delta, snapshot=True, communities=writer.hierarchy())
