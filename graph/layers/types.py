"""The port of a layer: an undirected weighted graph that is read-only to its searches.

Invariant: what a layer returns depends on the view's content alone. Internal numbers depend on the order of arrival, so
canonical names order every result and break every tie.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class Neighbour(NamedTuple):
    """The other end of a link, by its number in the view, and the link's weight, above 0."""

    number: int
    weight: float


class LayerLink(NamedTuple):
    """An undirected link; `a` has the lesser canonical name."""

    a: int
    b: int
    weight: float


class Layer(Protocol):
    """One layer of a view, over the numbers of its entities or of its passages. Call it under `view.lock.read()`."""

    def neighbours(self, number: int) -> Sequence[Neighbour]:
        """Return every neighbour, the heaviest link first, equal ones by name. No self-links; links are undirected.

        Returns nothing for a number without links or an unknown number.
        """
        ...

    def induced_edges(self, numbers: Collection[int]) -> Sequence[LayerLink]:
        """Return the layer's subgraph on these numbers: every link with both ends among them, once, by names.

        Community search runs on it (DA-RAG, section 4, "working subgraph").
        """
        ...


def ranked(found: Iterable[tuple[int, float]], name: Callable[[int], str]) -> tuple[Neighbour, ...]:
    """Return neighbours in canonical order."""
    ordered = sorted(found, key=lambda pair: (-pair[1], name(pair[0])))
    return tuple(Neighbour(number, weight) for number, weight in ordered)


def linked(found: Mapping[tuple[int, int], float], name: Callable[[int], str]) -> tuple[LayerLink, ...]:
    """Return links in canonical order, each with its ends in canonical order."""
    ends = {end for pair in found for end in pair}
    rank = {number: place for place, number in enumerate(sorted(ends, key=name))}
    links = (
        LayerLink(a, b, weight) if rank[a] < rank[b] else LayerLink(b, a, weight) for (a, b), weight in found.items()
    )
    return tuple(sorted(links, key=lambda link: (rank[link.a], rank[link.b])))


def intersection(one: Collection[int], other: Collection[int]) -> Iterator[int]:
    """Yield the numbers in both, in no particular order. Cost: the smaller of the two, if both have fast membership
    tests.
    """
    smaller, larger = (one, other) if len(one) < len(other) else (other, one)
    return (number for number in smaller if number in larger)
