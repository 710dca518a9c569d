"""Trees and truss communities by their definitions: every subset, every pair, every path."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations

import networkx as nx

Costs = Mapping[tuple[int, int], int]


def weighted(costs: Costs) -> nx.Graph[int]:
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from((u, v, cost) for (u, v), cost in costs.items())
    return graph


def cheapest_steiner(costs: Costs, terminals: Collection[int]) -> nx.Graph[int] | None:
    """Return the cheapest tree that connects the terminals: the best spanning tree over every choice of nodes."""
    graph, best = weighted(costs), None
    others = sorted(set(graph) - set(terminals))
    for count in range(len(others) + 1):
        for chosen in combinations(others, count):
            nodes = set(terminals) | set(chosen)
            part = graph.subgraph(nodes)
            if len(part) == len(nodes) and nx.is_connected(part):
                tree = nx.minimum_spanning_tree(part)
                if best is None or tree.size("weight") < best.size("weight"):
                    best = tree
    return best


def plain_kmb(costs: Costs, terminals: Collection[int]) -> nx.Graph[int] | None:
    """Run Kou, Markowsky & Berman 1981 in its five steps, from all pairs of shortest paths; None if not connected."""
    graph = weighted(costs)
    distances: nx.Graph[int] = nx.Graph()
    distances.add_nodes_from(terminals)
    ways = {}
    for one, other in combinations(terminals, 2):
        if one in graph and other in graph and nx.has_path(graph, one, other):
            length, ways[one, other] = nx.single_source_dijkstra(graph, one, other)
            distances.add_edge(one, other, weight=length)
    if not nx.is_connected(distances):
        return None
    union: nx.Graph[int] = nx.Graph()
    for one, other in nx.minimum_spanning_tree(distances).edges:
        union.update(graph.edge_subgraph(nx.utils.pairwise(ways.get((one, other)) or ways[other, one])))
    tree = nx.minimum_spanning_tree(union)
    while dead := [node for node in tree if tree.degree(node) == 1 and node not in set(terminals)]:
        tree.remove_nodes_from(dead)
    return tree


# -- truss communities -------------------------------------------------------------------------------------------------


def k_truss(edges: Iterable[tuple[int, int]], k: int) -> nx.Graph[int]:
    """Return the maximal k-truss, by removing edges that close too few triangles until none does."""
    graph: nx.Graph[int] = nx.Graph(list(edges))
    while weak := [(u, v) for u, v in graph.edges if len(set(graph[u]) & set(graph[v])) < k - 2]:
        graph.remove_edges_from(weak)
    graph.remove_nodes_from([node for node in list(graph) if not graph[node]])
    return graph


def is_connected_truss(graph: nx.Graph[int], k: int) -> bool:
    """Return whether the edges are non-empty, connected, and each closes k - 2 triangles among them."""
    if not graph.number_of_edges() or not nx.is_connected(graph):
        return False
    return all(len(set(graph[u]) & set(graph[v])) >= k - 2 for u, v in graph.edges)


def literal_q_peel(edges: Iterable[tuple[int, int]], relevance: Mapping[int, int], k: int) -> list[frozenset[int]]:
    """Run Algorithm 1 of Zeng et al. 2026, line by line; return the remainder of every component."""
    truss, left = k_truss(edges, k), []
    for component in nx.connected_components(truss):
        members, updated = set(component), True
        while updated:
            updated = False
            for node in sorted(members, key=lambda node: (relevance[node], node)):
                rest = members - {node}
                improves = _sum(relevance, rest) * len(members) > _sum(relevance, members) * len(rest)
                if rest and improves and is_connected_truss(truss.subgraph(rest), k):
                    members, updated = rest, True
                    break
        left.append(frozenset(members))
    return left


def every_community(edges: Iterable[tuple[int, int]], k: int) -> Iterator[frozenset[int]]:
    """Yield every set of nodes on which the maximal k-truss has a connected k-truss (section 5.1, property 1)."""
    truss = k_truss(edges, k)
    for count in range(2, len(truss) + 1):
        for members in combinations(sorted(truss), count):
            if is_connected_truss(truss.subgraph(members), k):
                yield frozenset(members)


def _sum(relevance: Mapping[int, int], members: Collection[int]) -> int:
    return sum(relevance[node] for node in members)
