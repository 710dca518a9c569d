"""Verdicts on borderline pairs, in the stage: asked once, durable with what they change, repeated by a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.graph.digest import differences
from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.resolution import LabelKey
from graphtide.streams.consolidate import verification as recounting
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Record
from tests.support.backends import NAMES, Clock, opened
from tests.support.extractions import unit
from tests.support.stages import ExactKeeper, Seen, eventually, running

TOLD = "a baseball team of the old city league since 1901"
TEAMS = ("Red Sox", "Boston Red Sox", "Cubs")


@pytest.mark.parametrize("storage", NAMES)
async def test_judge_is_asked_once_for_each_pair_and_its_verdicts_last(storage: str, tmp_path: Path) -> None:
    """Without a verdict the pair is asked about again; with one, never; and the graph is rebuilt with it."""
    asked: list[tuple[LabelKey, LabelKey]] = []

    async def ask(a: LabelKey, b: LabelKey) -> bool | None:
        asked.append((a, b))
        return None if len(asked) == 1 else True

    views = ViewRegistry(ExactKeeper())
    async with opened(storage, tmp_path, Clock()) as backend:
        documents = [
            Extraction(f"d{n}", n, DocumentInfo(), (unit(f"Passage {n}.", [(name, "", TOLD)], []),))
            for n, name in enumerate(TEAMS)
        ]
        await backend.ledger.accept([Record(f"g|{one.doc_id}", b"{}") for one in documents])
        messages = [ExtractionMessage("g", one.doc_id, one.revision, one) for one in documents]
        await backend.log.append(EXTRACTIONS, [Record("g", one.encode()) for one in messages])

        async def applied() -> bool:
            return await backend.ledger.pending("g") == 0 and views.version("g") > 0

        stage = ConsolidateStage(backend.log, backend.store, views.follow, Seen())
        async with running(stage.run):
            await eventually(applied)
            assert (await stage.judge(ask, most=1), len(asked)) == (0, 1)
            while await stage.judge(ask, most=1):
                pass
            pairs = asked[1:]
            assert asked[0] in pairs and len(set(pairs)) == len(pairs)
        assert await backend.store.verdicts("g") == dict.fromkeys(pairs, True)
        view = views.get("g")
        assert view is not None
        assert any(len(entity.labels) == 2 for entity in view.entities.values())
        built = await recounting.build(backend.store, "g", view.version)
        assert differences(view.rows(), built) == ()
        stored = await backend.store.snapshot("g")
        assert differences(stored, built) == ()
