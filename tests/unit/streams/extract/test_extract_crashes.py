"""The stage of extraction after crashes: nothing is lost, and no record kills the process for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.extract.stage import STAGE
from graphtide.streams.messages import (
    DEAD_LETTERS,
    DeadLetter,
)
from graphtide.streams.ports import Record, RevisionOutcome, RevisionState
from tests.support.backends import Backend
from tests.support.extract_records import QUICK, _is, all_committed, publish, state_of
from tests.support.stages import (
    Minded,
    dead_letters,
    eventually,
    extract_stage,
    extractions,
    records,
    running,
)


async def test_extract_writes_a_dead_letter_for_a_record_that_killed_the_process_too_often(backend: Backend) -> None:
    """Two starts without an end, and the third writes a dead letter; a record that was only in flight is extracted."""
    [culprit, _] = await publish(backend, "culprit", "innocent")
    for _ in range(2):
        await backend.ledger.start_attempt("g", "culprit", culprit.offset)
    await backend.ledger.start_attempt("g", "innocent", 1)
    async with running(extract_stage(backend, settings=QUICK).run):
        await eventually(lambda: all_committed(backend))
    [letter] = await dead_letters(backend)
    assert letter.doc_id == "culprit" and letter.attempts == 3 and "never finished" in letter.reason
    assert [one.doc_id for one in await extractions(backend)] == ["innocent"]


async def test_extract_does_records_alone_that_were_under_way_at_a_crash(backend: Backend) -> None:
    """While a suspect is with the model nothing else is begun; when it waits for the model, the next one is."""
    asked: list[str] = []
    release = asyncio.Event()
    refused: list[str] = []

    async def mind(texts: Sequence[str]) -> None:
        name = next(text for text in texts if " wrote " in text)
        asked.append(name)
        if "first" in name and not refused:
            await release.wait()
            refused.append(name)
            raise Retryable("the endpoint is unreachable")

    for place, doc_id in enumerate(("first", "second", "third")):
        await publish(backend, doc_id)
        await backend.ledger.start_attempt("g", doc_id, place)
    await publish(backend, "fresh")
    async with running(extract_stage(backend, Minded(mind), QUICK).run):
        await eventually(lambda: _is(bool(asked)))
        for _ in range(50):
            await backend.ledger.counts("g")  # gives the other records every chance to start
        assert len(asked) == 1
        attempts = [await backend.ledger.latest("g", doc_id) for doc_id in ("first", "second", "third", "fresh")]
        assert [entry.attempts for entry in attempts if entry] == [2, 1, 1, 0]
        release.set()
        await eventually(lambda: all_committed(backend))
    assert len(await extractions(backend)) == 4


async def test_extract_counts_no_attempt_when_a_run_ended_for_another_cause(backend: Backend) -> None:
    """A failure that ends the run repeatedly is not the record's fault: no attempt is counted, no letter is written."""

    async def mind(_: Sequence[str]) -> None:
        raise Broken("vectors of another dimension")

    stage = extract_stage(backend, Minded(mind), QUICK)
    await publish(backend, "a")
    for _ in range(6):
        with pytest.raises(Broken):
            await stage.run()
    entry = await backend.ledger.latest("g", "a")
    assert entry is not None and (entry.attempts, entry.state) == (1, RevisionState.ACCEPTED)
    assert not await records(backend, DEAD_LETTERS)


async def test_extract_skips_a_revision_that_has_its_end_when_only_its_position_was_lost(backend: Backend) -> None:
    """A process died after everything but the commit: the model is not asked again, and nothing is emitted twice."""
    asked = []

    async def mind(texts: Sequence[str]) -> None:
        asked.append(texts)

    await publish(backend, "a")
    await backend.ledger.start_attempt("g", "a", 0)
    await backend.ledger.finish([RevisionOutcome("g", "a", 0, RevisionState.APPLIED)])
    async with running(extract_stage(backend, Minded(mind)).run):
        await eventually(lambda: all_committed(backend))
    assert not asked and not await extractions(backend)


async def test_extract_writes_no_second_dead_letter_when_it_died_after_the_first(backend: Backend) -> None:
    """The letter was there, the ledger did not know: now it does, and there is one letter."""
    await backend.ledger.accept([Record("g|bad", b"no JSON")])
    await backend.ledger.start_attempt("g", "bad", 0)
    letter = DeadLetter("g", "bad", 0, STAGE, "as it was", 1, b"no JSON")
    await backend.log.append(DEAD_LETTERS, [Record("g|other", b"not a letter"), Record("g|bad", letter.encode())])
    async with running(extract_stage(backend).run):
        await eventually(lambda: all_committed(backend))
    assert len(await records(backend, DEAD_LETTERS)) == 2
    assert await state_of(backend, "bad") is RevisionState.FAILED


async def test_extract_loses_nothing_when_it_is_cancelled_in_the_middle(backend: Backend) -> None:
    """Cancelled while every slot is with the model, then run again: each revision comes out."""
    hold = asyncio.Event()

    async def mind(_: Sequence[str]) -> None:
        await hold.wait()

    stage = extract_stage(backend, Minded(mind), QUICK)
    await publish(backend, *"abcde")
    async with running(stage.run):
        await eventually(lambda: _is(stage._models.embedder.calls == 2))  # type: ignore[attr-defined]
    hold.set()
    async with running(stage.run):
        await eventually(lambda: all_committed(backend))
    assert sorted(one.doc_id for one in await extractions(backend)) == list("abcde")
