"""Messages of arrays between two processes: the length in eight bytes, then the arrays in NumPy's format."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LENGTH = struct.Struct("<Q")

Array = NDArray[np.generic]


def encode_arrays(arrays: Sequence[Array]) -> bytes:
    """Return the message of the arrays. Objects are refused: the reader unpickles nothing."""
    body = io.BytesIO()
    for array in arrays:
        np.lib.format.write_array(body, np.ascontiguousarray(array), allow_pickle=False)
    encoded = body.getbuffer()
    return LENGTH.pack(len(encoded)) + encoded


def decode_arrays(body: bytes) -> list[Array]:
    """Return the arrays of a message, without its length. Raises ValueError for a malformed one."""
    rest, arrays = io.BytesIO(body), []
    while rest.tell() < len(body):
        arrays.append(np.lib.format.read_array(rest, allow_pickle=False))
    return arrays
