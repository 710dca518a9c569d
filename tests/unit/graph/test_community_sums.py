"""The columns of the communities' sums: exact after any change of items and parents, in bounded memory."""

from __future__ import annotations

import random

import pytest

from graphtide.graph.reports.community_sums import BUCKETS, FEW, CommunitySums

COMMUNITIES = range(1, 13)
"""Four of each level: 1 to 4 under 5 to 8 under 9 to 12."""


def expected(items: list[int]) -> tuple[int, int, list[int]]:
    """Return number, sum and sketch of these digests."""
    counts = [0] * BUCKETS
    for item in items:
        counts[item % BUCKETS] += 1 if item & BUCKETS else -1
    return len(items), sum(items) % 2**64, counts


@pytest.mark.parametrize("seed", range(6))
def test_sums_equal_those_of_the_items_below_after_any_walk(seed: int) -> None:
    """Items come and go, subtrees move, communities are removed: each sum is that of the items in its subtree."""
    print("seed", seed)
    rng, sums = random.Random(seed), CommunitySums()
    items: dict[int, list[int]] = {}
    for _ in range(400):
        community = rng.choice(COMMUNITIES)
        above = [each for each in items if (each - 1) // 4 == (community - 1) // 4 + 1]
        if community not in items:
            sums.insert(community)
            items[community] = []
        elif rng.random() < 0.4:
            sums.attach(community, rng.choice([0, *above]))
        elif rng.random() < 0.1 and not any(sums.parent(child) == community for child in items):
            sums.attach(community, 0)
            sums.remove(community)
            del items[community]
        elif items[community] and rng.random() < 0.4:
            sums.add(community, items[community].pop(), -1)
        else:
            items[community].append(rng.getrandbits(64))
            sums.add(community, items[community][-1], 1)
        for each in items:
            assert (sums.entities(each), sums.digest(each), sums.sketch(each).tolist()) == expected(
                _below(sums, items, each)
            )
    assert sums.drain_changed() <= items.keys()


def _below(sums: CommunitySums, items: dict[int, list[int]], community: int) -> list[int]:
    children = (child for child in items if sums.parent(child) == community)
    return items[community] + [item for child in children for item in _below(sums, items, child)]


def test_counts_are_listed_or_have_one_byte_or_four_where_one_needs_more() -> None:
    """Two hundred items of one bucket, added one by one and as a subtree, and removed again; two that cancel."""
    sums = CommunitySums()
    for community in (1, 2):
        sums.insert(community)
    for _ in range(200):
        sums.add(1, BUCKETS, 1)
    sums.attach(1, 2)
    assert sums.sketch(2)[0] == 200
    for _ in range(199):
        sums.add(1, BUCKETS, -1)
    assert (sums.entities(2), sums.digest(2), sums.sketch(2)[0]) == (1, BUCKETS, 1)
    large, other = CommunitySums(), (BUCKETS, 0)
    for community in (1, 2, 3):
        large.insert(community)
    for _ in range(200):
        for community, item in zip((1, 2), other, strict=True):
            large.add(community, item, 1)
    for community in (1, 2):
        large.attach(community, 3)
    assert large.entities(3) == 400 and large.sketch(3).tolist() == [0] * BUCKETS
    forms = [
        sketch if isinstance(sketch, bytes) else sketch.typecode for sketch in large._sketches if sketch is not None
    ]
    assert forms == ["i", "i", b""]


def test_sketch_of_few_entities_lists_their_counts() -> None:
    """Up to FEW, however they come and go; more have a count for each bucket."""
    sums, items = CommunitySums(), [random.Random(3).getrandbits(64) & ~(BUCKETS - 1) | n for n in range(FEW + 1)]
    for community in (1, 2, 3):
        sums.insert(community)
    for number, item in enumerate(items, 1):
        sums.add(1, item, 1)
        sums.add(2, item, 1)
        form = sums._sketches[0]
        assert (form is None) == (number == 1) and isinstance(form, bytes) == (1 < number <= FEW)
        assert sums.sketch(1).tolist() == expected(items[:number])[2]
    sums.attach(1, 3)
    sums.attach(2, 3)
    sums.attach(2, 0)
    sums.add(1, items[0], -1)
    assert sums.sketch(3).tolist() == expected(items[1:])[2]


def test_changed_communities_are_drained_once() -> None:
    """A removed community is not among them, and one that changed twice is there once."""
    sums = CommunitySums()
    for community in (1, 2, 3):
        sums.insert(community)
        sums.add(community, community, 1)
    sums.add(1, 7, 1)
    sums.add(3, 3, -1)
    sums.remove(3)
    assert sums.drain_changed() == {1, 2}
    assert sums.drain_changed() == set()
    sums.add(2, 5, 1)
    assert sums.drain_changed() == {2}


def test_memory_of_the_changed_is_bounded_where_nothing_drains_them() -> None:
    """Ten thousand communities that came and went leave a list for those that exist."""
    sums = CommunitySums()
    sums.insert(1)
    sums.add(1, 1, 1)
    for community in range(2, 10_000):
        sums.insert(community)
        sums.add(community, 3, 1)
        sums.add(community, 3, -1)
        sums.remove(community)
    assert len(sums._changed) < 1_000
    assert sums.drain_changed() == {1}
