"""The structure of JSON in its bytes, beside the standard parser as the oracle."""

from __future__ import annotations

import json
import random

import pytest

from graphtide.services.api.schema.errors import TooLarge
from graphtide.services.api.schema.requests import json_structure
from graphtide.services.api.schema.requests.json_structure import check_value_count, elements

_STRINGS = ("", "a,b", "[{", '"', "\\", '\\",', "ä", "]}", 'x\\\\"', "\n")


def made(chance: random.Random, depth: int) -> object:
    """A JSON value whose strings hold what structure is made of."""
    kind = chance.randrange(5 if depth else 3)
    if kind == 0:
        return chance.choice(_STRINGS) + chance.choice(_STRINGS)
    if kind == 1:
        return chance.randrange(1000)
    if kind == 2:
        return chance.choice([None, True, 1.5])
    inner = [made(chance, depth - 1) for _ in range(chance.randrange(5))]
    return inner if kind == 3 else {f"{n}{chance.choice(_STRINGS)}": each for n, each in enumerate(inner)}


def counted(value: object) -> int:
    """Return the number of values in a value, itself included."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(counted, inner))


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 64, 1 << 18])
def test_elements_of_a_list_are_those_of_the_parser(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the text is cut into blocks, and whatever strings hold."""
    monkeypatch.setattr(json_structure, "BLOCK_BYTES", block_bytes)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(100):
        values = [made(chance, 3) for _ in range(chance.randrange(1, 6))]
        text = json.dumps(values, ensure_ascii=chance.random() < 0.5).encode()
        assert [json.loads(element) for element in elements(text[1:-1])] == values


@pytest.mark.parametrize("block_bytes", [1, 5, 1 << 18])
def test_count_of_values_is_that_of_the_parser(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text passes with twice the values that it has, and does not with fewer than those; strings do not count."""
    monkeypatch.setattr(json_structure, "BLOCK_BYTES", block_bytes)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(200):
        value = made(chance, 4)
        text, count = json.dumps(value).encode(), counted(value)
        check_value_count(text, 2 * count)
        if count > 3:
            with pytest.raises(TooLarge):
                check_value_count(text, count - 2)
