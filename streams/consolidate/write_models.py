"""The write models that a consolidator holds in memory: restored from the store on demand, the least used let go.

Invariant: a model that is held is what the store has, or what the store is about to have: whoever could not commit
what it applied forgets the model. At most `most` are held, and one more for each partition that is working.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial

from graphtide.graph.consolidation import Consolidator
from graphtide.streams.errors import GraphStopped, GraphtideError
from graphtide.streams.ports import GraphStore
from graphtide.streams.retry import outcome_of

MAX_WRITE_MODELS = 256


@dataclass(slots=True)
class WriteModel:
    """`dimensions` is the length of the graph's vectors, 0 while it has none."""

    writer: Consolidator
    dimensions: int
    partition: int


class WriteModels:
    """The models by graph. A graph is of one partition, so no two tasks ask for the same one at a time."""

    def __init__(self, store: GraphStore, most: int = MAX_WRITE_MODELS) -> None:
        self._store = store
        self._most = most
        self._models: OrderedDict[str, WriteModel] = OrderedDict()

    @property
    def held(self) -> int:
        """How many graphs are in memory."""
        return len(self._models)

    async def of(self, graph: str, partition: int) -> WriteModel:
        """The graph's model. Raises GraphStopped for rows that do not fit together.

        Cost: nothing when it is held, else linear in the graph.
        """
        model = self._models.get(graph)
        if model is None:
            restored = await outcome_of(self._restored(graph, partition))
            if isinstance(restored, GraphtideError):
                raise restored
            if isinstance(restored, Exception):
                raise _stopped(graph, restored) from restored
            model = self._models[graph] = restored
        self._models.move_to_end(graph)
        while len(self._models) > self._most:
            self._models.popitem(last=False)
        return model

    async def _restored(self, graph: str, partition: int) -> WriteModel:
        snapshot, verdicts = await self._store.snapshot(graph), await self._store.verdicts(graph)
        writer = await asyncio.to_thread(partial(Consolidator.restore, snapshot, verdicts=verdicts))
        return WriteModel(writer, max((row.vector.size for row in snapshot.chunks), default=0), partition)

    def peek(self, graph: str) -> WriteModel | None:
        """The graph's model if it is in memory; does not count as use."""
        return self._models.get(graph)

    def all(self) -> list[WriteModel]:
        return list(self._models.values())

    def forget(self, graph: str) -> None:
        """The store's rows were replaced: the next use restores the model from there."""
        self._models.pop(graph, None)

    def forget_partition(self, partition: int) -> None:
        """The partition is somebody else's, or its models ran ahead of what could be committed."""
        for graph in [graph for graph, model in self._models.items() if model.partition == partition]:
            del self._models[graph]


def _stopped(graph: str, error: Exception) -> GraphStopped:
    return GraphStopped(
        f"graph {graph!r} cannot be restored from its stored rows ({type(error).__name__}: {error!s:.200}):"
        f" its documents wait; rebuild it with: graphtide rebuild --graph {graph}",
        graph,
    )
