"""Encoding of graph values as properties, lossless to the last bit.

Bytes (vectors, vector sums, extractions) are stored as base64 text: Memgraph's Bolt has no byte arrays, a list of
floats would take three times the space, and text can be copied from a browser. Nested values are JSON text.
"""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import numpy as np

from graphtide.graph.records import Vector

SCOPE_MARK = "/"
"""Separator between a graph's name and the rest of a key. No name contains it, so keys of two graphs never collide."""


def scope(graph: str, generation: int) -> str:
    """Return the prefix of the keys of one generation of a graph's rows."""
    return f"{graph}{SCOPE_MARK}{generation}"


def key(scope_: str, *parts: object) -> str:
    """Return a row's key within its scope, or within a graph's name."""
    return SCOPE_MARK.join((scope_, *map(str, parts)))


def digest_key(graph: str, *parts: str) -> str:
    """Return a key of bounded length for texts of any length: an index holds at most a few thousand bytes."""
    return key(graph, sha256(json.dumps(parts).encode()).hexdigest())


def in_order(*numbers: int) -> str:
    """Return numbers as text with the same order: 20 digits hold every int64."""
    return SCOPE_MARK.join(f"{number:020d}" for number in numbers)


def from_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def to_bytes(text: str) -> bytes:
    return base64.b64decode(text)


def to_vector(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), np.float16)


def from_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
