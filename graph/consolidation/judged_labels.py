"""The labels that a batch presents to the resolver, each with its mean once all contributions are counted.

Invariant: at most KEPT_VIEWS means are in memory; those of further labels are computed when they are read. A mean
occupies as much as three labels without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphtide.graph.consolidation.state import LabelState
from graphtide.graph.resolution import LabelView
from graphtide.graph.vector_sum import Float32Vector

KEPT_VIEWS = 1_000


class JudgedLabels(Mapping[int, LabelView | None]):
    """The views by label, in the order of their first change; None for a removed label."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, LabelView | LabelState | None] = {}

    def remove(self, number: int) -> None:
        """Present the label as removed."""
        self._kept[number] = None

    def put(self, label: LabelState, mean: Float32Vector | None) -> None:
        """Present a new label, or one with a new mean."""
        if len(self._kept) < KEPT_VIEWS:
            self._kept[label.number] = LabelView(label.name, label.type, mean, label.same)
        else:
            self._kept[label.number] = label

    def __getitem__(self, number: int) -> LabelView | None:
        """Return the view of a label."""
        kept = self._kept[number]
        if not isinstance(kept, LabelState):
            return kept
        return LabelView(kept.name, kept.type, kept.mean(), kept.same)

    def __iter__(self) -> Iterator[int]:
        """Yield the labels."""
        return iter(self._kept)

    def __len__(self) -> int:
        """Return the number of labels."""
        return len(self._kept)
