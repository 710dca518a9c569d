"""Names in texts: what the search finds, and how its time grows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from graphtide.streams.extract import name_search
from graphtide.streams.extract.name_search import places_of


@pytest.mark.parametrize("seed", range(30))
def test_the_index_finds_what_a_search_name_by_name_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random names over few letters, so that they overlap, repeat and begin with each other."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    letters = "ab" if seed % 2 else "abc é"
    texts = ["".join(rng.choices(letters, k=rng.randrange(0, 60))) for _ in range(rng.randrange(1, 8))]
    names = ["".join(rng.choices(letters, k=rng.randrange(1, 9))) for _ in range(rng.randrange(0, 60))]
    names += ["a" * size for size in range(1, rng.randrange(2, 40))]
    expected = places_of(names, texts)
    monkeypatch.setattr(name_search, "DIRECT_STEPS", -1)
    assert places_of(names, texts) == expected


NAMED: dict[str, Callable[[int], tuple[list[str], int]]] = {
    "distinct names that occur once": lambda n: ([f"entity {k:06}" for k in range(n)], 1),
    "names that occur nowhere": lambda n: ([f"absent {k:06}" for k in range(n)], 2),
    "names that begin with each other": lambda n: (["a" * (k % 400 + 1) + "b" * (k // 400) for k in range(n)], 3),
    "names with a long common beginning": lambda n: (
        [f"https://example.org/some/long/path/{k:06}" for k in range(n)],
        1,
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", NAMED)
def test_the_search_takes_time_in_proportion_to_names_and_texts(kind: str) -> None:
    """Eight times the names and the text take less than 24 times as long: their product is 64 times as large."""

    def seconds(count: int) -> float:
        names, form = NAMED[kind](count)
        texts = {
            1: [" ".join(names[start : start + 100]) for start in range(0, count, 100)],
            2: ["absent " * 200 for _ in range(count // 100)],
            3: ["aaab" * 300 for _ in range(count // 100)],
        }[form]
        best = 1e9
        for _ in range(3):
            started = time.process_time()
            places_of(names, texts)
            best = min(best, time.process_time() - started)
        return best

    few, many = seconds(1_500), seconds(12_000)
    assert many / few < 24, (few, many)
