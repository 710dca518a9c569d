"""The relatedness model of pairs of passages: exact, a function of the live documents, and better than chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphtide.graph.records import Extraction, GraphDelta, Vector
from graphtide.graph.relatedness import model, statistics
from graphtide.graph.relatedness import pairs as pairs_module
from graphtide.graph.relatedness.features import SCALE, whole_cosines
from graphtide.graph.relatedness.pairs import BUCKETS, NO_NAMES, SPARSE, TOGETHER, HashRing, Pair, PairPassage
from graphtide.graph.relatedness.statistics import UNTRAINED, SufficientStatistics, fit_weights, pair_cosines
from graphtide.graph.vector_sum import bytes_of
from graphtide.graph.view import LiveView
from tests.model.relatedness_oracle import slow_cosine, slow_examples, slow_weights
from tests.model.small_views import SmallDocument, random_documents, small_view
from tests.support.worlds import RandomWorld, empty_view, snapshot_of


def unit_vectors(seed: int, count: int, dimensions: int = 24) -> list[Vector]:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions))
    return list((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16))


def sums_of(view: LiveView) -> list[int]:
    kinds = view.relatedness.sums()
    return [value for kind in kinds for value in (kind.count, kind.cosines, kind.squares, kind.titled)]


def assert_sums_are_those_of_the_live_set(view: LiveView) -> None:
    kinds = view.relatedness.sums()
    for kind, rows in zip(kinds, slow_examples(view), strict=True):
        assert kind.count == len(rows)
        assert kind.cosines == sum(row.cosine for row in rows)
        assert kind.squares == sum(row.cosine**2 for row in rows)
        assert kind.titled == sum(row.titled for row in rows)
    together, chance = view.relatedness.examples()
    assert (len(together), len(chance)) == tuple(kind.count for kind in view.relatedness.sums())


def retitled(world: RandomWorld) -> GraphDelta:
    """Give a live document the name of something that a live document mentions as its title."""
    doc_id = world.rng.choice(sorted(world.live))
    names = sorted({m.name for one in world.live.values() for unit in one.units for m in unit.mentions})
    return world.change(with_title(world.live[doc_id], world.rng.choice(names)))


def with_title(one: Extraction, title: str) -> Extraction:
    return replace(one, revision=one.revision + 1_000, info=replace(one.info, title=title))


def walked(seed: int, steps: int) -> Iterator[tuple[RandomWorld, LiveView]]:
    """Yield a world and its view after each of `steps` changes, every third of which changes a title only."""
    world, view = RandomWorld(random.Random(seed), documents=14), empty_view()
    for step in range(steps):
        view.apply(retitled(world) if step % 3 == 2 and world.live else world.step())
        yield world, view


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_sums_equal_those_over_all_live_pairs_after_every_change(seed: int) -> None:
    """After inserts, edits, deletions, merges and splits the examples are exactly those of the live documents."""
    print("seed", seed)
    titled = 0
    for _, view in walked(seed, 60):
        assert_sums_are_those_of_the_live_set(view)
        titled += view.relatedness.sums()[1].titled
    assert view.relatedness.sums()[0].count
    assert titled


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_bit_by_bit_those_of_a_view_filled_at_once(seed: int) -> None:
    """Documents that were added and deleted before leave no trace."""
    print("seed", seed)
    *_, (world, view) = walked(seed, 60)
    rebuilt = empty_view()
    rebuilt.apply(replace(snapshot_of(world.live), version=view.version))
    assert sums_of(view) == sums_of(rebuilt)
    assert view.relatedness.weights() == rebuilt.relatedness.weights()


def test_cosines_of_a_change_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples of both kinds, of several changes: a call for a few pairs costs as much as one for a single pair."""
    calls: list[int] = []

    def counted(pairs: Sequence[Pair]) -> NDArray[np.int64]:
        calls.append(len(pairs))
        return pair_cosines(pairs)

    monkeypatch.setattr(statistics, "pair_cosines", counted)
    monkeypatch.setattr(model, "PENDING", 64)
    changes = 40
    for _, view in walked(11, changes):
        made = len(calls)
        assert_sums_are_those_of_the_live_set(view)
        del calls[made:]  # those of the readers
    assert 2 < len(calls) < changes / 2


