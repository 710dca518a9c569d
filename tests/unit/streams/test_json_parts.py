"""JSON in parts: the results of the codec in one call, and no call of it over a whole large value."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.streams import json_parts
from graphtide.streams.json_parts import dump, dump_in_parts, load_in_parts

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=4),
)


@pytest.mark.thorough
@given(body=_VALUES)
def test_dump_in_parts_equals_dump(body: object) -> None:
    """Parts of any value join to the bytes of one call."""
    assert dump_in_parts(body) == dump(body)


@given(key=st.integers() | st.booleans() | st.none())
def test_dump_in_parts_equals_dump_when_a_key_is_no_string(key: object) -> None:
    """Keys that JSON writes as strings are written alike."""
    assert dump_in_parts({key: [1]}) == dump({key: [1]})


@pytest.mark.thorough
@given(body=st.dictionaries(st.text(), _VALUES, max_size=6), indent=st.none() | st.integers(0, 2))
def test_load_in_parts_equals_loads(body: dict[str, object], indent: int | None) -> None:
    """A large object is read as one call reads it, with any white space."""
    value = json.dumps(body, indent=indent, ensure_ascii=bool(indent)).encode()
    assert load_in_parts(value, 0) == json.loads(value)


def test_load_in_parts_refuses_what_loads_refuses() -> None:
    """A damaged text raises ValueError in both, and every other one has the same result."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    whole = json.dumps({"a": [1, [2, {"b": None}], "c"], "d": {"e": 1.5}, "a2": [], "f": "g"}).encode()
    for _ in range(400):
        at = rng.randrange(len(whole))
        damaged = whole[:at] + rng.choice((b"", b",", b"]", b"}", b'"', b"\x80", b"1", b"{")) + whole[at + 1 :]
        assert _outcome(lambda value: load_in_parts(value, 0), damaged) == _outcome(json.loads, damaged), damaged


def _outcome(load: Callable[[bytes], object], value: bytes) -> object:
    try:
        return load(value)
    except ValueError:
        return ValueError


def test_load_in_parts_decodes_a_list_by_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call of the codec covers more than one element of a large list."""
    lengths: list[int] = []
    decode = json_parts._decode

    def watched(text: str, at: int) -> Any:
        value, end = decode(text, at)
        lengths.append(end - at)
        return value, end

    monkeypatch.setattr(json_parts, "_decode", watched)
    units = [["key", "x" * 100, number] for number in range(5_000)]
    value = dump({"schema": 1, "units": units})
    assert load_in_parts(value) == {"schema": 1, "units": units}
    assert max(lengths) < 200 < len(value)
