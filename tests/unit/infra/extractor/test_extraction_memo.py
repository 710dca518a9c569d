"""The memo of extractions: one paid call for each passage."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.sqlite import SqliteDatabase, SqliteVectorStore
from graphtide.streams.errors import Retryable
from tests.support.endpoints import SLOW, status
from tests.support.extractor_replies import KEY, TEXT, TITLE
from tests.support.llm_server import LlmServer


async def test_memo_pays_once_for_a_passage_and_again_when_anything_differs(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The same text and title cost one call, also concurrently; another title, text or model costs its own."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(extractor, store)
    first, second = await asyncio.gather(memo.extract(TEXT, title=TITLE), memo.extract(TEXT, title=TITLE))
    assert first == second == await memo.extract(TEXT, title=TITLE) and len(server.seen) == 1
    await memo.extract(TEXT, title="Else")
    await memo.extract(f"{TEXT} More.", title=TITLE)
    other = OpenAIChat(ChatEndpoint(server.base_url, "other-model", KEY))
    await MemoisedExtractor(OpenAIExtractor(other), store).extract(TEXT, title=TITLE)
    await other.close()
    assert len(server.seen) == 4


async def test_memo_holds_over_a_restart_and_beside_many_vectors(
    server: LlmServer, extractor: OpenAIExtractor, tmp_path: Path
) -> None:
    """Paid results are on the disk, in a table of their own that other memos do not fill."""
    database = await SqliteDatabase.open(tmp_path)
    store = SqliteVectorStore(database, table="extraction_memo")
    await store.create()
    first = await MemoisedExtractor(extractor, store).extract(TEXT, title=TITLE)
    crowd = SqliteVectorStore(database, capacity=4)
    await crowd.put_many({bytes([number]) * 32: b"x" for number in range(40)})
    await database.close()
    database = await SqliteDatabase.open(tmp_path)
    again = SqliteVectorStore(database, table="extraction_memo")
    await again.create()
    assert await MemoisedExtractor(extractor, again).extract(TEXT, title=TITLE) == first
    assert len(server.seen) == 1 and first.relations
    await database.close()


async def test_memo_finishes_a_paid_call_when_its_caller_is_cancelled(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """A cancelled caller does not cancel its call; the next caller gets the result."""
    memo = MemoisedExtractor(extractor, MemoryVectorStore())
    server.hold = threading.Event()
    caller = asyncio.ensure_future(memo.extract(TEXT, title=TITLE))
    await asyncio.to_thread(server.arrived.get)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    server.hold.set()
    assert (await memo.extract(TEXT, title=TITLE)).relations and len(server.seen) == 1


async def test_memo_keeps_nothing_of_a_failed_call(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """After a failed call the next caller makes a new one."""
    memo = MemoisedExtractor(extractor, MemoryVectorStore())
    server.misbehave(status(503))
    with pytest.raises(Retryable):
        await memo.extract(TEXT, title=TITLE)
    assert (await memo.extract(TEXT, title=TITLE)).relations


async def test_memo_asks_anew_when_what_it_kept_cannot_be_read(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """A value of another form is a miss, not a failure."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(extractor, store)
    first = await memo.extract(TEXT, title=TITLE)
    for broken in (b"", b"{}", b"[[[1]],[]]", b"\xff"):
        await store.put_many(dict.fromkeys(store.keys(), broken))
        assert await memo.extract(TEXT, title=TITLE) == first
    assert len(server.seen) == 5


async def test_memo_gives_up_what_is_under_way_when_closed(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Closing does not wait for a hanging endpoint."""
    memo = MemoisedExtractor(extractor, MemoryVectorStore())
    server.misbehave(SLOW)
    caller = asyncio.ensure_future(memo.extract(TEXT, title=TITLE))
    await asyncio.to_thread(server.arrived.get)
    await memo.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
