"""Vectors of questions, each with the similarity that a changed row must reach: one matrix product for a commit.

Invariant: a row whose similarity, as an exact search computes it, reaches the bound of a question is reported for it.
Reported without need are at most rows that miss the bound by less than the rounding error of the product.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.vector_index import Vectors, unit_rows

ROWS = 64


class BoundedVectors:
    """Vectors by slot, a small number of the caller. Memory: one float32 row for each slot."""

    def __init__(self) -> None:
        self._vectors: Vectors = np.zeros((0, 0), np.float32)
        self._bounds: NDArray[np.float64] = np.zeros(0)
        self._given: dict[int, Vectors] = {}
        """The vectors as the caller gave them: most calls change only the bound of a slot."""

    def put(self, slot: int, vector: Vectors, bound: float) -> None:
        """Set the vector (d,) and the bound of a slot. A vector without a direction is reported for no row."""
        self._reserve(slot, vector.size)
        if self._given.get(slot) is not vector:
            self._vectors[slot] = unit_rows(vector[np.newaxis], vector.size)[0] if np.any(vector) else 0.0
            self._given[slot] = vector
        self._bounds[slot] = bound if self._vectors[slot].any() else math.inf

    def drop(self, slot: int) -> None:
        """Forget the slot: no row is reported for it."""
        if slot < len(self._bounds):
            self._bounds[slot] = math.inf

    def reached(self, rows: Vectors) -> NDArray[np.intp]:
        """Return the slots whose bound one of the rows, (n, d) unit length, reaches. Cost: slots * rows * d."""
        if not len(rows) or not len(self._bounds) or rows.shape[1] != self._vectors.shape[1]:
            return np.flatnonzero(self._bounds < math.inf) if len(rows) else np.zeros(0, np.intp)
        slack = 4 * rows.shape[1] * float(np.finfo(np.float32).eps)
        best = np.full(len(self._bounds), -math.inf)
        for start in range(0, len(rows), ROWS):
            product = self._vectors @ rows[start : start + ROWS].T
            np.maximum(best, product.max(axis=1), out=best)
        found: NDArray[np.intp] = np.flatnonzero(best + slack >= self._bounds)
        return found

    def _reserve(self, slot: int, dimensions: int) -> None:
        """Make room for the slot. Slots of vectors of another length are reported for every row from now on."""
        if self._vectors.shape[1] != dimensions:
            self._vectors = np.zeros((len(self._bounds), dimensions), np.float32)
            self._given.clear()
            self._bounds[self._bounds < math.inf] = -math.inf
        if slot < len(self._bounds):
            return
        more = max(16, 2 * slot + 2) - len(self._bounds)
        self._vectors = np.concatenate([self._vectors, np.zeros((more, dimensions), np.float32)])
        self._bounds = np.concatenate([self._bounds, np.full(more, math.inf)])
