"""Cache of the write models of a consolidator: restored from the store on demand, evicted by least recent use.

Invariant: a cached model equals the stored graph, or the graph of the commit in progress: a caller that could not
commit what it applied calls `forget`. At most `most` models are cached, and one more per active partition.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.view import LiveView
from graphtide.graph.view_state.indexes import with_loaded_vectors
from graphtide.streams.errors import GraphStopped, GraphtideError
from graphtide.streams.ports import GraphStore
from graphtide.streams.retry import outcome_of

MAX_WRITE_MODELS = 256


@dataclass(slots=True)
class WriteModel:
    """The consolidator of a graph in memory. `dimensions` is the length of its vectors, 0 while it has none."""

    writer: Consolidator
    dimensions: int
    partition: int


def _restore(
    snapshot: GraphDelta,
    view: LiveView | None,
    *,
    verdicts: Mapping[PairKey, Verdict],
    synonyms: bool,
    predicates: bool,
) -> Consolidator:
    """Restore a write model that refers to the vectors of the view, if there is one."""
    if view is not None:
        with view.lock.read():
            snapshot = with_loaded_vectors(snapshot, view.statements, view.entities)
    return Consolidator.restore(snapshot, verdicts=verdicts, synonyms=synonyms, predicates=predicates)


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
    ) -> None:
        """Create an empty cache. `view` returns the view of a graph in this process: models share its vectors."""
        self._store = store
        self._view = view
        self._synonyms, self._predicates = synonyms, predicates
        self._max_models = max_models
        self._models: OrderedDict[str, WriteModel] = OrderedDict()

    async def of(self, graph: str, partition: int) -> WriteModel:
        """Return the partition's model of the graph. Raises GraphStopped for inconsistent rows.

        Until a commit binds a graph to a partition, records of it may be in several, whose workers must not share a
        model: each applies changes of its own to it, and only one of them can commit.

        Cost: none when it is cached, otherwise linear in the graph.
        """
        model = self._models.get(graph)
        if model is None or model.partition != partition:
            restored = await outcome_of(self._restored(graph, partition))
            if isinstance(restored, GraphtideError):
                raise restored
            if isinstance(restored, Exception):
                raise _stopped(graph, restored) from restored
            model = self._models[graph] = restored
        self._models.move_to_end(graph)
        while len(self._models) > self._max_models:
            self._models.popitem(last=False)
        return model

    async def _restored(self, graph: str, partition: int) -> WriteModel:
        snapshot, verdicts = await self._store.snapshot(graph), await self._store.verdicts(graph)
        view = self._view(graph) if self._view is not None else None
        proposes = {"synonyms": self._synonyms, "predicates": self._predicates}
        restore = partial(_restore, snapshot, view, verdicts=verdicts, **proposes)
        writer = await asyncio.to_thread(restore)
        return WriteModel(writer, max((row.vector.size for row in snapshot.chunks), default=0), partition)

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
        for graph in [graph for graph, model in self._models.items() if model.partition == partition]:
            del self._models[graph]


def _stopped(graph: str, error: Exception) -> GraphStopped:
    return GraphStopped(
        f"graph {graph!r} cannot be restored from its stored rows ({type(error).__name__}: {error!s:.200}):"
        f" its documents wait; rebuild it with: graphtide rebuild --graph {graph}",
        graph,
    )
