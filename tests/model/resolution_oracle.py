"""The slow resolver: judges all pairs anew after every change, and keeps clusters as sets.

It defines the meaning of `graph.resolution.Resolver`, with the same methods. It shares the facts about one label or one
pair (keys, `score_pair`, `cannot_link_reason`) and nothing of the resolver's state: candidates are found by counting,
clusters by repeated search. A step takes time quadratic in the number of labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from graphtide.graph.resolution import blocking
from graphtide.graph.resolution.cannot_link import cannot_link_reason
from graphtide.graph.resolution.clusters import MAX_MEANINGS
from graphtide.graph.resolution.pair_scoring import (
    LabelView,
    PairKey,
    Proposal,
    Verdict,
    pair_key,
    rounded_mean,
    score_pair,
    signature_of,
)

Pair = tuple[int, int]


class NaiveResolver:
    """A resolver that recomputes clusters from the live labels alone. With `all_pairs`, blocking excludes no pair."""

    def __init__(self, verdicts: Mapping[PairKey, Verdict] | None = None, *, all_pairs: bool = False) -> None:
        self._verdicts = dict(verdicts or {})
        self._all_pairs = all_pairs
        self._live: dict[int, LabelView] = {}
        self._clusters: list[set[int]] = []
        self._proposals: dict[Pair, Proposal] = {}
        self._awaiting: set[Pair] = set()

    def update(self, changed: Mapping[int, LabelView | None]) -> None:
        """Apply changes and recompute everything."""
        for label, view in changed.items():
            if view is None:
                del self._live[label]
            else:
                self._live[label] = view
        self._compute()

    def decide(self, pair: Pair, verdict: bool) -> None:
        """Record a verdict and recompute everything."""
        self._verdicts[pair_key(self._live[pair[0]], self._live[pair[1]])] = verdict
        self._compute()

    def cluster_of(self, label: int) -> frozenset[int]:
        """Return the labels of the entity that has this label."""
        return next(frozenset(cluster) for cluster in self._clusters if label in cluster)

    def links(self) -> set[tuple[int, int, str, int, bool]]:
        """Return every proposed link as (a, b, rule, score, holds)."""
        return {
            (a, b, found.rule, found.score_milli, b in self.cluster_of(a)) for (a, b), found in self._proposals.items()
        }

    def borderline(self) -> set[Pair]:
        """Return the pairs that await a verdict."""
        return self._awaiting

    def _compute(self) -> None:
        self._proposals, self._awaiting = {}, set()
        for pair in self._candidates():
            found = score_pair(self._live[pair[0]], self._live[pair[1]], self._verdicts)
            if isinstance(found, Proposal):
                self._proposals[pair] = found
            elif found is not None:
                self._awaiting.add(pair)
        self._clusters = [{label} for label in self._live]
        sure = [pair for pair in self._proposals if not self._is_ambiguous(self._general(pair))]
        for a, b in sorted(sure, key=self._rank):
            left = next(cluster for cluster in self._clusters if a in cluster)
            right = next(cluster for cluster in self._clusters if b in cluster)
            if left is not right and not any(self._conflict(x, y) for x in left for y in right):
                self._clusters = [c for c in self._clusters if c is not left and c is not right] + [left | right]

    def _candidates(self) -> list[Pair]:
        pairs = list(combinations(sorted(self._live), 2))
        if self._all_pairs:
            return pairs
        keys = {
            label: {
                **blocking.lexical_keys(words := signature_of(view)),
                **blocking.vector_keys(words, rounded_mean(view)),
            }
            for label, view in self._live.items()
        }
        sizes = Counter(key for its in keys.values() for key in its)
        return [
            (a, b)
            for a, b in pairs
            if any(
                key in keys[b] and sizes[key] <= blocking.MAX_BLOCK and blocking.roles_compatible(role, keys[b][key])
                for key, role in keys[a].items()
            )
        ]

    def _general(self, pair: Pair) -> int | None:
        side = self._proposals[pair].general
        return pair[side] if side >= 0 else None

    def _is_ambiguous(self, label: int | None) -> bool:
        if label is None:
            return False
        meanings = [a if b == label else b for a, b in self._proposals if self._general((a, b)) == label]
        return len(meanings) > MAX_MEANINGS or any(
            not isinstance(score_pair(self._live[x], self._live[y], self._verdicts), Proposal)
            for x, y in combinations(meanings, 2)
        )

    def _rank(self, pair: Pair) -> tuple[int, PairKey]:
        return -self._proposals[pair].score_milli, pair_key(self._live[pair[0]], self._live[pair[1]])

    def _conflict(self, x: int, y: int) -> bool:
        return cannot_link_reason(signature_of(self._live[x]), signature_of(self._live[y])) is not None
