"""The edges of a live view by the entity at either end.

A dictionary for each entity takes some 250 bytes, the table here 16, and 12 to 19 for each end of an edge; a look-up
costs the same. A fork of a view changes an AdjacencyOverlay instead.

Invariant: an edge is in the table under both of its ends; a node without edges is not in it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import cast

from graphtide.graph._adjacency import Row, Table
from graphtide.graph.view_state.overlay import Overlay, Writing


@dataclass(frozen=True, slots=True)
class ViewEdge:
    weight: int
    trussness: int


Neighbours = Mapping[int, ViewEdge]
"""The edges of one entity by the node of the other. A `Row` refers to the table: it shows the present edges."""

Mapping.register(Row)


class Edges(Mapping[int, Neighbours]):
    """The edges of a view, by node."""

    __slots__ = ()

    @abstractmethod
    def connect(self, u: int, v: int, weight: int, trussness: int) -> None:
        """Insert or change the edge between two nodes. Raises OverflowError for a number out of range."""

    @abstractmethod
    def disconnect(self, u: int, v: int) -> None:
        """Remove the edge between two nodes. Raises KeyError."""


class Adjacency(Table[ViewEdge], Edges):
    """The edges by node, weight and trussness from 0 to 2**32 - 2. Nodes are iterated in ascending order.

    Reading an edge creates it, but edges of the same numbers that were read shortly before are one object.
    """

    __slots__ = ()

    def __init__(self) -> None:
        """Create a table without edges."""
        super().__init__(ViewEdge)

    def __iter__(self) -> Iterator[int]:
        """Yield the nodes that have edges. Cost: the largest node."""
        return (node for node in range(self.bound()) if node in self)

    def connect(self, u: int, v: int, weight: int, trussness: int) -> None:
        """See Edges.connect."""
        self.put(u, v, weight, trussness)
        self.put(v, u, weight, trussness)

    def disconnect(self, u: int, v: int) -> None:
        """See Edges.disconnect."""
        self.remove(u, v)
        self.remove(v, u)


class AdjacencyOverlay(Overlay[int, Neighbours], Edges):
    """Edges over those of another view, for a fork of it. Cost of a change: O(1)."""

    __slots__ = ()

    def __init__(self, below: Mapping[int, Neighbours], writing: Writing) -> None:
        """Create edges that equal those below."""
        super().__init__(below, writing, lambda edges: Overlay(edges, writing))

    def connect(self, u: int, v: int, weight: int, trussness: int) -> None:
        """See Edges.connect."""
        edge = ViewEdge(weight, trussness)
        for a, b in ((u, v), (v, u)):
            if a in self:
                self._own_row(a)[b] = edge
            else:
                self[a] = {b: edge}

    def disconnect(self, u: int, v: int) -> None:
        """See Edges.disconnect."""
        for a, b in ((u, v), (v, u)):
            around = self._own_row(a)
            del around[b]
            if not around:
                del self[a]

    def _own_row(self, node: int) -> MutableMapping[int, ViewEdge]:
        """Return the edges of a node, which are the fork's own while it is written to. Raises KeyError."""
        return cast(MutableMapping[int, ViewEdge], self[node])
