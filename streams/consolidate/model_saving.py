"""Saving of write models that leave memory, one after the other, beside the work of the writers.

Invariant: a model is saved only if it equals the stored graph and nothing changes it any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence

from graphtide.graph.consolidation import Consolidator
from graphtide.streams.checkpoints.model_checkpoints import ModelCheckpoints, SavedRows

log = logging.getLogger("graphtide.streams")

MAX_EVICTED = 8
"""Evicted models that may wait: with more, models would be evicted faster than they are saved, and fill the memory."""
FINISH_S = 15.0
"""Seconds for which the end of a process waits for models to be saved: less than a container is given to stop."""
HANDOVER_S = 3.0
"""Seconds of that for which it keeps its partitions: the next writer of a graph, which may be another process, then
continues from what is saved. Models that were used last are saved first."""


class ModelSaver:
    """The queue of models to save."""

    def __init__(self, checkpoints: ModelCheckpoints) -> None:
        self._checkpoints = checkpoints
        self._waiting: OrderedDict[str, tuple[Consolidator, int]] = OrderedDict()
        self._current: tuple[str, asyncio.Task[bool]] | None = None
        self._task: asyncio.Task[None] | None = None

    def evicted(self, writer: Consolidator, dimensions: int) -> None:
        """Save an evicted model, unless MAX_EVICTED wait."""
        if len(self._waiting) < MAX_EVICTED:
            self.put([(writer, dimensions)])

    def put(self, models: Sequence[tuple[Consolidator, int]]) -> None:
        """Save these models, each with the length of its vectors."""
        self._waiting.update((writer.graph, (writer, dimensions)) for writer, dimensions in models)
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run(), name="write-models")

    async def take(self, graph: str, version: int) -> SavedRows | None:
        """Return what is saved of a graph at that version, and delete it; None without it."""
        await self._leave_unsaved(graph)
        return await asyncio.to_thread(self._checkpoints.take, graph, version)

    async def forget(self, graph: str) -> None:
        """Delete what is saved of a graph."""
        await self._leave_unsaved(graph)
        await asyncio.to_thread(self._checkpoints.forget, graph)

    async def wait(self, within_s: float) -> None:
        """Wait until all models are saved, or the time is over."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within_s)

    async def finish(self, within_s: float = FINISH_S) -> None:
        """Wait until all models are saved, or the time is over: the others are restored from the store."""
        await self.wait(within_s)
        if self._waiting:
            log.warning("%d write models were not saved within %.0f s", len(self._waiting), within_s)
            self._waiting.clear()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _leave_unsaved(self, graph: str) -> None:
        """Do not save the graph's model, or wait until it is saved."""
        self._waiting.pop(graph, None)
        if self._current is not None and self._current[0] == graph:
            await asyncio.wait([self._current[1]])

    async def _run(self) -> None:
        while self._waiting:
            graph, (writer, dimensions) = self._waiting.popitem(last=False)
            saving = asyncio.create_task(asyncio.to_thread(self._checkpoints.save, writer, dimensions))
            self._current = graph, saving
            await asyncio.wait([saving])
            self._current = None
            if (failure := saving.exception()) is not None:
                log.error("the write model of graph %s was not saved", graph, exc_info=failure)
