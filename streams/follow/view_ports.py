"""The ports of the registry of views: durable indexes, and an observer of deltas; why a view leaves memory."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from graphtide.graph.records import GraphDelta
from graphtide.graph.view import IndexVersions, LiveView, VectorIndexes
from graphtide.streams.tracing import Headers


class IndexKeeper(Protocol):
    """Durable storage of the vector indexes of views. Blocking: called in threads."""

    def open(self, graph: str, dimensions: int, version: int) -> tuple[VectorIndexes, IndexVersions]:
        """Return the indexes for a graph at `version`, and the versions that they hold.

        They hold no later version, and a damaged or missing index is empty.
        """
        ...

    def save(self, graph: str, indexes: VectorIndexes, version: int) -> None:
        """Save the indexes as of that version. A failure is logged: indexes can be rebuilt."""
        ...

    def compact(self, indexes: VectorIndexes) -> None:
        """Erase the vectors of removed rows from the indexes."""
        ...

    def drop(self, graph: str) -> None:
        """Delete the saved indexes of a graph: a rebuilt graph has other internal numbers."""
        ...

    def close(self, indexes: VectorIndexes) -> None:
        """End the indexes' background work."""
        ...


class ViewRecorder(Protocol):
    """Observer of the deltas that views apply."""

    def before(self, view: LiveView, delta: GraphDelta) -> bytes:
        """Return what the delta will overwrite. Called in a thread, before the view applies the delta."""
        ...

    async def applied(self, delta: GraphDelta, old: bytes, headers: Headers = ()) -> None:
        """Record a delta that the view has applied, with the headers of its notice."""
        ...

    def restart(self, graph: str) -> None:
        """Forget the graph's deltas: its view was loaded anew."""
        ...


class EvictionReason(StrEnum):
    """Why a view left memory."""

    IDLE = "idle"
    """No request used it for the configured time."""
    MEMORY = "memory"
    """Another graph was loaded, or the views grew, beyond the configured memory."""
