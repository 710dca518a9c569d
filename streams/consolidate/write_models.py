"""Cache of the write models of a consolidator: restored on demand, evicted by least recent use.

Invariant: a cached model equals the stored graph, or the graph of the commit in progress: a caller that could not
commit what it applied calls `forget`. At most `max_models` are cached, and one more per active partition. A model that
is evicted or left is saved only if it `is_settled`: it equals the stored graph.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.stored_rows import ViewVectors
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.view import LiveView
from graphtide.streams.checkpoints.model_checkpoints import SavedRows
from graphtide.streams.consolidate.model_saving import HANDOVER_S, ModelSaver
from graphtide.streams.errors import GraphStopped, GraphtideError, Retryable
from graphtide.streams.free_memory import MANY_ROWS, return_free_memory
from graphtide.streams.ports import GraphStore, SnapshotUse
from graphtide.streams.retry import outcome_of

log = logging.getLogger("graphtide.streams")

MAX_WRITE_MODELS = 256


@dataclass(slots=True)
class WriteModel:
    """The consolidator of a graph in memory. `dimensions` is the length of its vectors, 0 while it has none."""

    writer: Consolidator
    dimensions: int
    partition: int
    is_settled: bool = False
    """True while the model equals the stored graph: no change of it waits for a commit, or is being made."""


def _restore(
    snapshot: GraphDelta,
    view: LiveView | None,
    *,
    verdicts: Mapping[PairKey, Verdict],
    synonyms: bool,
    predicates: bool,
) -> Consolidator:
    """Restore a write model that refers to the vectors of the view, if there is one."""
    vectors = None
    if view is not None:
        with view.lock.read():
            vectors = ViewVectors.of(view)
    return Consolidator.restore(snapshot, verdicts=verdicts, synonyms=synonyms, predicates=predicates, vectors=vectors)


class WriteModels:
    """The models by graph, the latest where workers of several partitions asked: none uses the model of another."""

    def __init__(
        self,
        store: GraphStore,
        max_models: int = MAX_WRITE_MODELS,
        *,
        synonyms: bool = False,
        predicates: bool = False,
        view: Callable[[str], LiveView | None] | None = None,
        saver: ModelSaver | None = None,
    ) -> None:
        """Create an empty cache. `view` returns the view of a graph in this process: models share its vectors.

        `saver` saves models that leave memory; None: they are restored from the store.
        """
        self._store = store
        self._view = view
        self._saver = saver
        self._synonyms, self._predicates = synonyms, predicates
        self._max_models = max_models
        self._models: OrderedDict[str, WriteModel] = OrderedDict()

    async def of(self, graph: str, partition: int) -> WriteModel:
        """Return the partition's model of the graph, for a change. Raises GraphStopped for inconsistent rows, and
        Retryable where memory is short, which does not make them so.

        It is not settled until `committed`.

        Until a commit binds a graph to a partition, records of it may be in several, whose workers must not share a
        model: each applies changes of its own to it, and only one of them can commit.

        Cost: none when it is cached, otherwise linear in the graph.
        """
        model = self._models.get(graph)
        if model is None or model.partition != partition:
            restored = await outcome_of(self._restored(graph, partition))
            if isinstance(restored, GraphtideError):
                raise restored
            if isinstance(restored, MemoryError):
                raise Retryable(f"graph {graph!r} needs more memory than this process may use: raise its limit")
            if isinstance(restored, Exception):
                raise _stopped(graph, restored) from restored
            model = self._models[graph] = restored
        model.is_settled = False
        self._models.move_to_end(graph)
        while len(self._models) > self._max_models:
            _, evicted = self._models.popitem(last=False)
            if self._saver is not None and evicted.is_settled:
                self._saver.evicted(evicted.writer, evicted.dimensions)
        return model

    async def _restored(self, graph: str, partition: int) -> WriteModel:
        saved = await self._saved(graph)
        if saved is not None:
            restored = await outcome_of(self._made(graph, saved.snapshot))
            if not isinstance(restored, Exception):
                log.info("graph %s continues from its saved write model at version %d", graph, restored.version)
                return WriteModel(restored, saved.dimensions, partition)
            log.warning("graph %s is not restored from its checkpoint: %.200s", graph, restored)
        snapshot = await self._store.snapshot(graph, SnapshotUse.WRITE_MODEL)
        dimensions = max((row.vector.size for row in snapshot.chunks), default=0)
        has_many_rows = len(snapshot.labels) + len(snapshot.statements) >= MANY_ROWS
        made = WriteModel(await self._made(graph, snapshot), dimensions, partition)
        del snapshot
        if has_many_rows:
            await asyncio.to_thread(return_free_memory)
        return made

    async def _saved(self, graph: str) -> SavedRows | None:
        """Return the saved rows of the stored version; None without them."""
        if self._saver is None or not (version := await self._store.version(graph)):
            return None
        return await self._saver.take(graph, version)

    async def _made(self, graph: str, snapshot: GraphDelta) -> Consolidator:
        view = self._view(graph) if self._view is not None else None
        proposes = {"synonyms": self._synonyms, "predicates": self._predicates}
        verdicts = await self._store.verdicts(graph)
        return await asyncio.to_thread(partial(_restore, snapshot, view, verdicts=verdicts, **proposes))

    def committed(self, graph: str, version: int, partition: int) -> None:
        """Note that a change of the partition's model is committed, if it was one."""
        model = self._models.get(graph)
        if model is not None and (model.partition, model.writer.version) == (partition, version):
            model.is_settled = True

    def peek(self, graph: str) -> WriteModel | None:
        """Return the graph's model if it is in memory; does not count as use."""
        return self._models.get(graph)

    def all(self) -> list[WriteModel]:
        return list(self._models.values())

    def forget(self, graph: str) -> None:
        """Evict the model: the next use restores it from the store."""
        self._models.pop(graph, None)

    def forget_partition(self, partition: int) -> None:
        """Evict the models of a partition that was reassigned, or whose changes could not be committed."""
        self._take_out(partition)

    def leave_partition(self, partition: int) -> None:
        """Evict the models of a partition that another worker may continue, and save those that are settled."""
        models = [model for model in self._take_out(partition) if model.is_settled]
        if self._saver is not None:
            self._saver.put([(model.writer, model.dimensions) for model in reversed(models)])

    async def hand_over(self) -> None:
        """Wait for a while until the models that were left are saved, before another process continues them."""
        if self._saver is not None:
            await self._saver.wait(HANDOVER_S)

    async def finish(self) -> None:
        """Wait until the models that were left are saved, as long as the end of a process may."""
        if self._saver is not None:
            await self._saver.finish()

    async def erase(self, graph: str) -> None:
        """Evict the model of a deleted graph, and delete what is saved of it."""
        self.forget(graph)
        if self._saver is not None:
            await self._saver.forget(graph)

    def _take_out(self, partition: int) -> list[WriteModel]:
        graphs = [graph for graph, model in self._models.items() if model.partition == partition]
        return [self._models.pop(graph) for graph in graphs]


def _stopped(graph: str, error: Exception) -> GraphStopped:
    return GraphStopped(
        f"graph {graph!r} cannot be restored from its stored rows ({type(error).__name__}: {error!s:.200}):"
        f" its documents wait; rebuild it with: graphtide rebuild --graph {graph}",
        graph,
    )
