"""JSON in parts: the results of the codec in one call, and no call of it over a whole large value."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.streams import json_parts
from graphtide.streams.json_parts import Elements, dump, dump_in_parts, load_in_parts

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
@given(
    body=st.dictionaries(st.text(), _VALUES, max_size=6),
    indent=st.none() | st.integers(0, 2),
    window=st.sampled_from((1, 2, 3, 7, 64, 1 << 20)),
    cut=st.integers(0, 99),
)
def test_load_in_parts_equals_loads(body: dict[str, object], indent: int | None, window: int, cut: int) -> None:
    """A large object is read as one call reads it, with any white space, windows and pieces."""
    value = json.dumps(body, indent=indent, ensure_ascii=bool(indent)).encode()
    pieces = value[: len(value) * cut // 100], memoryview(value)[len(value) * cut // 100 :]
    with patch.object(json_parts, "WINDOW_BYTES", window):
        assert load_in_parts(*pieces, large_bytes=0) == json.loads(value)


@pytest.mark.parametrize("window", [1, 5, 1 << 20])
def test_load_in_parts_refuses_what_loads_refuses(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged text raises ValueError in both, and every other one has the same result."""
    monkeypatch.setattr(json_parts, "WINDOW_BYTES", window)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    whole = json.dumps({"a": [1, [2, {"b": None}], "c"], "d": {"e": 1.5}, "a2": [], "f": "g"}).encode()
    for _ in range(400):
        at = rng.randrange(len(whole))
        damaged = whole[:at] + rng.choice((b"", b",", b"]", b"}", b'"', b"\x80", b"1", b"{")) + whole[at + 1 :]
        assert _outcome(lambda value: load_in_parts(value, large_bytes=0), damaged) == _outcome(json.loads, damaged), (
            damaged
        )


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


@pytest.mark.parametrize("window", [1, 2, 3, 1 << 20])
def test_numbers_at_the_end_of_a_window_are_read_whole(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of a number is a number, too."""
    monkeypatch.setattr(json_parts, "WINDOW_BYTES", window)
    body = {"a": 12345, "b": [-1.5e10, 0, 678], "c": "ä\U0001f600", "d": True}
    assert load_in_parts(dump(body), large_bytes=0) == body


def test_elements_are_converted_one_by_one() -> None:
    """Also those of a short text; other members, and members of another kind, are not."""
    body = {"units": [[1, 2], [3, 4]], "other": [[5, 6]], "text": "a"}
    for large_bytes in (0, 1 << 20):
        found = load_in_parts(dump(body), large_bytes=large_bytes, elements={"units": sum, "text": sum, "none": sum})
        assert found == body | {"units": [3, 7]}


def test_large_text_is_never_held_as_characters() -> None:
    """One wide character would make each of 10 million characters four bytes."""
    body = {"units": ["x" * 10_000 for _ in range(1_000)] + ["\U0001f600"]}
    value = dump(body)
    tracemalloc.start()
    found = load_in_parts(value, elements={"units": len})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == {"units": [10_000] * 1_000 + [1]}
    assert peak < len(value), peak


@pytest.mark.parametrize("count", [0, 1, 100])
def test_elements_that_are_made_while_they_are_encoded_equal_a_list(count: int) -> None:
    """An empty list too."""
    made = Elements({"n": number} for number in range(count))
    assert dump_in_parts({"a": made, "b": 1}) == dump({"a": [{"n": number} for number in range(count)], "b": 1})
