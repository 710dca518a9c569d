"""Entities and edges: the node of each cluster of labels, and the topology of its statements.

A node is the internal number of an entity. When clusters merge or split, the part with most statements keeps the node,
so that few statements move. Invariant: after `place`, every live statement between two entities supports exactly the
edge between their nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.consolidation.state import IdAllocator, Tables
from graphtide.graph.consolidation.topology import Topology, edge_between
from graphtide.graph.int_sets import shared_tuple
from graphtide.graph.number_table import NumberTable
from graphtide.graph.resolution import ClusterChange


@dataclass(slots=True)
class PlacementResult:
    """The result of placing a batch: nodes with a new cluster, removed nodes, labels that changed their node."""

    nodes: set[int] = field(default_factory=set)
    gone: list[int] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)
    """The labels that changed their node, and the node before; -1 for a new label."""


class Entities:
    """The clusters of labels by node, and the topology between them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._free = IdAllocator()
        self.clusters: NumberTable[tuple[int, ...]] = NumberTable()
        self.topology = Topology()

    def place(self, change: ClusterChange, statements: Iterable[int]) -> PlacementResult:
        """Apply a change of clusters, and the changed counts of these statements.

        Cost: the labels in the clusters and the statements of labels that moved.
        """
        placed = PlacementResult()
        self._place_clusters(change, placed)
        touched = set(statements)
        for number in placed.moved:
            touched.update(self._tables.labels[number].statements)
        for number in with_yields(touched):
            self._place_statement(number, placed.moved)
        return placed

    def forget(self, nodes: Iterable[int]) -> None:
        """Release removed nodes for reuse by the next batch."""
        self._free.release(nodes)
        self._free.settle()

    def restore(self, clusters: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        """Load stored clusters of labels by their nodes."""
        self.clusters = NumberTable(clusters)
        self._free = IdAllocator(self.clusters)

    def _place_clusters(self, change: ClusterChange, placed: PlacementResult) -> None:
        labels = self._tables.labels
        freed = {labels[next(iter(cluster))].node for cluster in change.dissolved} - {-1}
        inherited = self._heirs(change.formed, freed)
        for cluster in with_yields(change.formed):
            node = inherited.get(cluster)
            if node is None:
                node = self._free.take()
            self.clusters[node] = shared_tuple(sorted(cluster))
            placed.nodes.add(node)
            for number in cluster:
                if labels[number].node != node:
                    placed.moved[number] = labels[number].node
                    labels[number].node = node
        placed.gone = sorted(freed - set(inherited.values()))
        for node in placed.gone:
            del self.clusters[node]

    def _heirs(self, formed: Iterable[frozenset[int]], freed: set[int]) -> dict[frozenset[int], int]:
        """Match each new cluster with the freed node it takes over; the one with most statements chooses first."""
        claims: dict[tuple[int, frozenset[int]], int] = defaultdict(int)
        for cluster in formed:
            for number in cluster:
                label = self._tables.labels[number]
                if label.node in freed:
                    claims[label.node, cluster] += 1 + len(label.statements)
        heirs: dict[frozenset[int], int] = {}
        left = set(freed)
        for (node, cluster), _ in sorted(claims.items(), key=lambda claim: (-claim[1], claim[0][0])):
            if node in left and cluster not in heirs:
                heirs[cluster] = node
                left.discard(node)
        return heirs

    def _place_statement(self, number: int, moved: Mapping[int, int]) -> None:
        statement = self._tables.statements[number]
        u, v = self._tables.nodes(statement)
        before = edge_between(moved.get(statement.subject, u), moved.get(statement.object, v), statement.placed_count)
        edge = edge_between(u, v, statement.count)
        if (edge, statement.count) == (before, statement.placed_count):
            return
        if before:
            self.topology.add(before, -statement.placed_count)
        if edge:
            self.topology.add(edge, statement.count)
        statement.placed_count = statement.count
