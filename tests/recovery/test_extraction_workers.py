"""Extraction workers on a real broker: no fault of a worker loses a record or counts an attempt wrongly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.extract.settings import EVER
from graphtide.streams.extract.sweeper import Sweeper, SweepSettings
from graphtide.streams.messages import DEAD_LETTERS, DOCUMENTS, DocumentMessage, decode_dead_letter
from graphtide.streams.ports import Record, RevisionOutcome, RevisionState
from tests.support.extraction_cluster import Cluster, cluster
from tests.support.kafka_server import KafkaServer
from tests.support.logs import TIMEOUT_S
from tests.support.stages import Minded

# Faust's own services sometimes end like that when they are stopped while they begin to wait.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine 'sleep' was never awaited",
    "ignore:Exception ignored in. <coroutine object sleep:pytest.PytestUnraisableExceptionWarning",
)

TRACE = (("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),)


@pytest.fixture
async def one(kafka: KafkaServer) -> AsyncIterator[Cluster]:
    async with cluster(kafka) as made:
        yield made


def documents(count: int, graph: str = "g") -> list[Record]:
    made = [DocumentMessage(graph, f"d{i}", f"Ada Lovelace wrote letter {i}.") for i in range(count)]
    return [Record(message.key, message.encode(), TRACE) for message in made]


async def test_worker_extracts_each_revision_once_and_hands_headers_on(one: Cluster) -> None:
    """Documents, an edit and a deletion are extracted with revision and trace; a poison record is dead-lettered."""
    positions = await one.log.append(DOCUMENTS, [*documents(20), documents(1)[0], Record("g|d1", None, TRACE)])
    await one.publish([Record("g|bad", b"\xff{"), Record("no-bar", b"x")])
    async with one.working(one.stage()):
        found = await one.extractions(22)
        await one.until_committed(24)
        letters = [decode_dead_letter(each.record.value or b"") for each in await one.read(DEAD_LETTERS, 2)]
    assert sorted((each.doc_id, each.revision) for each in found) == sorted(
        (f"d{i}", at.offset) for i, at in zip([*range(20), 0, 1], positions, strict=True)
    )
    assert [each.extraction is None for each in found].count(True) == 1
    headers = [each.record.headers for each in await one.read("extractions", 22)]
    assert {given[: len(TRACE)] for given in headers} == {TRACE}
    assert all(name == "document-position" for given in headers for name, _ in given[len(TRACE) :])
    assert sorted(each.original for each in letters) == [b"x", b"\xff{"]
    entry = await one.ledger.latest("g", "bad")
    assert entry is not None
    assert entry.state is RevisionState.FAILED


async def test_worker_takes_nothing_more_while_the_model_is_away(one: Cluster) -> None:
    """A limited number of records waits, though hundreds exist; nothing is committed, and all are extracted later."""
    unreachable = True

    async def mind(_: Sequence[str]) -> None:
        if unreachable:
            raise Retryable("the model is unreachable", 0.2)

    await one.publish(documents(300))
    stage = one.stage(Minded(mind))
    async with one.working(stage):
        async with asyncio.timeout(TIMEOUT_S):
            while len(stage.waiting) < 2:  # noqa: ASYNC110 - the stage sets no event for it
                await asyncio.sleep(0.02)
        started = [entry for entry in await one.ledger.unfinished(EVER, 1_000) if entry.attempts]
        assert len(started) <= 2 * 8 + 2, "the started records are bounded by the slots"
        assert not any((await one.log.committed(DOCUMENTS, "extract")).values())
        unreachable = False
        assert len(await one.extractions(300)) == 300
        await one.until_committed(300)


async def test_worker_writes_a_dead_letter_for_a_record_that_kills_the_process_each_time(one: Cluster) -> None:
    """The ledger counts starts: after the allowed number the record is a dead letter, its neighbours are extracted."""
    await one.publish(documents(6))
    victims = [each for each in await one.read(DOCUMENTS, 6) if each.record.key == "g|d3"]
    await one.ledger.register(victims)
    for _ in range(3):  # as many processes died of the record
        await one.ledger.start_attempt("g", "d3", victims[0].position.offset)
    async with one.working(one.stage()):
        found = await one.extractions(5)
        [letter] = await one.read(DEAD_LETTERS, 1)
        await one.until_committed(6)
    assert sorted(each.doc_id for each in found) == ["d0", "d1", "d2", "d4", "d5"]
    decoded = decode_dead_letter(letter.record.value or b"")
    assert (decoded.doc_id, decoded.attempts) == ("d3", 4)
    assert decoded.original == victims[0].record.value


async def test_sweeper_does_again_what_was_committed_and_never_done(one: Cluster) -> None:
    """A position that is committed too far loses nothing: the ledger's open revisions are read again."""
    await one.publish(documents(5))
    lost = await one.read(DOCUMENTS, 5)
    await one.ledger.register(lost)
    consumer = one.log.consumer(DOCUMENTS, "extract")
    while not consumer.assigned():
        await consumer.poll(1, TIMEOUT_S)
    for each in lost:
        await consumer.commit(each.position)
    await consumer.close()
    done = lost[0]
    await one.ledger.finish(
        [RevisionOutcome("g", done.record.key.partition("|")[2], done.position.offset, RevisionState.APPLIED)]
    )
    stage = one.stage()
    sweeper = Sweeper(one.log, one.ledger, stage, lambda: frozenset(range(3)), SweepSettings(age_s=-1.0))
    assert [await sweeper.sweep() for _ in range(2)] == [0, 4]
    found = await one.extractions(4)
    assert sorted(each.doc_id for each in found) == sorted(
        each.record.key.partition("|")[2] for each in lost if each is not done
    )
    assert [await sweeper.sweep() for _ in range(3)] == [0, 0, 0], "it is in extractions, which no consumer has read"
    for each in lost[1:]:
        entry = await one.ledger.latest("g", each.record.key.partition("|")[2])
        assert entry is not None
        assert entry.attempts == 0


async def test_worker_says_which_command_makes_its_topics(kafka: KafkaServer, one: Cluster) -> None:
    """A worker in a cluster without topics stops at once."""
    from graphtide.infra.faust.worker import run_extraction
    from graphtide.infra.kafka.log import KafkaLog
    from tests.support.kafka_server import fresh

    address = fresh(kafka)
    log = KafkaLog(address)
    with pytest.raises(Broken, match="graphtide topics apply"):
        await run_extraction(address, one.stage(), log, one.ledger)
    await log.close()
