"""Saved rows of views, from which a process that follows graphs starts: it reads from `deltas` what came since.

A checkpoint is the rows of a view at one version, and offsets of `deltas` such that the view includes every record
before them. It is saved with the indexes of the view, whose vectors it does not repeat.

Invariant: a view that is restored has the rows of its version, bit for bit; a checkpoint that is damaged, or from which
`deltas` no longer reaches to the present, is deleted, and the graph is loaded from the store.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view import IndexVersions, LiveView, VectorIndexes
from graphtide.graph.view_state.frozen import FrozenView
from graphtide.streams.checkpoints.ports import HEADER, CheckpointKeeper
from graphtide.streams.checkpoints.view_columns import view_columns, view_rows

log = logging.getLogger("graphtide.streams")

SCHEMA = 1
"""The format of the columns. A checkpoint of another one is not read."""
MIN_MISSED = 50
"""Missed versions that are read from `deltas` whatever the size of the graph."""
MISSED_SHARE = 4
"""Reading a version from `deltas` costs as much as loading this many documents from the store."""

MISFITS = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RuntimeError)
"""Exceptions that columns raise which are not those of a view with these indexes."""

OpenIndexes = Callable[[str, int, int], tuple[VectorIndexes, IndexVersions]]


def max_missed(documents: int) -> int:
    """Return how many versions a checkpoint of so many documents may lack and still be used."""
    return max(MIN_MISSED, documents // MISSED_SHARE)


@dataclass(frozen=True, slots=True)
class Retained:
    """The offsets of the first and after the last record of each partition of `deltas`."""

    first: Mapping[int, int]
    end: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class CheckpointHeader:
    """Description of a checkpoint: `offsets` are by partition of `deltas`, `size_bytes` estimates the view."""

    graph: str
    version: int
    dimensions: int
    documents: int
    size_bytes: int
    offsets: Mapping[int, int]
    schema: int = SCHEMA

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def unusable(self, newest: int, retained: Retained | None) -> str:
        """Return why no view of the graph, now at version `newest`, is restored from it; "" if one is.

        Without `retained` nothing can be read from `deltas`.
        """
        missed = newest - self.version
        if missed == 0:
            return ""
        if missed < 0:
            return f"it has version {self.version}, newer than the graph's {newest}"
        if retained is None:
            return f"it lacks {missed} versions"
        if missed > max_missed(self.documents):
            return f"it lacks {missed} versions, which the store has sooner than the log"
        for partition, end in retained.end.items():
            if not retained.first.get(partition, 0) <= self.offsets.get(partition, 0) <= end:
                return f"the log no longer has what came after it in partition {partition}"
        return ""


def decode_header(value: bytes) -> CheckpointHeader:
    """Return the header that `CheckpointHeader.encode` wrote. Raises ValueError, KeyError or TypeError for others."""
    body = json.loads(value)
    if body["schema"] != SCHEMA:
        raise ValueError(f"schema {str(body['schema'])[:40]}; this version reads {SCHEMA}")
    numbers = {name: int(body[name]) for name in ("version", "dimensions", "documents", "size_bytes")}
    offsets = {int(partition): int(offset) for partition, offset in body["offsets"].items()}
    return CheckpointHeader(**{**body, **numbers, "offsets": offsets})


@dataclass(frozen=True, slots=True)
class RestoredView:
    """A view made of a checkpoint, and the offsets of `deltas` from which to follow it."""

    view: LiveView
    offsets: Mapping[int, int]


class ViewCheckpoints:
    """The checkpoints of a process. `offsets` returns those that all of its views include at the moment."""

    def __init__(self, keeper: CheckpointKeeper) -> None:
        self._keeper = keeper
        self.offsets: Callable[[], Mapping[int, int]] = dict

    def save(self, view: FrozenView, offsets: Mapping[int, int], size_bytes: int) -> None:
        """Save the rows of a view, which includes what `deltas` has before `offsets`, after its indexes.

        `size_bytes` is its estimated memory. The view may follow deltas meanwhile. Cost: the whole graph.
        """
        dimensions, documents = view.indexes.chunks.dimensions, view.document_count
        header = CheckpointHeader(view.graph, view.version, dimensions, documents, size_bytes, dict(offsets))
        columns: dict[str, Any] = {HEADER: np.frombuffer(header.encode(), np.uint8), **view_columns(view)}
        self._keeper.save(view.graph, columns)

    def publish(self, graph: str, version: int) -> None:
        """See CheckpointKeeper.publish."""
        self._keeper.publish(graph, version)

    def forget(self, graph: str) -> None:
        """See CheckpointKeeper.forget."""
        self._keeper.forget(graph)

    def size_bytes(self, graph: str, version: int) -> int:
        """Return the estimated memory of the view that the graph's checkpoint of this version makes; 0 without one."""
        header = self._usable(graph, version, None)
        return header.size_bytes if header is not None else 0

    def restore(
        self,
        graph: str,
        newest: int,
        retained: Retained | None,
        open_indexes: OpenIndexes,
        close_indexes: Callable[[VectorIndexes], None],
        functional_predicates: FunctionalPredicates = DEFAULT,
    ) -> RestoredView | None:
        """Return a view of the graph, which is now at version `newest`, from its checkpoint; None without a usable one.

        `retained` is what the process can read from `deltas`; its ends were read before `newest` was. Cost: the whole
        graph, less than from the store.
        """
        header = self._usable(graph, newest, retained)
        if header is None:
            return None
        columns = self._keeper.load(graph)
        if columns is None:
            return None
        indexes, indexed = open_indexes(graph, header.dimensions, header.version)
        try:
            rows = view_rows(graph, header.version, columns, indexes)
            view = LiveView(graph, indexes, functional_predicates)
            view.apply(rows, indexed=indexed)
        except MISFITS as error:
            close_indexes(indexes)
            self._discard(graph, f"{type(error).__name__}: {error!s:.200}")
            return None
        if retained is not None and header.version == newest:
            return RestoredView(view, retained.end)
        return RestoredView(view, header.offsets)

    def _usable(self, graph: str, newest: int, retained: Retained | None) -> CheckpointHeader | None:
        """Return the header of a usable checkpoint of the graph: of this process, or else a copy of another one's."""
        for fetched in (False, True):
            if fetched and not self._keeper.fetch(graph, newest if retained is None else 0, newest):
                break
            header = self._header(graph)
            if header is not None:
                reason = header.unusable(newest, retained)
                if not reason:
                    return header
                self._discard(graph, reason)
        return None

    def _header(self, graph: str) -> CheckpointHeader | None:
        value = self._keeper.header(graph)
        if value is None:
            return None
        try:
            header = decode_header(value)
            if header.graph != graph:
                raise ValueError(f"it is of graph {header.graph!r}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._discard(graph, f"its header is not valid: {error!s:.200}")
            return None
        return header

    def _discard(self, graph: str, reason: str) -> None:
        log.info("graph %s is not restored from its checkpoint: %s", graph, reason)
        self._keeper.delete(graph)
