"""The observer port: events that the stages report to metrics adapters and tests."""

from __future__ import annotations

from typing import Protocol

from graphtide.graph.consolidation import KernelWork
from graphtide.graph.records import GraphDelta
from graphtide.streams.ports import RevisionState


class Observer(Protocol):
    """Receiver of events. Its methods run on the event loop and must not block. `graph` has bounded cardinality."""

    def ended(self, graph: str, state: RevisionState) -> None:
        """Note that a revision reached its final state."""
        ...

    def committed(self, graph: str, seconds: float) -> None:
        """Note that a revision became durable in its graph, `seconds` after it was accepted."""
        ...

    def queryable(self, graph: str, seconds: float) -> None:
        """Note that a revision became visible to queries in this process, `seconds` after it was accepted."""
        ...

    def changed(self, delta: GraphDelta) -> None:
        """Note that a delta became durable."""
        ...

    def kernel_worked(self, graph: str, work: KernelWork) -> None:
        """Note that a graph's part of a batch became durable, and the kernel work that it took."""
        ...

    def worked(self, stage: str, seconds: float) -> None:
        """Note that a stage finished a batch in `seconds`."""
        ...

    def retried(self, stage: str) -> None:
        """Note that a stage waits before it tries again."""
        ...

    def forwarded(self, graph: str) -> None:
        """Note that a record was forwarded to the partition that its graph is bound to."""
        ...
