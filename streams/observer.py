"""What the stages report while they work; metrics adapters listen, tests may too."""

from __future__ import annotations

from typing import Protocol

from graphtide.graph.consolidation import KernelWork
from graphtide.graph.records import GraphDelta
from graphtide.streams.ports import RevisionState


class Observer(Protocol):
    """Called on the event loop, must not block. `graph` is a label of bounded cardinality."""

    def ended(self, graph: str, state: RevisionState) -> None:
        """A revision reached its end."""
        ...

    def committed(self, graph: str, seconds: float) -> None:
        """A revision became durable in its graph, so long after it was accepted."""
        ...

    def queryable(self, graph: str, seconds: float) -> None:
        """A revision became visible to questions in this process, so long after it was accepted."""
        ...

    def changed(self, delta: GraphDelta) -> None:
        """A delta became durable."""
        ...

    def laboured(self, graph: str, effort: KernelWork) -> None:
        """A graph's part of a batch is durable, and took so much."""
        ...

    def worked(self, stage: str, seconds: float) -> None:
        """A stage finished a batch that took so long."""
        ...

    def retried(self, stage: str) -> None:
        """A stage waits to try again."""
        ...

    def forwarded(self, graph: str) -> None:
        """A record was appended to the partition that its graph is bound to, from another one."""
        ...
