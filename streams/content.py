"""Sizes of graphs' contents: of a snapshot, of a batch of changes, of a commit. Cost: the rows or changes given."""

from __future__ import annotations

from collections.abc import Iterable

from graphtide.graph.records import DocumentChange, Extraction, GraphDelta
from graphtide.streams.ports import ContentSize, GraphCommit


def size_of(snapshot: GraphDelta) -> ContentSize:
    """Return the size of the content of a snapshot."""
    return ContentSize(len(snapshot.documents), sum(len(row.text.encode()) for row in snapshot.chunks))


def extraction_bytes(extraction: Extraction) -> int:
    """Return the UTF-8 bytes of the passages of a document."""
    return sum(len(unit.text.encode()) for unit in extraction.units)


def size_change(changes: Iterable[DocumentChange]) -> ContentSize:
    """Return what the changes add to the size of their graph."""
    documents = text_bytes = 0
    for change in changes:
        for extraction, sign in ((change.new, 1), (change.old, -1)):
            if extraction is not None:
                documents += sign
                text_bytes += sign * extraction_bytes(extraction)
    return ContentSize(documents, text_bytes)


def commit_size(part: GraphCommit) -> ContentSize | None:
    """Return what the commit adds to the size of its graph, for a snapshot the new size; None if it is not known."""
    delta = part.delta
    if delta.snapshot:
        return size_of(delta)
    if delta.documents or delta.chunks or delta.gone.documents or delta.gone.chunks:
        return part.content
    return ContentSize()
