"""The relatedness model of pairs of passages: exact, a function of the live documents, and better than chance."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.graph.relatedness import encode, pair_features
from graphtide.graph.relatedness.features import FEATURES, SCALE
from graphtide.graph.relatedness.pairs import BUCKETS, TOGETHER, HashRing, Pair, PairPassage
from graphtide.graph.relatedness.statistics import SufficientStatistics, Weights, fit_weights
from graphtide.graph.vector_index import Vectors
from graphtide.graph.view import LiveView
from tests.model.relatedness_oracle import slow_examples, slow_features, slow_weights
from tests.model.retrieval_oracle import SmallDocument, random_documents, small_view
from tests.support.worlds import RandomWorld, empty_view, snapshot_of


def unit_vectors(seed: int, count: int, dimensions: int = 24) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions))
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def sums_of(view: LiveView) -> list[object]:
    kinds = (view.relatedness.together, view.relatedness.chance)
    return [value for kind in kinds for value in (kind.count, kind.sums.tolist(), kind.products.tolist())]


def assert_sums_are_those_of_the_live_set(view: LiveView) -> None:
    kinds = (view.relatedness.together, view.relatedness.chance)
    for kind, rows in zip(kinds, slow_examples(view), strict=True):
        assert kind.count == len(rows)
        whole = np.array(rows, np.int64).reshape(-1, FEATURES)
        assert kind.sums.tolist() == whole.sum(axis=0).tolist()
        assert kind.products.tolist() == (whole.T @ whole).tolist()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_sums_equal_those_over_all_live_pairs_after_every_change(seed: int) -> None:
    """After inserts, edits, deletions, merges and splits the examples are exactly those of the live documents."""
    print("seed", seed)
    world, view = RandomWorld(random.Random(seed), documents=14), empty_view()
    for _ in range(60):
        view.apply(world.step())
        assert_sums_are_those_of_the_live_set(view)
    assert view.relatedness.together.count
    assert view.relatedness.chance.count


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_bit_by_bit_those_of_a_view_filled_at_once(seed: int) -> None:
    """Documents that were added and deleted before leave no trace."""
    print("seed", seed)
    world, view = RandomWorld(random.Random(seed), documents=14), empty_view()
    for _ in range(60):
        view.apply(world.step())
    rebuilt = empty_view()
    rebuilt.apply(replace(snapshot_of(world.live), version=view.version))
    assert sums_of(view) == sums_of(rebuilt)
    assert view.relatedness.weights().last.tolist() == rebuilt.relatedness.weights().last.tolist()


def test_nothing_is_left_when_every_document_is_deleted() -> None:
    """The sums return to zero, and the cosine is used again."""
    world, view = RandomWorld(random.Random(5)), empty_view()
    for _ in range(20):
        view.apply(world.step())
    view.apply(world.change(*list(world.live)))
    assert not any(np.any(np.array(value)) for value in sums_of(view))
    assert view.relatedness.weights().last.tolist() == np.eye(FEATURES)[1].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_least_squares_over_the_examples(seed: int) -> None:
    """The closed form over sums equals the fit of the examples themselves, each kind weighing the same."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 50))
    assert view.relatedness.weights().last == pytest.approx(slow_weights(view), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_features_are_whole_symmetric_and_the_same_in_any_batch(seed: int) -> None:
    """Each pair computed alone, in either order, in Python's integers: the same numbers."""
    print("seed", seed)
    left, right = unit_vectors(seed, 40), unit_vectors(seed + 100, 40)
    found = pair_features(encode(left), encode(right))
    assert (found == np.rint(found)).all()
    assert (found == pair_features(encode(right), encode(left))).all()
    assert found.astype(int).tolist() == [slow_features(a, b) for a, b in zip(left, right, strict=True)]
    assert found[:, 1] / SCALE == pytest.approx((left * right).sum(axis=1), abs=0.02)


@pytest.mark.thorough
@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2**64 - 1)), max_size=40), st.integers(0, 2**32))
def test_circle_says_which_pairs_go_and_come(steps: list[tuple[int, int]], seed: int) -> None:
    """After every step the added pairs minus the removed ones are the neighbours in the sorted ring."""
    rng, row = random.Random(seed), encode(unit_vectors(0, 1))
    circle, live, pairs = HashRing(), dict[int, PairPassage](), list[Pair]()
    for name, drawn in steps:
        if name in live and rng.random() < 0.7:
            go, come = circle.remove(live.pop(name))
        elif name in live:
            continue
        else:
            key = (drawn % BUCKETS if rng.random() < 0.3 else drawn >> 5) * 32 + name  # some in one bucket, none equal
            live[name] = PairPassage(key, f"d{name % 7}", row)
            go, come = circle.add(live[name])
        for pair in go:
            pairs.remove(pair)
        pairs += come
        around = sorted(live.values(), key=lambda passage: passage.key)
        beside = zip(around, around[1:] + around[:1], strict=True)
        expected = Counter((a.key, b.key) for a, b in beside if a.doc_id != b.doc_id)
        assert Counter((a.key, b.key) for a, b in pairs) == expected


def test_an_entity_of_many_passages_is_no_example() -> None:
    """An entity of every passage does not indicate relatedness, and would make each document expensive."""
    documents = [SmallDocument(f"d{n}", f"amber {n}", ("hub",)) for n in range(TOGETHER + 1)]
    assert small_view(documents[:-1]).relatedness.together.count == TOGETHER
    assert small_view(documents).relatedness.together.count == 0


@pytest.mark.parametrize("seed", range(3))
def test_learning_tells_related_pairs_better_than_chance(seed: int) -> None:
    """On pairs that were not learned from, those near each other along a hidden direction score higher than others."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    topic = rng.normal(size=(400, 4))
    left = np.concatenate((topic, rng.normal(size=(400, 20))), axis=1).astype(np.float32)
    right = np.concatenate((topic, rng.normal(size=(400, 20))), axis=1).astype(np.float32)
    together, chance = SufficientStatistics(), SufficientStatistics()
    a, b = encode(left), encode(right)
    train, held_out, moved = np.arange(300), np.arange(300, 399), np.arange(301, 400)
    together.add(a[train], b[train])
    chance.add(a[train], b[train[::-1]])
    weights = fit_weights(together, chance)
    related, others = weights.edges(a[held_out], b[held_out]), weights.edges(a[held_out], b[moved])
    assert related.mean() > others.mean() + 0.1
    assert ((related > 0) & (related < 1)).all()


def test_edge_weight_is_half_between_the_targets_and_steep_with_temperature() -> None:
    """It is sigma(T (s - 1/2)) with T = 8, computed by hand, for weights that are the cosine."""
    one = encode(np.array([[1, 0], [1, 0]], np.float32))
    other = encode(np.array([[0.5, 0.75**0.5], [1, 0]], np.float32))
    assert Weights(np.eye(FEATURES)[1], (0, 0)).edges(one, other) == pytest.approx([0.5, 1 / (1 + np.exp(-4))])
