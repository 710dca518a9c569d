"""Dynamic trussness: one suite for the compiled kernel and the networkx oracle."""

from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random

import numpy as np
import pytest

from graphtide.graph.algorithms.trussness import NO_EDGES as NONE
from graphtide.graph.algorithms.trussness import EdgeArray, Trussness
from tests.bench.document_stream import documents
from tests.bench.object_sizes import sizes_of
from tests.model.trussness_oracle import TrussnessOracle, trussness_by_networkx

Pair = tuple[int, int]
Batch = tuple[set[Pair], set[Pair]]
Build = Callable[[EdgeArray], Trussness | TrussnessOracle]

EVERYTHING = [pytest.param(Trussness, id="compiled"), pytest.param(TrussnessOracle, id="oracle")]


def _array(pairs: set[Pair] | list[Pair]) -> EdgeArray:
    return np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)


def _values(built: Trussness | TrussnessOracle) -> dict[Pair, int]:
    edges, values = built.edges()
    return {(u, v): k for (u, v), k in zip(edges.tolist(), values.tolist(), strict=True)}


def _clique(nodes: list[int]) -> set[Pair]:
    return set(combinations(sorted(nodes), 2))


def _assert_same(built: Trussness | TrussnessOracle, expected: dict[Pair, int]) -> None:
    assert _values(built) == expected
    assert len(built) == len(expected)
    assert built.violations() == []


# The operations of a walk: its shape decides which edges can exist.
def _any_pairs(random: Random) -> list[Pair]:
    return list(combinations(range(random.randint(6, 24)), 2))


def _near_clique_pairs(random: Random) -> list[Pair]:
    return list(combinations(range(random.randint(8, 13)), 2))


def _hub_pairs(random: Random) -> list[Pair]:
    hubs, leaves = random.randint(1, 4), random.randint(10, 40)
    spokes = [(hub, leaf) for hub in range(hubs) for leaf in range(hubs, hubs + leaves)]
    rim = [(leaf, leaf + 1) for leaf in range(hubs, hubs + leaves - 1)]
    return [*combinations(range(hubs), 2), *spokes, *rim]


def _bipartite_pairs(random: Random) -> list[Pair]:
    left, right = random.randint(3, 8), random.randint(3, 12)
    return [(u, left + v) for u in range(left) for v in range(right)]


SHAPES = [_any_pairs, _near_clique_pairs, _hub_pairs, _bipartite_pairs]


