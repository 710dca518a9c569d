"""The relatedness model: keeps the training examples current as a view changes.

Changed pairs are collected, and added to the sums PENDING at a time or when the weights are read: one computation of
many cosines costs little more than that of one. Invariant: after `follow`, sums and collected pairs together are those
of the pairs of the live passages, whatever their history. One writer calls `follow`, under the view's write lock;
readers read the weights under its read lock, and change nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Protocol

from graphtide.graph.aboutness import title_keys
from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.records import GraphDelta
from graphtide.graph.relatedness.pairs import (
    NO_NAMES,
    TOGETHER,
    HashRing,
    Pair,
    PairPassage,
    circle,
    passage_key,
)
from graphtide.graph.relatedness.statistics import Change, SufficientStatistics, Weights, add_all, fit_weights
from graphtide.graph.view_state.overlay import Overlay, Writing
from graphtide.graph.view_state.tables import MentionTables, ViewEntity

BLOCK = 1 << 11
PENDING = 256
"""Pairs that are collected at most before they are added to the sums: each reader of the weights computes them."""


class ExampleTables(MentionTables, Protocol):
    """The tables that the examples are read from."""

    @property
    def entities(self) -> Mapping[int, ViewEntity]: ...


_Members = tuple[PairPassage | str, ...]
"""Passages, then names. One tuple takes 120 bytes less than one of two, and most entities have few of either."""


class RelatednessModel:
    """The model; see the module. Memory: some 0.4 kB per passage; a vector is the view's own.

    A collected pair holds the vectors and names of its passages, so those of a deleted passage may stay in memory until
    its pairs are added: at most PENDING pairs.
    """

    def __init__(self) -> None:
        self._passages: MutableMapping[int, PairPassage] = {}
        self._titles: MutableMapping[str, str] = {}
        self._members: MutableMapping[int, _Members] = {}
        self._all = HashRing()
        self._together, self._pending_together = SufficientStatistics(), Counter[Pair]()
        self._chance, self._pending_chance = SufficientStatistics(), Counter[Pair]()

    def fork(self, writing: Writing) -> RelatednessModel:
        """Return a model over this one, for a fork of its view (view_state/overlay.py)."""
        forked = RelatednessModel()
        forked._passages, forked._titles = Overlay(self._passages, writing), Overlay(self._titles, writing)
        forked._members = Overlay(self._members, writing)
        forked._all = self._all.fork(writing)
        forked._together, forked._pending_together = replace(self._together), self._pending_together.copy()
        forked._chance, forked._pending_chance = replace(self._chance), self._pending_chance.copy()
        return forked

    def names(self, number: int) -> Collection[str]:
        """Return the normalised names that a passage mentions; none for a passage without a vector."""
        passage = self._passages.get(number)
        return passage.names if passage is not None else ()

    def titles(self, number: int) -> Collection[str]:
        """Return the names under which a passage's document is mentioned; none for a passage without a vector."""
        passage = self._passages.get(number)
        return passage.titles if passage is not None else ()

    def weights(self) -> Weights:
        """Return the weights that fit the live examples. Cost: the cosines of at most PENDING pairs."""
        return fit_weights(*self.sums())

    def sums(self) -> tuple[SufficientStatistics, SufficientStatistics]:
        """Return the sums over the live pairs of one entity, and over those of chance. Cost: as `weights`."""
        together, chance = replace(self._together), replace(self._chance)
        _learn(((chance, self._pending_chance), (together, self._pending_together)))
        return together, chance

    def follow(self, tables: ExampleTables, delta: GraphDelta, nodes: Iterable[int]) -> None:
        """Apply a delta that the tables hold already; `nodes` are the entities whose passages or names it changed.

        A row of a known passage that is not removed changes nothing, unless its document has another title: its text,
        vector and mentions never change. Cost: a few pairs per passage, and at most TOGETHER per entity.
        """
        retitled = self._take_titles(tables, delta)
        chance, together = self._pending_chance, self._pending_together
        for number in (*delta.gone.chunks, *retitled):
            passage = self._passages.pop(number, None)
            if passage is not None:
                _count(chance, *self._all.remove(passage))
        for number in with_yields((*(row.chunk for row in delta.chunks), *retitled)):
            if number not in self._passages and tables.chunks[number].vector.any():
                passage = self._passages[number] = _example(tables, number)
                _count(chance, *self._all.add(passage))
        for node in with_yields({*nodes, *(node for number in retitled for node in _mentioned(tables, number))}):
            left, now = self._members.pop(node, ()), self._group(tables, node)
            if now:
                self._members[node] = now
            _count(together, _circle(left), _circle(now))
        if len(chance) + len(together) > PENDING:
            _learn(((self._chance, chance), (self._together, together)))
            chance.clear()
            together.clear()

    def examples(self) -> tuple[list[Pair], list[Pair]]:
        """Return the live pairs of one entity, and those of chance. Cost: all passages."""
        together = [pair for group in self._members.values() for pair in _circle(group)]
        return together, list(circle(self._passages.values()))

    def _take_titles(self, tables: ExampleTables, delta: GraphDelta) -> list[int]:
        """Return the known passages whose document has another title now."""
        for doc_id in delta.gone.documents:
            self._titles.pop(doc_id, None)
        found: list[int] = []
        for row in delta.documents:
            if self._titles.get(row.doc_id, "") != row.info.title:
                found += (number for number in row.chunks if number in self._passages)
                self._titles[row.doc_id] = row.info.title
        return found

    def _group(self, tables: ExampleTables, node: int) -> _Members:
        """Return the passages that mention an entity, and the entity's names; none for one of too many passages."""
        entity = tables.entities.get(node)
        if entity is None or not 2 <= len(entity.chunks) <= TOGETHER:
            return ()
        passages = [self._passages[number] for number in entity.chunks if number in self._passages]
        labels = (tables.labels[label] for label in entity.labels)
        return (*passages, *sorted({label.name for label in labels if label.chunks})) if passages else ()


