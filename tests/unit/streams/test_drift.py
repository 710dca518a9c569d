"""The communities' check in the stage: a better partition reaches store and view as a version of its own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from graphtide.graph.communities.drift import DriftGuard
from graphtide.graph.consolidation import consolidator
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Record
from tests.support.backends import NAMES, Clock, opened
from tests.support.extractions import random_extraction
from tests.support.stages import ExactKeeper, Seen, eventually, running


@pytest.mark.parametrize("storage", NAMES)
async def test_check_drift_commits_what_it_adopts_and_the_view_follows(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a guard that adopts anything, the check makes one version more, equal in store and view."""
    monkeypatch.setattr(consolidator, "DriftGuard", lambda: DriftGuard(share=0.0, tolerance=-2.0, minimum_weight=1))
    rng, views = random.Random(4), ViewRegistry(ExactKeeper())
    messages = [ExtractionMessage("g", f"d{n}", n, random_extraction(rng, f"d{n}", n)) for n in range(12)]
    async with opened(storage, tmp_path, Clock()) as backend:
        await backend.ledger.accept([Record(f"g|{one.doc_id}", b"{}") for one in messages])
        await backend.log.append(EXTRACTIONS, [Record("g", one.encode()) for one in messages])
        stage = ConsolidateStage(backend.log, backend.store, views.follow, Seen())

        async def applied() -> bool:
            return await backend.ledger.pending("g") == 0 and views.version("g") > 0

        async with running(stage.run):
            await eventually(applied)
            before = views.version("g")
            await stage.check_drift()
            view = views.get("g")
            assert view is not None and view.version == before + 1
            stored = await backend.store.snapshot("g")
            assert stored.version == before + 1
            assert stored.communities is not None
            assert stored.communities.communities.tolist() == view.hierarchy.hierarchy().communities.tolist()
            await stage.check_drift()
            assert views.version("g") == before + 1, "nothing changed since, so nothing is due"
