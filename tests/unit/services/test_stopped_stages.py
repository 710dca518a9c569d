"""The gauge of stopped stages of a single process: it follows the facts that make the process unready."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.services import wiring
from graphtide.services.administration.maintenance import EmbeddedMaintenance
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import Commit
from tests.support.stages import eventually


async def test_gauge_of_the_consolidator_is_set_while_it_makes_the_process_unready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits fail: a partition is stopped, and the task of the stage runs all the same."""
    registry = CollectorRegistry()

    async def failing(_: Commit) -> None:
        raise Retryable("no commit")

    async with open_application(Settings(data=tmp_path, embedding_model="hashing"), registry) as application:
        assert isinstance(application, LocalApplication)
        runtime = application._runtime
        maintenance, metrics = runtime.maintenance, runtime.metrics
        assert isinstance(maintenance, EmbeddedMaintenance)

        async def gauge() -> float | None:
            await wiring._look(runtime.ledger, metrics, maintenance)
            return registry.get_sample_value("graphtide_stage_stopped", {"stage": "consolidate"})

        async def ready() -> bool:
            return (await application.health()).ready

        async def unready() -> bool:
            return not await ready()

        await eventually(ready)
        assert not await gauge()
        with monkeypatch.context() as patched:
            patched.setattr(runtime.store, "commit", failing)
            await application.publish([DocumentMessage("notes", "a", "Ada met Bob.")])
            await eventually(unready)
            assert await gauge() == 1
        await eventually(ready)
        assert await gauge() == 0