def _circle(members: _Members) -> Iterator[Pair]:
    """Yield the pairs of the passages of one entity."""
    names = tuple([member for member in members if isinstance(member, str)])
    return circle((member for member in members if not isinstance(member, str)), names)


def _example(tables: ExampleTables, number: int) -> PairPassage:
    chunk = tables.chunks[number]
    names = tuple(sorted({tables.labels[label].name for label in chunk.mentions.labels}))
    key = passage_key(chunk.doc_id, chunk.text, chunk.vector, names)
    document = tables.documents.get(chunk.doc_id)
    titles = tuple(sorted(title_keys(document.info.title))) if document is not None else NO_NAMES
    return PairPassage(key, chunk.doc_id, chunk.vector_bytes, names, titles)


def _mentioned(tables: ExampleTables, number: int) -> Collection[int]:
    chunk = tables.chunks.get(number)
    return {tables.labels[label].node for label in chunk.mentions.labels} if chunk is not None else ()


def _count(net: Counter[Pair], go: Iterable[Pair], come: Iterable[Pair]) -> None:
    """Count removals and additions, so that a pair removed and added again is not computed twice."""
    for pair in go:
        net[pair] -= 1
    for pair in come:
        net[pair] += 1


def _learn(kinds: Iterable[tuple[SufficientStatistics, Counter[Pair]]]) -> None:
    """Apply the net changes of the examples of each kind."""
    changes: list[Change] = []
    for examples, net in kinds:
        for sign in (1, -1):
            pairs = [pair for pair, times in net.items() for _ in range(sign * times)]
            changes += ((examples, pairs[start : start + BLOCK], sign) for start in range(0, len(pairs), BLOCK))
    fits = sum(len(pairs) for _, pairs, _ in changes) <= BLOCK
    for part in [changes] if fits else [[change] for change in changes]:
        add_all(part)
