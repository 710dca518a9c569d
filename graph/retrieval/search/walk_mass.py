"""The mass of a walk's nodes, as arrays: a question looks up a few hundred of some thousands.

Invariant: the nodes are distinct and in the order of `WalkGraph.push`, most mass first.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.algorithms.pagerank import Nodes, Scores


class WalkMass(Mapping[int, float]):
    """The stationary mass of walk nodes (n,), most first. `of` reads many at once, the mapping one."""

    def __init__(self, nodes: Nodes, mass: Scores) -> None:
        self.nodes = nodes
        self.mass = mass
        self._ascending: tuple[Nodes, Scores] | None = None
        self._by_node: dict[int, float] | None = None

    def of(self, nodes: Nodes) -> Scores:
        """Return the mass of each node, 0 for one that the walk did not reach."""
        if not len(self.nodes):
            return np.zeros(len(nodes))
        if self._ascending is None:
            order = np.argsort(self.nodes)
            self._ascending = self.nodes[order], self.mass[order]
        known, mass = self._ascending
        places = np.searchsorted(known, nodes).clip(max=len(known) - 1)
        return np.where(known[places] == nodes, mass[places], 0.0)

    def only(self, kept: NDArray[np.bool_]) -> WalkMass:
        """Return the mass of the marked nodes alone."""
        return WalkMass(self.nodes[kept], self.mass[kept])

    def __getitem__(self, node: int) -> float:
        return self._dict()[node]

    def __iter__(self) -> Iterator[int]:
        return iter(self.nodes.tolist())

    def __len__(self) -> int:
        return len(self.nodes)

    def items(self) -> ItemsView[int, float]:
        return self._dict().items()

    def _dict(self) -> dict[int, float]:
        if self._by_node is None:
            self._by_node = dict(zip(self.nodes.tolist(), self.mass.tolist(), strict=True))
        return self._by_node
