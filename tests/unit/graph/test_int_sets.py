"""Compact sets of ints: the members of a `set`, whatever the sequence of changes, in a tuple while they are few."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from graphtide.graph._int_sets import FewNumbers, NumberSet
from graphtide.graph.int_sets import (
    EMPTY,
    MAX_FEW,
    MAX_SHARED,
    IntSet,
    PatchedSet,
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
        member = rng.randrange(3 * MAX_FEW)
        if rng.random() < (0.7 if step // 500 % 2 else 0.3):
            members = including(members, member)
            wanted.add(member)
        else:
            members = excluding(members, member)
            wanted.discard(member)
        assert set(members) == wanted and len(members) == len(wanted)
        kinds.add(type(members))
        if isinstance(members, tuple | FewNumbers):
            assert list(members) == sorted(wanted) and len(members) <= (1 if isinstance(members, tuple) else MAX_FEW)
        else:
            assert len(members) > MAX_FEW // 2
    assert kinds == {tuple, FewNumbers, NumberSet}


def test_few_are_never_changed_in_place() -> None:
    """A set that another table holds keeps its members."""
    members: IntSet = int_set((3, 1))
    including(members, 2)
    excluding(members, 1)
    assert list(members) == [1, 3]


def test_common_members_do_not_depend_on_the_form() -> None:
    """Both forms on either side give the same members."""
    small, large = int_set(range(0, 12, 2)), int_set(range(0, 90, 3))
    assert isinstance(small, FewNumbers) and isinstance(large, NumberSet)
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


def test_number_sets_equal_sets_through_growth_and_shrinkage() -> None:
    """Random additions and removals of dense, spaced and random numbers keep the members of a `set`; so does a
    PatchedSet over one, which leaves it as it is.
    """
    seed = 23
    print(f"seed {seed}")
    rng = random.Random(seed)
    for spread in (1, 64, 2**16, 1_000_003):
        members, wanted = NumberSet(), set[int]()
        for step in range(9_000):
            member = (rng.randrange(2_000) * spread) % (2**32 - 1)
            if rng.random() < (0.7 if step // 1_500 % 2 == 0 else 0.2):
                members.add(member)
                wanted.add(member)
            else:
                members.discard(member)
                wanted.discard(member)
            assert len(members) == len(wanted) and (member in members) == (member in wanted)
            if step % 250 == 0:
                assert sorted(members) == sorted(wanted)
        assert sorted(members) == sorted(wanted) and all(member in members for member in wanted)
        patched, changed = PatchedSet(members), set(wanted)
        for member in rng.sample(sorted(wanted), min(50, len(wanted))):
            patched.discard(member)
            patched.add(member + 1)
            changed = changed - {member} | {member + 1}
        assert set(patched) == changed and len(patched) == len(changed) and set(members) == wanted
        for member in wanted:
            members.discard(member)
        assert not members and list(members) == [] and sys.getsizeof(members) < 64


def test_other_objects_are_no_members_of_a_number_set() -> None:
    """Ints of NumPy are members; ints out of range are not and cannot be added; another type is an error."""
    members = NumberSet()
    members.add(np.int64(3))  # type: ignore[arg-type]
    members.add(2**32 - 2)
    assert np.int32(3) in members and sorted(members) == [3, 2**32 - 2] and isinstance(members, Collection)
    for number in (-1, 2**32 - 1, 2**32, 2**70, -(2**70)):
        members.discard(number)
        assert number not in members
        with pytest.raises(OverflowError, match=r"not from 0 to 2\*\*32 - 2"):
            members.add(number)
    text: Any = "3"
    for call in (members.add, members.discard, members.__contains__):
        with pytest.raises(TypeError):
            call(text)


def test_few_numbers_are_ascending_and_small() -> None:
    """Any order gives the ascending one; ints of NumPy are members; ints out of range and other types are errors."""
    few = FewNumbers((7, 2**32 - 2, np.int64(3)))  # type: ignore[arg-type]
    assert list(few) == [3, 7, 2**32 - 2] and len(few) == 3 and isinstance(few, Collection)
    assert np.int32(7) in few and 4 not in few and 2**32 - 1 not in few and -1 not in few and 2**70 not in few
    assert [sys.getsizeof(FewNumbers(tuple(range(count)))) for count in (2, 16)] == [32, 88]
    for huge in (-1, 2**32 - 1, 2**70):
        with pytest.raises(OverflowError, match=r"not from 0 to 2\*\*32 - 2"):
            FewNumbers((1, huge))
        members = including(including(including(EMPTY, huge), 5), 4)
        assert members == tuple(sorted((4, 5, huge))) and excluding(members, 4) == tuple(sorted((5, huge)))
        assert list(excluding(members, huge)) == [4, 5]
    text: Any = ("3", 4)
    for call in (FewNumbers, few.__contains__):
        with pytest.raises(TypeError):
            call(text)


def test_iteration_notices_a_change() -> None:
    """As that of a `set`, it fails when the number of members changed."""
    members = NumberSet()
    for member in range(30):
        members.add(member)
    with pytest.raises(RuntimeError, match="changed size"):
        for member in members:
            members.discard(member)


def test_members_out_of_range_are_in_a_set() -> None:
    """A large set takes any int."""
    for huge in (-1, 2**32 - 1, 2**70):
        wanted = {*range(100), huge}
        members: IntSet = int_set(range(100))
        for member in wanted:
            members = including(members, member)
        assert members == wanted == int_set(wanted) and isinstance(members, set)
        assert huge in members and huge not in excluding(members, huge)
        few: IntSet = tuple(range(MAX_FEW))
        assert set(including(few, huge)) == {*range(MAX_FEW), huge}


def test_number_sets_take_few_bytes_and_constant_time() -> None:
    """At most 8 bytes a member in a set of any size, and an addition costs the same in a large one."""
    members, seconds = NumberSet(), []
    for last in (50_000, 400_000):
        began = time.process_time()
        for member in range(last - 50_000, last):
            members.add(member)
            members.add(member)
        seconds.append(time.process_time() - began)
        for member in range(last, 350_000):
            members.add(member)
        assert sys.getsizeof(members) <= 8 * len(members) + 64
    assert seconds[1] < 10 * seconds[0] + 0.1, seconds
    for count in range(1, 400):
        small = NumberSet()
        for member in range(count):
            small.add(member * 977)
        assert sys.getsizeof(small) <= 32 + 7 * count
