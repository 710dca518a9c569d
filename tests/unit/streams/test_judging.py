"""Verdicts on borderline pairs, in the stage: asked once, durable with what they change, repeated by a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.graph.digest import differences
from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.resolution import PairKey, PairQuestion
from graphtide.streams.consolidate import verification as recounting
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
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
    asked: list[PairKey] = []

    async def ask(question: PairQuestion) -> bool | None:
        asked.append(question.pair)
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


@pytest.mark.parametrize("storage", NAMES)
async def test_synonyms_wait_for_the_judge_and_their_verdicts_last(storage: str, tmp_path: Path) -> None:
    """A pair with different words is found by its description and judged once, after a restart, too."""
    asked: list[PairQuestion] = []
    answers: list[bool | None] = []

    async def ask(question: PairQuestion) -> bool | None:
        asked.append(question)
        return answers[-1]

    views = ViewRegistry(ExactKeeper())
    async with opened(storage, tmp_path, Clock()) as backend:
        documents = [
            Extraction(name, n, DocumentInfo(), (unit(f"Passage {n}.", [(name, "", TOLD)], []),))
            for n, name in enumerate(("Ballhawks", "Clouters"))
        ]
        await backend.ledger.accept([Record(f"g|{one.doc_id}", b"{}") for one in documents])
        messages = [ExtractionMessage("g", one.doc_id, one.revision, one) for one in documents]

        async def applied() -> bool:
            return await backend.ledger.pending("g") == 0 and views.version("g") > 0

        for settings, calls in ((ConsolidateSettings(), 0), (ConsolidateSettings(synonyms=True), 2)):
            stage = ConsolidateStage(backend.log, backend.store, views.follow, Seen(), settings)
            if not asked and not calls:
                await backend.log.append(EXTRACTIONS, [Record("g", messages[0].encode())])
            async with running(stage.run):
                if calls:
                    await backend.log.append(EXTRACTIONS, [Record("g", messages[1].encode())])
                    await eventually(applied)
                answers.append(None)
                assert await stage.judge(ask) == 0
                answers.append(True)
                assert await stage.judge(ask) == min(calls, 1)
                assert await stage.judge(ask) == 0
            assert len(asked) == calls
        (verdict,) = (await backend.store.verdicts("g")).values()
        assert verdict == asked[0].verdict(True) > 1
        view = views.get("g")
        assert view is not None and [len(entity.labels) for entity in view.entities.values()] == [2]
        built = await recounting.build(backend.store, "g", view.version)
        assert differences(await backend.store.snapshot("g"), built) == ()
