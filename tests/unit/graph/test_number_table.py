"""Tables of rows by number: those of a `dict`, whatever the sequence of changes, in a seventh of the memory."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import MutableMapping
from typing import Any

import numpy as np
import pytest

from graphtide.graph.number_table import NumberTable


class _Row:
    """A row that can be weakly referred to."""

    def __init__(self) -> None:
        self.table: object = None


def test_changes_equal_those_of_a_dict() -> None:
    """A random walk with growth and shrinkage holds the entries of a `dict`, in ascending order."""
    seed = 11
    print(f"seed {seed}")
    rng = random.Random(seed)
    table: NumberTable[str] = NumberTable()
    wanted: dict[int, str] = {}
    for step in range(6_000):
        number = rng.randrange(300)
        if rng.random() < (0.7 if step // 1_000 % 2 else 0.3):
            table[number] = wanted[number] = str(step)
        else:
            assert table.pop(number, "none") == wanted.pop(number, "none")
        assert len(table) == len(wanted) and (number in table) == (number in wanted)
        assert table.get(number) == wanted.get(number)
    assert wanted and list(table.items()) == sorted(wanted.items()) and list(table) == sorted(wanted)
    assert table == wanted and isinstance(table, MutableMapping)
    table.clear()
    assert not table and list(table) == []


def test_other_keys_find_nothing_and_cannot_be_set() -> None:
    """Ints of NumPy are numbers; negative and huge ones are absent; a key that is no int is an error."""
    table = NumberTable([(2, "row")])
    assert table[np.int32(2)] == "row" and np.int64(2) in table  # type: ignore[index]
    for number in (-1, 0, 1, 3, 2**32, 2**70, -(2**70)):
        assert number not in table and table.get(number) is None and table.get(number, "none") == "none"
        with pytest.raises(KeyError):
            table[number]
        with pytest.raises(KeyError):
            del table[number]
    for number in (-1, 2**32, 2**70):
        with pytest.raises(OverflowError, match=r"not from 0 to 2\*\*32 - 1"):
            table[number] = "row"
    text: Any = "2"
    for call in (table.get, table.__getitem__, table.__contains__):
        with pytest.raises(TypeError):
            call(text)


def test_rows_are_released_when_replaced_removed_or_in_a_cycle() -> None:
    """The table holds one reference to each live row and none to another; the collector sees its cycles."""
    rows = [_Row() for _ in range(4)]
    refs = [weakref.ref(row) for row in rows]
    table = NumberTable(enumerate(rows))
    rows.clear()
    table[0] = _Row()
    del table[1]
    assert [ref() is None for ref in refs] == [True, True, False, False]
    table.pop(2)
    table[3].table = table
    del table
    gc.collect()
    assert [ref() for ref in refs] == [None] * 4


def test_memory_is_that_of_an_array_and_shrinks_with_the_numbers() -> None:
    """Entries take 9 bytes; after the largest numbers are removed, their memory is released."""
    table = NumberTable((number, None) for number in range(20_000))
    dictionary = dict.fromkeys(range(20_000))
    assert sys.getsizeof(table) < 9.1 * 20_000 + 100 < sys.getsizeof(dictionary)
    for number in range(100, 20_000):
        del table[number]
    assert len(table) == 100 and sys.getsizeof(table) < 4_000
