"""Decoders of bytes from outside: only documented errors escape, and encoded values decode to themselves."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.decoders import CORPUS, TARGETS
from tests.fuzz.mutations import mutated


def test_every_target_has_a_corpus() -> None:
    """A target without seeds is not replayed, and a folder without a target is not read."""
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("runs", [100, pytest.param(1_000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", TARGETS)
def test_decoder_raises_only_its_errors(name: str, runs: int) -> None:
    """The corpus, then seeded mutations of it."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    for data in [*seeds, *(mutated(rng, seeds) for _ in range(runs))]:
        try:
            TARGETS[name](data)
        except Exception as error:
            error.add_note(f"input {data!r}")
            raise
