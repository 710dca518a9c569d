"""Counts by pair of numbers: those of a `dict`, whatever the sequence of changes, in a fifth of the memory."""

from __future__ import annotations

import random
import sys
from collections.abc import MutableMapping
from typing import Any

import numpy as np
import pytest

from graphtide.graph.number_table import PairCounts


@pytest.mark.parametrize("span", [12, 400])
def test_changes_equal_those_of_a_dict(span: int) -> None:
    """A random walk with growth and shrinkage, of dense and of sparse pairs."""
    seed = 47
    print(f"seed {seed}")
    rng = random.Random(seed)
    counts, wanted = PairCounts(), dict[tuple[int, int], int]()
    for step in range(7_000):
        pair = (rng.randrange(span), rng.randrange(span))
        if wanted and step // 2_000 % 2 and rng.random() < 0.6:
            pair = rng.choice(list(wanted))
        assert counts.get(pair) == wanted.get(pair) and counts.get(pair, 0) == wanted.get(pair, 0)
        assert (pair in counts) == (pair in wanted)
        if rng.random() < (0.3 if step // 2_000 % 2 == 0 else 0.9):
            assert counts.pop(pair, None) == wanted.pop(pair, None)
        else:
            counts[pair] = wanted[pair] = rng.randrange(1, 2**40)
        assert len(counts) == len(wanted)
    assert wanted and dict(counts) == wanted == dict(counts.items()) and counts == wanted
    assert isinstance(counts, MutableMapping) and sorted(counts) == sorted(wanted)
    for pair in list(counts):
        del counts[pair]
    assert not counts and list(counts) == [] and sys.getsizeof(counts) < 2_000


def test_size_of_a_large_mapping() -> None:
    """16 bytes a slot, of which 70 to 87.5 % are full; an iteration sees the entries of its start."""
    counts, pairs = PairCounts(), [(u, u * 7 % 3_001) for u in range(20_000)]
    for number, pair in enumerate(pairs, 1):
        counts[pair] = number
    assert 18 * len(pairs) < sys.getsizeof(counts) < 24 * len(pairs)
    assert all(counts[pair] == number for number, pair in enumerate(pairs, 1))
    seen = []
    for pair in counts:
        seen.append(pair)
        del counts[pair]
    assert not counts and sorted(seen) == pairs


def test_limits_of_numbers_and_counts() -> None:
    """Other keys find nothing; they, and counts that are not positive, cannot be set."""
    counts = PairCounts()
    largest = (2**32 - 1, 2**32 - 1)
    counts[largest] = 2**63 - 1
    counts[0, 0] = 1
    assert dict(counts) == {largest: 2**63 - 1, (0, 0): 1} and counts[np.int32(0), np.int64(0)] == 1  # type: ignore[index]
    wrong: list[Any] = [(-1, 0), (0, 2**32), (2**70, 1), (1,), (1, 2, 3), 5, "ab", (1, 2)]
    for key in wrong:
        assert key not in counts and counts.get(key, 3) == 3
        for call in (counts.__getitem__, counts.__delitem__):
            with pytest.raises(KeyError):
                call(key)
    for key in wrong[:-1]:
        with pytest.raises(ValueError, match="is no pair of numbers"):
            counts[key] = 1
    for count in (0, -1):
        with pytest.raises(ValueError, match="is not positive"):
            counts[1, 2] = count
    with pytest.raises(OverflowError):
        counts[1, 2] = 2**63
    texts: Any = ("a", "b")
    for look in (counts.get, counts.__contains__, counts.pop):
        with pytest.raises(TypeError):
            look(texts)
    assert len(counts) == 2
