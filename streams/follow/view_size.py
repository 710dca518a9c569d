"""Estimates of the memory of live views, from their numbers of rows and vectors and the size of their texts.

The constants were fitted to the resident memory of views with their indexes (docs/scaling.md). Cost: O(1) for a view,
the rows for a snapshot.
"""

from __future__ import annotations

from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView

ROW_BYTES = 750
"""A row of a view: its object, strings, sets of numbers, and its part of the derived tables and free pages."""
VECTOR_BYTES = 300
"""A vector in addition to its float16 values: its object and its links in the index."""
VIEW_BYTES = 64 << 10
"""A view without rows: empty tables, locks and indexes."""


def view_bytes(view: LiveView) -> int:
    """Return the estimated memory of a view with its indexes. Without its lock: approximate during a change."""
    vectors = len(view.chunks) + len(view.entities) + len(view.statements)
    rows = vectors + len(view.documents) + len(view.labels) + view.edge_count
    return _estimate(rows, vectors, view.indexes.chunks.dimensions, view.text_bytes)


def snapshot_bytes(snapshot: GraphDelta) -> int:
    """Return the estimated memory of the view of a snapshot."""
    vectors = len(snapshot.chunks) + len(snapshot.entities) + len(snapshot.statements)
    rows = vectors + len(snapshot.documents) + len(snapshot.labels) + len(snapshot.edges)
    dimensions = max((row.vector.size for row in snapshot.chunks), default=1)
    return _estimate(rows, vectors, dimensions, sum(len(row.text.encode()) for row in snapshot.chunks))


def _estimate(rows: int, vectors: int, dimensions: int, text_bytes: int) -> int:
    return VIEW_BYTES + ROW_BYTES * rows + (2 * dimensions + VECTOR_BYTES) * vectors + text_bytes
