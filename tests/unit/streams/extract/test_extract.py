"""The stage of extraction: each revision ends once, whatever the records are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.streams.consolidate.maintenance_requests import REPLY, REQUEST
from graphtide.streams.errors import Retryable
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import STAGE
from graphtide.streams.log.document_position import POSITION
from graphtide.streams.messages import (
    DEAD_LETTERS,
    DOCUMENTS,
    EXTRACTIONS,
    decode_document,
)
from graphtide.streams.ports import Record, RevisionState
from tests.support.backends import Backend
from tests.support.endpoints import status
from tests.support.extract_records import QUICK, _failed, _holds, all_committed, publish, record, state_of
from tests.support.openai_server import OpenAIServer
from tests.support.stages import (
    Minded,
    committed,
    dead_letters,
    eventually,
    extract_stage,
    extractions,
    records,
    running,
)


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


async def test_extract_hands_on_no_header_that_asks_for_maintenance(backend: Backend) -> None:
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
async def test_extract_writes_one_dead_letter_when_its_value_is_malformed(backend: Backend, value: bytes) -> None:
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
async def test_extract_writes_one_dead_letter_when_its_key_is_malformed(backend: Backend, key: str) -> None:
    """A key that names no document is dead-lettered, and the stage continues."""
    await backend.log.append(DOCUMENTS, [Record(key, b"{}"), record("good")])
    async with running(extract_stage(backend).run):
        await eventually(lambda: all_committed(backend))
    [letter] = await dead_letters(backend)
    assert (letter.graph, letter.doc_id, letter.original) == ("", key, b"{}")
    assert [one.doc_id for one in await extractions(backend)] == ["good"]


async def test_extract_writes_a_dead_letter_when_the_endpoint_refuses_a_text(backend: Backend) -> None:
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
    now = highest = 0

    async def mind(_: Sequence[str]) -> None:
        nonlocal now, highest
        now += 1
        highest = max(highest, now)
        await backend.ledger.counts("g")
        now -= 1

    await publish(backend, *(f"d{number}" for number in range(30)))
    async with running(extract_stage(backend, Minded(mind), QUICK).run):
        await eventually(lambda: all_committed(backend))
    assert highest <= QUICK.concurrency


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


def test_decode_document_keeps_every_character_of_a_text() -> None:
    """NFC beside NFD, right-to-left, zero-width, astral: the message's text is the text."""
    text = "é e\u0301 \u05e9\u05dc\u05d5\u05dd \u202eabc\u202c zero\u200bwidth\ufeff \U0001f701"
    value = json.dumps({"text": text}, ensure_ascii=True).encode()
    assert decode_document("g|a", value).text == text