def _walk(random: Random, pairs: list[Pair], steps: int) -> Iterator[Batch]:
    """Yield batches of (added, removed) that grow and shrink by turns, some of one edge and some of half the graph."""
    present: set[Pair] = set()
    growth = 0.7
    for _ in range(steps):
        growth = random.choice([growth, growth, 0.25, 0.5, 0.85])
        touched = {random.choice(pairs) for _ in range(random.choice([1, 1, 2, 4, 12, len(pairs) // 2]))}
        added = {pair for pair in touched - present if random.random() < growth}
        removed = {pair for pair in touched & present if random.random() > growth}
        present = (present - removed) | added
        yield added, removed


@pytest.mark.parametrize("implementation", EVERYTHING)
@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (set(), {}),
        ({(0, 1)}, {(0, 1): 2}),
        (_clique([0, 1, 2]), dict.fromkeys(_clique([0, 1, 2]), 3)),
        (_clique([2, 5, 7, 9]) | {(0, 2)}, {**dict.fromkeys(_clique([2, 5, 7, 9]), 4), (0, 2): 2}),
        ({(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)}, dict.fromkeys([(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)], 3)),
    ],
    ids=["nothing", "edge", "triangle", "clique with a tail", "two triangles"],
)
def test_build_gives_the_defined_trussness_when_the_graph_is_known(
    implementation: Build, edges: set[Pair], expected: dict[Pair, int]
) -> None:
    """Small graphs have a trussness that is obvious from the definition."""
    built = implementation(_array(edges))
    _assert_same(built, expected)
    for (u, v), value in expected.items():
        assert built.trussness(u, v) == built.trussness(v, u) == value


@pytest.mark.parametrize("seed", range(20))
def test_build_equals_the_oracle_when_the_graph_is_random(seed: int) -> None:
    """The static decomposition gives networkx's values, and an order that is verified."""
    print(f"seed {seed}")
    random = Random(seed)
    pairs = random.choice(SHAPES)(random)
    edges = {pair for pair in pairs if random.random() < 0.7}
    _assert_same(Trussness(_array(edges)), trussness_by_networkx(edges))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_update_equals_the_oracle_after_every_step_when_batches_are_random(
    shape: Callable[[Random], list[Pair]], seed: int
) -> None:
    """Values and reported changes are the oracle's after each batch of insertions and deletions."""
    print(f"seed {seed}")
    random = Random(seed)
    built, oracle = Trussness(NONE), TrussnessOracle(NONE)
    for added, removed in _walk(random, shape(random), steps=25):
        change = built.update(_array(added), _array(removed))
        expected = oracle.update(_array(added), _array(removed))
        assert change.edges.tolist() == expected.edges.tolist()
        assert change.values.tolist() == expected.values.tolist()
        assert change.edges.dtype == change.values.dtype == np.int32
        assert built.violations_of(change.edges) == []
        _assert_same(built, _values(oracle))


@pytest.mark.parametrize("seed", range(30))
def test_update_stays_exact_when_labels_have_no_room(seed: int) -> None:
    """Relabelling in the middle of an update loses neither the order nor the values.

    Labels are one apart: nearly every insertion after an edge has to relabel first.
    """
    print(f"seed {seed}")
    random = Random(seed)
    built = Trussness(NONE, stride=1)
    present: set[Pair] = set()
    for added, removed in _walk(random, _near_clique_pairs(random), steps=40):
        built.update(_array(added), _array(removed))
        present = (present - removed) | added
        assert built.violations() == []
    assert _values(built) == trussness_by_networkx(present)


@pytest.mark.parametrize("seed", range(5))
def test_update_gives_the_same_when_batches_are_split_or_reordered(seed: int) -> None:
    """All at once, one by one, and one by one in another order give the same, for insertion and for deletion."""
    print(f"seed {seed}")
    random = Random(seed)
    edges = sorted(pair for pair in _any_pairs(random) if random.random() < 0.6)
    doomed = random.sample(edges, len(edges) // 3)
    at_once, one_by_one, shuffled = Trussness(NONE), Trussness(NONE), Trussness(NONE)
    at_once.update(_array(edges), NONE)
    for edge in edges:
        one_by_one.update(_array([edge]), NONE)
    for edge in random.sample(edges, len(edges)):
        shuffled.update(_array([edge])[:, ::-1].copy(), NONE)
    assert _values(at_once) == _values(one_by_one) == _values(shuffled) == trussness_by_networkx(set(edges))
    at_once.update(NONE, _array(doomed))
    for edge in doomed:
        one_by_one.update(NONE, _array([edge]))
    for edge in random.sample(doomed, len(doomed)):
        shuffled.update(NONE, _array([edge]))
    assert _values(at_once) == _values(one_by_one) == _values(shuffled)
    _assert_same(at_once, trussness_by_networkx(set(edges) - set(doomed)))


def test_update_ends_empty_when_all_that_grew_is_deleted() -> None:
    """A stream of documents grows and is then deleted in another order; the graph is empty, and can grow again."""
    stream = list(documents(3, 60))
    built = Trussness(NONE)
    for document in stream:
        built.update(document, NONE)
    expected = trussness_by_networkx({(u, v) for u, v in np.concatenate(stream).tolist()})
    _assert_same(built, expected)
    for document in Random(4).sample(stream, len(stream)):
        built.update(NONE, document)
    _assert_same(built, {})
    built.update(np.concatenate(stream), NONE)
    _assert_same(built, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("implementation", EVERYTHING)
def test_update_raises_everything_when_one_document_links_sixty_entities_to_each_other(implementation: Build) -> None:
    """A clique of 60 inside a sparse graph has trussness 60; it is added and removed as one batch."""
    ring = {(node, node + 1) for node in range(80)}
    clique = _clique(list(range(10, 70)))
    built = implementation(_array(ring))
    change = built.update(_array(clique - ring), NONE)
    assert len(change.values) == len(clique)
    assert set(change.values.tolist()) == {60}
    assert {(u, v) for u, v in change.edges.tolist()} == clique
    assert built.violations() == []
    back = built.update(NONE, _array(clique - ring))
    assert {(u, v) for u, v in back.edges.tolist()} == clique & ring
    _assert_same(built, dict.fromkeys(ring, 2))


def test_update_stays_exact_when_a_clique_grows_and_shrinks_edge_by_edge() -> None:
    """In near-cliques a change travels furthest: each edge of a clique of 14 is added and removed alone."""
    random = Random(11)
    edges = sorted(_clique(list(range(14))))
    built = Trussness(NONE)
    present: set[Pair] = set()
    for edge in random.sample(edges, len(edges)):
        built.update(_array([edge]), NONE)
        present.add(edge)
        assert built.violations() == []
    assert set(_values(built).values()) == {14}
    for edge in random.sample(edges, len(edges) // 2):
        built.update(NONE, _array([edge]))
        present.remove(edge)
        assert built.violations() == []
    _assert_same(built, trussness_by_networkx(present))


@pytest.mark.parametrize("implementation", EVERYTHING)
@pytest.mark.parametrize(
    ("added", "removed", "named"),
    [
        ([(8, 9), (0, 1)], [], "0, 1"),
        ([(8, 9), (1, 0)], [], "0, 1"),
        ([(8, 9), (9, 8)], [], "8, 9"),
        ([(8, 9), (7, 7)], [], "7, 7"),
        ([(8, 9), (-1, 3)], [], "-1, 3"),
        ([(8, 9)], [(0, 1), (0, 9)], "0, 9"),
        ([(8, 9)], [(0, 1), (1, 0)], "0, 1"),
        ([(8, 9)], [(0, 1), (50, 60)], "50, 60"),
        ([(0, 2)], [(0, 1)], "0, 2"),
    ],
)
def test_update_refuses_and_does_nothing_when_an_edge_cannot_be(
    implementation: Build, added: list[Pair], removed: list[Pair], named: str
) -> None:
    """The error names the edge, and neither half of the batch is applied."""
    built = implementation(_array(_clique([0, 1, 2, 3])))
    before = _values(built)
    with pytest.raises(ValueError, match=named):
        built.update(np.array(added, dtype=np.int32).reshape(-1, 2), np.array(removed, dtype=np.int32).reshape(-1, 2))
    _assert_same(built, before)
    assert built.update(_array([(8, 9)]), NONE).edges.tolist() == [[8, 9]]


def test_arrays_are_refused_when_their_type_or_shape_is_wrong() -> None:
    """No array is narrowed or reshaped silently."""
    built = Trussness(NONE)
    with pytest.raises(TypeError):
        built.update(np.array([[0, 1]], dtype=np.int64), NONE)
    with pytest.raises(ValueError, match="shape"):
        built.update(np.array([0, 1], dtype=np.int32), NONE)
    with pytest.raises(ValueError, match="2, 2"):
        Trussness(np.array([[0, 1], [2, 2]], dtype=np.int32))
    with pytest.raises(ValueError, match="0, 1"):
        Trussness(np.array([[0, 1], [1, 0]], dtype=np.int32))


@pytest.mark.parametrize("implementation", EVERYTHING)
def test_update_reads_the_right_rows_when_the_array_is_a_strided_view(implementation: Build) -> None:
    """A view (every other row, columns swapped) is read as numpy defines it."""
    table = np.array([[0, 1], [9, 9], [1, 2], [9, 9], [0, 2]], dtype=np.int32)
    built = implementation(NONE)
    assert built.update(table[::2, ::-1], NONE).edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert set(_values(built).values()) == {3}


@pytest.mark.parametrize("implementation", EVERYTHING)
def test_trussness_raises_key_error_when_the_edge_is_absent(implementation: Build) -> None:
    """An absent edge has no trussness, whether its nodes are known or not."""
    built = implementation(_array([(0, 1), (1, 2)]))
    for u, v in [(0, 2), (5, 6), (-1, 0), (1, 1)]:
        with pytest.raises(KeyError):
            built.trussness(u, v)


@pytest.mark.parametrize("implementation", EVERYTHING)
def test_update_leaves_an_edge_alone_when_it_is_removed_and_added_at_once(implementation: Build) -> None:
    """An edit that removes an edge and adds it again has no net change, and reports none."""
    built = implementation(_array(_clique([0, 1, 2, 3])))
    change = built.update(_array([(0, 1), (3, 4)]), _array([(0, 1)]))
    assert change.edges.tolist() == [[3, 4]]
    assert change.values.tolist() == [2]
    assert built.trussness(0, 1) == 4


@pytest.mark.parametrize(("value", "message"), [(3, "too low"), (5, "too high"), (2, "too low"), (99, "too high")])
def test_violations_name_the_edge_when_a_value_is_wrong(value: int, message: str) -> None:
    """The self-check detects a value that was altered, in either direction, over the whole graph and at the edge."""
    built = Trussness(_array(_clique([0, 1, 2, 3]) | {(3, 4), (4, 5), (3, 5)}))
    assert built.violations() == built.violations_of(_array([(0, 1)])) == []
    built.overwrite(0, 1, value)
    for found in (built.violations(), built.violations_of(_array([(0, 1)]))):
        assert any("edge (0, 1)" in line and message in line for line in found), found
    built.overwrite(0, 1, 4)
    assert built.violations() == []


@pytest.mark.parametrize("seed", range(10))
def test_violations_are_found_when_any_one_value_of_a_random_graph_is_wrong(seed: int) -> None:
    """Whatever single edge is altered to whatever other value, the whole check fails."""
    print(f"seed {seed}")
    random = Random(seed)
    built = Trussness(_array({pair for pair in _any_pairs(random) if random.random() < 0.6}))
    values = _values(built)
    for (u, v), value in random.sample(sorted(values.items()), min(20, len(values))):
        built.overwrite(u, v, value + random.choice([-1, 1, 3]))
        assert built.violations(), (u, v)
        built.overwrite(u, v, value)
    assert built.violations() == []


@pytest.mark.parametrize("implementation", EVERYTHING)
def test_violations_of_says_so_when_the_edge_is_absent(implementation: Build) -> None:
    """The violation names the absent edge that the caller passed."""
    built = implementation(_array([(0, 1)]))
    assert built.violations_of(_array([(0, 1), (0, 2)])) == ["edge (0, 2) is not there"]


def test_values_are_the_oracles_when_a_document_stream_is_edited() -> None:
    """After a longer stream with edits and deletions, every reported change and every value is right."""
    random = Random(5)
    built, reported = Trussness(NONE), dict[Pair, int]()
    live: list[EdgeArray] = []
    for document in documents(6, 250):
        removed = live.pop(random.randrange(len(live))) if live and random.random() < 0.3 else NONE
        live.append(document)
        change = built.update(document, removed)
        for u, v in removed.tolist():
            reported.pop((min(u, v), max(u, v)))
        reported |= {(u, v): k for (u, v), k in zip(change.edges.tolist(), change.values.tolist(), strict=True)}
        assert built.violations_of(change.edges) == []
    assert built.work() > 0
    assert built.violations() == []
    expected = trussness_by_networkx({(u, v) for u, v in np.concatenate(live).tolist()})
    assert _values(built) == reported == expected


def test_memory_is_used_again_when_edges_come_and_go_for_ever() -> None:
    """A graph of constant size under a hundred rounds of edits takes no more memory than at its largest."""
    stream = list(documents(7, 40))
    built = Trussness(NONE)
    sizes: list[int] = []
    for _ in range(100):
        for document in stream:
            built.update(document, NONE)
        sizes.append(built.memory_bytes())
        for document in stream:
            built.update(NONE, document)
    assert max(sizes) <= 1.05 * max(sizes[:3]), sizes


def test_memory_bench_counts_the_kernel() -> None:
    """A class of Python over a kernel has the size that the kernel reports, and not only that of the object."""
    edges = _array([(u, v) for u in range(60) for v in range(u)])
    kernel = Trussness(edges)
    assert sizes_of(kernel, set()).total > kernel.memory_bytes() > 8 * len(edges)
