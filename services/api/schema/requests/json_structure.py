"""Structural scan of unparsed JSON: the number of values, and the ends of a list's elements.

A parsed value takes up to 300 bytes where its text takes two, and a validator adds an error for each, so values are
counted first, in the bytes. The scan does not validate syntax: its result for malformed JSON is arbitrary. Cost:
linear, in numpy over blocks of BLOCK_BYTES, between which other threads run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from graphtide.services.api.schema.errors import TooLarge

BLOCK_BYTES = 1 << 18

_QUOTE, _COMMA = ord('"'), ord(",")
_OPENS = (ord("["), ord("{"))
_CLOSES = (ord("]"), ord("}"))
_Mask = npt.NDArray[np.bool_]


def check_value_count(raw: bytes, limit: int) -> None:
    """Raise TooLarge when commas and opening brackets indicate more than `limit` values.

    The indicated number is at least the number of values, and at most twice that.
    """
    if sum(raw.count(mark) for mark in (b",", b"[", b"{")) <= limit:
        return
    count = 1
    for block, outside in _blocks(raw):
        count += int(np.count_nonzero(outside & ((block == _COMMA) | _any_of(block, _OPENS))))
        if count > limit:
            raise TooLarge(f"the JSON has more than {limit} values; send it in parts, or raise the limits")


def elements(raw: bytes) -> Iterator[bytes]:
    """Yield the texts of the elements of a list; `raw` excludes its brackets."""
    begin = 0
    for end in _separators(raw):
        yield raw[begin:end]
        begin = end + 1
    yield raw[begin:]


def _separators(raw: bytes) -> Iterator[int]:
    """Yield the positions of the commas outside of all brackets and strings."""
    depth, offset = 0, 0
    for block, outside in _blocks(raw):
        steps = (_any_of(block, _OPENS) & outside).astype(np.int32) - (_any_of(block, _CLOSES) & outside)
        depths = np.cumsum(steps, dtype=np.int32) + depth
        for place in np.flatnonzero(outside & (block == _COMMA) & (depths == 0)).tolist():
            yield offset + place
        depth, offset = int(depths[-1]), offset + len(block)


def _any_of(block: npt.NDArray[np.uint8], marks: tuple[int, int]) -> _Mask:
    found: _Mask = (block == marks[0]) | (block == marks[1])
    return found


def _blocks(raw: bytes) -> Iterator[tuple[npt.NDArray[np.uint8], _Mask]]:
    """Yield the text in blocks, each with a mask of the bytes outside of strings and their quotes."""
    in_string, in_escape = 0, False
    for start in range(0, len(raw), BLOCK_BYTES):
        text = raw[start : start + BLOCK_BYTES]
        if in_escape:
            text = b"x" + text[1:]
        plain = text.replace(b"\\\\", b"xx").replace(b'\\"', b"xx")  # at most one backslash remains, at the end
        in_escape = plain.endswith(b"\\")
        block = np.frombuffer(plain, np.uint8)
        quotes = block == _QUOTE
        inside = (np.cumsum(quotes, dtype=np.int32) + in_string) & 1
        yield block, (inside == 0) & ~quotes
        in_string = int(inside[-1])
