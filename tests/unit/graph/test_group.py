"""The cohesive group around an entity, beside the k-trusses of networkx, while documents come and go."""

from __future__ import annotations

import os
import random

import networkx
import pytest

from graphtide.graph.browsing.group import CohesiveGroup, cohesive_group
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from tests.model.small_views import SmallDocument, bag_of_words, small_view
from tests.support.sample_view import sample_view
from tests.support.worlds import RandomWorld, empty_view

STEPS = int(os.environ.get("GRAPHTIDE_GROUP_STEPS", "12"))


def stated(view: LiveView) -> networkx.Graph:
    """Return the graph of the live statements, without any kept value."""
    graph = networkx.Graph()
    for number in view.statements:
        subject, object_ = view.ends(number)
        if subject != object_:
            graph.add_edge(view.entities[subject].id, view.entities[object_].id)
    return graph


def slow_group(graph: networkx.Graph, entity: str, k: int) -> networkx.Graph:
    """Return the component of the maximal k-truss that holds the entity, by its definition; empty without one."""
    truss = networkx.k_truss(graph, k)
    if entity not in truss or not truss.degree[entity]:
        return networkx.Graph()
    return truss.subgraph(networkx.node_connected_component(truss, entity))


def check(view: LiveView, graph: networkx.Graph, node: int, k: int | None) -> None:
    found = cohesive_group(view, node, k, 10_000)
    entity = view.entities[node].id
    sizes = [each for each in range(2, len(graph) + 2) if slow_group(graph, entity, each)] if entity in graph else []
    assert found.max_k == max(sizes, default=0)
    assert found.k == (found.max_k if k is None else k)
    expected = slow_group(graph, entity, found.k) if found.k >= 2 else networkx.Graph()
    assert {each.id for each in found.nodes} == set(expected)
    edges = {frozenset((edge.source, edge.target)) for edge in found.edges}
    assert edges == {frozenset(pair) for pair in expected.edges}
    distances = networkx.single_source_shortest_path_length(expected, entity) if expected else {}
    assert {each.id: each.hop for each in found.nodes} == distances
    assert not found.truncated and all(edge.trussness >= found.k for edge in found.edges)


@pytest.mark.parametrize("seed", range(4))
def test_group_is_the_connected_truss_after_any_edits_and_deletions(seed: int) -> None:
    """Members, edges and the largest k are those of a decomposition of the live statements."""
    print("seed", seed)
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(STEPS):
        view.apply(world.step())
        graph = stated(view)
        for node in rng.sample(sorted(view.entities), min(3, len(view.entities))):
            for k in (None, 2, 3, 4):
                check(view, graph, node, k)


def clique(names: str) -> list[tuple[str, str, str]]:
    return [(a, "knows", b) for place, a in enumerate(names) for b in names[place + 1 :]]


@pytest.fixture
def two_cliques() -> LiveView:
    """Return a clique of five and one of four that share one entity, with a tail."""
    statements = [*clique("abcde"), *clique("efgh"), ("h", "knows", "t")]
    return small_view([SmallDocument("d", "all of them", tuple("abcdefght"), tuple(statements))])


def named(found: CohesiveGroup) -> set[str]:
    return {node.name for node in found.nodes}


@pytest.mark.parametrize(
    ("name", "k", "largest", "members"),
    [
        ("a", None, 5, "abcde"),
        ("e", None, 5, "abcde"),
        ("f", None, 4, "abcdefgh"),
        ("f", 5, 4, ""),
        ("t", None, 2, "abcdefght"),
        ("t", 3, 2, ""),
    ],
)
def test_group_holds_what_cohesive_edges_connect(
    two_cliques: LiveView, name: str, k: int | None, largest: int, members: str
) -> None:
    """Cliques that share an entity are one group for the smaller k; above the largest k there is none."""
    (node,) = two_cliques.named(name)
    found = cohesive_group(two_cliques, node, k, 100)
    assert (found.k, found.max_k, named(found)) == (k or largest, largest, set(members))


def test_group_within_the_limit_is_the_nearest_part_and_says_so() -> None:
    """A smaller limit gives a prefix of the larger one, marked as truncated; the whole is not."""
    view = sample_view()
    hub = max(view.neighbours, key=lambda node: len(view.neighbours[node]))
    whole = cohesive_group(view, hub, 2, 10_000)
    assert not whole.truncated
    for limit in (1, 2, 5, len(whole.nodes) - 1):
        part = cohesive_group(view, hub, 2, limit)
        assert part.nodes == whole.nodes[:limit]
        assert part.truncated and {*part.edges} <= {*whole.edges}
    assert cohesive_group(view, hub, 2, len(whole.nodes)) == whole


def test_search_ends_when_it_has_read_its_edges(two_cliques: LiveView, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost has a bound, whatever the degrees; what was not read counts as left out."""
    monkeypatch.setattr("graphtide.graph.browsing.group.MAX_LINKS", 4)
    (node,) = two_cliques.named("a")
    found = cohesive_group(two_cliques, node, None, 100)
    assert found.truncated and named(found) == set("abcde")


def test_entity_without_relations_has_no_group() -> None:
    """Its largest k is 0."""
    view = small_view([SmallDocument("d", "alone", ("ada",))])
    (node,) = view.named("ada")
    found = cohesive_group(view, node, None, 10)
    assert (found.k, found.max_k, found.nodes, found.edges, found.truncated) == (0, 0, (), (), False)


@pytest.mark.parametrize("mode", ["vector", "local", "da-rag", "dynagrag"])
def test_relations_of_an_answer_have_the_trussness_of_their_edge(two_cliques: LiveView, mode: str) -> None:
    """The value of the whole graph, whatever part of it the answer shows."""
    result = retrieve(two_cliques, Question("all of them", bag_of_words("all of them"), 3, mode))
    shown = {frozenset((edge.source_name, edge.target_name)): edge.trussness for edge in result.subgraph.edges}
    assert shown[frozenset("ab")] == 5 and shown[frozenset("ef")] == 4 and shown[frozenset("ht")] == 2
