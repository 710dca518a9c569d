"""The dead-letter queue, on the reference storage and on SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import (
    DROPPED,
    MAX_PAGE,
    RETRIED,
    discard,
    get_dead_letter,
    list_dead_letters,
    original,
    page,
    retry,
)
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.errors import Invalid, NotFound
from graphtide.streams.messages import DEAD_LETTERS, DOCUMENTS, DeadLetter, DocumentMessage, decode_document
from graphtide.streams.ports import Position, Record
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.stages import eventually, extract_stage, records, running


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one


def dead_letter(doc_id: str, original_: bytes = b"\xff", graph: str = "g", stage: str = "extract") -> DeadLetter:
    return DeadLetter(graph, doc_id, 7, stage, "why", 3, original_)


async def publisher(backend: Backend, record: Record) -> Position:
    [position] = await backend.ledger.accept([record])
    return position


async def test_letters_are_listed_by_graph_until_they_are_dealt_with(backend: Backend) -> None:
    """Oldest first, with every field; foreign records are ignored; a resolved letter can still be read."""
    for one in (dead_letter("a"), dead_letter("b"), dead_letter("c", graph="h")):
        await write_dead_letter(backend.log, one)
    await backend.log.append(DEAD_LETTERS, [Record("x", b"not ours"), Record("y", None), Record("z", b"[1]")])
    first, second = await list_dead_letters(backend.log, "g")
    assert (first.letter, second.letter) == (dead_letter("a", b""), dead_letter("b", b"")), "without the originals"
    assert [one.size_bytes for one in (first, second)] == [1, 1]
    assert (await get_dead_letter(DeadLetterIndex(backend.log), "g", first.id)).letter == dead_letter("a")
    await discard(DeadLetterIndex(backend.log), "g", first.id)
    assert [one.id for one in await list_dead_letters(backend.log, "g")] == [second.id]
    assert [one.resolution for one in await list_dead_letters(backend.log, "g", resolved=True)] == [DROPPED, ""]
    assert (await get_dead_letter(DeadLetterIndex(backend.log), "g", first.id)).resolution == DROPPED


async def test_letter_is_refused_that_is_not_there_or_dealt_with(backend: Backend) -> None:
    """An id of another graph or an unknown one is not found; a malformed id is named; no letter is resolved twice."""
    await write_dead_letter(backend.log, dead_letter("a"))
    for graph, name in (("h", "0-0"), ("g", "0-9")):
        with pytest.raises(NotFound):
            await get_dead_letter(DeadLetterIndex(backend.log), graph, name)
    with pytest.raises(Invalid, match="looks like"):
        await discard(DeadLetterIndex(backend.log), "g", "../etc")
    await discard(DeadLetterIndex(backend.log), "g", "0-0")
    with pytest.raises(Invalid, match="already"):
        await retry(DeadLetterIndex(backend.log), "g", "0-0", lambda record: publisher(backend, record))
    assert await records(backend, DOCUMENTS) == []


async def test_retry_publishes_the_original_bytes_as_a_new_revision(backend: Backend) -> None:
    """The original is published byte for byte, under the same key, once; the letter shows it."""
    value = DocumentMessage("g", "a", "Ada Lovelace knew Charles Babbage.").encode()
    await write_dead_letter(backend.log, dead_letter("a", value))
    position = await retry(DeadLetterIndex(backend.log), "g", "0-0", lambda record: publisher(backend, record))
    [published] = await records(backend, DOCUMENTS)
    assert (published.position, published.record) == (position, Record("g|a", value))
    assert (await get_dead_letter(DeadLetterIndex(backend.log), "g", "0-0")).resolution == RETRIED


async def test_retry_publishes_a_correction_of_what_cannot_be_read(backend: Backend) -> None:
    """Unchanged it is refused, and so is another document instead; corrected, it is published and resolved."""
    await write_dead_letter(backend.log, dead_letter("a"))

    async def publish(record: Record) -> Position:
        return await publisher(backend, record)

    with pytest.raises(Invalid, match="send a correction"):
        await retry(DeadLetterIndex(backend.log), "g", "0-0", publish)
    with pytest.raises(Invalid, match="another document"):
        await retry(DeadLetterIndex(backend.log), "g", "0-0", publish, DocumentMessage("g", "b", "One."))
    assert await records(backend, DOCUMENTS) == []
    right = DocumentMessage("g", "a", "Ada Lovelace knew Charles Babbage.")
    await retry(DeadLetterIndex(backend.log), "g", "0-0", publish, right)
    [published] = await records(backend, DOCUMENTS)
    assert published.record == Record(right.key, right.encode())
    assert (await get_dead_letter(DeadLetterIndex(backend.log), "g", "0-0")).resolution == RETRIED


async def test_pages_of_letters_hold_each_once_whatever_is_resolved_between_them(backend: Backend) -> None:
    """A page is bounded, the next one begins after it even if its last one was resolved, and the last has no next."""
    for i in range(7):
        await write_dead_letter(backend.log, dead_letter(f"d{i}"))
    first = await page(DeadLetterIndex(backend.log), "g", limit=3)
    await discard(DeadLetterIndex(backend.log), "g", first.letters[-1].id)
    second = await page(DeadLetterIndex(backend.log), "g", first.next, 3)
    third = await page(DeadLetterIndex(backend.log), "g", second.next, 3)
    names = [one.letter.doc_id for each in (first, second, third) for one in each.letters]
    assert names == [f"d{i}" for i in range(7)]
    assert third.next == ""
    for limit, after in ((0, ""), (MAX_PAGE + 1, ""), (1, "x"), (1, "1-2")):
        with pytest.raises(Invalid):
            await page(DeadLetterIndex(backend.log), "g", after, limit)


async def test_retry_of_what_consolidation_rejected_publishes_its_document(backend: Backend) -> None:
    """Its original is an extraction: the document's text and description are taken from it, unchanged."""
    text = "Ada Lovelace knew Charles Babbage.\n\n\tShe wrote the first program.  "
    await backend.ledger.accept([Record("g|a", DocumentMessage("g", "a", text).encode())])
    async with running(extract_stage(backend).run):

        async def is_there() -> bool:
            return bool(await records(backend, "extractions"))

        await eventually(is_there)
    [extracted] = await records(backend, "extractions")
    record = original(dead_letter("a", extracted.record.value or b"", stage="consolidate"))
    assert record.key == "g|a"
    assert decode_document(record.key, record.value or b"").text == text


@pytest.mark.parametrize(
    "one",
    [
        dead_letter("a", b""),
        dead_letter("no\0key"),
        dead_letter("a", b"\xff"),
        dead_letter("a", b"garbage", stage="consolidate"),
    ],
    ids=["empty", "key", "document", "extraction"],
)
def test_retry_refuses_what_cannot_be_published(one: DeadLetter) -> None:
    """Nothing to publish, no document id, or a malformed original: Invalid with the reason, and no effect."""
    with pytest.raises(Invalid):
        original(one)
