"""JSON of large values in small steps, with the results of `json.dumps` and `json.loads`.

One call of the C codec holds the interpreter lock until it ends, and so blocks the event loop even from another
thread. The invariant: no call covers more than one element of a list that is a value of the top-level object.
"""

from __future__ import annotations

import codecs
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from types import MappingProxyType
from typing import Any

from graphtide.graph.algorithms.yield_points import YIELD_ROWS, with_yields, yield_point

LONG_LIST = 16
"""Length from which a list is encoded by element."""
BASE64_SLICE = 1 << 20
"""Characters of base64 that are decoded in one call; a multiple of four."""
LARGE_BYTES = 64 << 10
"""Size from which text is decoded by element."""
WINDOW_BYTES = 1 << 20
"""Bytes of a large text that are converted to characters in one call."""
Convert = Callable[[Any], Any]
UNCONVERTED: Mapping[str, Convert] = MappingProxyType({})
_decode = json.JSONDecoder().raw_decode
_BLANK = re.compile(r"[ \t\n\r]*")


def escape_surrogates(text: str) -> str:
    """Return the text with lone surrogates, which have no UTF-8 form, as escapes. Raises AttributeError for others."""
    return text.encode(errors="backslashreplace").decode()


def dump(body: object) -> bytes:
    """Return compact JSON in UTF-8."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Base64Text:
    """A string in base64, from blocks of bytes that are encoded one by one; all but the last have a multiple of three
    bytes. It is a member of an object, or an element of a short list.
    """

    blocks: Iterable[bytes]


@dataclass(frozen=True, slots=True)
class Elements:
    """A list whose elements are made one by one while it is encoded. It is a member of an object."""

    values: Iterable[object]


def decode_base64(text: str) -> bytes:
    """Return the bytes of a base64 string, decoded in slices. Raises ValueError for any other string."""
    decoded = bytearray()
    for start in range(0, len(text), BASE64_SLICE):
        decoded += b64decode(text[start : start + BASE64_SLICE], validate=True)
    return bytes(decoded)


def dump_in_parts(body: object) -> bytes:
    """Return the result of `dump`, encoding objects by member and long lists by element.

    Memory: the result and one element.
    """
    written = BytesIO()
    for part in parts(body):
        written.write(part)
    return written.getvalue()


def parts(body: object) -> Iterator[bytes]:
    """Yield the result of `dump` in pieces."""
    if isinstance(body, dict):
        separator = b"{"
        for key, value in body.items():
            yield separator + _key(key) + b":"
            yield from parts(value)
            separator = b","
        yield b"}" if body else b"{}"
    elif isinstance(body, Base64Text):
        yield b'"'
        yield from map(b64encode, body.blocks)
        yield b'"'
    elif isinstance(body, Elements):
        yield from _elements(body.values)
    elif isinstance(body, list | tuple) and len(body) > LONG_LIST:
        yield from _elements(body)
    elif isinstance(body, list | tuple) and any(isinstance(value, Base64Text) for value in body):
        separator = b"["
        for value in body:
            yield separator
            yield from parts(value)
            separator = b","
        yield b"]"
    else:
        yield dump(body)


def _elements(values: Iterable[object]) -> Iterator[bytes]:
    separator = b"["
    for value in with_yields(values):
        yield separator
        yield dump(value)
        separator = b","
    yield b"]" if separator == b"," else b"[]"


def load_in_parts(
    *pieces: bytes | memoryview, large_bytes: int = LARGE_BYTES, elements: Mapping[str, Convert] = UNCONVERTED
) -> Any:
    """Return the result of `json.loads` for the pieces together, in one call below `large_bytes`.

    The elements of a list that is a member named in `elements` are converted one by one, so that a large list need not
    exist unconverted. Raises ValueError, RecursionError, and what a conversion raises.
    """
    if sum(map(len, pieces)) >= large_bytes:
        try:
            return _Reader(pieces, elements).document()
        except (_OtherShapeError, UnicodeDecodeError):
            pass
    body = json.loads(b"".join(pieces))
    if isinstance(body, dict):
        for name in elements.keys() & body.keys():
            if isinstance(body[name], list):
                body[name] = list(map(elements[name], body[name]))
    return body


class _OtherShapeError(Exception):
    """The text is not a well-formed object; `json.loads` decides what it is."""


class _Reader:
    """A reader of one JSON text from its beginning, of which it holds a window as characters."""

    def __init__(self, pieces: Iterable[bytes | memoryview], elements: Mapping[str, Convert]) -> None:
        self._bytes = _windows(pieces)
        self._elements = elements
        self._characters = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0

    def document(self) -> dict[str, Any]:
        """Return the object that is the whole text. Raises _OtherShapeError, UnicodeDecodeError."""
        found: dict[str, Any] = {}
        self._expect("{")
        if not self._takes("}"):
            while True:
                key = _text(self._value())
                self._expect(":")
                found[key] = self._list(self._elements.get(key)) if self._takes("[") else self._value()
                if self._takes("}"):
                    break
                self._expect(",")
        self._skip()
        if self._at != len(self._text):
            raise _OtherShapeError
        return found

    def _list(self, convert: Convert | None) -> list[Any]:
        """Return the rest of a list after its bracket."""
        found: list[Any] = []
        if self._takes("]"):
            return found
        while True:
            if len(found) % YIELD_ROWS == 0:
                yield_point()
            value = self._value()
            found.append(value if convert is None else convert(value))
            if self._takes("]"):
                return found
            self._expect(",")

    def _value(self) -> Any:
        self._skip()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except ValueError as error:
                if not self._more():
                    raise _OtherShapeError from error
                continue
            if end < len(self._text) or not self._more():  # at the end of the window, a number may continue
                self._at = end
                return value

    def _more(self) -> bool:
        """Move the window to the present position, and at least double it; False at the end of the text."""
        parts = [self._text[self._at :]]
        left = max(1, len(parts[0]))
        while left > 0:
            if (window := next(self._bytes, None)) is None:
                parts.append(self._characters.decode(b"", True))
                break
            parts.append(self._characters.decode(window))
            left -= len(parts[-1])
        grown = any(parts[1:])
        self._text, self._at = "".join(parts), 0
        return grown

    def _skip(self) -> None:
        while True:
            match = _BLANK.match(self._text, self._at)
            if match is not None:
                self._at = match.end()
            if self._at < len(self._text) or not self._more():
                return

    def _takes(self, char: str) -> bool:
        """Read the character if it is the next one."""
        self._skip()
        found = self._text.startswith(char, self._at)
        self._at += found
        return found

    def _expect(self, char: str) -> None:
        if not self._takes(char):
            raise _OtherShapeError


def _windows(pieces: Iterable[bytes | memoryview]) -> Iterator[memoryview]:
    for piece in pieces:
        whole = memoryview(piece)
        for start in range(0, len(whole), WINDOW_BYTES):
            yield whole[start : start + WINDOW_BYTES]


def _key(key: object) -> bytes:
    """Return the member name as `dump` writes it: numbers, truth values and None become strings."""
    if isinstance(key, str):
        return dump(key)
    return dump({key: 0})[1:-3]


def _text(key: object) -> str:
    if not isinstance(key, str):
        raise _OtherShapeError
    return key
