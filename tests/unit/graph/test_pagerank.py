"""Personalised PageRank by local push: within its proven bound of power iteration, and one result to the last bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from graphtide.graph.algorithms.pagerank import Nodes, Scores, WalkGraph
from tests.model.pagerank_oracle import PowerIteration, push_in_rounds

PATH = np.array([[0, 1], [1, 2], [2, 3]], dtype=np.int32)


@pytest.fixture
def graph() -> WalkGraph:
    """Return an empty graph."""
    return WalkGraph()


def ints(*values: int) -> Nodes:
    """Return nodes as the graph takes them."""
    return np.array(values, dtype=np.int32)


def random_batch(rng: np.random.Generator, nodes: int, count: int) -> tuple[Nodes, Scores]:
    """Return edges with weights of very different sizes, a third of them removals; early nodes are hubs."""
    ends = (nodes * rng.random((4 * count, 2)) ** 2).astype(np.int32)
    ends = ends[ends[:, 0] != ends[:, 1]][:count]
    weights = np.rint(2.0 ** rng.integers(-3, 12, len(ends)) * (1 + rng.random(len(ends))) * 8) / 8
    return ends, np.where(rng.random(len(ends)) < 0.35, 0.0, weights)


def as_map(result: tuple[Nodes, Scores]) -> dict[int, float]:
    """Return scores by node."""
    return dict(zip(result[0].tolist(), result[1].tolist(), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_push_stays_within_its_bound_of_power_iteration(seed: int) -> None:
    """After any stream of changes, each score is too low by at most epsilon x mass x degree, and never too high."""
    print(f"seed {seed}")
    rng, graph, oracle = np.random.default_rng(seed), WalkGraph(), PowerIteration()
    for _ in range(25):
        batch = random_batch(rng, 120, 30)
        graph.update(*batch)
        oracle.update(*batch)
        seeds, mass = rng.integers(0, 125, 4).astype(np.int32), 3 * rng.random(4) + 0.01
        damping, epsilon = float(rng.choice([0.0, 0.5, 0.85, 0.99])), float(10.0 ** rng.integers(-6, -1))
        found = as_map(graph.push(seeds, mass, damping=damping, epsilon=epsilon))
        exact = as_map(oracle.push(seeds, mass, damping=damping))
        assert len(graph) == len(oracle)
        assert found.keys() <= exact.keys()
        for node, score in exact.items():
            assert graph.degree(node) == oracle.degree(node)
            missing = score - found.get(node, 0.0)
            assert -1e-12 <= missing <= epsilon * mass.sum() * oracle.degree(node) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_push_equals_its_definition_bit_by_bit(seed: int) -> None:
    """The kernel and the oracle's rounds reach the same nodes with the same scores, also at the push limit."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    graph, oracle = WalkGraph(), PowerIteration()
    for _ in range(30):
        batch = random_batch(rng, 400, 60)
        graph.update(*batch)
        oracle.update(*batch)
        seeds, mass = rng.integers(0, 420, 6).astype(np.int32), rng.random(6)
        limit = int(rng.choice([0, 1, 7, 50, 100_000]))
        nodes, scores = graph.push(seeds, mass, damping=0.85, epsilon=1e-4, max_pushes=limit)
        expected = push_in_rounds(oracle, seeds, mass, damping=0.85, epsilon=1e-4, max_pushes=limit)
        assert list(zip(nodes.tolist(), scores.tolist(), strict=True)) == expected
        assert (nodes.dtype, scores.dtype) == (np.dtype(np.int32), np.dtype(np.float64))


def test_push_is_a_function_of_the_graph_and_not_of_its_history(graph: WalkGraph) -> None:
    """Other orders, other directions, changes that were undone: the result has the same bits."""
    rng = np.random.default_rng(5)
    edges, weights = random_batch(rng, 200, 900)
    kept = {(min(u, v), max(u, v)): w for (u, v), w in zip(edges.tolist(), weights.tolist(), strict=True)}
    graph.update(edges, weights)
    other = WalkGraph()
    detour, size = random_batch(rng, 230, 700)
    other.update(detour, size / 3)
    other.update(detour, np.zeros(len(detour)))
    assert len(other) == 0
    turned = np.array([(v, u) for u, v in reversed(list(kept))], dtype=np.int32)
    for start in range(0, len(turned), 11):
        block = turned[start : start + 11]
        other.update(block, np.array([kept[v, u] for u, v in block.tolist()]))
    seeds, mass = ints(3, 9, 3, 150), np.array([0.1, 0.7, 0.3, 0.2])
    one, two = graph.push(seeds, mass, epsilon=1e-5), other.push(seeds[::-1], mass[::-1], epsilon=1e-5)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert [graph.degree(node) for node in range(230)] == [other.degree(node) for node in range(230)]


