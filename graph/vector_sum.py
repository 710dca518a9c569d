"""Exact vector sums, in which retracting is the inverse of adding, in any order.

They give the first and second mean of two-step mean pooling (Thakrar, DynaGRAG 2024, section 3.1): vectors of identical
entities are averaged into the mean of a label, and the means of labels into that of an entity, so that a frequent
spelling does not dominate the others.

Invariant: the value is (count, sum) with sum an integer vector at scale 2**24. Every finite float16 is a multiple of
2**-24, so nothing is rounded, and the value depends on the multiset of vectors alone. The form in memory has no effect
on it: the bytes of one float16 vector and a count while all are the same, else those of int32 where all coordinates
fit, else int64. Bytes and not an array, because the two objects of an array take some 110 bytes more; `vector_store.py`
decides where they are.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.vector_store import VECTOR_BYTES, VectorBytes, stored

SCALE = 1 << 24
_HEADER = struct.Struct("<BqI")  # form, count, dimensions
_COMPACT, _WIDE = 1, 2

Float16Vector = NDArray[np.float16]
Float32Vector = NDArray[np.float32]
Float64Vector = NDArray[np.float64]
Int64Vector = NDArray[np.int64]
WideBytes = VectorBytes | Int64Vector
"""The sum of vectors that differ: the bytes of int32, or an array where a coordinate needs int64, which is rare."""

Scalar = TypeVar("Scalar", bound=np.generic)

_HALF, _INT = np.dtype(np.float16), np.dtype(np.int32)
_EMPTY: Float16Vector = np.empty(0, np.float16)
_EMPTY.flags.writeable = False
_INFINITY, _MINUS_ZERO = 0x7C00, -0x8000
"""Bits of a float16: the exponent of infinity and NaN, and the zero with the sign bit."""
_PROBED = 8
"""Coordinates that are tested one by one for a remainder, before all: one of them nearly always has one."""


class VectorSum:
    """The sum of a multiset of float16 vectors of one dimension, and their number.

    Memory: 2 bytes per dimension while all vectors are equal, else 4, and 8 where a coordinate reaches 128. Each
    operation costs O(dimensions). With coordinates of magnitude at most 1 the sum is exact up to 2**39 vectors.
    """

    __slots__ = ("_count", "_same", "_wide")

    def __init__(self) -> None:
        self._count = 0
        self._same: VectorBytes | None = None
        self._wide: WideBytes | None = None

    @property
    def count(self) -> int:
        """Return the number of vectors in the sum."""
        return self._count

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors; 0 while empty."""
        if self._same is not None:
            return len(self._same) // _HALF.itemsize
        return 0 if self._wide is None else int(_total_of(self._wide).shape[0])

    def add(self, vector: Float16Vector, count: int = 1) -> None:
        """Add `count` copies of a float16 vector `(d,)`.

        Raises ValueError for a negative count, another dimension or type, or a coordinate that is not finite.
        """
        self._change(vector, _natural(count))

    def retract(self, vector: Float16Vector, count: int = 1) -> None:
        """Subtract `count` copies of a vector: the inverse of `add`.

        Raises ValueError, and changes nothing, when the sum has fewer vectors, or when no vectors but a nonzero sum
        would remain.
        """
        self._change(vector, -_natural(count))

    def mean(self) -> Float32Vector | None:
        """Return the mean as a float32 unit vector `(d,)`, or None when empty or when the vectors cancel out.

        It is computed from the mean itself where that is a whole number of steps, so that its bits depend neither on
        how often one vector was added nor on the representation of the sum.
        """
        if self._count == 0:
            return None
        if self._same is not None:
            return unit_of(vector_of(self._same))
        if self._wide is not None:
            wide = _total_of(self._wide)
            if any(value % self._count for value in wide[:_PROBED].tolist()):
                return _unit(wide.astype(np.float64))
        total = self._total()
        quotient, remainder = np.divmod(total, self._count)
        return _unit((total if remainder.any() else quotient).astype(np.float64))

    @property
    def same(self) -> VectorBytes | None:
        """Return the bytes of the vector that all in the sum equal, if there is one."""
        return self._same

    def shared(self, vector: Float16Vector) -> Float16Vector:
        """Return an array over the bytes that this sum holds, if they are those of `vector`, else `vector`.

        What holds it, or `bytes_of` it, needs no memory of its own.
        """
        same = self._same
        return vector if same is None or same != vector.tobytes() else vector_of(same)

    def copy(self) -> VectorSum:
        """Return an independent sum of the same value."""
        other = VectorSum()
        # Stored vectors are replaced and never written to, so they can be shared.
        other._count, other._same, other._wide = self._count, self._same, self._wide
        return other

    def to_bytes(self) -> bytes:
        """Encode the value; equal sums give equal bytes, whatever their representation."""
        return _encoded(self._count, self._same, self._wide)

    def encoding(self) -> SumEncoding:
        """Return the encoding of the present value, which refers to its vectors and is made when it is read."""
        return SumEncoding(self._count, self._same, self._wide)

    @classmethod
    def from_bytes(cls, data: bytes) -> VectorSum:
        """Decode the output of `to_bytes`. Raises ValueError for any other bytes."""
        read = cls()
        read.load(data)
        return read

    def load(self, data: bytes, existing: VectorBytes = b"") -> None:
        """Take the value of the output of `to_bytes`. Raises ValueError, and changes nothing, for any other bytes.

        The sum refers to `existing` bytes, which another object holds, where all its vectors equal these.
        """
        if len(data) < _HEADER.size:
            raise ValueError("the encoded vector sum is truncated")
        form, count, dimensions = _HEADER.unpack_from(data)
        width = {_COMPACT: 2, _WIDE: 8}.get(form)
        if (
            width is None
            or count < 0
            or len(data) != _HEADER.size + width * dimensions
            or (count == 0) != (not dimensions)
        ):
            raise ValueError("the bytes are not an encoded vector sum")
        self._count, self._same, self._wide = count, None, None
        if count and form == _COMPACT:
            same = _little_endian(data[_HEADER.size :])
            self._same = existing if existing == same else stored(same)
        elif count:
            self._wide = _narrowed(np.frombuffer(data, "<i8", offset=_HEADER.size).astype(np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VectorSum) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"VectorSum(count={self._count}, dimensions={self.dimensions})"

    def _change(self, vector: Float16Vector, signed: int) -> None:
        data = _checked(vector, self.dimensions, self._same)
        count = self._count + signed
        if count < 0:
            raise ValueError(f"{-signed} vectors cannot be retracted: the sum has {self._count}")
        if signed == 0:
            return
        if self._same is not None and self._same == data:
            self._count, self._same = count, self._same if count else None  # others hold these bytes: keep them
            return
        if self._count == 0:
            self._count, self._same = count, stored(data)
            return
        total = self._total() + signed * _fixed(data)
        if count == 0 and total.any():
            raise ValueError("the retracted vector had not been added")
        # In practice only a retraction can restore a sum of equal vectors, and it is the rarer direction.
        common = _common_vector(total, count) if signed < 0 and count else None
        self._same = None if common is None else stored(common)
        self._wide = None if self._same is not None or count == 0 else _narrowed(total)
        self._count = count

    def _total(self) -> Int64Vector:
        if self._wide is not None:
            return _total_of(self._wide).astype(np.int64, copy=False)
        assert self._same is not None  # noqa: S101 - holds by construction wherever count is positive
        return self._count * _fixed(self._same)


class SumEncoding:
    """The encoding of a sum's value at one moment: `bytes` makes it. It equals these bytes, and hashes alike.

    Memory: 56 bytes beside the vectors of the sum, which replaces its vectors and never writes to them.
    """

    __slots__ = ("_count", "_same", "_wide")

    def __init__(self, count: int, same: VectorBytes | None, wide: WideBytes | None) -> None:
        self._count, self._same, self._wide = count, same, wide

    def __bytes__(self) -> bytes:
        return _encoded(self._count, self._same, self._wide)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SumEncoding | bytes):
            return bytes(self) == bytes(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return f"SumEncoding({bytes(self)!r})"


@overload
def vector_of(data: VectorBytes) -> Float16Vector: ...


@overload
def vector_of(data: VectorBytes, dtype: np.dtype[Scalar]) -> NDArray[Scalar]: ...


def vector_of(data: VectorBytes, dtype: np.dtype[Any] = _HALF) -> NDArray[Any]:
    """Return the vector `(d,)` of its bytes, float16 by default, an array over them that cannot be written to. O(1)."""
    # numpy's types for Python 3.11 list the buffers one by one.
    return np.frombuffer(data, dtype) if data else _EMPTY.astype(dtype, copy=False)  # type: ignore[arg-type]


def bytes_of(vector: Float16Vector | Float32Vector) -> VectorBytes:
    """Return the bytes of a vector `(d,)` to hold: those that it is an array over, else a copy. They are stored."""
    return stored(_base_bytes(vector))


def unit_of(vector: Float16Vector) -> Float32Vector | None:
    """Return the mean of copies of one vector: a float32 unit vector `(d,)`, or None for a zero vector."""
    return _unit(_wide(vector))


def mean_of_means(vectors: Iterable[Float32Vector | None]) -> Float32Vector | None:
    """Return the second mean: of the labels' means `(d,)` float32 unit length; absent ones (None) are left out.

    Each is rounded to a multiple of 2**-24 (error below 2**-25 per coordinate). The whole numbers are summed in
    float64, exactly up to 2**29 labels, so the result does not depend on the order. None when there is none, or when
    they cancel out. Source: DynaGRAG, section 3.1.
    """
    total: Float64Vector | None = None
    for vector in vectors:
        if vector is None:
            continue
        whole: Float64Vector = np.rint(vector.astype(np.float64) * SCALE)
        total = whole if total is None else total + whole
    return None if total is None else _unit(total + 0.0)  # a single zero, as whole numbers have


def _encoded(count: int, same: VectorBytes | None, wide: WideBytes | None) -> bytes:
    if count == 0:
        return _HEADER.pack(_COMPACT, 0, 0)
    total = None if wide is None else _total_of(wide)
    if same is None and total is not None:
        same = _common_vector(total.astype(np.int64, copy=False), count)
    if same is not None:
        return _HEADER.pack(_COMPACT, count, len(same) // _HALF.itemsize) + _little_endian(same)
    assert total is not None  # noqa: S101 - holds by construction wherever count is positive
    return _HEADER.pack(_WIDE, count, total.shape[0]) + total.astype("<i8").tobytes()


def _narrowed(total: Int64Vector) -> WideBytes:
    """Return the bytes of the sum as int32 if every coordinate fits, else the sum."""
    narrow = total.astype(np.int32)
    return stored(narrow.tobytes()) if (narrow == total).all() else total


def _total_of(wide: WideBytes) -> NDArray[np.int32] | Int64Vector:
    return vector_of(wide, _INT) if isinstance(wide, VECTOR_BYTES) else wide


def _natural(count: int) -> int:
    if count < 0:
        raise ValueError("the count of vectors must not be negative")
    return count


def _base_bytes(vector: Float16Vector | Float32Vector) -> VectorBytes:
    base = vector.base
    return base if isinstance(base, VECTOR_BYTES) and len(base) == vector.nbytes else vector.tobytes()


def _checked(vector: Float16Vector, dimensions: int, known: VectorBytes | None) -> VectorBytes:
    """Return the bytes of a valid vector, those of `known` if they are equal, with a single zero: -0.0 and 0.0 are the
    same number.
    """
    if vector.dtype != np.float16 or vector.ndim != 1 or not vector.shape[0]:
        raise ValueError(f"expected a float16 vector (d,), got {vector.dtype} {vector.shape}")
    if dimensions and vector.shape[0] != dimensions:
        raise ValueError(f"expected {dimensions} dimensions, got {vector.shape[0]}")
    data = _base_bytes(vector)
    if known is not None and data == known:
        return known
    bits = vector_of(data).view(np.int16)
    if (bits & _INFINITY).max() >= _INFINITY:
        raise ValueError("the vector has a coordinate that is not finite")
    return (vector + np.float16(0)).tobytes() if bits.min() == _MINUS_ZERO else data


def _fixed(data: VectorBytes) -> Int64Vector:
    return _wide(vector_of(data)).astype(np.int64)


def _wide(vector: Float16Vector) -> Float64Vector:
    """Return the whole numbers of a vector: exact, because float64 holds every multiple below 2**53."""
    wide: Float64Vector = vector.astype(np.float64) * SCALE
    return wide


def _common_vector(total: Int64Vector, count: int) -> bytes | None:
    """Return the bytes of the float16 vector of which `total` is exactly `count` copies, if there is one."""
    quotient, remainder = np.divmod(total, count)
    if remainder.any() or np.abs(quotient).max() > 65504 * SCALE:
        return None
    candidate = (quotient / SCALE).astype(np.float16).tobytes()
    return candidate if np.array_equal(_fixed(candidate), quotient) else None


def _little_endian(data: VectorBytes) -> VectorBytes:
    """Convert the bytes of float16 between this machine's order and that of the encoding."""
    return data if sys.byteorder == "little" else vector_of(data).byteswap().tobytes()


def _unit(wide: Float64Vector) -> Float32Vector | None:
    length = math.sqrt(float(np.add.reduce(wide * wide)))
    if length == 0.0:
        return None
    unit: Float32Vector = (wide / length).astype(np.float32)
    return unit
