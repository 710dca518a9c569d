"""Steiner trees: the cheapest connection of some nodes of a graph, by the distance network heuristic.

Kou, Markowsky & Berman 1981: a minimum spanning tree of the terminals' shortest distances, its edges replaced by
shortest paths; at most 2 (1 - 1/l) of the optimum, l being the optimum's leaves. Source: article
"graph-rag-algorithms", "Steiner Tree". Deviations:

- One Voronoi run from all terminals at once instead of all pairs (Mehlhorn 1988): among the edges between two regions
  is a minimum spanning tree of the whole distance network, so where shortest paths are unique the tree is the same. The
  paths then form a tree already, with a terminal at every end, so that the last two phases change nothing.
- A path above `longest` connects nothing (the article's "strict maximum edge weight"), so the search ends at half of
  it; and at most `budget` links are read.

Pure: it knows neither view nor weights. Invariant: costs are integers and ties are broken by name, so that the result
does not depend on the numbers of the nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

Path = tuple[int, ...]


class WeightedGraph(Protocol):
    """The graph of a search: undirected, with costs above 0 that are the same from both ends."""

    def links(self, node: int) -> int:
        """Return the number of entries that `neighbours` would read."""
        ...

    def neighbours(self, node: int) -> Iterable[tuple[int, int]]:
        """Yield each neighbour with the cost of the edge."""
        ...


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The maximum cost of a path between two terminals, and the maximum number of links that a search reads."""

    longest: int
    budget: int


@dataclass(frozen=True, slots=True)
class SteinerTree:
    """A forest that connects all terminals that can be connected.

    `paths` lead from terminal to terminal, each with its ends; `groups` are the terminals that are connected with each
    other; `cost` is the sum over all edges. `read` counts the links read; `complete` is False when the budget left some
    unread, so that unconnected terminals might be connected.
    """

    paths: tuple[Path, ...]
    groups: tuple[tuple[int, ...], ...]
    cost: int
    read: int
    complete: bool

    def edges(self) -> tuple[tuple[int, int], ...]:
        """Return every edge once, in the order of the first path that contains it. Paths may share parts."""
        steps = (pair for path in self.paths for pair in pairwise(path))
        return tuple({frozenset(pair): pair for pair in reversed(list(steps))}.values())[::-1]


