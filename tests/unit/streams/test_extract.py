"""The extract stage on the reference storage and on SQLite: order, waiting, dead letters, attempts and commits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.streams.consolidate.maintenance_requests import REPLY, REQUEST
from graphtide.streams.errors import Broken, BudgetExceeded, Retryable
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import STAGE, ExtractStage
from graphtide.streams.log.document_position import POSITION
from graphtide.streams.messages import (
    DEAD_LETTERS,
    DOCUMENTS,
    EXTRACTIONS,
    DeadLetter,
    DocumentMessage,
    decode_document,
)
from graphtide.streams.ports import Position, Record, RevisionOutcome, RevisionState
from graphtide.streams.usage import payer
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.endpoints import NOT_JSON, status
from tests.support.openai_server import NAN, OpenAIServer
from tests.support.stages import (
    Minded,
    Seen,
    committed,
    dead_letters,
    eventually,
    extract_stage,
    extractions,
    records,
    running,
)

QUICK = ExtractSettings(concurrency=2, poll_s=60.0, crashes_allowed=2)


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """Both implementations of the storage."""
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one


def record(doc_id: str, text: str = "Ada Lovelace knew Charles Babbage.") -> Record:
    message = DocumentMessage("g", doc_id, text)
    return Record(message.key, message.encode())


async def publish(backend: Backend, *doc_ids: str) -> Sequence[Position]:
    return await backend.ledger.accept([record(doc_id, f"Ada Lovelace wrote {doc_id}.") for doc_id in doc_ids])


async def all_committed(backend: Backend) -> bool:
    return await committed(backend, DOCUMENTS, STAGE) == -1


async def state_of(backend: Backend, doc_id: str) -> RevisionState:
    entry = await backend.ledger.latest("g", doc_id)
    assert entry is not None
    return entry.state


async def test_extract_emits_each_revision_once_and_commits(backend: Backend) -> None:
    """Documents, an edit and a deletion come out with their revisions; a second run has nothing to do."""
    await publish(backend, "a", "b", "a")
    await backend.ledger.accept([Record("g|b", None)])
    stage = extract_stage(backend)
    for _ in range(2):
        async with running(stage.run):
            await eventually(lambda: all_committed(backend))
    found = await extractions(backend)
    assert sorted((one.doc_id, one.revision, one.extraction is None) for one in found) == [
        ("a", 0, False),
        ("a", 2, False),
        ("b", 1, False),
        ("b", 3, True),
    ]


async def test_extract_hands_on_no_header_that_asks_for_upkeep(backend: Backend) -> None:
    """A producer of documents cannot request a verification or rebuild; other headers stay with the record."""
    asking = replace(record("a"), headers=((REQUEST, b"1"), (REPLY, b"2"), ("team", b"notes")))
    await backend.ledger.accept([asking])
    async with running(extract_stage(backend).run):
        await eventually(lambda: all_committed(backend))
    (one,) = await records(backend, EXTRACTIONS)
    assert one.record.headers == (("team", b"notes"), (POSITION, b"0:0"))


async def test_extract_enters_and_counts_before_it_works(backend: Backend) -> None:
    """When the model is first asked, a record that came round the gateway is in the ledger with one attempt."""
    seen = []

    async def mind(_: Sequence[str]) -> None:
        seen.append(await backend.ledger.latest("g", "a"))

    await backend.log.append(DOCUMENTS, [record("a")])
    async with running(extract_stage(backend, Minded(mind)).run):
        await eventually(lambda: all_committed(backend))
    [entry] = seen
    assert entry is not None and (entry.state, entry.attempts) == (RevisionState.ACCEPTED, 1)


DEEP = b'{"text":"x","metadata":' + b'{"a":' * 900 + b"1" + b"}" * 901
BAD_VALUES = {
    "bytes": b"\x00\xff\xfe",
    "a list": b"[1]",
    "another schema": b'{"schema":9,"text":"x"}',
    "a schema that is a structure": b'{"schema":[[1]],"text":"x"}',
    "no text": b'{"schema":1}',
    "a blank text": b'{"text":" \\n"}',
    "a text that is a number": b'{"text":5}',
    "NUL in a text": b'{"text":"a\\u0000b"}',
    "a lone surrogate": b'{"text":"a \\ud800 b"}',
    "a lone surrogate in metadata": b'{"text":"x","metadata":{"k":"\\udfff"}}',
    "nesting too deep to read": b'{"text":"x","metadata":' + b"[" * 100_000,
    "nesting too deep to keep": DEEP,
    "facts that are a string": b'{"text":"x","facts":"abc"}',
    "a fact without object": b'{"text":"x","facts":[{"subject":"a","predicate":"b"}]}',
    "a weight that is no number": b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c","weight":NaN}]}',
    "a weight beyond floats": b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c","weight":1%s}]}'
    % (b"0" * 400),
    "metadata that is a list": b'{"text":"x","metadata":[1]}',
}


@pytest.mark.parametrize("value", BAD_VALUES.values(), ids=BAD_VALUES)
async def test_extract_buries_a_record_once_when_its_value_is_malformed(backend: Backend, value: bytes) -> None:
    """One dead letter with the bytes as they came, FAILED with a short reason, and the next document goes through."""
    await backend.log.append(DOCUMENTS, [Record("g|bad", value), record("good")])
    async with running(extract_stage(backend).run):
        await eventually(lambda: all_committed(backend))
    [letter] = await dead_letters(backend)
    assert (letter.graph, letter.doc_id, letter.revision, letter.stage) == ("g", "bad", 0, STAGE)
    assert letter.original == value and len(letter.reason) < 400
    assert await state_of(backend, "bad") is RevisionState.FAILED
    assert [one.doc_id for one in await extractions(backend)] == ["good"]


BAD_KEYS = (
    "",
    "no bar",
    "|doc",
    "g|",
    "g| ",
    "../x|doc",
    ".|doc",
    "a b|doc",
    "g|" + "x" * 513,
    "g|a\x00b",
    "g" * 65 + "|d",
)


@pytest.mark.parametrize("key", BAD_KEYS)
async def test_extract_buries_a_record_once_when_its_key_is_malformed(backend: Backend, key: str) -> None:
    """A key that names no document is dead-lettered, and the stage continues."""
    await backend.log.append(DOCUMENTS, [Record(key, b"{}"), record("good")])
    async with running(extract_stage(backend).run):
        await eventually(lambda: all_committed(backend))
    [letter] = await dead_letters(backend)
    assert (letter.graph, letter.doc_id, letter.original) == ("", key, b"{}")
    assert [one.doc_id for one in await extractions(backend)] == ["good"]


async def test_extract_says_what_it_waits_for_while_an_endpoint_fails(backend: Backend) -> None:
    """5xx, no JSON, NaN: the document stays accepted, the reason names the endpoint, and nothing is half done."""
    with OpenAIServer() as server:
        server.misbehave(status(503), NOT_JSON, NAN)
        embedder = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m"))
        seen = Seen()
        stage = extract_stage(backend, embedder, seen=seen)
        await publish(backend, "a")
        async with running(stage.run):
            await eventually(lambda: _is(bool(stage.waiting)))
            assert server.base_url in stage.waiting["g", "a"]
            assert await state_of(backend, "a") is RevisionState.ACCEPTED
            assert not await records(backend, EXTRACTIONS)
            await eventually(lambda: all_committed(backend))
        await embedder.close()
    assert seen.retries == 3 and not stage.waiting
    assert len(await extractions(backend)) == 1 and not await records(backend, DEAD_LETTERS)


async def test_extract_waits_as_long_as_the_endpoint_asks(backend: Backend) -> None:
    """Between a 429 with Retry-After and the next request lies at least that time."""
    arrived = []
    loop = asyncio.get_running_loop()
    with OpenAIServer() as server:
        server.misbehave(status(429, retry_after="0.7"))
        embedder = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m"))

        async def mind(_: Sequence[str]) -> None:
            arrived.append(loop.time())

        await publish(backend, "a")
        async with running(extract_stage(backend, Minded(mind, inner=embedder)).run):
            await eventually(lambda: all_committed(backend))
        await embedder.close()
    assert len(arrived) == 2 and arrived[1] - arrived[0] >= 0.7


async def test_extract_buries_what_the_endpoint_refuses_for_ever(backend: Backend) -> None:
    """A 400 is the document's fault: one dead letter with the endpoint's words, and FAILED."""
    with OpenAIServer() as server:
        server.misbehave(status(400, "too long"))
        embedder = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m"))
        await publish(backend, "a")
        async with running(extract_stage(backend, embedder).run):
            await eventually(lambda: all_committed(backend))
        await embedder.close()
    [letter] = await dead_letters(backend)
    assert "too long" in letter.reason and await state_of(backend, "a") is RevisionState.FAILED


async def test_extract_ends_bad_records_and_deletions_at_once_while_all_slots_wait(backend: Backend) -> None:
    """Both slots wait for an unreachable endpoint: records that need no model still reach their final state."""

    async def mind(_: Sequence[str]) -> None:
        raise Retryable("the endpoint is unreachable")

    await publish(backend, "a", "b", "c")
    await backend.ledger.accept([Record("g|bad", b"no JSON"), Record("g|a", None)])
    async with running(extract_stage(backend, Minded(mind), QUICK).run):
        await eventually(lambda: _holds(backend, DEAD_LETTERS, 1))
        await eventually(lambda: _holds(backend, EXTRACTIONS, 1))
        await eventually(lambda: _failed(backend, "bad"))
        assert await committed(backend, DOCUMENTS, STAGE) == 0


async def test_extract_has_no_more_documents_with_the_model_than_it_has_slots(backend: Backend) -> None:
    """Thirty documents wait, and at most two are with the model at once: as many as there are slots."""
    now = most = 0

    async def mind(_: Sequence[str]) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await backend.ledger.counts("g")
        now -= 1

    await publish(backend, *(f"d{number}" for number in range(30)))
    async with running(extract_stage(backend, Minded(mind), QUICK).run):
        await eventually(lambda: all_committed(backend))
    assert most <= QUICK.concurrency


async def test_extract_commits_records_behind_a_slow_one_when_it_ends_although_no_record_comes(
    backend: Backend,
) -> None:
    """Everything behind the slow record is done first, and is committed with it, long before the next poll ends."""
    release = asyncio.Event()

    async def mind(texts: Sequence[str]) -> None:
        if any("slow" in text for text in texts):
            await release.wait()

    await publish(backend, "slow", *(f"d{number}" for number in range(20)))
    async with running(extract_stage(backend, Minded(mind), QUICK).run):
        await eventually(lambda: _holds(backend, EXTRACTIONS, 20))
        assert await committed(backend, DOCUMENTS, STAGE) == 0
        release.set()
        await eventually(lambda: all_committed(backend))


async def test_extract_reads_no_further_than_its_bound_while_a_record_is_stuck(backend: Backend) -> None:
    """One record stuck, read_ahead 10: ten records are read and done up to it, and the rest when it is through."""
    release = asyncio.Event()

    async def mind(texts: Sequence[str]) -> None:
        if any("slow" in text for text in texts):
            await release.wait()

    settings = ExtractSettings(concurrency=2, poll_s=60.0, read_ahead=10)
    embedder = Minded(mind)
    await publish(backend, "slow", *(f"d{number}" for number in range(40)))
    async with running(extract_stage(backend, embedder, settings).run):
        await eventually(lambda: _holds(backend, EXTRACTIONS, 9))
        for _ in range(50):
            await backend.ledger.counts("g")  # gives the stage every chance to read further
        assert embedder.calls <= 10 + settings.concurrency
        release.set()
        await eventually(lambda: all_committed(backend))
    assert len(await extractions(backend)) == 41


async def test_extract_goes_on_with_other_records_when_one_fails_as_nobody_foresaw(backend: Backend) -> None:
    """The failing record is retried, then dead-lettered with the cause; the others are not affected."""

    async def mind(texts: Sequence[str]) -> None:
        if any("odd" in text for text in texts):
            raise ZeroDivisionError("a bug")

    await publish(backend, "odd", "a", "b")
    async with running(extract_stage(backend, Minded(mind), QUICK).run):
        await eventually(lambda: _holds(backend, EXTRACTIONS, 2))
        await eventually(lambda: all_committed(backend))
    [letter] = await dead_letters(backend)
    assert letter.doc_id == "odd" and "ZeroDivisionError: a bug" in letter.reason
    assert await state_of(backend, "odd") is RevisionState.FAILED


async def test_extract_buries_a_record_that_killed_the_process_too_often(backend: Backend) -> None:
    """Two starts without an end, and the third writes a dead letter; a record that was only in flight is extracted."""
    [culprit, _] = await publish(backend, "culprit", "innocent")
    for _ in range(2):
        await backend.ledger.begin("g", "culprit", culprit.offset)
    await backend.ledger.begin("g", "innocent", 1)
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
        await backend.ledger.begin("g", doc_id, place)
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
    await backend.ledger.begin("g", "a", 0)
    await backend.ledger.finish([RevisionOutcome("g", "a", 0, RevisionState.APPLIED)])
    async with running(extract_stage(backend, Minded(mind)).run):
        await eventually(lambda: all_committed(backend))
    assert not asked and not await extractions(backend)


async def test_extract_writes_no_second_dead_letter_when_it_died_after_the_first(backend: Backend) -> None:
    """The letter was there, the ledger did not know: now it does, and there is one letter."""
    await backend.ledger.accept([Record("g|bad", b"no JSON")])
    await backend.ledger.begin("g", "bad", 0)
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


def test_decode_document_keeps_every_character_of_a_text() -> None:
    """NFC beside NFD, right-to-left, zero-width, astral: the message's text is the text."""
    text = "é e\u0301 \u05e9\u05dc\u05d5\u05dd \u202eabc\u202c zero\u200bwidth\ufeff \U0001f701"
    value = json.dumps({"text": text}, ensure_ascii=True).encode()
    assert decode_document("g|a", value).text == text


