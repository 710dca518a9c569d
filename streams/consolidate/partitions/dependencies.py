"""The objects that the writers of all partitions of a process share, and the port of a partition's buffer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.forwarding import Forwarder
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.consolidate.partitions.followers import LocalFollowers
from graphtide.streams.consolidate.write_models import WriteModels
from graphtide.streams.observer import Observer
from graphtide.streams.ports import (
    ConsumedRecord,
    GraphStore,
    Log,
    Overwritten,
    Record,
    RevisionOutcome,
)

Announce = Callable[[GraphDelta, Sequence[RevisionOutcome]], tuple[Record, ...]]


@dataclass(frozen=True, slots=True)
class WriterDependencies:
    """The objects that the writers of all partitions of a process share."""

    log: Log
    store: GraphStore
    models: WriteModels
    following: LocalFollowers
    announce: Announce
    observer: Observer
    forwarder: Forwarder
    eraser: GraphEraser
    overwritten: Overwritten | None = None


class Beside(Protocol):
    """The records that may overtake a heavy one."""

    async def next_beside(self, graphs: Collection[str], limit: int) -> Sequence[ConsumedRecord]:
        """Return records of other graphs than these; when cancelled, it has taken none."""
        ...

    def put_back(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Take back records that could not be applied now."""
        ...
