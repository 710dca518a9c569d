"""The tree that connects a question's entities: its cost bound, its equality with the plain method, and its limits."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import combinations

import networkx as nx
import pytest

from graphtide.graph.retrieval.entity_linking import link_entities
from graphtide.graph.retrieval.modes.bridge import retrieve_bridge
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.search.entity_graph import UNIT, EntityPathGraph
from graphtide.graph.retrieval.search.steiner import SearchLimits, SteinerTree, steiner_tree
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.view import LiveView
from tests.model.paths_oracle import Costs, cheapest_steiner, plain_kmb, weighted
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view

FAR = SearchLimits(longest=10**12, budget=10**6)


class Links:
    """A weighted graph given by its edges, which counts reads."""

    def __init__(self, costs: Costs) -> None:
        self._around: dict[int, list[tuple[int, int]]] = {}
        self.read = 0
        for (u, v), cost in costs.items():
            self._around.setdefault(u, []).append((v, cost))
            self._around.setdefault(v, []).append((u, cost))

    def links(self, node: int) -> int:
        return len(self._around.get(node, ()))

    def neighbours(self, node: int) -> Iterable[tuple[int, int]]:
        for link in self._around.get(node, ()):
            self.read += 1
            yield link


def random_costs(rng: random.Random, nodes: int, density: float) -> dict[tuple[int, int], int]:
    """Return costs without ties, so that shortest paths and spanning trees are unique."""
    return {pair: rng.randint(1, 10**6) for pair in combinations(range(nodes), 2) if rng.random() < density}


def tree_of(tree: SteinerTree, costs: Costs) -> nx.Graph[int]:
    return weighted({(u, v): costs[min(u, v), max(u, v)] for u, v in tree.edges()})


@pytest.mark.parametrize("seed", range(40))
def test_tree_equals_the_plain_method_and_keeps_the_bound_on_random_graphs(seed: int) -> None:
    """Its edges equal those from all pairs of shortest paths, and it costs at most 2 (1 - 1/l) of the optimum."""
    print("seed", seed)
    rng = random.Random(seed)
    costs = random_costs(rng, 8, rng.choice((0.25, 0.4, 0.7)))
    terminals = rng.sample(range(8), rng.randint(2, 4))
    found = steiner_tree(Links(costs), terminals, str, FAR)
    plain, best = plain_kmb(costs, terminals), cheapest_steiner(costs, terminals)
    assert (plain is None) == (best is None) == (len(found.groups) > 1)
    if plain is not None and best is not None:
        tree = tree_of(found, costs)
        assert {frozenset(edge) for edge in tree.edges} == {frozenset(edge) for edge in plain.edges}
        assert nx.is_tree(tree) and set(terminals) <= set(tree)
        assert found.cost == tree.size("weight")
        leaves = sum(best.degree(node) == 1 for node in best)
        assert best.size("weight") <= found.cost <= 2 * (1 - 1 / leaves) * best.size("weight") + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_tree_is_the_same_under_other_numbers_when_costs_tie(seed: int) -> None:
    """With equal costs everywhere names decide, whatever the numbers and the order of the links."""
    print("seed", seed)
    rng = random.Random(seed)
    pairs = [pair for pair in combinations(range(14), 2) if rng.random() < 0.2]
    terminals = rng.sample(range(14), 4)
    seen = set()
    for _ in range(4):
        number = rng.sample(range(14), 14)
        costs = {(number[u], number[v]): 1 for u, v in rng.sample(pairs, len(pairs))}
        name = {number[node]: f"n{node:02d}" for node in range(14)}
        tree = steiner_tree(Links(costs), [number[node] for node in terminals], name.__getitem__, FAR)
        paths = tuple(tuple(name[node] for node in path) for path in tree.paths)
        seen.add((paths, tuple(tuple(name[node] for node in group) for group in tree.groups), tree.cost))
    assert len(seen) == 1


@pytest.mark.parametrize("seed", range(6))
def test_search_reads_no_more_than_its_budget_and_says_when_that_was_too_little(seed: int) -> None:
    """The links read stay within the budget, and `complete` is False where some were left out."""
    print("seed", seed)
    rng = random.Random(seed)
    costs = random_costs(rng, 60, 0.1)
    terminals = rng.sample(range(60), 3)
    whole = steiner_tree(Links(costs), terminals, str, FAR)
    assert whole.complete
    for budget in (0, 10, 40, 10**6):
        links = Links(costs)
        found = steiner_tree(links, terminals, str, SearchLimits(FAR.longest, budget))
        assert links.read == found.read <= budget
        assert found.complete or found.read < whole.read or budget < 10**6
        if len(found.groups) > len(whole.groups):
            assert not found.complete


def test_path_longer_than_allowed_connects_nothing() -> None:
    """Three edges of cost 10 connect at 30 and not at 29, and the search is complete in both cases."""
    costs = {(0, 1): 10, (1, 2): 10, (2, 3): 10}
    near = steiner_tree(Links(costs), [0, 3], str, SearchLimits(30, 100))
    far = steiner_tree(Links(costs), [0, 3], str, SearchLimits(29, 100))
    assert (near.paths, near.groups, near.cost) == (((0, 1, 2, 3),), ((0, 3),), 30)
    assert (far.paths, far.groups, far.cost, far.complete) == ((), ((0,), (3,)), 0, True)


def test_shared_way_is_paid_once() -> None:
    """Two paths over a common edge make one tree."""
    costs = {(0, 9): 5, (9, 1): 5, (9, 2): 6}
    tree = steiner_tree(Links(costs), [0, 1, 2], str, FAR)
    assert tree.cost == 16
    assert {frozenset(edge) for edge in tree.edges()} == {frozenset(edge) for edge in costs}


# -- the mode ----------------------------------------------------------------------------------------------------------

FILM = [
    SmallDocument("cameo", "musk in the sequel", (), (("elon musk", "cameo in", "iron man 2"),)),
    SmallDocument("cast", "who is in the sequel", (), (("iron man 2", "stars", "tony stark"),)),
    SmallDocument("role", "stark is iron man", (), (("tony stark", "is", "iron man"),)),
    SmallDocument("apart", "a philosopher", (), (("socrates", "taught", "plato"),)),
]


def ask(text: str, **fields: object) -> Question:
    return Question(text, bag_of_words(text), mode="bridge", **fields)  # type: ignore[arg-type]


def test_bridge_tells_the_chain_between_two_names_with_its_passages() -> None:
    """Every line is a stated relation under the id of its passage, and the evidence comes first."""
    result = retrieve(small_view(FILM), ask("How does Elon Musk relate to Iron Man?", top_k=3, explain=True))
    (part,) = result.parts
    assert part.title == "How elon musk and iron man are related"
    assert part.text.splitlines() == [
        "elon musk — cameo in → iron man 2 [cameo#0]",
        "iron man 2 — stars → tony stark [cast#0]",
        "tony stark — is → iron man [role#0]",
    ]
    assert part.sources == tuple(passage.chunk_id for passage in result.passages) == ("cameo#0", "cast#0", "role#0")
    assert {node.name for node in result.subgraph.nodes} == {"elon musk", "iron man 2", "tony stark", "iron man"}


def test_bridge_says_so_when_two_names_are_not_connected() -> None:
    """The part has no sources, and no path is invented."""
    result = retrieve(small_view(FILM), ask("How is Elon Musk related to Socrates?"))
    (part,) = result.parts
    assert part.title == "No connection was found between: elon musk; socrates"
    assert "does not relate them" in part.text
    assert (part.sources, part.score) == ((), 0.0)


def test_bridge_says_not_known_when_its_budget_ended() -> None:
    """A search that ended early does not report that there is no path."""
    result = retrieve_bridge(
        small_view(FILM), ask("How does Elon Musk relate to Iron Man?"), SearchLimits(10 * UNIT, 1)
    )
    (part,) = result.parts
    assert "not known" in part.text


def test_bridge_crosses_admitted_passages_only() -> None:
    """With the middle passage refused there is no chain."""
    view = small_view(FILM)
    asked = ask("How does Elon Musk relate to Iron Man?", filters=Filters(doc_ids=("cameo", "role")))
    (part,) = retrieve(view, asked).parts
    assert part.title.startswith("No connection")


@pytest.mark.parametrize("seed", range(4))
def test_roads_cost_the_same_from_both_ends_on_random_graphs(seed: int) -> None:
    """The search's proof needs symmetric costs of at least one, and as many links as announced."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 60))
    roads = EntityPathGraph(view, view.entities)
    costs = {(node, other): cost for node in view.entities for other, cost in roads.neighbours(node)}
    assert costs
    assert all(cost == costs[other, node] >= 1 for (node, other), cost in costs.items())
    assert all(roads.links(node) == sum(one == node for one, _ in costs) for node in view.entities)


