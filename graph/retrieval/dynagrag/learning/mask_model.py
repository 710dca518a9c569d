"""Mask model: the sums over the pseudo-questions of a view, and the weights that fit them.

Invariant: at each question the sums are those of the live graph's sample of passages, whatever its history. The writer
only notes which examples a delta may have changed; the next question computes these again.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from graphtide.graph.learning.discriminant import Discriminant, Sums, fit_discriminant
from graphtide.graph.records import GraphDelta
from graphtide.graph.retrieval.dynagrag.learning.features import ENTITY_FEATURES, RELATION_FEATURES
from graphtide.graph.retrieval.dynagrag.learning.pseudo_questions import HUB, PseudoExample, pseudo_example
from graphtide.graph.retrieval.dynagrag.learning.sample import PassageSample
from graphtide.graph.view import LiveView

PASSAGES = 64
"""Passages whose pseudo-questions are learned from. With 512 the separation is the same on MuSiQue."""


@dataclass(frozen=True, slots=True)
class MaskWeights:
    """The discriminants of entities and of relations that a question is about."""

    entities: Discriminant
    relations: Discriminant


class MaskModel:
    """The model of one view; see the module. Readers call `weights`, in any thread; the writer calls `follow`."""

    def __init__(self, passages: int = PASSAGES) -> None:
        self._sample = PassageSample(passages)
        self._examples: dict[int, PseudoExample] = {}
        self._readers: defaultdict[int, set[int]] = defaultdict(set)
        self._hub_readers: defaultdict[int, set[int]] = defaultdict(set)
        self._touched: set[int] = set()
        self._fitted: tuple[int, MaskWeights | None] = (-1, None)
        self._updating = threading.Lock()
        self.entities: Sums = np.zeros((2, ENTITY_FEATURES + 1, ENTITY_FEATURES + 1), np.int64)
        self.relations: Sums = np.zeros((2, RELATION_FEATURES + 1, RELATION_FEATURES + 1), np.int64)
        self.evaluated = 0
        """Examples computed so far."""

    def follow(self, delta: GraphDelta, touched: Collection[int]) -> None:
        """Note what a delta changed. Cost: its entities and passages; no example is computed. Entities that no example
        reads are not kept: a view that is asked no more does not collect those of every later delta.
        """
        self._retract(delta.gone.chunks)
        self._sample.follow(delta.gone.chunks, ((row.chunk, row.chunk_id) for row in delta.chunks))
        self._touched.update(node for node in touched if node in self._readers or node in self._hub_readers)

    def weights(self, view: LiveView) -> MaskWeights | None:
        """Return the weights that fit the live graph, or None where it has too few examples.

        Call under `view.lock.read()`. Cost: the examples that changed since the last question, at most all of them,
        whatever the graph's size.
        """
        with self._updating:
            if self._fitted[0] != view.version:
                self._update(view)
                entities, relations = fit_discriminant(self.entities), fit_discriminant(self.relations)
                fitted = MaskWeights(entities, relations) if entities is not None and relations is not None else None
                self._fitted = view.version, fitted
            return self._fitted[1]

    def _update(self, view: LiveView) -> None:
        members = self._sample.members(view.chunks)
        self._retract({chunk for node in self._touched for chunk in self._depending(view, node)})
        self._retract(self._examples.keys() - set(members))
        self._touched.clear()
        for chunk in members:
            if chunk not in self._examples:
                self._add(chunk, pseudo_example(view, chunk))

    def _depending(self, view: LiveView, node: int) -> Iterable[int]:
        """Yield the examples that a change of an entity may change: none of those that read only that it is a hub, as
        long as it is one.
        """
        yield from self._readers.get(node, ())
        if len(view.neighbours.get(node, ())) <= HUB:
            yield from self._hub_readers.get(node, ())

    def _add(self, chunk: int, example: PseudoExample) -> None:
        self.evaluated += 1
        self._examples[chunk] = example
        self.entities += example.entities
        self.relations += example.relations
        for node in example.reads:
            self._readers[node].add(chunk)
        for node in example.hubs:
            self._hub_readers[node].add(chunk)

    def _retract(self, chunks: Iterable[int]) -> None:
        for chunk in chunks:
            example = self._examples.pop(chunk, None)
            if example is not None:
                self.entities -= example.entities
                self.relations -= example.relations
                _forget(self._readers, example.reads, chunk)
                _forget(self._hub_readers, example.hubs, chunk)


def _forget(readers: dict[int, set[int]], nodes: Iterable[int], chunk: int) -> None:
    for node in nodes:
        readers[node].discard(chunk)
        if not readers[node]:
            del readers[node]
