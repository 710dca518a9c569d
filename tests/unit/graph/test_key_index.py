"""Indexes of rows by key: those of a `dict`, whatever the sequence of changes, without the keys."""

from __future__ import annotations

import gc
import random
import sys
import time
import weakref
from collections.abc import MutableMapping
from typing import Any

import pytest

from graphtide.graph.int_sets import EMPTY
from graphtide.graph.number_table import KeyGroups, KeyIndex, NumberTable


class _Name:
    """A key of which only `hashes` hash values exist, so that most keys collide."""

    def __init__(self, text: str, hashes: int) -> None:
        self.text = text
        self._hash = len(text) * 7 + ord(text[-1]) % hashes if hashes else 0

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Name) and self.text == other.text

    def __repr__(self) -> str:
        return self.text


class _Row:
    """A row with slots."""

    __slots__ = ("__weakref__", "name", "type")

    def __init__(self, name: Any, type_: object = "") -> None:
        self.name, self.type = name, type_


class _Unslotted:
    """A row with a dictionary, and a property as one half of its key."""

    def __init__(self, name: Any, type_: object = "") -> None:
        self.name, self._type = name, type_

    @property
    def type(self) -> object:
        return self._type


@pytest.mark.parametrize("hashes", [0, 3, 1_000])
@pytest.mark.parametrize("row_type", [_Row, _Unslotted])
def test_changes_equal_those_of_a_dict(hashes: int, row_type: type[_Row]) -> None:
    """A random walk with growth, shrinkage and reuse of numbers, also where all keys have one hash value."""
    seed = 41
    print(f"seed {seed}")
    rng = random.Random(seed)
    rows: NumberTable[_Row] = NumberTable()
    index: KeyIndex[tuple[_Name, str], _Row] = KeyIndex(rows, "name", "type")
    wanted: dict[tuple[_Name, str], int] = {}
    free = list(range(400))
    for step in range(4_000 if hashes else 1_500):
        key = (_Name(f"name {rng.randrange(120)}", hashes), rng.choice(["", "person"]))
        assert index.get(key) == wanted.get(key) and (key in index) == (key in wanted)
        assert index.numbers_of(key) == ([wanted[key]] if key in wanted else [])
        if key not in wanted and rng.random() < (0.8 if step // 500 % 2 == 0 else 0.2):
            number = free.pop(rng.randrange(len(free)))
            rows[number] = row_type(*key)
            index[key] = wanted[key] = number
        elif key in wanted and rng.random() < (0.2 if step // 500 % 2 == 0 else 0.8):
            assert index.row(key) is rows[wanted[key]] is index.find(key)
            assert index.pop(key) == wanted[key]
            del rows[wanted[key]]
            free.append(wanted.pop(key))
        assert len(index) == len(wanted)
    assert wanted and dict(index) == wanted and list(index.values()) == sorted(wanted.values())
    assert index == wanted and isinstance(index, MutableMapping)
    index.clear()
    assert not index and list(index) == [] and index.numbers() == []


def test_large_indexes_find_all_of_their_keys() -> None:
    """Growth to many entries and removal of most, with keys of one attribute; a lookup of others finds nothing."""
    rows = NumberTable((number, _Row(f"n{number}")) for number in range(30_000))
    index: KeyIndex[str, _Row] = KeyIndex(rows, "name")
    for number, row in rows.items():
        index[row.name] = number
    assert all(index[f"n{number}"] == number for number in rows) and "n30000" not in index and "" not in index
    size = sys.getsizeof(index)
    assert 9 * 30_000 < size < 12 * 30_000
    for number in range(2, 30_000):
        del index[f"n{number}"], rows[number]
    assert dict(index) == {"n0": 0, "n1": 1} and sys.getsizeof(index) < 2_000


def test_missing_keys_and_rows() -> None:
    """A key of no row is absent, also one of another shape; so is a row that the table has lost."""
    rows = NumberTable([(3, _Row("a", "b"))])
    index: KeyIndex[tuple[str, str], _Row] = KeyIndex(rows, "name", "type")
    index["a", "b"] = 3
    keys: list[Any] = [("a", "c"), ("a",), ("a", "b", "c"), "a", 3, None]
    for key in keys:
        assert key not in index and index.get(key, 7) == index.pop(key, 7) == 7 and index.find(key) is None
        for call in (index.__getitem__, index.__delitem__, index.row, index.pop):
            with pytest.raises(KeyError):
                call(key)
    del rows[3]
    assert ("a", "b") not in index and index.find(("a", "b")) is None
    unhashable: Any = []
    with pytest.raises(TypeError):
        index.get(unhashable)


def test_an_assignment_needs_the_row_and_replaces_the_number_of_its_key() -> None:
    rows = NumberTable([(0, _Row("a")), (1, _Row("a")), (2, _Row("b"))])
    index: KeyIndex[str, _Row] = KeyIndex(rows, "name")
    for number in (2, 3):
        with pytest.raises(ValueError, match="does not have the key 'a'"):
            index["a"] = number
    for number in (-1, 2**32 - 1, 2**70):
        with pytest.raises(OverflowError):
            index["a"] = number
    for number in (0, 0, 1):
        index["a"] = number
        assert dict(index) == {"a": number} and len(index) == 1


def test_several_rows_of_one_key() -> None:
    """`add` enters a row beside others of its key, `remove` takes it out, whether or not its row is still there."""
    rows = NumberTable((number, _Row("ab"[number % 2])) for number in range(40))
    index: KeyIndex[str, _Row] = KeyIndex(rows, "name")
    for number in reversed(range(40)):
        index.add(rows[number].name, number)
    assert index.numbers_of("a") == list(range(0, 40, 2)) and index.numbers_of("b") == list(range(1, 40, 2))
    assert index.numbers_of("c") == [] and len(index) == 40
    del rows[4]
    index.remove("a", 4)
    with pytest.raises(KeyError):
        index.remove("a", 4)
    with pytest.raises(KeyError):
        index.remove("a", 5)
    assert index.numbers_of("a") == [number for number in range(0, 40, 2) if number != 4]


def test_a_comparison_that_changes_the_index_or_fails_is_an_error() -> None:
    class Hostile:
        def __hash__(self) -> int:
            return hash("a")

        def __eq__(self, other: object) -> bool:
            index.add("a", 1)
            return False

    class Failing(Hostile):
        __hash__ = Hostile.__hash__

        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

    rows = NumberTable([(0, _Row("a"))])
    index: KeyIndex[Any, _Row] = KeyIndex(rows, "name")
    index["a"] = 0
    for call in (index.get, index.pop, index.numbers_of, index.__getitem__, index.__contains__, index.row, index.find):
        with pytest.raises(RuntimeError, match="changed by the comparison"):
            call(Hostile())
        with pytest.raises(ZeroDivisionError):
            call(Failing())
    assert index["a"] == 0 and len(index) == 1
    rows[1] = _Row.__new__(_Row)
    with pytest.raises(AttributeError):
        index["b"] = 1


def test_arguments_of_an_index() -> None:
    """A table and one to three names."""
    rows: NumberTable[_Row] = NumberTable()
    kind: Any = KeyIndex
    wrong: list[tuple[Any, ...]] = [(), (rows,), ({}, "name"), (rows, 3), (rows, "a", "b", "c", "d")]
    for given in wrong:
        with pytest.raises(TypeError):
            kind(*given)
    with pytest.raises(TypeError):
        kind(rows, name="name")


def test_the_collector_frees_a_cycle_through_an_index() -> None:
    rows: NumberTable[_Row] = NumberTable()
    row = _Row("a")
    rows[0] = row
    index: KeyIndex[str, _Row] = KeyIndex(rows, "name")
    index["a"] = 0
    row.type = index
    ref = weakref.ref(row)
    del rows, row, index
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("hashes", [0, 1_000])
def test_groups_equal_a_dict_of_sets(hashes: int) -> None:
    """A random walk of rows that enter and leave, of few names: small and large groups."""
    seed = 43
    print(f"seed {seed}")
    rng = random.Random(seed)
    rows: NumberTable[_Row] = NumberTable()
    groups: KeyGroups[_Name] = KeyGroups(rows, "name")
    wanted: dict[_Name, set[int]] = {}
    for step in range(3_000):
        number = rng.randrange(150)
        if (row := rows.get(number)) is None:
            row = rows[number] = _Row(_Name(f"n{rng.choice([0, 0, 0, rng.randrange(60)])}", hashes))
            groups.include(row.name, number)
            wanted.setdefault(row.name, set()).add(number)
        elif rng.random() < (0.2 if step // 500 % 2 == 0 else 0.9):
            groups.exclude(row.name, number)
            del rows[number]
            wanted[row.name].discard(number)
            if not wanted[row.name]:
                del wanted[row.name]
        assert len(groups) == len(wanted) and (row.name in groups) == (row.name in wanted)
        assert set(groups.get(row.name, EMPTY)) == wanted.get(row.name, set())
    found = list(groups)
    assert len(found) == len(set(found)) == len(wanted) > 10
    assert {name: set(members) for name, members in groups.items()} == wanted
    assert sorted(groups[found[0]]) == sorted(wanted[found[0]])
    missing = _Name("none", hashes)
    with pytest.raises(KeyError):
        groups[missing]
    assert missing not in groups and groups.get(missing) is None
    with pytest.raises(KeyError):
        groups.exclude(found[0], 151)
    assert set(groups) == wanted.keys()


def test_rows_of_one_key_are_entered_as_fast_as_rows_of_many() -> None:
    """A name of many types: of 4,000 rows of one key, a second is what reading the others each time would take."""

    def seconds(names: list[str]) -> float:
        rows: NumberTable[_Row] = NumberTable(enumerate(map(_Row, names)))
        groups: KeyGroups[str] = KeyGroups(rows, "name")
        start = time.process_time()
        for number, name in enumerate(names):
            groups.include(name, number)
        assert len(groups) == len(set(names))
        for number, name in enumerate(names):
            groups.exclude(name, number)
        assert len(groups) == 0
        return time.process_time() - start

    count = 4_000
    assert seconds(["one"] * count) < 30 * seconds([f"n{number}" for number in range(count)])
