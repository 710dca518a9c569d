"""Decoders of bytes from outside: only documented errors escape, and encoded values decode to themselves."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.decoders import CORPUS, TARGETS

RUNS = 300
_DEEP = b"[" * 2_000
_BYTES = (
    b"0",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"[]",
    b"{}",
    b'"',
    b"\\ud800",
    b"\xed\xa0\x80",
    b"\0",
    b"\xff",
    b"[" * 2_000,
)


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    """Return a seed with a few bytes deleted, repeated, replaced or inserted."""
    data = rng.choice(seeds)
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(data))
        end = min(len(data), start + rng.choice((0, 1, 1, 2, 8)))
        piece = rng.choice((rng.choice(_BYTES), data[start:end] * 2, rng.randbytes(2), b""))
        data = data[:start] + piece + data[end:]
    return data[:4096]


def test_every_target_has_a_corpus() -> None:
    """A target without seeds is not replayed, and a folder without a target is not read."""
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_decoder_raises_only_its_errors(name: str) -> None:
    """The corpus, then seeded mutations of it."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    for data in [*seeds, *(mutated(rng, seeds) for _ in range(RUNS))]:
        try:
            TARGETS[name](data)
        except Exception as error:
            error.add_note(f"input {data!r}")
            raise