def steiner_tree(
    roads: WeightedGraph, terminals: Sequence[int], name: Callable[[int], str], bounds: SearchLimits
) -> SteinerTree:
    """Connect the terminals (distinct; a single one needs no tree). Cost: `budget` links, and their logarithm."""
    search = _Voronoi(roads, terminals, name, bounds)
    chosen = search.run()
    groups = [{terminal} for terminal in terminals]
    for one, other in chosen:
        joined = [group for group in groups if one in group or other in group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    paths = tuple(search.path(pair) for pair in chosen)
    cost = sum({edge: cost for pair in chosen for edge, cost in search.steps(pair)}.values())
    kept = (tuple(terminal for terminal in terminals if terminal in group) for group in groups)
    ordered = sorted(kept, key=lambda group: terminals.index(group[0]))
    return SteinerTree(paths, tuple(ordered), cost, search.read, search.complete)


@dataclass(frozen=True, slots=True, order=True)
class _Bridge:
    """An edge between two regions and the cost of the path across it; the minimum is the cheapest, then by name."""

    cost: int
    names: tuple[str, str]
    ends: tuple[int, int] = field(compare=False)


@dataclass(slots=True)
class _Place:
    """The search state of a node: its distance, its terminal (by position), and the preceding neighbour.

    Of equal paths the first one stays: nodes are settled by distance and name, so the result is the same under any
    numbers.
    """

    distance: int
    terminal: int
    parent: int


class _Voronoi:
    """Every node within reach with its nearest terminal, and the cheapest edges between regions."""

    def __init__(
        self, roads: WeightedGraph, terminals: Sequence[int], name: Callable[[int], str], bounds: SearchLimits
    ) -> None:
        self._roads, self._bounds, self._name = roads, bounds, name
        self._names = {terminal: name(terminal) for terminal in terminals}
        self._terminals = sorted(terminals, key=self._names.__getitem__)
        self._places = {t: _Place(0, place, -1) for place, t in enumerate(self._terminals)}
        self._settled: set[int] = set()
        self.bridges: dict[tuple[int, int], _Bridge] = {}
        self.read = 0
        self.complete = True

    def run(self) -> list[tuple[int, int]]:
        """Return the pairs of terminals of the minimum spanning forest.

        An edge between regions found at distance d costs at least 2 d: the search misses nothing cheaper than the most
        expensive chosen edge when that edge costs less.
        """
        heap = [(0, self._names[terminal], terminal) for terminal in self._terminals]
        heapq.heapify(heap)
        enough = self._bounds.longest
        while heap and 2 * heap[0][0] <= enough:
            distance, _, node = heapq.heappop(heap)
            if node in self._settled or distance > self._places[node].distance:
                continue
            self._settled.add(node)
            if self._expand(node, heap):
                enough = self._dearest()
        return self._forest()

    def path(self, pair: tuple[int, int]) -> Path:
        """Return the path from the first terminal of a bridge to the second."""
        one, other = self.bridges[pair].ends
        return (*reversed(self._back(one)), *self._back(other))

    def steps(self, pair: tuple[int, int]) -> Iterator[tuple[frozenset[int], int]]:
        """Yield the edges of a path with their costs."""
        one, other = (self._places[end] for end in self.bridges[pair].ends)
        yield frozenset(self.bridges[pair].ends), self.bridges[pair].cost - one.distance - other.distance
        for end in self.bridges[pair].ends:
            for before, node in pairwise(reversed(self._back(end))):
                yield frozenset((before, node)), self._places[node].distance - self._places[before].distance

    def _expand(self, node: int, heap: list[tuple[int, str, int]]) -> bool:
        """Read the links of a settled node. Return True if it found a cheaper bridge."""
        links = self._roads.links(node)
        if self.read + links > self._bounds.budget:
            self.complete = False
            return False
        self.read += links
        origin, bridged = self._places[node], False
        for other, cost in self._roads.neighbours(node):
            if other in self._settled:
                bridged |= self._bridge(node, other, cost)
                continue
            place = _Place(origin.distance + cost, origin.terminal, node)
            known = self._places.get(other)
            if known is None or place.distance < known.distance:
                self._places[other] = place
                heapq.heappush(heap, (place.distance, self._name(other), other))
        return bridged

    def _bridge(self, node: int, other: int, cost: int) -> bool:
        ends = (node, other)
        if self._places[node].terminal > self._places[other].terminal:
            ends = (other, node)
        one, two = (self._places[end] for end in ends)
        whole = one.distance + cost + two.distance
        if one.terminal == two.terminal or whole > self._bounds.longest:
            return False
        pair = (self._terminals[one.terminal], self._terminals[two.terminal])
        found = _Bridge(whole, (self._name(ends[0]), self._name(ends[1])), ends)
        if pair in self.bridges and self.bridges[pair] <= found:
            return False
        self.bridges[pair] = found
        return True

    def _forest(self) -> list[tuple[int, int]]:
        """Run Kruskal over the bridges: cheapest first, equal ones by the terminals' names."""
        group = {terminal: terminal for terminal in self._terminals}
        chosen = []
        for pair in sorted(self.bridges, key=lambda p: (self.bridges[p].cost, self._names[p[0]], self._names[p[1]])):
            one, other = group[pair[0]], group[pair[1]]
            if one != other:
                chosen.append(pair)
                group = {terminal: one if root == other else root for terminal, root in group.items()}
        return chosen

    def _dearest(self) -> int:
        """Return the cost to search up to: that of the costliest chosen bridge, once all terminals are connected."""
        chosen = self._forest()
        if len(chosen) + 1 < len(self._terminals):
            return self._bounds.longest
        return max(self.bridges[pair].cost for pair in chosen)

    def _back(self, node: int) -> Path:
        """Return the path from a node back to the terminal of its region."""
        steps = [node]
        while self._places[steps[-1]].parent >= 0:
            steps.append(self._places[steps[-1]].parent)
        return tuple(steps)
