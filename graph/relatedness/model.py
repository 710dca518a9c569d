"""The relatedness model: keeps the training examples current as a view changes.

Invariant: after `follow`, the sums are those of the pairs of the live passages, whatever their history. One writer
calls `follow`, under the view's write lock; readers read the weights under its read lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from graphtide.graph.records import ChunkRow
from graphtide.graph.relatedness.features import Encoded, encode
from graphtide.graph.relatedness.pairs import TOGETHER, HashRing, Pair, PairPassage, circle, passage_key
from graphtide.graph.relatedness.statistics import BLOCK, SufficientStatistics, Weights, fit_weights


class RelatednessModel:
    """The model; see the module. Memory: some 1.3 kB per passage of 384 dimensions."""

    def __init__(self) -> None:
        self._passages: dict[int, PairPassage] = {}
        self._members: dict[int, tuple[PairPassage, ...]] = {}
        self._all = HashRing()
        self.together = SufficientStatistics()
        self.chance = SufficientStatistics()

    def weights(self) -> Weights:
        """Return the weights that fit the live examples. Cost: a tenth of a millisecond, whatever their number."""
        return fit_weights(self.together, self.chance)

    def follow(self, gone: Iterable[int], rows: Iterable[ChunkRow], mentioned: Mapping[int, Collection[int]]) -> None:
        """Remove and add passages by number, and set, for each changed entity by node, the passages that mention it
        now.

        A row of a known passage that is not removed changes nothing: its text and vector never change. Cost: a few
        pairs per passage, and at most TOGETHER per entity.
        """
        chance: Counter[Pair] = Counter()
        for number in gone:
            passage = self._passages.pop(number, None)
            if passage is not None:
                _count(chance, *self._all.remove(passage))
        for number, passage in self._encoded(rows):
            self._passages[number] = passage
            _count(chance, *self._all.add(passage))
        together: Counter[Pair] = Counter()
        for node, chunks in mentioned.items():
            left, now = self._members.pop(node, ()), self._mentioning(chunks)
            if now:
                self._members[node] = now
            _count(together, circle(left), circle(now))
        _learn(self.chance, chance)
        _learn(self.together, together)

    def _encoded(self, rows: Iterable[ChunkRow]) -> Iterable[tuple[int, PairPassage]]:
        news = {row.chunk: row for row in rows if row.chunk not in self._passages and row.vector.any()}
        if not news:
            return
        encoded = encode(np.stack([row.vector for row in news.values()]).astype(np.float32))
        for place, (number, row) in enumerate(news.items()):
            key = passage_key(row.doc_id, row.text, row.vector)
            yield number, PairPassage(key, row.doc_id, encoded[np.array([place])])

    def _mentioning(self, chunks: Collection[int]) -> tuple[PairPassage, ...]:
        if len(chunks) > TOGETHER:
            return ()
        return tuple(self._passages[number] for number in chunks if number in self._passages)


def _count(net: Counter[Pair], go: Iterable[Pair], come: Iterable[Pair]) -> None:
    """Count removals and additions, so that a pair removed and added again is not computed twice."""
    for pair in go:
        net[pair] -= 1
    for pair in come:
        net[pair] += 1


def _learn(examples: SufficientStatistics, net: Counter[Pair]) -> None:
    for sign in (1, -1):
        pairs = [pair for pair, times in net.items() for _ in range(sign * times)]
        for start in range(0, len(pairs), BLOCK):
            block = pairs[start : start + BLOCK]
            one, other = (Encoded.joined([pair[end].row for pair in block]) for end in (0, 1))
            examples.add(one, other, sign)
