"""Clustering: from links to entities, the connected labels that no constraint separates.

Two rules apply to a component of proposed links; neither depends on order. An *ambiguous* label abbreviates several
labels which are not the same among themselves ("J. Smith" beside "John Smith" and "James Smith"): it is linked to none
of them. The remaining links go through constrained single linkage: links are taken from the highest score to the
lowest, ties by the labels' names, and a union is rejected when any two labels across it conflict. Pairs are scored
elsewhere.

Invariant: the result depends on the links and names given, not on their order or on the labels' numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from graphtide.graph.resolution.pair_scoring import LabelKey

MAX_FEW_LINKS = 4
MAX_MEANINGS = 8
"""A label that could abbreviate more labels than this is treated as ambiguous without further comparisons."""


@dataclass(frozen=True, slots=True)
class ClusterLink:
    """A proposed link between two labels, a < b. `general` is the less specific label, or -1."""

    a: int
    b: int
    rule: str
    score_milli: int
    general: int


PairTest = Callable[[int, int], bool]


class ProposedLinks:
    """The proposed links of each label, which are few for most: a tuple of up to MAX_FEW_LINKS, else a `dict` by the
    other label. A `dict` for each label would take four times the memory.
    """

    __slots__ = ("_of",)

    def __init__(self) -> None:
        """Hold no link."""
        self._of: dict[int, tuple[ClusterLink, ...] | dict[int, ClusterLink]] = {}

    def of(self, label: int) -> Collection[ClusterLink]:
        """Return the links of a label in the order in which they were put."""
        links = self._of.get(label, ())
        return links.values() if isinstance(links, dict) else links

    def others(self, label: int) -> list[int]:
        """Return the labels with which a label has a link, in the same order."""
        return [_other(link, label) for link in self.of(label)]

    def get(self, a: int, b: int) -> ClusterLink | None:
        """Return the link of two labels in either order. O(1)."""
        links = self._of.get(a, ())
        if isinstance(links, dict):
            return links.get(b)
        return next((link for link in links if _other(link, a) == b), None)

    def put(self, link: ClusterLink) -> None:
        """Add the link of two labels that have none."""
        for label in (link.a, link.b):
            links = self._of.get(label, ())
            if isinstance(links, dict):
                links[_other(link, label)] = link
            elif len(links) < MAX_FEW_LINKS:
                self._of[label] = (*links, link)
            else:
                self._of[label] = {_other(each, label): each for each in (*links, link)}

    def drop(self, a: int, b: int) -> None:
        """Remove the link of two labels in either order, if they have one."""
        link = self.get(a, b)
        if link is None:
            return
        for label in (a, b):
            links = self._of[label]
            if isinstance(links, dict):
                del links[_other(link, label)]
            else:
                links = self._of[label] = tuple(each for each in links if each is not link)
            if not links:
                del self._of[label]

    def __iter__(self) -> Iterator[ClusterLink]:
        """Yield every link once. Cost: the links."""
        return (link for label in self._of for link in self.of(label) if label == link.a)


def _other(link: ClusterLink, label: int) -> int:
    return link.b if link.a == label else link.a


def drop_ambiguous_links(links: Iterable[ClusterLink], are_same: PairTest) -> list[ClusterLink]:
    """Return the remaining links after every ambiguous label has lost those in which it is the general side.

    `are_same` decides whether two labels would be linked if they were compared. Cost: at most `MAX_MEANINGS` squared
    comparisons for each label.
    """
    links = list(links)
    meanings: dict[int, list[int]] = {}
    for link in links:
        if link.general >= 0:
            meanings.setdefault(link.general, []).append(link.b if link.general == link.a else link.a)
    ambiguous = {label for label, others in meanings.items() if _differ(others, are_same)}
    return [link for link in links if link.general not in ambiguous]


def _differ(labels: list[int], are_same: PairTest) -> bool:
    if len(labels) > MAX_MEANINGS:
        return True
    return any(not are_same(x, y) for i, x in enumerate(labels) for y in labels[i + 1 :])


def linkage(
    labels: Iterable[int], links: Iterable[ClusterLink], keys: Mapping[int, LabelKey], conflict: PairTest
) -> list[frozenset[int]]:
    """Run constrained single linkage; labels without links are clusters of one.

    Cost: sorting the links, and one test for each pair of labels that the clusters join.
    """
    cluster: dict[int, list[int]] = {label: [label] for label in labels}
    for link in sorted(links, key=lambda link: _canonical(link, keys)):
        left, right = cluster[link.a], cluster[link.b]
        if left is right or any(conflict(x, y) for x in left for y in right):
            continue
        if len(left) < len(right):
            left, right = right, left
        left += right
        for label in right:
            cluster[label] = left
    return [frozenset(members) for members in {id(c): c for c in cluster.values()}.values()]


def _canonical(link: ClusterLink, keys: Mapping[int, LabelKey]) -> tuple[int, LabelKey, LabelKey]:
    first, second = sorted((keys[link.a], keys[link.b]))
    return -link.score_milli, first, second