@pytest.mark.parametrize("seed", range(4))
def test_push_gives_equal_scores_when_the_nodes_are_renumbered(seed: int) -> None:
    """Under other numbers each node has its score bit by bit: at any precision, and at the push limit."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    edges, weights = random_batch(rng, 150, 800)
    last = {(min(u, v), max(u, v)): w for (u, v), w in zip(edges.tolist(), weights.tolist(), strict=True)}
    edges, weights = np.array(list(last), dtype=np.int32), np.array(list(last.values())) / 7
    graph = WalkGraph()
    graph.update(edges, weights)
    for epsilon in (1e-2, 1e-4, 1e-6, 1e-9):
        seeds, mass = rng.integers(0, 155, 6).astype(np.int32), rng.random(6)
        number, order = rng.permutation(200).astype(np.int32), rng.permutation(len(edges))
        other = WalkGraph()
        other.update(number[edges[order]], weights[order])
        limit = int(rng.choice([5, 100, 10**6]))
        for damping in (0.5, 0.85):
            one = as_map(graph.push(seeds, mass, damping=damping, epsilon=epsilon, max_pushes=limit))
            two = as_map(other.push(number[seeds], mass, damping=damping, epsilon=epsilon, max_pushes=limit))
            assert {int(number[node]): score for node, score in one.items()} == two


@pytest.mark.parametrize("leaves", [4, 300])
def test_push_ranks_by_score_and_then_by_node(graph: WalkGraph, leaves: int) -> None:
    """Nodes with equal scores by symmetry are sorted by number, whether few are sorted or many."""
    others = np.random.default_rng(2).permutation(2 * leaves).astype(np.int32)[:leaves] + 1
    graph.update(np.column_stack((np.zeros_like(others), others)), np.ones(leaves))
    nodes, scores = graph.push(ints(0), np.ones(1))
    assert nodes.tolist() == [0, *sorted(others.tolist())]
    assert scores[0] > scores[1]
    assert len(set(scores[1:].tolist())) == 1


def test_push_leaves_the_mass_of_a_seed_without_edges_where_it_is(graph: WalkGraph) -> None:
    """An unknown node, or one whose last edge was deleted, is reached only by itself."""
    graph.update(PATH, np.ones(3))
    graph.update(PATH[2:], np.zeros(1))
    assert as_map(graph.push(ints(2_000_000_000, 3), np.array([2.0, 1.0]))) == {2_000_000_000: 2.0, 3: 1.0}
    assert as_map(graph.push(ints(0), np.ones(1), damping=0.0)) == {0: 1.0}


def test_push_scales_with_the_mass(graph: WalkGraph) -> None:
    """Twice the mass gives twice the score, with the same pushes."""
    graph.update(PATH, np.array([1.0, 2.5, 4.0]))
    one, two = graph.push(ints(0, 3), np.array([0.25, 0.5])), graph.push(ints(0, 3), np.array([0.5, 1.0]))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(2 * one[1], two[1])


def test_push_stops_at_the_limit_with_scores_too_low_only(graph: WalkGraph) -> None:
    """A round is completed or not begun: more pushes never lower a score, and none exceeds the exact one."""
    rng = np.random.default_rng(6)
    graph.update(*random_batch(rng, 100, 600))
    found = [graph.push(ints(1), np.ones(1), epsilon=1e-9, max_pushes=limit) for limit in (0, 1, 10, 100, 10**7)]
    totals = [float(scores.sum()) for _, scores in found]
    assert totals[0] == 0.0
    assert totals[1] == pytest.approx(0.5)
    assert all(one <= other for one, other in pairwise(totals))
    assert totals[1] < totals[3] < totals[4]
    assert 0 <= 1 - totals[-1] <= 1e-9 * sum(graph.degree(node) for node in range(100))


def test_update_sets_weights_absolutely(graph: WalkGraph) -> None:
    """A repeated update changes nothing, the last of a duplicate counts, and an absent edge may be removed."""
    for _ in range(2):
        graph.update(np.array([[0, 1], [1, 0], [4, 1], [7, 8]], dtype=np.int32), np.array([2.0, 3.0, 0.5, 0.0]))
    assert (graph.weight(1, 0), graph.weight(0, 1), graph.weight(7, 8), graph.weight(99, 1)) == (3.0, 3.0, 0.0, 0.0)
    assert (graph.degree(1), graph.degree(0), graph.degree(8), graph.degree(99)) == (3.5, 3.0, 0.0, 0.0)
    assert len(graph) == 2


def test_degree_is_exact_after_thousands_of_changes_at_a_hub(graph: WalkGraph) -> None:
    """Weights without an exact binary fraction are added and removed at one node, whose degree is as before."""
    rng, leaves = np.random.default_rng(7), np.arange(1, 3001, dtype=np.int32)
    hub = np.stack([np.zeros_like(leaves), leaves], axis=1)
    graph.update(hub[:1], np.array([0.1]))
    before, memory = graph.degree(0), graph.memory_bytes()
    graph.update(hub[1:], (0.1 + rng.random(2999)) * 10.0 ** rng.integers(-6, 6, 2999))
    assert len(graph) == 3000
    order = rng.permutation(hub[1:])
    for start in range(0, len(order), 97):
        graph.update(order[start : start + 97], np.zeros(len(order[start : start + 97])))
        gone = order[: start + 97, 1].tolist()
        assert all(graph.weight(0, leaf) == 0 for leaf in gone[-5:])
        assert all(graph.weight(0, leaf) > 0 for leaf in order[start + 97 :, 1].tolist()[:5])
    assert graph.degree(0) == before == pytest.approx(0.1, abs=2**-24)
    assert len(graph) == 1
    assert graph.memory_bytes() < memory + 3000 * 90


@pytest.mark.parametrize("size", [3, 31, 34, 70, 400])
def test_links_of_a_node_are_those_of_a_dictionary(graph: WalkGraph, size: int) -> None:
    """Changes while a node's links grow to a number and shrink again, several times, below and above a table's size."""
    seed = int(np.random.default_rng().integers(1 << 32))
    print(f"seed {seed}")
    rng, model = np.random.default_rng(seed), dict[int, float]()
    for turn in range(6):
        for _ in range(3 * size):
            leaf = int(rng.integers(1, 2 * size))
            gone = rng.random() < (0.75 if turn % 2 else 0.2)
            weight = 0.0 if gone else float(rng.integers(1, 9))
            graph.update(np.array([[0, leaf]], np.int32), np.array([weight]))
            model[leaf] = weight
        live = {leaf: weight for leaf, weight in model.items() if weight}
        assert sorted(graph.neighbours(0).tolist()) == sorted(live)
        for leaf in range(1, 2 * size):
            assert graph.weight(0, leaf) == graph.weight(leaf, 0) == model.get(leaf, 0.0)
        assert graph.degree(0) == sum(live.values()) and len(graph) == len(live)
    assert graph.memory_bytes() < 2 * size * 90 + 4_000


@pytest.mark.parametrize(
    ("edges", "weights", "reason"),
    [
        ([[0, 1], [2, 2]], [1, 1], "self-loop"),
        ([[0, 1], [-1, 2]], [1, 1], "not a node"),
        ([[0, 1], [2, 2**31]], [1, 1], "not a node"),
        ([[0, 1], [2, 3]], [1, -1], "not a weight"),
        ([[0, 1], [2, 3]], [1, np.nan], "not a weight"),
        ([[0, 1], [2, 3]], [1, 2.0**25], "not a weight"),
        ([[0, 1], [2, 3]], [1, 1e-12], "smallest weight"),
        ([[0, 1]], [1, 1], "expected edges"),
        ([[0.5, 1]], [1], "integers"),
        ([0, 1], [1], "expected edges"),
    ],
)
def test_update_refuses_bad_input_and_changes_nothing(
    graph: WalkGraph, edges: list[object], weights: list[float], reason: str
) -> None:
    """One wrong row rejects the whole batch, and the error names the row."""
    graph.update(PATH, np.ones(3))
    with pytest.raises(ValueError, match=reason):
        graph.update(np.array(edges), np.array(weights))
    assert (len(graph), graph.degree(0), graph.degree(2)) == (3, 1.0, 2.0)


@pytest.mark.parametrize(
    ("seeds", "mass", "options"),
    [
        ([-1], [1.0], {}),
        ([0], [-1.0], {}),
        ([0, 1], [1.0, np.nan], {}),
        ([0], [0.0], {}),
        ([], [], {}),
        ([0, 1], [1.0], {}),
        ([0.5], [1.0], {}),
        ([0], [1.0], {"damping": 1.0}),
        ([0], [1.0], {"damping": -0.1}),
        ([0], [1.0], {"epsilon": 0.0}),
        ([0], [1.0], {"epsilon": np.nan}),
        ([0], [1.0], {"max_pushes": -1}),
    ],
)
def test_push_refuses_bad_input(
    graph: WalkGraph, seeds: list[float], mass: list[float], options: dict[str, float]
) -> None:
    """The error is raised before any push."""
    graph.update(PATH, np.ones(3))
    with pytest.raises(ValueError, match=r"not a|mass|expected|integers|out of range"):
        graph.push(np.array(seeds), np.array(mass), **options)  # type: ignore[arg-type]


def test_push_runs_beside_pushes_and_updates(graph: WalkGraph) -> None:
    """Threads that query one component get one answer while another component changes."""
    rng = np.random.default_rng(8)
    graph.update(*random_batch(rng, 300, 2000))
    elsewhere = [random_batch(rng, 300, 50) for _ in range(60)]
    expected = graph.push(ints(2, 17), np.array([1.0, 2.0]), epsilon=1e-5)

    def ask(_: int) -> bool:
        nodes, scores = graph.push(ints(2, 17), np.array([1.0, 2.0]), epsilon=1e-5)
        return np.array_equal(nodes, expected[0]) and np.array_equal(scores, expected[1])

    def change() -> None:
        for edges, weights in elsewhere:
            graph.update(edges + 1000, weights)

    with ThreadPoolExecutor(3) as threads:
        changing = threads.submit(change)
        assert all(threads.map(ask, range(60)))
        changing.result()
