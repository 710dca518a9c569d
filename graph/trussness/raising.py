"""Insertion, second step, pure Python: edges too early in the order are raised, level by level.

It mirrors graph/kernels/truss/raise.hpp, which explains the method; Zhang & Yu (SIGMOD 2019), for any set of violating
edges (later > trussness - 2) at once, levels upwards. Invariant: `later` is always right, with candidates counted as
above the level: for a candidate it is the number of its alive triangles.
"""

from enum import Enum
from heapq import heappop, heappush

from graphtide.graph.trussness.state import PeelState


class _Standing(Enum):
    WAITING = 1
    CANDIDATE = 2
    SETTLED = 3
    EVICTED = 4
    PLACED = 5


def raise_violating(state: PeelState, violating: list[int]) -> None:
    """Restore the order after `later` of these edges has grown past trussness - 2."""
    by_level: dict[int, list[int]] = {}
    for edge in violating:
        by_level.setdefault(state.trussness[edge], []).append(edge)
    while by_level:
        level = min(by_level)
        raised = _Level(state, level).run(by_level.pop(level))
        if raised:
            by_level.setdefault(level + 1, []).extend(raised)


class _Entry:
    """A heap entry that compares the live labels, so that relabelling a level leaves the heap a heap."""

    __slots__ = ("edge", "label")

    def __init__(self, edge: int, label: list[int]) -> None:
        self.edge = edge
        self.label = label

    def __lt__(self, other: "_Entry") -> bool:
        return self.label[self.edge] < self.label[other.edge]


class _Level:
    """One run over one level."""

    def __init__(self, state: PeelState, level: int) -> None:
        self.state = state
        self.level = level
        self.standing: dict[int, _Standing] = {}
        self.handed: dict[int, list[tuple[int, int]]] = {}
        self.triangles: dict[int, list[tuple[int, int]]] = {}
        self.heap: list[_Entry] = []

    def run(self, violating: list[int]) -> list[int]:
        """Scan the level from its violating edges; return those edges that now violate the next level."""
        later = self.state.later
        for edge in violating:
            self._touch(edge)
        while self.heap:
            edge = heappop(self.heap).edge
            if later[edge] > self.level - 2:
                self._become_candidate(edge)
            else:
                self._settle(edge)
        return self._raise_survivors()

    def _touch(self, edge: int) -> None:
        if edge not in self.standing:
            self.standing[edge] = _Standing.WAITING
            self.handed[edge] = []
            heappush(self.heap, _Entry(edge, self.state.label))

    def _is_alive(self, edge: int, label: int) -> bool:
        """Return whether a triangle's edge counts for an edge at `label`: it is a candidate, or later in the order."""
        trussness = self.state.trussness[edge]
        if trussness != self.level:
            return trussness > self.level
        standing = self.standing.get(edge, _Standing.WAITING)
        if standing is _Standing.WAITING:
            return self.state.label[edge] > label
        return standing is _Standing.CANDIDATE

    def _is_candidate(self, edge: int) -> bool:
        return self.standing.get(edge) is _Standing.CANDIDATE

    def _become_candidate(self, edge: int) -> None:
        label = self.state.label[edge]
        self.standing[edge] = _Standing.CANDIDATE
        self.triangles[edge] = [
            (a, b) for a, b in self.state.walk(edge) if self._is_alive(a, label) and self._is_alive(b, label)
        ]
        for a, b in self.triangles[edge]:
            first = self._holder(a, b)
            if first is not None:
                self._touch(first)
                self.state.later[first] += 1
                self.handed[first].append((edge, b if first == a else a))

    def _holder(self, a: int, b: int) -> int | None:
        """Return the first in the order among those of the level that are no candidates: it counts the triangle."""
        staying = [e for e in (a, b) if self.state.trussness[e] == self.level and not self._is_candidate(e)]
        return min(staying, key=self.state.label.__getitem__, default=None)

    def _settle(self, edge: int) -> None:
        label = self.state.label[edge]
        self.standing[edge] = _Standing.SETTLED
        evicted: list[int] = []
        for candidate, other in self.handed[edge]:
            if self._is_candidate(candidate) and self._is_alive(other, label):
                self._lose_triangle(candidate, evicted)
                self._lose_triangle(other, evicted)
        self._cascade(evicted, label)
        for gone in evicted:
            self.state.unlink(gone)
        if evicted:
            self.state.link_behind(edge, evicted)

    def _lose_triangle(self, edge: int, evicted: list[int]) -> None:
        """Remove a triangle from a candidate; one that falls below the next level's minimum joins the evicted, once."""
        if self._is_candidate(edge):
            self.state.later[edge] -= 1
            if self.state.later[edge] == self.level - 2:
                evicted.append(edge)

    def _cascade(self, evicted: list[int], label: int) -> None:
        for gone in evicted:  # grows during the iteration
            self.standing[gone] = _Standing.EVICTED
            for a, b in self.triangles[gone]:
                if not (self._is_alive(a, label) and self._is_alive(b, label)):
                    continue
                counted_by = self._holder(a, b)
                if counted_by is not None:
                    self.state.later[counted_by] -= 1
                self._lose_triangle(a, evicted)
                self._lose_triangle(b, evicted)

    def _raise_survivors(self) -> list[int]:
        survivors = [edge for edge in self.triangles if self._is_candidate(edge)]
        placed, stuck = self._peel(survivors)
        for edge in reversed(placed):
            self.state.unlink(edge)
            self.state.changes.setdefault(edge, self.level)
            self.state.link_first(edge, self.level + 1)
        return stuck

    def _peel(self, survivors: list[int]) -> tuple[list[int], list[int]]:
        """Order the survivors so that few have too many later triangles at the next level; return those separately."""
        later, stuck, followed = self.state.later, [], 0
        for edge in survivors:
            self.state.support[edge] = later[edge]
        placed = [edge for edge in survivors if later[edge] < self.level]
        for first in (None, *survivors):
            if first is not None and self._is_candidate(first):
                stuck.append(first)
                placed.append(first)
            while followed < len(placed):
                self._hand_on(placed[followed], placed)
                followed += 1
        return placed, stuck

    def _hand_on(self, edge: int, placed: list[int]) -> None:
        """Subtract the placed edge's triangles from their other edges; an edge that falls far enough is placed next."""
        state = self.state
        self.standing[edge] = _Standing.PLACED
        for pair in self.triangles[edge]:
            if not all(state.trussness[e] > self.level or self._is_candidate(e) for e in pair):
                continue
            for other in pair:
                if state.trussness[other] == self.level + 1:
                    state.support[other] += 1
                elif state.trussness[other] == self.level:
                    state.later[other] -= 1
                    if state.later[other] == self.level - 1:
                        placed.append(other)