async def _is(value: bool) -> bool:
    return value


async def _holds(backend: Backend, topic: str, count: int) -> bool:
    return len(await records(backend, topic)) == count


async def _failed(backend: Backend, doc_id: str) -> bool:
    return await state_of(backend, doc_id) is RevisionState.FAILED


async def test_extract_buries_nothing_for_having_waited_in_many_lives(backend: Backend) -> None:
    """A document that waits for a dead endpoint through more lives than crashes are allowed is extracted in the end."""
    dead = True

    async def mind(_: Sequence[str]) -> None:
        if dead:
            raise Retryable("the endpoint is unreachable", 3600.0)

    await publish(backend, "a")
    for _ in range(QUICK.crashes_allowed + 3):
        stage = extract_stage(backend, Minded(mind))

        async def spared(stage: ExtractStage = stage) -> bool:
            entry = await backend.ledger.latest("g", "a")
            return bool(stage.waiting) and entry is not None and entry.attempts == 0

        async with running(stage.run):
            await eventually(spared)
    dead = False
    async with running(extract_stage(backend, Minded(mind)).run):
        await eventually(lambda: all_committed(backend))
    assert [one.doc_id for one in await extractions(backend)] == ["a"]


@pytest.mark.thorough
async def test_extract_lets_documents_wait_for_a_budget_without_holding_up_other_graphs(backend: Backend) -> None:
    """400 documents of a graph without budget wait before three of another graph: those three are done, with two
    slots, while the others wait with their reason and without a counted attempt; then the budget is raised."""
    closed, asked = True, []

    async def mind(_: Sequence[str]) -> None:
        asked.append(payer().graph)
        if closed and payer().graph == "poor":
            raise BudgetExceeded("the budget of graph 'poor' is used up", 0.2)

    documents = [DocumentMessage("poor", f"d{n}", f"Ada wrote {n}.") for n in range(400)]
    documents += [DocumentMessage("rich", f"d{n}", f"Ada wrote {n}.") for n in range(3)]
    await backend.ledger.accept([Record(one.key, one.encode()) for one in documents])
    stage = extract_stage(backend, Minded(mind), QUICK)
    async with running(stage.run):
        await eventually(lambda: _found(backend, "rich", 3))
        await eventually(lambda: _is_so(len(stage.waiting) == 400))
        assert set(stage.waiting.values()) == {"the budget of graph 'poor' is used up"}
        assert len(asked) < 200, "each of them asks again and again"
        entries = [await backend.ledger.latest("poor", f"d{n}") for n in range(0, 400, 40)]
        assert all(one is not None and one.state is RevisionState.ACCEPTED for one in entries)
        assert sum(one.attempts for one in entries if one is not None) <= QUICK.concurrency
        closed = False
        await eventually(lambda: all_committed(backend))
    assert len(await extractions(backend)) == 403 and not stage.waiting


