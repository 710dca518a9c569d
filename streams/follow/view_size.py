"""Estimates of the memory of live views, from their numbers of rows and vectors and the size of their texts.

The constants were fitted to the resident memory of views with their indexes, of 1 to 1,500 documents (docs/scaling.md).
Cost: O(1) for a view, the rows for a snapshot.
"""

from __future__ import annotations

from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView

VIEW_BYTES = 64 << 10
"""A view without rows: empty tables, locks and indexes."""
ROW_BYTES = 700
"""A row of a view: its object, strings, sets of numbers, and its part of the derived tables and free pages."""
VECTOR_BYTES = 140
"""A vector in addition to its float16 values: its object."""
LINK_BYTES = 230
"""The links of a vector in an HNSW index."""
EXACT_VECTORS = 1_000
"""Vectors up to which an index is exact, and holds each vector as float32, too (HnswParameters.exact_below)."""


def view_bytes(view: LiveView) -> int:
    """Return the estimated memory of a view with its indexes. Without its lock: approximate during a change."""
    vectors = len(view.chunks), len(view.entities), len(view.statements)
    rows = sum(vectors) + len(view.documents) + len(view.labels) + view.edge_count
    return _estimate(rows, vectors, view.indexes.chunks.dimensions, view.text_bytes)


def snapshot_bytes(snapshot: GraphDelta) -> int:
    """Return the estimated memory of the view of a snapshot."""
    vectors = len(snapshot.chunks), len(snapshot.entities), len(snapshot.statements)
    rows = sum(vectors) + len(snapshot.documents) + len(snapshot.labels) + len(snapshot.edges)
    dimensions = max((row.vector.size for row in snapshot.chunks), default=1)
    return _estimate(rows, vectors, dimensions, sum(len(row.text.encode()) for row in snapshot.chunks))


def _estimate(rows: int, vectors: tuple[int, ...], dimensions: int, text_bytes: int) -> int:
    indexed = sum(count * (4 * dimensions if count <= EXACT_VECTORS else LINK_BYTES) for count in vectors)
    return VIEW_BYTES + ROW_BYTES * rows + (2 * dimensions + VECTOR_BYTES) * sum(vectors) + indexed + text_bytes
