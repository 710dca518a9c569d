"""State shared by the steps of a pure-Python update: the adjacency, the peel order, and the log of changed values.

It mirrors graph/kernels/truss/state.hpp and peel_order.hpp; the invariants are the same:
- all edges are in one order, by trussness and within a trussness by a linked list with integer labels;
- `later` of an edge counts its triangles whose other two edges come later in the order, `support` those whose other two
  have its trussness or more. Between updates later <= trussness - 2 <= support, for every edge: the two halves of
  exactness;
- edges of trussness 2 are in no triangle, and in no list.
"""

from collections.abc import Iterator, Sequence

STRIDE = 1 << 40
NONE = -1


class PeelState:
    """Edges as parallel lists indexed by edge id; ids of removed edges are reused."""

    def __init__(self) -> None:
        self.adjacency: list[dict[int, int]] = []
        self.ends: list[tuple[int, int] | None] = []
        self.trussness: list[int] = []
        self.later: list[int] = []
        self.support: list[int] = []
        self.label: list[int] = []
        self.previous: list[int] = []
        self.next: list[int] = []
        self.free: list[int] = []
        self.head: dict[int, int] = {}
        self.tail: dict[int, int] = {}
        self.changes: dict[int, int] = {}
        self.work = 0

    def find(self, u: int, v: int) -> int | None:
        """Return the id of the edge between u and v, or None."""
        return self.adjacency[u].get(v) if 0 <= u < len(self.adjacency) else None

    def triangles(self, edge: int) -> Iterator[tuple[int, int]]:
        """Yield the other two edges of each triangle of an edge: the one at its first node, the one at its second."""
        u, v = self.ends_of(edge)
        at_u, at_v = self.adjacency[u], self.adjacency[v]
        for node in at_u.keys() & at_v.keys():
            yield at_u[node], at_v[node]

    def walk(self, edge: int) -> Iterator[tuple[int, int]]:
        """Yield the triangles of an edge and count them as work of an update."""
        for pair in self.triangles(edge):
            self.work += 1
            yield pair

    def ends_of(self, edge: int) -> tuple[int, int]:
        """Return the two nodes of a live edge, the smaller first."""
        ends = self.ends[edge]
        if ends is None:
            raise KeyError(edge)
        return ends

    def live(self) -> list[int]:
        """Return the ids of all edges."""
        return [edge for edge, ends in enumerate(self.ends) if ends is not None]

    def before(self, a: int, b: int) -> bool:
        """Return whether edge a is before edge b in the order."""
        if self.trussness[a] != self.trussness[b]:
            return self.trussness[a] < self.trussness[b]
        return self.label[a] < self.label[b]

    def create(self, u: int, v: int) -> int:
        """Add an edge to the adjacency and return its id; it is in no list yet."""
        while len(self.adjacency) <= v:
            self.adjacency.append({})
        edge = self._recycle((u, v)) if self.free else self._extend((u, v))
        self.adjacency[u][v] = self.adjacency[v][u] = edge
        return edge

    def _extend(self, ends: tuple[int, int]) -> int:
        self.ends.append(ends)
        for column in (self.trussness, self.later, self.support, self.label):
            column.append(0)
        self.previous.append(NONE)
        self.next.append(NONE)
        return len(self.ends) - 1

    def _recycle(self, ends: tuple[int, int]) -> int:
        edge = self.free.pop()
        self.ends[edge] = ends
        self.trussness[edge] = self.later[edge] = self.support[edge] = self.label[edge] = 0
        return edge

    def destroy(self, edge: int) -> None:
        """Remove an edge from its list and the adjacency, and free its id."""
        u, v = self.ends_of(edge)
        self.unlink(edge)
        del self.adjacency[u][v], self.adjacency[v][u]
        self.ends[edge] = None
        self.free.append(edge)

    def unlink(self, edge: int) -> None:
        """Remove an edge from the list of its level."""
        level = self.trussness[edge]
        if level <= 2:
            return
        before, after = self.previous[edge], self.next[edge]
        self._join(level, before, after)

    def _join(self, level: int, before: int, after: int) -> None:
        if before == NONE:
            self.head[level] = after
        else:
            self.next[before] = after
        if after == NONE:
            self.tail[level] = before
        else:
            self.previous[after] = before

    def link_last(self, edge: int, level: int) -> None:
        """Set the trussness of an unlinked edge, and make it the last of that level."""
        self.trussness[edge] = level
        if level > 2:
            last = self.tail.get(level, NONE)
            self.label[edge] = 0 if last == NONE else self.label[last] + STRIDE
            self._join(level, last, edge)
            self._join(level, edge, NONE)

    def link_first(self, edge: int, level: int) -> None:
        """Set the trussness of an unlinked edge, and make it the first of that level."""
        self.trussness[edge] = level
        first = self.head.get(level, NONE)
        self.label[edge] = 0 if first == NONE else self.label[first] - STRIDE
        self._join(level, edge, first)
        self._join(level, NONE, edge)

    def link_behind(self, anchor: int, edges: Sequence[int]) -> None:
        """Insert unlinked edges of the anchor's level right after it, in the given order."""
        level, after = self.trussness[anchor], self.next[anchor]
        if after != NONE and self.label[after] - self.label[anchor] <= len(edges):
            self._spread(level, max(STRIDE, 2 * len(edges)))
        gap = STRIDE if after == NONE else (self.label[after] - self.label[anchor]) // (len(edges) + 1)
        before = anchor
        for edge in edges:
            self.label[edge] = self.label[before] + gap
            self._join(level, before, edge)
            before = edge
        self._join(level, before, after)

    def _spread(self, level: int, step: int) -> None:
        """Relabel a level: the relative order stays, so heaps that compare live labels stay heaps."""
        label, edge = 0, self.head[level]
        while edge != NONE:
            self.label[edge] = label
            label, edge = label + step, self.next[edge]
