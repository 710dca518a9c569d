"""Links between predicates with one meaning, kept current while predicates appear, change and disappear.

A pair is a candidate when semantic blocking (synonyms/blocking.py) finds it, the vectors are similar, both are of one
class of meaning, and they join things of compatible types. Candidates are proposed to a judge; a link holds while its
pair is a candidate and the last verdict on it is positive.

Invariant: candidates are a function of the features of the live predicates, whatever the order of arrival; links are
one of these and of the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from graphtide.graph.resolution.blocking import Blocks
from graphtide.graph.resolution.pair_scoring import Borderline, PairKey, Proposal, Verdict
from graphtide.graph.resolution.predicates.pairs import (
    PredicatePair,
    is_predicate_pair,
    meaning_class,
    pair_of,
    predicates_of,
)
from graphtide.graph.resolution.similarity import STEP, Quantised, cosine_milli
from graphtide.graph.resolution.synonyms.blocking import MAX_NEIGHBOURS, path_keys
from graphtide.graph.resolution.synonyms.context_pairs import ContextPairs, Pair
from graphtide.graph.resolution.synonyms.questions import Context, fingerprint_of, is_same

RULE = "predicate"
MIN_COSINE_MILLI = 650
"""Below it most proposals of the static model are predicates of one topic: "located near" and "located outside"."""


@dataclass(frozen=True, slots=True, eq=False)
class PredicateFeatures:
    """A live predicate as the caller passes it: its vector, the types that it joins, and typical statements.

    `subjects` and `objects` are the known types of a sample of its statements.
    """

    vector: Quantised | None
    subjects: frozenset[str]
    objects: frozenset[str]
    context: Context


class PredicateResolver:
    """The links of the live predicates. It has one owner and is not thread-safe."""

    def __init__(self, verdicts: Mapping[PairKey, Verdict]) -> None:
        """Create a resolver without predicates. `verdicts` are a judge's, on predicates and on labels."""
        self._verdicts = {pair: verdict for pair, verdict in verdicts.items() if is_predicate_pair(pair)}
        self._known = set[PredicatePair]()
        self._links = set[PredicatePair]()
        self._next = count()
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._features: dict[int, PredicateFeatures] = {}
        self._blocks = Blocks(MAX_NEIGHBOURS)
        self._pairs = ContextPairs()

    def know(self, links: Iterable[PredicatePair]) -> None:
        """Take over the links of stored rows: the next `drain` returns the differences from them."""
        self._known = set(links)

    @property
    def stored_links(self) -> tuple[PredicatePair, ...]:
        """Return the links of the stored rows, sorted: those at the last `drain`, or given to `know` since."""
        return tuple(sorted(self._known))

    def update(self, changed: Mapping[str, PredicateFeatures | None]) -> None:
        """Add new and changed predicates, and remove those that are None.

        Cost: for each a matrix product, and at most `TREES * MAX_NEIGHBOURS` pair scores for each depth of a tree.
        """
        moved = set[int]()
        keys = set[int]()
        for name, features in changed.items():
            if features is None:
                keys.update(self._remove(name))
                continue
            number = self._number(name)
            before = self._features.get(number)
            self._features[number] = features
            keys.update(self._blocks.put(number, {}, {} if features.vector is None else path_keys(features.vector)))
            if before is not None and before.context != features.context:
                self._pairs.note_contexts([number])
            moved.add(number)
        for pair in self._similar(sorted(self._to_score(keys, moved))):
            self._score(pair)

    def decide(self, pair: PairKey, verdict: Verdict) -> bool:
        """Record a judge's verdict. Returns False, and changes nothing, when the pair is no candidate any more."""
        numbers = [self._numbers.get(name, -1) for name in predicates_of(pair)]
        if not self._pairs.has(*numbers):
            return False
        self._verdicts[pair] = verdict
        self._link(predicates_of(pair), holds=True)
        return True

    def drain(self) -> tuple[tuple[PredicatePair, ...], tuple[PredicatePair, ...]]:
        """Return the links (added, removed) since the last call, sorted."""
        added, removed = sorted(self._links - self._known), sorted(self._known - self._links)
        if added or removed:
            self._known = set(self._links)
        return tuple(added), tuple(removed)

    def unchecked(self) -> list[PredicatePair]:
        """Return the candidates whose verdict may be missing or outdated, the most similar ones first."""
        found = self._pairs.unchecked(lambda a, b: pair_of(self._names[a], self._names[b]))
        return [_ordered(self._names[a], self._names[b]) for a, b in found]

    def note_checked(self, pair: PredicatePair) -> None:
        """Note that the verdict on a pair from `unchecked` is that of the present contexts."""
        self._pairs.note_checked(self._pair(pair))

    def verdict(self, pair: PredicatePair) -> Verdict | None:
        """Return the verdict on two predicates; None without one."""
        return self._verdicts.get(pair_of(*pair))

    def contexts(self, pair: PredicatePair) -> tuple[Context, Context]:
        """Return the typical statements of both predicates of a candidate."""
        first, second = (self._features[self._numbers[name]].context for name in pair)
        return first, second

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = next(self._next)
            self._names[number] = name
        return number

    def _remove(self, name: str) -> list[int]:
        """Remove a predicate with its pairs, and return the keys of blocks that opened or closed."""
        number = self._numbers.pop(name, None)
        if number is None:
            return []
        for other in self._pairs.of(number):
            self._pairs.put((min(number, other), max(number, other)), None)
            self._link(_ordered(name, self._names[other]), holds=False)
        del self._names[number], self._features[number]
        return self._blocks.remove(number)

    def _to_score(self, keys: set[int], moved: set[int]) -> set[Pair]:
        """Return the pairs of changed predicates, and those of blocks that opened or closed."""
        found = set[Pair]()
        for key in keys:
            found.update((min(pair), max(pair)) for pair in self._blocks.pairs(key))
            members = self._blocks.members(key)
            found.update((min(a, b), max(a, b)) for a in members for b in self._pairs.of(a) & members)
        for number in moved:
            others = self._blocks.candidates(number) | self._pairs.of(number)
            found.update((min(number, other), max(number, other)) for other in others)
        return found

    def _similar(self, pairs: list[Pair]) -> list[Pair]:
        """Return the pairs whose vectors are similar enough, and those that were until now, from one product."""
        numbers = sorted({number for pair in pairs for number in pair})
        known = [(number, self._features[number].vector) for number in numbers]
        rows = {number: vector for number, vector in known if vector is not None}
        places = {number: place for place, number in enumerate(rows)}
        comparable = [(a, b) for a, b in pairs if a in places and b in places]
        near = set[Pair]()
        if comparable:
            vectors = np.stack(list(rows.values())).astype(np.float32)  # exact, see similarity.STEP
            first, second = ([places[number] for number in column] for column in zip(*comparable, strict=True))
            products = np.einsum("nd,nd->n", vectors[first], vectors[second])
            threshold = MIN_COSINE_MILLI * (STEP * STEP) / 1000
            near = {pair for pair, product in zip(comparable, products.tolist(), strict=True) if product >= threshold}
        return [pair for pair in pairs if pair in near or self._pairs.has(*pair)]

    def _score(self, pair: Pair) -> None:
        score = self._assess(*pair)
        known = self._pairs.has(*pair)
        if score is None:
            self._pairs.put(pair, None)
        elif not known:
            self._pairs.put(pair, Borderline(Proposal(RULE, score, -1), by_context=True))
        self._link(_ordered(*(self._names[number] for number in pair)), holds=score is not None)

    def _assess(self, a: int, b: int) -> int | None:
        """Return the similarity of a candidate in thousandths, or None."""
        x, y = self._features[a], self._features[b]
        if x.vector is None or y.vector is None or (cosine := cosine_milli(x.vector, y.vector)) < MIN_COSINE_MILLI:
            return None
        if meaning_class(self._names[a]) != meaning_class(self._names[b]) or not _types_compatible(x, y):
            return None
        return cosine if self._blocks.are_candidates(a, b) else None

    def _link(self, pair: PredicatePair, *, holds: bool) -> None:
        verdict = self._verdicts.get(pair_of(*pair))
        if holds and verdict is not None and is_same(verdict) and fingerprint_of(verdict):
            self._links.add(pair)
        else:
            self._links.discard(pair)

    def _pair(self, pair: PredicatePair) -> Pair:
        a, b = (self._numbers[name] for name in pair)
        return min(a, b), max(a, b)


def has_link(verdicts: Mapping[PairKey, Verdict]) -> bool:
    """Return whether a verdict joins two predicates."""
    return any(is_predicate_pair(pair) and is_same(verdict) for pair, verdict in verdicts.items())


def _types_compatible(x: PredicateFeatures, y: PredicateFeatures) -> bool:
    """Return whether both may join the same things: subjects and objects share a type where types are known."""
    ends = ((x.subjects, y.subjects), (x.objects, y.objects))
    return all(not one or not other or bool(one & other) for one, other in ends)


def _ordered(a: str, b: str) -> PredicatePair:
    return (a, b) if a < b else (b, a)
