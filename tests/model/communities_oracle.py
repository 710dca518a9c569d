"""Invariants of communities, recomputed from nothing but the caller's edges.

A ledger holds the edges as a plain dict; everything derived is recomputed from it and from each node's chain of ids:
weights between the units of every level, degrees, modularity, connectivity (networkx), the shape of the tree. No
derived state is kept.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import networkx as nx
import numpy as np

from graphtide.graph.communities import Communities, Hierarchy
from graphtide.graph.communities.types import Int32, Int64


class EdgeLedger:
    """The graph as a dict; takes the same updates."""

    def __init__(self) -> None:
        self.weights: dict[tuple[int, int], int] = {}

    def update(self, edges: Int32, deltas: Int64) -> None:
        """Add the deltas; an edge of weight 0 is deleted."""
        for (u, v), delta in zip(edges.tolist(), deltas.tolist(), strict=True):
            edge = (min(u, v), max(u, v))
            self.weights[edge] = self.weights.get(edge, 0) + delta
            if not self.weights[edge]:
                del self.weights[edge]

    def arrays(self) -> tuple[Int32, Int64]:
        """Return edges (m, 2) and weights (m,), sorted."""
        edges = sorted(self.weights)
        return (
            np.array(edges, dtype=np.int32).reshape(-1, 2),
            np.array([self.weights[edge] for edge in edges], dtype=np.int64),
        )

    def degrees(self) -> dict[int, int]:
        """Return the weighted degree of every node that has an edge."""
        degrees: dict[int, int] = defaultdict(int)
        for edge, weight in self.weights.items():
            for node in edge:
                degrees[node] += weight
        return dict(degrees)

    def modularity(self, community: Mapping[int, int]) -> float:
        """Return modularity by Newman's definition, term by term."""
        total = sum(self.weights.values())
        if not total:
            return 0.0
        degree_of: dict[int, int] = defaultdict(int)
        for node, degree in self.degrees().items():
            degree_of[community[node]] += degree
        inside = sum(weight for (u, v), weight in self.weights.items() if community[u] == community[v])
        return inside / total - sum((degree / (2 * total)) ** 2 for degree in degree_of.values())

    def quotient(self, unit: Mapping[int, int]) -> nx.Graph:
        """Return the graph between units (node -> unit), weights summed, without loops."""
        graph = nx.Graph()
        graph.add_nodes_from(set(unit.values()))
        for (u, v), weight in self.weights.items():
            a, b = unit[u], unit[v]
            if a != b:
                before = graph.get_edge_data(a, b, {"weight": 0})["weight"]
                graph.add_edge(a, b, weight=before + weight)
        return graph


def violations(communities: Communities, ledger: EdgeLedger) -> list[str]:
    """Return every violated invariant as a sentence; empty for a correct state."""
    degrees = ledger.degrees()
    unit = {node: node for node in degrees}
    found: list[str] = []
    for level in range(communities.levels()):
        above = {node: communities.community(node, level) for node in degrees}
        found += level_violations(communities, ledger, level, unit, above)
        unit = above
    found += graph_violations(communities, ledger, communities.levels(), unit)
    if any(communities.parent(top) for top in set(unit.values())):
        found.append("a community of the coarsest level has a parent")
    known = {int(ident) for ident in communities.hierarchy().ids}
    reached = {communities.community(node, level) for node in degrees for level in range(communities.levels())}
    if known != reached:
        found.append(f"communities without nodes: {sorted(known - reached)}")
    return found


def level_violations(
    communities: Communities, ledger: EdgeLedger, level: int, unit: Mapping[int, int], above: Mapping[int, int]
) -> Iterator[str]:
    """Return the violations of one partition: node -> unit divided into node -> community."""
    yield from graph_violations(communities, ledger, level, unit)
    members: dict[int, set[int]] = defaultdict(set)
    for node, community in above.items():
        members[community].add(unit[node])
    graph = ledger.quotient(unit)
    for community, units in sorted(members.items()):
        if community <= 0 or communities.level(community) != level:
            yield f"level {level}: a node is in {community}, which is not of this level"
        elif set(communities.members(community).tolist()) != units:
            yield f"level {level}: {community} does not list its members"
        if not nx.is_connected(graph.subgraph(units)):
            yield f"level {level}: {community} is disconnected"
        if level and any(communities.parent(child) != community for child in units):
            yield f"level {level}: a child of {community} has another parent"
    if sum(len(units) for units in members.values()) != len(set(unit.values())):
        yield f"level {level}: a unit is in two communities"
    if abs(communities.modularity(level) - ledger.modularity(above)) > 1e-12:
        yield f"level {level}: modularity {communities.modularity(level)}, recounted {ledger.modularity(above)}"


def graph_violations(
    communities: Communities, ledger: EdgeLedger, level: int, unit: Mapping[int, int]
) -> Iterator[str]:
    """Return the wrong weights between the units of a level."""
    graph = communities.graph(level)
    kept = {(a, b): w for (a, b), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)}
    counted = {(min(a, b), max(a, b)): w for a, b, w in ledger.quotient(unit).edges(data="weight")}
    if kept != counted:
        yield f"level {level}: weights differ from the recount in {sorted(set(kept.items()) ^ set(counted.items()))}"
    degrees: dict[int, int] = defaultdict(int)
    for node, degree in ledger.degrees().items():
        degrees[unit[node]] += degree
    if dict(zip(graph.units.tolist(), graph.degrees.tolist(), strict=True)) != degrees:
        yield f"level {level}: degrees differ from the recount"


def same(one: Hierarchy, other: Hierarchy) -> bool:
    """Return whether two hierarchies are equal in everything that is visible: all but the next id."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("nodes", "communities", "ids", "levels", "parents")
    )
