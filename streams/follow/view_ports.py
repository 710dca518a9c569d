"""The port of the registry of views: an observer of deltas; and why a view leaves memory."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView
from graphtide.streams.tracing import Headers


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
