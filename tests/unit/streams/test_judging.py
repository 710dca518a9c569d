"""Verdicts on borderline pairs, in the stage: asked once, durable with what they change, repeated by a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.graph.digest import differences
from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.resolution import PairKey, PairQuestion
from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE
from graphtide.streams.consolidate import verification as recounting
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Record
from tests.support.backends import NAMES, Clock, opened
from tests.support.extractions import unit
from tests.support.stages import ExactKeeper, Seen, eventually, running

DESCRIPTION = "a baseball team of the old city league since 1901"
PAIR = ("took over all the works of", "took over the works of")
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
            Extraction(f"d{n}", n, DocumentInfo(), (unit(f"Passage {n}.", [(name, "", DESCRIPTION)], []),))
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
            assert (await stage.judge(ask, limit=1), len(asked)) == (0, 1)
            while await stage.judge(ask, limit=1):
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
            Extraction(name, n, DocumentInfo(), (unit(f"Passage {n}.", [(name, "", DESCRIPTION)], []),))
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


@pytest.mark.parametrize("storage", NAMES)
async def test_predicates_wait_for_the_judge_and_their_links_last(storage: str, tmp_path: Path) -> None:
    """A link between predicates is stored, survives a restart, ends with its documents and comes back with them."""
    asked: list[PairQuestion] = []

    async def ask(question: PairQuestion) -> bool | None:
        asked.append(question)
        return question.pair[0][1] == PREDICATE_TYPE

    views = ViewRegistry(ExactKeeper())
    facts = {"a": ("Ada Quist", PAIR[1], "Nordby"), "b": ("Bo Lind", PAIR[0], "Old Quarry")}
    async with opened(storage, tmp_path, Clock()) as backend:

        async def publish(doc_id: str, *, deleted: bool = False) -> None:
            subject, predicate, object_ = facts[doc_id]
            piece = unit(f"Passage {doc_id}.", [(subject, "", ""), (object_, "", "")], [(0, predicate, 1)])
            (position,) = await backend.ledger.accept([Record(f"g|{doc_id}", None if deleted else b"{}")])
            revision, before = position.offset, views.version("g")
            found = None if deleted else Extraction(doc_id, revision, DocumentInfo(), (piece,))
            message = ExtractionMessage("g", doc_id, revision, found)
            await backend.log.append(EXTRACTIONS, [Record("g", message.encode())])

            async def applied() -> bool:
                return await backend.ledger.pending("g") == 0 and views.version("g") > before

            await eventually(applied)

        async def links() -> tuple[tuple[str, str], ...]:
            view, stored = views.get("g"), await backend.store.snapshot("g")
            assert view is not None and view.predicates.links() == stored.predicate_links
            built = await recounting.build(backend.store, "g", view.version)
            assert differences(stored, built) == () and differences(view.rows(), built) == ()
            return stored.predicate_links

        settings = ConsolidateSettings(predicates=True)
        stage = ConsolidateStage(backend.log, backend.store, views.follow, Seen(), settings)
        async with running(stage.run):
            await publish("a")
            await publish("b")
            assert await stage.judge(ask) == len(asked) == 1
            assert asked[0].pair[0][0] == PAIR[0] and len(asked[0].contexts or ()) == 2
            assert await links() == (PAIR,)
        # Another process, that asks no judge: what is stored stays in effect.
        stage = ConsolidateStage(backend.log, backend.store, views.follow, Seen())
        async with running(stage.run):
            await publish("b", deleted=True)
            assert await links() == ()
            await publish("b")
            assert await links() == (PAIR,)
            view = views.get("g")
            assert view is not None
            await backend.store.replace(await recounting.build(backend.store, "g", view.version))
            assert (await backend.store.snapshot("g")).predicate_links == (PAIR,)
        assert len(asked) == 1
