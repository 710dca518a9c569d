"""Compact sets of ints: the members of a `set`, whatever the sequence of changes, in a tuple while they are few."""

from __future__ import annotations

import random

from graphtide.graph.int_sets import (
    EMPTY,
    MAX_SHARED,
    MAX_TUPLE,
    IntSet,
    common,
    excluding,
    including,
    int_set,
    shared_int,
    shared_tuple,
    shared_value,
)


def test_changes_equal_those_of_a_set_at_every_size() -> None:
    """A random walk across the border of both forms holds the members of a `set`; tuples are ascending."""
    seed = 7
    print(f"seed {seed}")
    rng, wanted = random.Random(seed), set[int]()
    members: IntSet = EMPTY
    kinds = set()
    for step in range(4_000):
        member = rng.randrange(3 * MAX_TUPLE)
        if rng.random() < (0.7 if step // 500 % 2 else 0.3):
            members = including(members, member)
            wanted.add(member)
        else:
            members = excluding(members, member)
            wanted.discard(member)
        assert set(members) == wanted and len(members) == len(wanted)
        kinds.add(type(members))
        if isinstance(members, tuple):
            assert list(members) == sorted(wanted) and len(members) <= MAX_TUPLE
        else:
            assert len(members) > MAX_TUPLE // 2
    assert kinds == {tuple, set}


def test_a_tuple_is_never_changed_in_place() -> None:
    """A set that another table holds keeps its members."""
    members: IntSet = int_set((3, 1))
    including(members, 2)
    excluding(members, 1)
    assert members == (1, 3)


def test_common_members_do_not_depend_on_the_form() -> None:
    """Both forms on either side give the same members."""
    small, large = int_set(range(0, 12, 2)), int_set(range(0, 90, 3))
    assert isinstance(small, tuple) and isinstance(large, set)
    assert common(small, large) == common(large, small) == common(large, int_set(small)) == {0, 6}


def test_one_tuple_is_shared_by_the_sets_of_one_number() -> None:
    """Sets that have one allocated number alone are one object, however they came about; large numbers are equal."""
    number, other = shared_int(5_000), shared_int(5_001)
    alone = including(EMPTY, number)
    assert alone == (5_000,) and alone[0] is number is shared_int(5_000)
    assert excluding(including(alone, other), other) is alone is shared_tuple([number]) is int_set([number])
    assert shared_int(MAX_SHARED) == MAX_SHARED and including(EMPTY, -1) == (-1,)


def test_equal_weights_are_held_once() -> None:
    """The same object is returned for equal values, and nothing is kept for each number up to the largest."""
    first, second = int("1000"), int("1000")
    assert first is not second and shared_value(first) is shared_value(second)
    assert shared_value(MAX_SHARED + 1) == MAX_SHARED + 1
