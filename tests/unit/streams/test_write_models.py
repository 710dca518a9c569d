"""The cache of write models while several partitions have records of one graph."""

from __future__ import annotations

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.write_models import WriteModels
from graphtide.streams.errors import GraphStopped, Retryable
from graphtide.streams.ports import SnapshotUse
from tests.model.memory import MemoryBackend
from tests.support.backends import Clock


async def test_workers_of_two_partitions_share_no_model() -> None:
    """Before its first commit a graph belongs to no partition: a rival's uncommitted changes must not be seen."""
    models = WriteModels(MemoryBackend(2, Clock()).store)
    first, second = await models.of("g", 0), await models.of("g", 1)
    assert first.writer is not second.writer
    assert await models.of("g", 1) is second
    models.forget_partition(1)
    assert models.peek("g") is None
    assert (await models.of("g", 0)).writer is not second.writer


@pytest.mark.parametrize(("error", "raised"), [(MemoryError(), Retryable), (ValueError("odd"), GraphStopped)])
async def test_graph_is_stopped_for_its_rows_and_not_for_want_of_memory(
    error: Exception, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are sound need no rebuild, which would take more memory still."""
    store = MemoryBackend(2, Clock()).store

    async def fail(_graph: str, _use: SnapshotUse) -> GraphDelta:
        raise error

    monkeypatch.setattr(store, "snapshot", fail)
    with pytest.raises(raised):
        await WriteModels(store).of("g", 0)
