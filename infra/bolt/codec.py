"""How values of the graph are written as properties, and read back to the last bit.

Bytes (vectors, vector sums, extractions) travel as base64 text: Memgraph's Bolt has no byte arrays, a list of floats
would take three times the space, and text can be copied out of a browser. Nested values are JSON text.
"""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import numpy as np

from graphtide.graph.records import Vector

SCOPE_MARK = "/"
"""Between a graph's name and the rest of a key: no name holds it, so no two graphs meet in a key."""


def scope(graph: str, generation: int) -> str:
    """What the keys of one generation of a graph's rows begin with."""
    return f"{graph}{SCOPE_MARK}{generation}"


def key(scope_: str, *parts: object) -> str:
    """A row's key within its scope, or within a graph's name."""
    return SCOPE_MARK.join((scope_, *map(str, parts)))


def digest_key(graph: str, *parts: str) -> str:
    """A key of bounded length for texts of any: an index holds no more than a few thousand bytes."""
    return key(graph, sha256(json.dumps(parts).encode()).hexdigest())


def in_order(*numbers: int) -> str:
    """Numbers as text that sorts as they do: 20 digits hold every int64."""
    return SCOPE_MARK.join(f"{number:020d}" for number in numbers)


def from_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def to_bytes(text: str) -> bytes:
    return base64.b64decode(text)


def to_vector(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), np.float16)


def from_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