async def test_extract_names_the_refusal_that_holds_up_the_documents_of_a_graph(backend: Backend) -> None:
    """The refusal is that graph's alone, with its remaining time, and not for a revision before the paused ones."""

    async def mind(_: Sequence[str]) -> None:
        if payer().graph == "poor":
            raise BudgetExceeded("the budget of graph 'poor' is used up", 600.0)

    documents = [DocumentMessage(graph, graph, "Ada wrote.") for graph in ("rich", "poor")]
    first, second = await backend.ledger.accept([Record(one.key, one.encode()) for one in documents])
    stage = extract_stage(backend, Minded(mind), QUICK)
    assert stage.refusal("poor") is None
    async with running(stage.run):
        await eventually(lambda: _is_so(stage.refusal("poor") is not None))
        refusal = stage.refusal("poor", [second])
        assert refusal is not None and 0 < (refusal.retry_after_s or 0) <= 600
        assert str(refusal) == "the budget of graph 'poor' is used up"
        assert stage.refusal("poor", [first]) is None and stage.refusal("rich") is None
    assert stage.refusal("poor") is None


async def _found(backend: Backend, graph: str, count: int) -> bool:
    return sum(one.graph == graph for one in await extractions(backend)) == count


async def _is_so(held: bool) -> bool:
    return held
