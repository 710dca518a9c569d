"""Unit rows and similarities are those of plain float64 arithmetic, to the last bit, without its copies."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

from graphtide.graph.vector_index import Vectors, check_rows, similarities, unit_halves, unit_rows

DIMENSIONS = 96


def plain_unit_rows(vectors: NDArray[np.floating]) -> Vectors:
    wide = vectors.astype(np.float32).astype(np.float64)
    found: Vectors = (wide / np.sqrt((wide * wide).sum(axis=1))[:, None]).astype(np.float32)
    return found


def plain_similarities(query: Vectors, vectors: Vectors) -> Vectors:
    found: Vectors = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1).astype(np.float32)
    return found


@pytest.mark.parametrize("count", [1, 2, 77, 400])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_values_are_those_of_plain_arithmetic(count: int, kind: DTypeLike) -> None:
    """Large and small values, rows that are not contiguous, and a row alone as in its batch."""
    rng = np.random.default_rng(count)
    rows = (rng.standard_normal((count, 2 * DIMENSIONS)) * rng.choice([1e-3, 1.0, 1e3], (count, 1))).astype(kind)[
        :, ::2
    ]
    unit = unit_rows(rows, DIMENSIONS)
    assert unit.tobytes() == plain_unit_rows(rows).tobytes()
    assert unit.flags.c_contiguous and unit.dtype == np.float32
    assert unit_rows(rows[-1:], DIMENSIONS).tobytes() == unit[-1:].tobytes()
    assert similarities(unit[0], unit).tobytes() == plain_similarities(unit[0], unit).tobytes()


def test_temporary_memory_is_one_copy_in_float64() -> None:
    """Several copies of a few hundred kilobytes cost page faults that take longer than the arithmetic."""
    rows = np.random.default_rng(1).standard_normal((2_000, DIMENSIONS)).astype(np.float32)
    assert peak(lambda: unit_rows(rows, DIMENSIONS)) < 3.2 * rows.nbytes
    assert peak(lambda: similarities(rows[0], rows)) < 2.2 * rows.nbytes


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_refused_as_their_unit_vectors_are(seed: int) -> None:
    """The check compares bits, so any float16 is tried: infinities, NaN, both zeros, the smallest magnitudes."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 16, (int(rng.integers(1, 6)), DIMENSIONS)).astype(np.uint16)
    bits[rng.random(bits.shape) < 0.8] &= 0x8001
    rows = list(bits.view(np.float16))
    if seed % 3 == 0:
        rows = [np.ones(DIMENSIONS, np.float16), *rows]
    messages = []
    for check in (check_rows, unit_rows):
        try:
            check(rows, DIMENSIONS, 7)
            messages.append("")
        except ValueError as error:
            messages.append(str(error))
    assert messages[0] == messages[1]


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="expected vectors of shape"):
        check_rows([np.ones(DIMENSIONS + 1, np.float16)], DIMENSIONS)


@pytest.mark.parametrize("count", [1, 2, 77, 400])
def test_halves_are_scaled_as_unit_rows_within_float32_and_each_row_alone(count: int) -> None:
    """Also the largest and the smallest float16; a zero vector stays zero."""
    rng = np.random.default_rng(count)
    rows = (rng.standard_normal((count, DIMENSIONS)) * rng.choice([1e-3, 1.0, 1e3], (count, 1))).astype(np.float16)
    rows[0] = np.finfo(np.float16).max
    rows[-1] = np.finfo(np.float16).smallest_subnormal
    unit = unit_halves(rows)
    assert unit.flags.c_contiguous and unit.dtype == np.float32
    np.testing.assert_allclose(unit, unit_rows(rows, DIMENSIONS), rtol=1e-6)
    assert all(unit_halves(rows[at : at + 1]).tobytes() == unit[at].tobytes() for at in range(count))
    assert not unit_halves(np.zeros((count, DIMENSIONS), np.float16)).any()
