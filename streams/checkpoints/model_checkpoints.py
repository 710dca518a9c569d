"""Saved rows of write models, from which a writer continues a graph without reading it from the store.

A checkpoint is saved when a model leaves memory, and used once, at exactly the version that the store has: it is
deleted when the graph is about to change. Those that a change by another process made outdated are deleted by `sweep`,
so that no deleted content remains in them.

Invariant: a model that is restored from a checkpoint equals the one that is restored from the store's rows.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import GraphDelta
from graphtide.streams.checkpoints.model_columns import model_columns, model_snapshot
from graphtide.streams.checkpoints.ports import HEADER, ModelKeeper
from graphtide.streams.checkpoints.view_checkpoints import MISFITS
from graphtide.streams.ports import GraphStore

log = logging.getLogger("graphtide.streams")

SCHEMA = 1
"""The format of the columns. A checkpoint of another one is not read."""


@dataclass(frozen=True, slots=True)
class SavedRows:
    """The rows of a saved write model. `dimensions` is the length of its vectors, 0 without any."""

    snapshot: GraphDelta
    dimensions: int


class ModelCheckpoints:
    """The checkpoints of a cluster's write models. Blocking: called in threads."""

    def __init__(self, keeper: ModelKeeper) -> None:
        self._keeper = keeper

    def save(self, writer: Consolidator, dimensions: int) -> bool:
        """Save a write model, which must not change meanwhile. Returns False after a failure. Cost: the graph."""
        header = {"schema": SCHEMA, "graph": writer.graph, "version": writer.version, "dimensions": dimensions}
        described = (HEADER, np.frombuffer(json.dumps(header).encode(), np.uint8))
        columns: Iterator[tuple[str, NDArray[Any]]] = chain((described,), model_columns(writer.stored_rows()))
        return self._keeper.save(writer.graph, writer.version, columns)

    def take(self, graph: str, version: int) -> SavedRows | None:
        """Return the rows saved at exactly this version, and delete them; None without usable ones. Cost: the graph."""
        columns = self._keeper.take(graph, version)
        if columns is None:
            return None
        try:
            header = json.loads(columns[HEADER].tobytes())
            if (header["schema"], header["graph"], header["version"]) != (SCHEMA, graph, version):
                raise ValueError(f"it is {str(header)[:200]}")
            return SavedRows(model_snapshot(graph, version, columns), int(header["dimensions"]))
        except MISFITS as error:
            log.warning(
                "the write model of graph %s is restored from the store: %s: %.200s", graph, type(error).__name__, error
            )
            return None

    def forget(self, graph: str) -> None:
        """Delete what is saved of a graph that was deleted."""
        self._keeper.delete([model for model in self._keeper.saved() if model.graph == graph])

    async def sweep(self, store: GraphStore) -> None:
        """Delete what is of another version than the store's: no writer will use it."""
        saved = await asyncio.to_thread(self._keeper.saved)
        if not saved:
            return
        versions = await store.graphs()  # read after the names, so that none is of a later version
        outdated = [each for each in saved if not each.is_current or versions.get(each.graph) != each.version]
        await asyncio.to_thread(self._keeper.delete, outdated)
