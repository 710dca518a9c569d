"""Statements and transactions that a document costs on the graph database: as few as its guarantees allow."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.codec import from_bytes
from graphtide.infra.bolt.cypher import partitions as partition_cypher
from graphtide.infra.bolt.cypher import revisions as revision_cypher
from graphtide.infra.bolt.database import BoltDatabase, Row
from graphtide.infra.bolt.graph_store import unsent
from graphtide.infra.bolt.graph_store.outbox import BoltOutbox
from graphtide.infra.bolt.graph_store.unsent import UnsentNotices
from graphtide.streams.errors import Fenced, Retryable
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Commit, Record, Watermark
from tests.model.memory import MemoryLog
from tests.support.backends import Clock
from tests.support.neo4j_server import GraphServer, clear


class Statements:
    """The single statements that a database was asked, in order; those of `failing` fail once each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        self.failing: list[str] = []
        ask = BoltDatabase.ask

        async def noted(database: BoltDatabase, statement: str, **values: Any) -> list[Row]:
            self.sent.append((statement, values))
            if statement in self.failing:
                self.failing.remove(statement)
                raise Retryable("the graph database does not answer")
            return await ask(database, statement, **values)

        monkeypatch.setattr(BoltDatabase, "ask", noted)

    def of(self, statement: str) -> list[Mapping[str, Any]]:
        return [values for sent, values in self.sent if sent == statement]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    return Statements(monkeypatch)


@pytest.fixture
async def backend(graph_server: GraphServer) -> AsyncIterator[BoltBackend]:
    clear(graph_server.address)
    one = await BoltBackend.open(graph_server.address, MemoryLog(1, Clock()), Clock())
    yield one
    await one.close()


async def _entered(backend: BoltBackend, names: Sequence[str]) -> list[int]:
    await backend.log.append(DOCUMENTS, [Record(f"g|{name}", b"text") for name in names])
    return list(await backend.ledger.register(await backend.log.consumer(DOCUMENTS, "x").poll(99, 0)))


async def test_accept_takes_one_round_trip(backend: BoltBackend, statements: Statements) -> None:
    """A request's documents are entered by one statement that is a transaction by itself."""
    await backend.ledger.accept([Record("g|a", b"1"), Record("g|b", b"2")])
    assert [statement for statement, _ in statements.sent] == [revision_cypher.ENTER]
    assert await backend.ledger.pending("g") == 2


async def test_attempts_that_start_together_are_counted_in_one_statement(
    backend: BoltBackend, statements: Statements
) -> None:
    """Each revision is counted once, and a repeated one once more, in a statement of its own."""
    names = [f"d{number}" for number in range(20)]
    revisions = dict(zip(names, await _entered(backend, names), strict=True))
    begun = [*names, "d3"]
    attempts = await asyncio.gather(*(backend.ledger.start_attempt("g", name, revisions[name]) for name in begun))
    assert sorted(attempts) == [1] * 20 + [2]
    assert [len(values["keys"]) for values in statements.of(revision_cypher.BEGIN_ATTEMPTS)] == [20, 1]


async def test_attempts_of_a_failed_statement_fail_and_later_ones_do_not(
    backend: BoltBackend, statements: Statements
) -> None:
    """Every caller of the failed statement gets its error; a cancelled caller delays no other."""
    first, second, third = await _entered(backend, ["a", "b", "c"])
    statements.failing.append(revision_cypher.BEGIN_ATTEMPTS)
    cancelled = asyncio.create_task(backend.ledger.start_attempt("g", "c", third))
    others = [backend.ledger.start_attempt("g", "a", first), backend.ledger.start_attempt("g", "b", second)]
    both = asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)  # the calls wait together
    cancelled.cancel()
    assert [type(outcome) for outcome in await both] == [Retryable, Retryable]
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert [await backend.ledger.start_attempt("g", name, number) for name, number in (("a", first), ("c", third))] == [
        1,
        1,
    ]


# -- the outbox --------------------------------------------------------------------------------------------------------


class _Writer:
    """The writer of partition 0, whose commits have notices only."""

    def __init__(self, backend: BoltBackend, watermark: Watermark) -> None:
        self.backend, self.watermark = backend, watermark

    async def commit(self, *notices: bytes) -> None:
        records = tuple(Record("g", notice) for notice in notices)
        await self.backend.store.commit(Commit(0, self.watermark, self.watermark.next_offset + 1, (), (), records))
        self.watermark = Watermark(self.watermark.epoch, self.watermark.next_offset + 1)

    async def relay(self, limit: int = 64) -> list[bytes]:
        """Return the waiting notices, and mark them as sent."""
        found = await self.backend.store.outbox.waiting(0, limit)
        if found:
            await self.backend.store.outbox.sent(0, found[-1][0])
        return [record.value or b"" for _, record in found]


