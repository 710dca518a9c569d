"""Pairs of labels found by vectors, and those of them whose verdict is still to be compared with the contexts.

Invariant: it holds exactly the pairs that semantic blocking and `assess_synonym` find in the live set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphtide.graph.resolution.pair_scoring import Borderline, PairKey, Proposal

Pair = tuple[int, int]


class ContextPairs:
    """The pairs by label, and the score of each unchecked one. Pairs are (a, b) with a < b."""

    def __init__(self) -> None:
        self._others: dict[int, dict[int, int]] = {}
        self._unchecked: dict[Pair, int] = {}

    def of(self, label: int) -> set[int]:
        """Return the labels that form a pair with this one."""
        return set(self._others.get(label, ()))

    def has(self, a: int, b: int) -> bool:
        """Return whether the two labels form a pair."""
        return b in self._others.get(a, ())

    def put(self, pair: Pair, found: Proposal | Borderline | None) -> None:
        """Insert a pair that needs a verdict by context; remove any other."""
        if not isinstance(found, Borderline) or not found.by_context:
            self._remove(pair)
            return
        a, b = pair
        score = found.link.score_milli
        self._others.setdefault(a, {})[b] = self._others.setdefault(b, {})[a] = score
        self._unchecked[pair] = score

    def note_contexts(self, labels: Iterable[int]) -> None:
        """Note that the pairs of these labels have to be checked again."""
        for label in labels:
            for other, score in self._others.get(label, {}).items():
                self._unchecked[min(label, other), max(label, other)] = score

    def note_checked(self, pair: Pair) -> None:
        """Note that a pair's verdict is that of the present contexts."""
        self._unchecked.pop(pair, None)

    def unchecked(self, key: Callable[[int, int], PairKey]) -> list[Pair]:
        """Return the pairs to check, the highest score first, ties by the labels' names."""
        return sorted(self._unchecked, key=lambda pair: (-self._unchecked[pair], key(*pair)))

    def _remove(self, pair: Pair) -> None:
        self._unchecked.pop(pair, None)
        for x, y in (pair, pair[::-1]):
            if (others := self._others.get(x)) is not None and others.pop(y, None) is not None and not others:
                del self._others[x]
