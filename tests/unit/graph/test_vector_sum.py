"""Vector sums: exact, independent of order, and of the same value whatever their form in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphtide.graph.vector_sum import SCALE, VectorSum, WideBytes, _unit, bytes_of, mean_of_means, vector_of

DIMENSIONS = 3
coordinates = st.floats(width=16, allow_nan=False, allow_infinity=False)
vectors = st.lists(coordinates, min_size=DIMENSIONS, max_size=DIMENSIONS).map(lambda x: np.array(x, dtype=np.float16))


def _sum(items: list[NDArray[np.float16]]) -> VectorSum:
    total = VectorSum()
    for item in items:
        total.add(item)
    return total


@given(st.lists(vectors, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_sum_is_the_same_value_when_the_order_differs(items: list[NDArray[np.float16]], random: object) -> None:
    """Bytes and mean depend on the multiset of vectors alone."""
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = _sum(items), _sum(shuffled)
    assert one == other and one.to_bytes() == other.to_bytes()
    assert one.count == len(items)
    exact = [sum(int(float(item[i]) * SCALE) for item in items) for i in range(DIMENSIONS)]
    assert one._total().tolist() == exact


@pytest.mark.thorough
@given(st.lists(vectors, max_size=5), st.lists(vectors, max_size=5))
def test_retraction_undoes_addition_when_other_vectors_were_added(
    kept: list[NDArray[np.float16]], passing: list[NDArray[np.float16]]
) -> None:
    """A vector that was added and retracted leaves no trace, down to the bytes."""
    total = _sum(passing + kept)
    for item in passing:
        total.retract(item)
    assert total.to_bytes() == _sum(kept).to_bytes()


@given(st.lists(vectors, max_size=5))
def test_bytes_restore_the_sum_when_read_back(items: list[NDArray[np.float16]]) -> None:
    """The stored form is complete, and the restored sum accepts further vectors."""
    total = _sum(items)
    read = VectorSum.from_bytes(total.to_bytes())
    assert read == total and read.count == total.count
    extra = np.ones(DIMENSIONS, dtype=np.float16)
    read.add(extra, 2)
    total.add(extra, 2)
    assert read == total


def test_sum_is_compact_when_all_vectors_are_the_same() -> None:
    """A label seen a thousand times with one vector is stored as one float16 vector."""
    vector = np.array([0.5, -0.25, 0.125], dtype=np.float16)
    total = VectorSum()
    total.add(vector, 999)
    total.add(vector)
    size = len(total.to_bytes())
    other = np.array([0.1, 0.2, 0.3], dtype=np.float16)
    total.add(other)
    assert len(total.to_bytes()) > size
    total.retract(other)
    assert len(total.to_bytes()) == size and total._wide is None


def test_mean_is_a_float32_unit_vector_when_vectors_do_not_cancel() -> None:
    """The mean points along the sum; empty and cancelled sums have none."""
    total = VectorSum()
    assert total.mean() is None
    total.add(np.array([3, 0], dtype=np.float16))
    total.add(np.array([0, 4], dtype=np.float16))
    mean = total.mean()
    assert mean is not None and mean.dtype == np.float32
    assert mean == pytest.approx([0.6, 0.8])
    total.add(np.array([-3, -4], dtype=np.float16))
    assert total.mean() is None


def test_copy_is_independent_when_the_original_goes_on() -> None:
    """A copy keeps the value of its creation."""
    total = _sum([np.array([1, 0], dtype=np.float16)])
    copy = total.copy()
    total.add(np.array([0, 1], dtype=np.float16))
    assert copy.count == 1 and copy != total


def test_sum_keeps_its_value_when_the_caller_writes_to_the_array() -> None:
    """The sum holds its own copy of its input."""
    vector = np.array([1, 2], dtype=np.float16)
    total = _sum([vector])
    vector[0] = 7
    assert total == _sum([np.array([1, 2], dtype=np.float16)])


def test_change_is_refused_when_it_cannot_be_right() -> None:
    """Wrong types, shapes and retractions raise and change nothing."""
    total = _sum([np.array([1, 0], dtype=np.float16), np.array([1, 1], dtype=np.float16)])
    before = total.to_bytes()
    for wrong in (
        np.array([1, 0], dtype=np.float32),
        np.array([1], dtype=np.float16),
        np.array([1, np.inf], dtype=np.float16),
    ):
        with pytest.raises(ValueError, match=r"vector|dimensions"):
            total.add(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        total.add(np.array([1, 0], dtype=np.float16), -1)
    with pytest.raises(ValueError, match="retracted"):
        total.retract(np.array([1, 0], dtype=np.float16), 3)
    with pytest.raises(ValueError, match="had not been added"):
        total.retract(np.array([1, 0], dtype=np.float16), 2)
    assert total.to_bytes() == before


def test_stored_form_is_refused_when_damaged() -> None:
    """Bytes of another length or form are not read as a vector."""
    data = _sum([np.array([1, 0], dtype=np.float16)]).to_bytes()
    for damaged in (b"", data[:-1], data + b"\0", b"\7" + data[1:]):
        with pytest.raises(ValueError, match="vector sum"):
            VectorSum.from_bytes(damaged)


@given(st.lists(vectors, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_mean_of_means_is_the_same_when_the_order_differs(items: list[NDArray[np.float16]], random: object) -> None:
    """The second mean of two-step pooling does not depend on the order of the labels."""
    means = [_sum([item]).mean() for item in items]
    shuffled = list(means)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = mean_of_means(means), mean_of_means(shuffled)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.tobytes() == other.tobytes()


def test_mean_of_means_weighs_each_label_once_when_one_is_frequent() -> None:
    """DynaGRAG section 3.1: a spelling seen 99 times counts as much as one seen once."""
    frequent, rare = VectorSum(), VectorSum()
    frequent.add(np.array([1, 0], dtype=np.float16), 99)
    rare.add(np.array([0, 1], dtype=np.float16))
    pooled = mean_of_means([frequent.mean(), rare.mean(), None])
    assert pooled == pytest.approx([0.5**0.5, 0.5**0.5])
    assert mean_of_means([]) is None


def test_mean_has_the_same_bits_however_often_a_vector_was_added_and_however_the_sum_is_held() -> None:
    """Three equal vectors, one of them, and a sum of others with that mean: one unit vector, bit by bit."""
    vector = np.array([0.1, 0.7, -0.3], np.float16)
    once, thrice, around = VectorSum(), VectorSum(), VectorSum()
    once.add(vector)
    thrice.add(vector, 3)
    around.add(vector / np.float16(2))
    around.add(vector + vector / np.float16(2))
    means = [one.mean() for one in (once, thrice)]
    assert means[0] is not None and means[1] is not None
    assert means[0].tobytes() == means[1].tobytes()
    mean = around.mean()
    read = VectorSum.from_bytes(around.to_bytes()).mean()
    assert mean is not None and read is not None and mean.tobytes() == read.tobytes()


def test_mean_is_that_of_the_quotient_only_where_no_coordinate_has_a_remainder() -> None:
    """Whatever the coordinates with a remainder are: the first, the last, or none."""
    seed = int(np.random.default_rng().integers(1 << 32))
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for _ in range(300):
        count = int(rng.integers(2, 6))
        rows = rng.standard_normal((count, 20)).astype(np.float16)
        rows[1:, rng.random(20) < rng.choice((0.0, 0.9, 1.0))] = 0
        rows[0] = (rows[0].astype(np.float64) * SCALE // count * count / SCALE).astype(np.float16)
        total = _sum(list(rows))
        exact = total._total()
        whole = exact // count if not (exact % count).any() else exact
        expected = (whole.astype(np.float64) / np.sqrt((whole.astype(np.float64) ** 2).sum())).astype(np.float32)
        mean = total.mean()
        assert mean is not None and np.allclose(mean, expected, rtol=1e-6)
        assert mean.tobytes() == _unit(whole.astype(np.float64)).tobytes()  # type: ignore[union-attr]


def test_equal_vectors_are_held_once() -> None:
    """A vector with the bits of all in the sum is over the sum's own bytes; another one, and that of a mixed sum, is
    not.
    """
    one, other = np.array([1, 0, 0], np.float16), np.array([0, 1, 0], np.float16)
    total = _sum([one, one])
    assert bytes_of(total.shared(one.copy())) is total.same
    assert total.shared(other) is other and VectorSum().shared(one) is one
    total.add(other)
    assert total.shared(one) is one


def test_vector_and_its_bytes_refer_to_each_other() -> None:
    """An array over bytes gives these bytes again, without a copy; a row of a matrix gives a copy of the row alone."""
    data = np.array([1, -2, 0.5], np.float16).tobytes()
    vector = vector_of(data)
    assert bytes_of(vector) is data and vector.tolist() == [1, -2, 0.5] and not vector.flags.writeable
    matrix = np.arange(6, dtype=np.float16).reshape(2, 3)
    assert bytes_of(matrix[1]) == matrix[1].tobytes() and bytes_of(vector_of(data)[1:]) == data[2:]
    assert vector_of(b"").shape == (0,) and bytes_of(vector_of(b"")) == b""


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_sum_rejects_a_coordinate_that_is_not_finite(wrong: float) -> None:
    """The largest finite coordinates are accepted, and both zeros are one number."""
    total = _sum([np.array([65504, -65504, -0.0], np.float16)])
    with pytest.raises(ValueError, match="not finite"):
        total.add(np.array([0, wrong, 0], np.float16))
    total.retract(np.array([65504, -65504, 0.0], np.float16))
    assert total.count == 0


@given(st.lists(vectors, min_size=1, max_size=5), vectors)
def test_encoding_is_the_value_of_its_moment(items: list[NDArray[np.float16]], later: NDArray[np.float16]) -> None:
    """It equals the bytes, hashes alike, and does not change with the sum."""
    total = _sum(items)
    before, encoding = total.to_bytes(), total.encoding()
    total.add(later)
    total.retract(items[0])
    assert bytes(encoding) == before
    assert encoding == before and before == encoding and hash(encoding) == hash(before)
    assert encoding == VectorSum.from_bytes(before).encoding()
    assert encoding != total.encoding() or total.to_bytes() == before
    assert encoding != before.decode("latin-1")


def test_encoding_of_an_empty_sum() -> None:
    """As `to_bytes` gives it."""
    assert bytes(VectorSum().encoding()) == VectorSum().to_bytes()


@given(st.lists(vectors, min_size=2, max_size=6))
def test_wide_sum_takes_four_bytes_a_coordinate_where_they_suffice(items: list[NDArray[np.float16]]) -> None:
    """Its bytes and mean are those of the sum in eight; larger coordinates have eight, and four again when they fit."""
    total = _sum(items)
    wide = total._wide
    exact = np.sum([item.astype(np.float64) * SCALE for item in items], axis=0)
    if wide is not None:
        narrow = bool(((exact < 2**31) & (exact >= -(2**31))).all())
        assert _size(wide) == DIMENSIONS * (4 if narrow else 8)
        restored = VectorSum.from_bytes(total.to_bytes())._wide
        assert restored is None or _size(restored) == _size(wide)  # None: copies of one vector
    large = np.full(DIMENSIONS, 60_000, np.float16)
    total.add(large)
    total.retract(large)
    assert total == _sum(items)
    assert (total._wide is None) or (wide is None) or _size(total._wide) == _size(wide)


def _size(wide: WideBytes) -> int:
    return wide.nbytes if isinstance(wide, np.ndarray) else len(wide)
