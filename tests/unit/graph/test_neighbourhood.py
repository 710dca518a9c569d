"""The part of the graph around an entity, beside networkx; communities and their sizes."""

from __future__ import annotations

import networkx
import pytest

from graphtide.graph.browsing.communities import CommunitySummary, communities_at, community_content
from graphtide.graph.browsing.neighbourhood import neighbourhood
from graphtide.graph.view import LiveView
from tests.support.sample_view import sample_view


@pytest.fixture(scope="module")
def view() -> LiveView:
    return sample_view()


def graph_of(view: LiveView) -> networkx.Graph:
    """Return the edges of the view by entity id: the oracle."""
    graph = networkx.Graph()
    graph.add_nodes_from(entity.id for entity in view.entities.values())
    for u, ends in view.neighbours.items():
        for v, edge in ends.items():
            graph.add_edge(view.entities[u].id, view.entities[v].id, weight=edge.weight, trussness=edge.trussness)
    return graph


@pytest.mark.thorough
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_neighbourhood_is_the_ego_graph(view: LiveView, hops: int) -> None:
    """Without a limit: the nodes within the distance, and every edge between them with its weight and trussness."""
    graph = graph_of(view)
    for node, entity in view.entities.items():
        found = neighbourhood(view, node, hops, 10_000)
        ego = networkx.ego_graph(graph, entity.id, radius=hops)
        distances = networkx.single_source_shortest_path_length(graph, entity.id, cutoff=hops)
        assert {each.id: each.hop for each in found.nodes} == distances
        edges = {(edge.source, edge.target): (edge.weight, edge.trussness) for edge in found.edges}
        expected = {
            tuple(sorted(pair)): (ego.edges[pair]["weight"], ego.edges[pair]["trussness"]) for pair in ego.edges
        }
        assert edges == expected and len(edges) == len(found.edges)
        assert not found.truncated


def test_neighbourhood_keeps_the_nearest_and_heaviest_within_the_limit(view: LiveView) -> None:
    """A smaller limit gives a prefix of the nodes, and says that it left some out."""
    hub = max(view.neighbours, key=lambda node: len(view.neighbours[node]))
    whole = neighbourhood(view, hub, 2, 10_000)
    for limit in (1, 3, len(whole.nodes) - 1):
        part = neighbourhood(view, hub, 2, limit)
        assert part.truncated
        assert part.nodes[:2] == whole.nodes[: min(2, limit)]
        assert len(part.nodes) == limit
        assert {end for edge in part.edges for end in (edge.source, edge.target)} <= {node.id for node in part.nodes}


def test_edges_carry_names_predicates_and_the_common_community(view: LiveView) -> None:
    """Every edge comes from a statement, so it has a predicate; its names are those of its ends."""
    names = {entity.id: entity.name for entity in view.entities.values()}
    node = next(iter(view.neighbours))
    for edge in neighbourhood(view, node, 3, 10_000).edges:
        assert (edge.source_name, edge.target_name) == (names[edge.source], names[edge.target])
        assert edge.predicates
        ends = [view.entity_nodes[edge.source], view.entity_nodes[edge.target]]
        if edge.community:
            level = view.hierarchy.level(edge.community)
            assert {view.hierarchy.community(end, level) for end in ends} == {edge.community}


def test_communities_of_each_level_hold_every_entity_once(view: LiveView) -> None:
    """The sizes of a level add up, whatever the size of the pages."""
    for level in range(view.hierarchy.levels()):
        listed: list[CommunitySummary] = []
        after = 0
        while page := communities_at(view, level, after, 3):
            listed += page
            after = page[-1].community
        assert [each.community for each in listed] == sorted({each.community for each in listed})
        assert sum(each.size for each in listed) == sum(1 for node in view.entities if view.hierarchy.community(node))
        for each in listed:
            content = community_content(view, each.community)
            assert content.summary == each
            assert len(content.members) == each.size or each.size > len(content.members) == 200