def test_large_changes_are_computed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of another size give the same sums."""
    whole = [sums_of(view) for _, view in walked(12, 30)]
    monkeypatch.setattr(model, "BLOCK", 2)
    assert [sums_of(view) for _, view in walked(12, 30)] == whole


def test_nothing_is_left_when_every_document_is_deleted() -> None:
    """The sums return to zero, and the cosine is used again."""
    world, view = RandomWorld(random.Random(5)), empty_view()
    for _ in range(20):
        view.apply(world.step())
    view.apply(world.change(*list(world.live)))
    assert not any(sums_of(view))
    assert view.relatedness.weights() == UNTRAINED


def test_sums_follow_a_title_that_changes_while_the_text_stays() -> None:
    """A document that gets the title another one mentions makes their pairs titled, and back again."""
    world, view = RandomWorld(random.Random(3), documents=14), empty_view()
    for _ in range(12):
        view.apply(world.step())
    before = sums_of(view)
    old = dict(world.live)
    for _ in old:
        view.apply(retitled(world))
        assert_sums_are_those_of_the_live_set(view)
    view.apply(world.change(*(with_title(world.live[doc_id], one.info.title) for doc_id, one in old.items())))
    assert sums_of(view) == before


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_log_odds_over_the_examples(seed: int) -> None:
    """The closed form over sums equals the fit of the examples themselves, each kind weighing the same."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 50))
    found, slow = view.relatedness.weights(), slow_weights(view)
    assert found.trained_on == slow.trained_on
    values = [(w.bias, w.cosine, w.titled, w.untitled) for w in (found, slow)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_cosines_are_whole_symmetric_and_the_same_in_any_batch(seed: int) -> None:
    """Each pair computed alone, in either order, in Python's integers: the same numbers."""
    print("seed", seed)
    left, right = unit_vectors(seed, 40), unit_vectors(seed + 100, 40)
    found = whole_cosines(left, right).tolist()
    assert found == whole_cosines(right, left).tolist()
    assert found == [slow_cosine(a, b) for a, b in zip(left, right, strict=True)]
    exact = [float(a.astype(float) @ b.astype(float)) for a, b in zip(left, right, strict=True)]
    assert np.array(found) / SCALE == pytest.approx(np.array(exact), abs=0.02)


@pytest.mark.thorough
@settings(deadline=None, max_examples=120)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2**64 - 1)), max_size=40),
    st.integers(0, 2**32),
    st.sampled_from([0, 4, SPARSE]),
)
def test_circle_says_which_pairs_go_and_come(steps: list[tuple[int, int]], seed: int, sparse: int) -> None:
    """After every step the added pairs minus the removed ones are the neighbours in the sorted ring.

    So in a ring of few passages, and in one in which the next passage is found by walking over the empty places.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "SPARSE", sparse)
        _walk_on_a_ring(steps, seed)


def _walk_on_a_ring(steps: list[tuple[int, int]], seed: int) -> None:
    rng, vector = random.Random(seed), unit_vectors(0, 1)[0]
    circle, live, pairs = HashRing(), dict[int, PairPassage](), list[Pair]()
    for name, drawn in steps:
        if name in live and rng.random() < 0.7:
            go, come = circle.remove(live.pop(name))
        elif name in live:
            continue
        else:
            key = (drawn % BUCKETS if rng.random() < 0.3 else drawn >> 5) * 32 + name  # some in one bucket, none equal
            live[name] = PairPassage(key, f"d{name % 7}", bytes_of(vector), (), NO_NAMES)
            go, come = circle.add(live[name])
        for pair in go:
            pairs.remove(pair)
        pairs += come
        around = sorted(live.values(), key=lambda passage: passage.key)
        beside = zip(around, around[1:] + around[:1], strict=True)
        expected = Counter((a.key, b.key) for a, b in beside if a.doc_id != b.doc_id)
        assert Counter((a.key, b.key) for a, b, _ in pairs) == expected


@pytest.mark.parametrize("count", [2, 60, 600])
def test_change_of_the_ring_reads_few_places_whatever_the_number_of_passages(count: int) -> None:
    """A graph of two passages has four thousand empty places between them."""
    rng, vector = random.Random(count), unit_vectors(0, 1)[0]
    ring, reads = HashRing(), 0

    class Counted(dict[int, tuple[PairPassage, ...]]):
        def _note(self) -> None:
            nonlocal reads
            reads += 1

        def get(self, key: int, default: Any = None) -> Any:
            self._note()
            return super().get(key, default)

        def __contains__(self, key: object) -> bool:
            self._note()
            return super().__contains__(key)

        def __iter__(self) -> Iterator[int]:
            for key in super().__iter__():
                self._note()
                yield key

    passages = [PairPassage(rng.getrandbits(64), f"d{n}", vector.tobytes(), (), NO_NAMES) for n in range(count)]
    for each in passages:
        ring.add(each)
    ring._buckets = Counted(ring._buckets)
    for each in passages[:50]:
        ring.remove(each)
        ring.add(each)
    assert reads < 300 * len(passages[:50])


def test_an_entity_of_many_passages_is_no_example() -> None:
    """An entity of every passage does not indicate relatedness, and would make each document expensive."""
    documents = [SmallDocument(f"d{n}", f"amber {n}", ("hub",)) for n in range(TOGETHER + 1)]
    assert small_view(documents[:-1]).relatedness.sums()[0].count == TOGETHER
    assert small_view(documents).relatedness.sums()[0].count == 0


@pytest.mark.parametrize("seed", range(3))
def test_learning_tells_related_pairs_better_than_chance(seed: int) -> None:
    """On pairs that were not learned from, those near each other along a hidden direction score higher than others."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    topic = rng.normal(size=(400, 4))
    sides = [np.concatenate((topic, rng.normal(size=(400, 20))), axis=1).astype(np.float16) for _ in range(2)]
    left, right = (
        [PairPassage(n, f"d{n}", bytes_of(row), (), NO_NAMES) for n, row in enumerate(side)] for side in sides
    )
    together, chance = SufficientStatistics(), SufficientStatistics()
    together.add([(left[n], right[n], NO_NAMES) for n in range(300)])
    chance.add([(left[n], right[299 - n], NO_NAMES) for n in range(300)])
    weights = fit_weights(together, chance)
    cosines = [
        whole_cosines([left[n].vector for n in range(300, 399)], [right[n + step].vector for n in range(300, 399)])
        for step in (0, 1)
    ]
    related, others = (weights.edges(values / SCALE, np.zeros(99, bool)) for values in cosines)
    assert related.mean() > others.mean() + 0.02
    assert ((related > 0) & (related < 1)).all()


def test_mentioned_titles_count_by_their_frequency_among_related_pairs() -> None:
    """Titles mentioned in 3 of 4 related and in no chance pair: the log odds with half a pair added to each count."""
    weights = fit_weights(SufficientStatistics(4, 0, 0, 3), SufficientStatistics(4, 0, 0, 0))
    assert weights.titled == pytest.approx(np.log(3.5 / 0.5))
    assert weights.untitled == pytest.approx(np.log(1.5 / 4.5))


def test_edge_weight_is_the_sigmoid_of_the_halved_log_odds_with_a_prior() -> None:
    """It is computed by hand, for weights without any example."""
    assert UNTRAINED.edges(np.array([0.5, 1.0]), np.zeros(2, bool)) == pytest.approx([0.5, 1 / (1 + np.exp(-2))])