async def _stored(backend: BoltBackend) -> list[bytes]:
    """Return the notices that a process which has not claimed the partition reads."""
    found = await BoltOutbox(backend.database).waiting(0, 999)
    return [record.value or b"" for _, record in found]


@pytest.fixture
async def writer(backend: BoltBackend) -> _Writer:
    return _Writer(backend, await backend.store.claim(0))


async def test_a_commit_is_relayed_without_a_statement(writer: _Writer, statements: Statements) -> None:
    """The first look after the claim reads the store; then notices come from memory, and a commit deletes sent ones."""
    assert await writer.relay() == []
    statements.sent.clear()
    await writer.commit(b"1", b"2")
    assert [await writer.relay() for _ in range(2)] == [[b"1", b"2"], []]
    await writer.commit(b"3")
    assert await _stored(writer.backend) == [b"3"]
    assert await writer.relay() == [b"3"]
    ours = [values for values in statements.of(partition_cypher.WAITING) if values["limit"] == 64]
    assert ours == [] and statements.of(partition_cypher.SENT) == []


async def test_settle_deletes_what_was_sent_by_an_idle_partition(writer: _Writer) -> None:
    """Until then a successor relays it again; what was not sent stays."""
    await writer.relay()
    await writer.commit(b"1", b"2", b"3")
    [(first, _), *_] = await writer.backend.store.outbox.waiting(0, 1)
    await writer.backend.store.outbox.sent(0, first)
    assert await _stored(writer.backend) == [b"1", b"2", b"3"]
    for _ in range(2):
        await writer.backend.store.outbox.settle(0)
        assert await _stored(writer.backend) == [b"2", b"3"]
    assert await writer.relay() == [b"2", b"3"]


async def test_notices_of_a_commit_of_unknown_outcome_are_relayed(writer: _Writer, statements: Statements) -> None:
    """After a commit that failed here, the store tells what it holds."""
    await writer.relay()
    await writer.commit(b"1")
    stored = await writer.backend.store.outbox.waiting(0, 64)
    with pytest.raises(Fenced):
        await writer.backend.store.commit(Commit(0, Watermark(99, 0), 1, (), (), (Record("g", b"refused"),)))
    statements.sent.clear()
    assert await writer.backend.store.outbox.waiting(0, 64) == stored
    assert len(statements.of(partition_cypher.WAITING)) == 1
    assert await writer.relay() == [b"1"] and len(statements.of(partition_cypher.WAITING)) == 1


@pytest.mark.parametrize("seed", range(2))
async def test_outbox_relays_every_notice_once_and_in_order(
    seed: int, writer: _Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds with and without an overflow of the memory, and beside commits that run at the same time."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    monkeypatch.setattr(unsent, "MAX_BYTES", 40)
    committed, relayed = list[bytes](), list[bytes]()
    for step in range(12):
        notices = [b"%03d-%d" % (step, place) for place in range(rng.choice((0, 1, 2, 9)))]
        committed += notices
        found = await asyncio.gather(writer.relay(rng.choice((1, 3, 64))), writer.commit(*notices))
        relayed += found[0]
        if rng.random() < 0.2:
            await writer.backend.store.outbox.settle(0)
    while found_more := await writer.relay():
        relayed += found_more
    await writer.backend.store.outbox.settle(0)
    assert relayed == committed
    assert await _stored(writer.backend) == []


def test_a_read_that_missed_a_commit_returns_its_notices() -> None:
    """A scan between two commits may see the second alone: relaying that first would leave a gap."""
    first, second = Record("g", b"1"), Record("g", b"2")
    notices = UnsentNotices()
    notices.add({1: first})
    notices.add({2: second})
    assert notices.merged([(2, second)], 64, complete=True) == [(1, first), (2, second)]
    assert notices.complete


async def test_a_read_during_an_overflow_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The read sees the second of two commits alone, and neither is in memory afterwards: no notice is skipped."""
    monkeypatch.setattr(unsent, "MAX_BYTES", 1)
    notices = {number: Record("g", b"%d" % number) for number in (1, 2)}
    outbox, reads = BoltOutbox(object.__new__(BoltDatabase)), list[str]()

    async def ask(_: BoltDatabase, statement: str, **values: Any) -> list[Row]:
        reads.append(statement)
        if len(reads) == 1:
            for number, notice in notices.items():
                outbox.committed(0, {number: notice}, 0)
        seen = {2: notices[2]} if len(reads) == 1 else notices
        return [
            {"sequence": n, "record_key": "g", "value": from_bytes(r.value or b""), "headers": "[]"}
            for n, r in seen.items()
        ]

    monkeypatch.setattr(BoltDatabase, "ask", ask)
    outbox.claimed(0)
    assert await outbox.waiting(0, 64) == list(notices.items())
    assert reads == [partition_cypher.WAITING] * 2