@pytest.mark.parametrize("seed", range(4))
def test_dead_ends_are_left_out_and_no_tree_differs(seed: int) -> None:
    """An unrequested node with one neighbour is on no path: the tree is that of the whole graph, with fewer reads."""
    print("seed", seed)
    rng = random.Random(seed)
    view = small_view(
        [SmallDocument(f"d{n}", "x", (), ((f"n{rng.randint(0, 30)}", "of", f"n{n}"),)) for n in range(40)]
    )
    terminals = rng.sample(sorted(view.entities), 3)
    trees = [
        steiner_tree(EntityPathGraph(view, ends), terminals, view.entity_id, SearchLimits(50 * UNIT, 10**6))
        for ends in (terminals, view.entities)
    ]
    assert (trees[0].paths, trees[0].groups, trees[0].cost) == (trees[1].paths, trees[1].groups, trees[1].cost)
    leaf = next(node for node, ends in view.neighbours.items() if len(ends) == 1)
    (beside,) = view.neighbours[leaf]
    assert leaf not in dict(EntityPathGraph(view, []).neighbours(beside))
    assert leaf in dict(EntityPathGraph(view, [leaf]).neighbours(beside))


def named(view: LiveView, question: str) -> list[tuple[str, str, bool]]:
    return [(view.entities[one.node].name, one.mention, one.proper) for one in link_entities(view, question)]


def test_recognition_takes_the_longest_name_and_no_word_twice() -> None:
    """The longest of nested names matches; marks and an 's around it do not matter."""
    view = small_view([SmallDocument("a", "x", ("new york", "york", "new york times", "paper", "who", "2008"))])
    assert named(view, "Who owns the New York Times' paper?") == [
        ("new york times", "New York Times", True),
        ("paper", "paper", False),
    ]
    assert named(view, "in (York) and 2008") == [("york", "York", True), ("2008", "2008", True)]
    assert named(view, "who is it") == []


def test_recognition_follows_the_view_when_names_go_and_come() -> None:
    """The table of names has exactly the spellings of live labels."""
    from tests.support.worlds import RandomWorld, empty_view

    rng = random.Random(8)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(40):
        view.apply(world.step())
        expected = {(label.name, number) for number, label in view.labels.items()}
        assert {(name, number) for name, numbers in view.names.items() for number in numbers} == expected
        assert all(view.names.values())
