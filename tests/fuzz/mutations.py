"""Seeded mutations of a corpus: the replay in every test run, and the fuzzer where atheris does not exist."""

from __future__ import annotations

import random

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
