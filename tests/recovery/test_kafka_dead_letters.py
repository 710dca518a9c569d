"""Dead letters on a real broker: poison written to the topic, dead-lettered by a worker, resolved in the queue."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from functools import partial

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.infra.kafka.topics import delete_before
from graphtide.services.application import LetterQuery, LetterStatus
from graphtide.services.cluster.purging import NEVER, purge_letters, topic_traces
from graphtide.services.dead_letters import dropped, listed, retried, shown
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import list_dead_letters
from graphtide.streams.errors import Invalid, NotFound
from graphtide.streams.messages import DEAD_LETTERS, DOCUMENTS, DeadLetter, DocumentMessage, document_key
from graphtide.streams.ports import Commit, GraphCommit, Position, Record, RevisionState, StoredDocument
from tests.model.memory import MemoryBackend
from tests.support.extraction_cluster import Cluster, cluster
from tests.support.kafka_server import KafkaServer
from tests.support.logs import TIMEOUT_S

# Faust's own services sometimes end like that when they are stopped while they begin to wait.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine 'sleep' was never awaited",
    "ignore:Exception ignored in. <coroutine object sleep:pytest.PytestUnraisableExceptionWarning",
)

POISON = {
    "g|json": b'{"schema":1,"text":',
    "g|schema": b'{"schema":99,"text":"Ada Lovelace."}',
    "no-bar": b'{"schema":1,"text":"Ada Lovelace."}',
}
"""The poison records by key: not JSON, an unknown schema, a key without a document."""
RIGHT = DocumentMessage("g", "json", "Ada Lovelace knew Charles Babbage.")


@pytest.fixture
async def one(kafka: KafkaServer) -> AsyncIterator[Cluster]:
    async with cluster(kafka) as made:
        yield made


async def letters(one: Cluster, graph: str, count: int) -> dict[str, LetterStatus]:
    """Return the dead letters of the graph by their documents, read page by page, once there are that many."""
    index = DeadLetterIndex(one.log)
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            found: dict[str, LetterStatus] = {}
            after, ends = "", False
            while not ends:
                page = await listed(index, graph, LetterQuery(after, 1))
                found |= {each.doc_id: each for each in page.letters}
                after, ends = page.next, not page.next
            if len(found) == count:
                return found
            await asyncio.sleep(0.02)


async def test_poison_is_listed_shown_corrected_and_dropped_on_a_broker(one: Cluster) -> None:
    """Each has its reason and bytes; the corrected document is a newer revision; the queue is empty at the end."""

    async def accept(record: Record) -> Position:
        [position] = await one.log.append(DOCUMENTS, [record])
        return position

    index = DeadLetterIndex(one.log)
    await one.publish([Record(key, value) for key, value in POISON.items()])
    async with one.working(one.stage()):
        mine, nameless = await letters(one, "g", 2), await letters(one, "*", 1)
        assert set(mine) == {"json", "schema"}
        assert set(nameless) == {"no-bar"}
        for graph, each in [("g", mine["json"]), ("g", mine["schema"]), ("*", nameless["no-bar"])]:
            whole = await shown(index, graph, each.id)
            key = document_key("g", whole.doc_id) if graph == "g" else whole.doc_id
            assert base64.b64decode(whole.original) == POISON[key]
            assert (whole.stage, whole.attempts, each.original) == ("extract", 1, "")
            assert whole.reason
        with pytest.raises(Invalid, match="send a correction"):
            await retried(index, "g", mine["json"].id, accept)
        await retried(index, "g", mine["json"].id, accept, RIGHT)
        [extraction] = await one.extractions(1)
        assert extraction.doc_id == "json"
        assert extraction.revision > mine["json"].revision
        entry = await one.ledger.latest("g", "json")
        assert entry is not None
        assert entry.state is RevisionState.ACCEPTED, "it waits for consolidation, and has not failed"
        assert (await dropped(index, "g", mine["schema"].id)).resolution == "dropped"
        assert (await dropped(index, "*", nameless["no-bar"].id)).resolution == "dropped"
        with pytest.raises(NotFound):
            await shown(index, "g", "99-0")
        assert await letters(one, "g", 0) == await letters(one, "*", 0) == {}


async def test_purge_deletes_letters_of_deleted_documents_as_far_as_a_broker_can(one: Cluster) -> None:
    """Letters up to the last one of a deleted document go, unless an open letter of another document is before it."""
    canary = b"a sentence of the deleted document"
    index = DeadLetterIndex(one.log)
    written: dict[str, Position] = {}
    for name in ("gone-1", "settled", "gone-2", "open", "gone-3"):
        letter = DeadLetter("g", name, 1, "extract", "why", 1, canary)
        [written[name]] = await one.log.append(DEAD_LETTERS, [Record("same", letter.encode())])
    await dropped(index, "g", _name(written["settled"]))
    store = MemoryBackend().store
    documents = {f"gone-{number}": StoredDocument(2, None) for number in (1, 2, 3)}
    graphs = (GraphCommit(GraphDelta("g", 1), {**documents, "settled": StoredDocument(2, b"{}")}),)
    await store.commit(Commit(0, await store.claim(0), 1, graphs, ()))
    purge = partial(purge_letters, store, one.log, partial(delete_before, one.address))
    assert await purge() == 3
    assert [stored.letter.doc_id for stored in await list_dead_letters(one.log, "g", resolved=True)] == [
        "open",
        "gone-3",
    ]
    left = (await topic_traces(store, one.log))[DEAD_LETTERS]
    assert (left.records, left.gone_by) == (1, NEVER)
    await dropped(index, "g", _name(written["open"]))
    assert await purge() == 2
    assert await list_dead_letters(one.log, "g", resolved=True) == []
    assert await purge() == 0


def _name(position: Position) -> str:
    return f"{position.partition}-{position.offset}"
