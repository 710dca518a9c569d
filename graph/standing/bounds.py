"""Vectors of questions, each with the similarity that a changed row must reach: one matrix product for a commit.

Invariant: a row whose similarity, as an exact search computes it, reaches the bound of a question is reported for it.
Reported without need are at most rows that miss the bound by less than the rounding error of the product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.vector_index import Vectors, unit_rows

ROWS = 64
"""Rows of one product."""
PAIRS = 4096
"""Pairs whose similarities are computed together."""

Slots = NDArray[np.intp]


class BoundedVectors:
    """Vectors by slot, a small number of the caller. Memory: one float32 row for each slot."""

    def __init__(self) -> None:
        self._vectors: Vectors = np.zeros((0, 0), np.float32)
        self._bounds: NDArray[np.float64] = np.zeros(0)
        self._used = 0
        """The slots from this one on were never used: no product is computed for them."""
        self._given: dict[int, Vectors] = {}
        """The vectors as the caller gave them: most calls change only the bound of a slot."""

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors, 0 before the first one."""
        return int(self._vectors.shape[1])

    def put(self, slot: int, vector: Vectors, bound: float) -> None:
        """Set the vector (d,) and the bound of a slot. A vector without a direction is reported for no row."""
        self._reserve(slot, vector.size)
        if self._given.get(slot) is not vector:
            self._vectors[slot] = unit_rows(vector[np.newaxis], vector.size)[0] if np.any(vector) else 0.0
            self._given[slot] = vector
        self._bounds[slot] = bound if self._vectors[slot].any() else math.inf

    def move(self, slot: int, bound: float) -> None:
        """Set the bound of a slot whose vector has a direction."""
        self._bounds[slot] = bound

    def drop(self, slot: int) -> None:
        """Forget the slot: no row is reported for it."""
        self._given.pop(slot, None)
        if slot < len(self._bounds):
            self._bounds[slot] = math.inf

    def reached(self, rows: Vectors) -> Slots:
        """Return the slots whose bound one of the rows, (n, d) unit length, reaches. Cost: slots * rows * d."""
        if not len(rows) or not self._used or rows.shape[1] != self._vectors.shape[1]:
            return np.flatnonzero(self._bounds < math.inf) if len(rows) else np.zeros(0, np.intp)
        found = [np.any(near, axis=1) for _, near in self._products(rows)]
        slots: Slots = np.flatnonzero(np.logical_or.reduce(found))
        return slots

    def pairs(self, rows: Vectors) -> Iterator[tuple[Slots, Slots, Vectors]]:
        """Yield (slots, numbers of rows, similarities) of the pairs in which a row may reach the bound of a slot.

        The rows are (n, d) unit vectors; similarities are those of an exact search. Cost: slots * rows * d.
        """
        for start, near in self._products(rows):
            slots, places = np.nonzero(near)
            for first in range(0, len(slots), PAIRS):
                some, row = slots[first : first + PAIRS], start + places[first : first + PAIRS]
                wide = self._vectors[some].astype(np.float64) * rows[row].astype(np.float64)
                yield some, row, wide.sum(axis=1).astype(np.float32)

    def _products(self, rows: Vectors) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Yield, for each block of rows, its begin, and where a row may reach a bound: (slots, rows of the block)."""
        slack = 4 * rows.shape[1] * float(np.finfo(np.float32).eps)
        thresholds = (self._bounds[: self._used] - slack)[:, np.newaxis]
        for start in range(0, len(rows), ROWS):
            yield start, self._vectors[: self._used] @ rows[start : start + ROWS].T >= thresholds

    def _reserve(self, slot: int, dimensions: int) -> None:
        """Make room for the slot. Slots of vectors of another length are reported for every row from now on."""
        if self._vectors.shape[1] != dimensions:
            self._vectors = np.zeros((len(self._bounds), dimensions), np.float32)
            self._given.clear()
            self._bounds[self._bounds < math.inf] = -math.inf
        self._used = max(self._used, slot + 1)
        if slot < len(self._bounds):
            return
        more = max(16, 2 * slot + 2) - len(self._bounds)
        self._vectors = np.concatenate([self._vectors, np.zeros((more, dimensions), np.float32)])
        self._bounds = np.concatenate([self._bounds, np.full(more, math.inf)])
