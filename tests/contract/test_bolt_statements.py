"""Statements and transactions that a document costs on the graph database: as few as its guarantees allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from graphtide.infra.bolt import BoltBackend, cypher
from graphtide.infra.bolt.database import BoltDatabase, Row
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Record
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
    return list(await backend.ledger.enter(await backend.log.consumer(DOCUMENTS, "x").poll(99, 0)))


async def test_accept_takes_one_round_trip(backend: BoltBackend, statements: Statements) -> None:
    """A request's documents are entered by one statement that is a transaction by itself."""
    await backend.ledger.accept([Record("g|a", b"1"), Record("g|b", b"2")])
    assert [statement for statement, _ in statements.sent] == [cypher.ENTER]
    assert await backend.ledger.pending("g") == 2


async def test_attempts_that_start_together_are_counted_in_one_statement(
    backend: BoltBackend, statements: Statements
) -> None:
    """Each revision is counted once, and a repeated one once more, in a statement of its own."""
    names = [f"d{number}" for number in range(20)]
    revisions = dict(zip(names, await _entered(backend, names), strict=True))
    begun = [*names, "d3"]
    attempts = await asyncio.gather(*(backend.ledger.begin("g", name, revisions[name]) for name in begun))
    assert sorted(attempts) == [1] * 20 + [2]
    assert [len(values["keys"]) for values in statements.of(cypher.BEGIN_ATTEMPTS)] == [20, 1]


async def test_attempts_of_a_failed_statement_fail_and_later_ones_do_not(
    backend: BoltBackend, statements: Statements
) -> None:
    """Every caller of the failed statement gets its error; a cancelled caller delays nobody."""
    first, second, third = await _entered(backend, ["a", "b", "c"])
    statements.failing.append(cypher.BEGIN_ATTEMPTS)
    cancelled = asyncio.create_task(backend.ledger.begin("g", "c", third))
    others = [backend.ledger.begin("g", "a", first), backend.ledger.begin("g", "b", second)]
    both = asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)  # the calls wait together
    cancelled.cancel()
    assert [type(outcome) for outcome in await both] == [Retryable, Retryable]
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert [await backend.ledger.begin("g", name, number) for name, number in (("a", first), ("c", third))] == [1, 1]
