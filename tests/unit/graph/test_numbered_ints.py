"""Compact tables of the view against the dictionaries that define them."""

from __future__ import annotations

import random
from collections import Counter

from graphtide.graph.numbered_ints import NumberedInts
from graphtide.graph.view_state.tables import ViewEntity


def test_numbered_ints_equal_a_dictionary_after_random_changes() -> None:
    """Zero and missing are the same, in any order of numbers, up to 64 bits."""
    draw, table, expected = random.Random(17), NumberedInts(), dict[int, int]()
    for _ in range(2_000):
        number, value = draw.randrange(300), draw.choice((0, 1, draw.getrandbits(64)))
        table[number], expected[number] = value, value
        assert table[draw.randrange(400)] >= 0
    assert dict(table.items()) == {number: value for number, value in expected.items() if value}
    assert table[-1] == table[10**9] == 0
    table.clear()
    assert not list(table.items()) and table[3] == 0


def test_an_entity_counts_its_mentions_by_chunk_as_a_counter_does() -> None:
    """Whatever the order of additions and removals, and with a total below zero in between."""
    draw, counts = random.Random(5), Counter[int]()
    entity = ViewEntity("", "", "", (), 0, b"")
    for _ in range(3_000):
        chunk, times = draw.randrange(40), draw.choice((-2, -1, 1, 1, 2))
        counts[chunk] += times
        entity.count(chunk, times)
        assert entity.times(chunk) == counts[chunk]
    assert set(entity.chunks) == {chunk for chunk, times in counts.items() if times}
    for chunk, times in counts.items():
        entity.count(chunk, -times)
    assert not entity.chunks and entity.repeats is None
