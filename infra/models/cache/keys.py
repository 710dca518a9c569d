"""Keys of memo entries: each begins with the graph that paid for the entry.

A graph finds no entry of another one, so a reader of one graph cannot learn from the cost of a call which texts another
graph holds; and the entries of a graph can be found again to be deleted.
"""

from __future__ import annotations

from hashlib import sha256

from graphtide.streams.usage import payer

SCOPE_BYTES = 16
KEY_BYTES = SCOPE_BYTES + 32


def scope_of(graph: str) -> bytes:
    """Return the first bytes of every key of a graph's entries."""
    return sha256(b"graph\0" + graph.encode("utf-8", "surrogatepass")).digest()[:SCOPE_BYTES]


def scoped(digest: bytes) -> bytes:
    """Return the key of an entry in the graph on whose behalf the calling task calls its models (see `payer`)."""
    return scope_of(payer().graph) + digest
