"""The ports of checkpoints: durable vector indexes, and durable columns of rows. Blocking: called in threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from graphtide.graph.view import IndexVersions, VectorIndexes
from graphtide.streams.checkpoints.columns import Columns

HEADER = "header"
"""The name of the column that describes the others."""


class IndexKeeper(Protocol):
    """Durable storage of the vector indexes of views."""

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


class CheckpointKeeper(Protocol):
    """Durable storage of the columns of views, one set per graph."""

    def save(self, graph: str, columns: Columns) -> None:
        """Replace the graph's columns, all or none. A failure is logged: the store has the rows."""
        ...

    def header(self, graph: str) -> bytes | None:
        """Return the column HEADER, without reading the others; None if there is none, or it is damaged."""
        ...

    def load(self, graph: str) -> Columns | None:
        """Return the columns as they were saved; None if there are none, or they are damaged."""
        ...

    def delete(self, graph: str) -> None: ...

    def publish(self, graph: str, version: int) -> None:
        """Copy what is saved of the graph, at that version, to where new processes find it. A failure is logged."""
        ...

    def fetch(self, graph: str, oldest: int, newest: int) -> bool:
        """Replace what is saved of the graph by a copy from version `oldest` to `newest`, the newest of them.

        Returns False if there is none. A failure is logged.
        """
        ...

    def forget(self, graph: str) -> None:
        """Delete the graph's columns and every copy: the graph was deleted, or content in them was."""
        ...


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A saved write model. `is_current` is False for one of another history of the store."""

    graph: str
    version: int
    name: str
    is_current: bool


class ModelKeeper(Protocol):
    """Durable storage of the columns of write models, which every writer of the cluster may reach."""

    def save(self, graph: str, version: int, columns: Iterable[tuple[str, NDArray[Any]]]) -> bool:
        """Save the columns, all or none. Returns False after a failure, which is logged: the store has the rows."""
        ...

    def take(self, graph: str, version: int) -> Columns | None:
        """Return the columns saved at exactly this version, and delete them; None without them, or damaged ones."""
        ...

    def saved(self) -> Sequence[SavedModel]:
        """Return what is saved of all graphs; nothing if the place cannot be reached."""
        ...

    def delete(self, models: Iterable[SavedModel]) -> None:
        """Delete saved models. A failure is logged."""
        ...
