"""The canonical digest of a graph: equal graphs have equal digests, whatever the order of arrival.

Construction 2 is published as `2-` and 64 hex digits: SHA-256 of a multiset hash (`multiset_hash.py`) of the graph's
elements (`lines.py`). It follows a change at the cost of the change (`live.py`). Construction 1, 64 hex digits, is the
SHA-256 of all sorted lines; it is still read where earlier versions recorded it.
"""

from __future__ import annotations

import hashlib

from graphtide.graph.digest.lines import canonical_lines, differences, elements
from graphtide.graph.digest.multiset_hash import MultisetHash
from graphtide.graph.records import GraphDelta

__all__ = ["canonical_lines", "differences", "digest", "elements", "has_digest", "published", "sorted_digest"]

PREFIX = "2-"


def digest(rows: GraphDelta) -> str:
    """Return the digest of a snapshot. Cost: linear in the rows; memory beside them: a few references to each."""
    return published(MultisetHash().add(elements(rows)))


def published(state: MultisetHash) -> str:
    """Return the published form of the hash of a graph's elements."""
    return PREFIX + state.sha256("graphtide digest 2")


def sorted_digest(rows: GraphDelta) -> str:
    """Return the digest of construction 1. Cost: n log n in the rows."""
    canonical = hashlib.sha256()
    for line in sorted(canonical_lines(rows)):
        canonical.update(line.encode())
        canonical.update(b"\n")
    return canonical.hexdigest()


def has_digest(rows: GraphDelta, wanted: str) -> bool:
    """Return True if that is the digest of the rows, in the construction that its form names."""
    return wanted == (digest(rows) if wanted.startswith(PREFIX) else sorted_digest(rows))
