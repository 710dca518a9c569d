"""The Spending port: one suite, every adapter."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphtide.infra.bolt import BoltBackend, BoltUsageLedger
from graphtide.infra.models.usage.memory_ledger import MemoryUsageLedger
from graphtide.infra.sqlite import SqliteDatabase, SqliteUsageLedger
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import BudgetExceeded
from graphtide.streams.usage import Budget, Charge, ModelUsage, Stage, UsageLedger
from tests.model.memory import MemoryLog
from tests.support.neo4j_server import GraphServer, clear

DAY = "2026-11-21"
ONE = ModelUsage(1, 100, 20, 7)
EXTRACT = Charge("g", DAY, Stage.EXTRACT, "d")
EMBED = Charge("g", DAY, Stage.EMBED, "d")
FREE = Budget()


@pytest.fixture(params=["memory", "sqlite", "bolt"])
async def books(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[UsageLedger]:
    """Yield each adapter in turn, empty."""
    if request.param == "memory":
        yield MemoryUsageLedger()
        return
    if request.param == "bolt":
        server: GraphServer = request.getfixturevalue("graph_server")
        clear(server.address)
        backend = await BoltBackend.open(server.address, MemoryLog(1, now_ms))
        kept = await BoltUsageLedger.open(backend.database)
        yield kept
        await kept.close()
        await backend.close()
        return
    database = await SqliteDatabase.open(tmp_path)
    yield await SqliteUsageLedger.open(database)
    await database.close()


async def test_spending_counts_an_entry_once_it_is_settled_by_what_it_did_cost(books: UsageLedger) -> None:
    """An open entry counts as expected, in the day alone; a settled one at its cost, everywhere, once."""
    number = await books.reserve(EXTRACT, ModelUsage(1, 500, 400, 90), FREE)
    assert await books.day("g", DAY) == {Stage.EXTRACT: ModelUsage(1, 500, 400, 90)}
    assert await books.stages("g") == {} and await books.document("g", "d") == ModelUsage()
    for _ in range(2):
        await books.settle(number, ONE)
        assert await books.day("g", DAY) == {Stage.EXTRACT: ONE} == await books.stages("g")
        assert await books.document("g", "d") == ONE


async def test_spending_keeps_graphs_days_stages_and_documents_apart(books: UsageLedger) -> None:
    """An entry counts only where it belongs; a document's calls are those of the language model."""
    for charge in (EXTRACT, EMBED, Charge("h", DAY, Stage.ANSWER), Charge("g", "2026-11-22", Stage.EXTRACT, "e")):
        await books.settle(await books.reserve(charge, ONE, FREE), ONE)
    assert await books.day("g", DAY) == {Stage.EXTRACT: ONE, Stage.EMBED: ONE}
    assert await books.stages("g") == {Stage.EXTRACT: ONE + ONE, Stage.EMBED: ONE}
    assert await books.stages("h") == {Stage.ANSWER: ONE}
    assert await books.document("g", "d") == ONE + ModelUsage(cost_nano=7)
    assert await books.document("h", "d") == ModelUsage() and await books.stages("x") == {}


async def test_spending_forgets_an_entry_that_cost_nothing(books: UsageLedger) -> None:
    """A refused call leaves no trace."""
    await books.settle(await books.reserve(EXTRACT, ONE, FREE), ModelUsage())
    assert await books.day("g", DAY) == {} == await books.stages("g")


async def test_spending_refuses_what_the_days_budget_has_not(books: UsageLedger) -> None:
    """Tokens of the language model and money are limited, open entries count, days and graphs are separate."""
    tokens, money = Budget(tokens=240), Budget(cost_nano=20)
    first = await books.reserve(EXTRACT, ONE, tokens)
    await books.reserve(EXTRACT, ONE, tokens)
    with pytest.raises(BudgetExceeded, match="in flight") as soon:
        await books.reserve(EXTRACT, ONE, tokens)
    assert soon.value.retry_after_s is not None
    await books.reserve(EMBED, ONE, tokens)
    with pytest.raises(BudgetExceeded):
        await books.reserve(EMBED, ONE, money)
    await books.settle(first, ModelUsage(1, 200, 40, 7))
    with pytest.raises(BudgetExceeded, match=r"'g' for 2026-11-21 is 240 tokens: 240 tokens are spent") as final:
        await books.reserve(EXTRACT, ONE, tokens)
    assert final.value.retry_after_s is None
    await books.reserve(Charge("g", "2026-11-22", Stage.EXTRACT), ONE, tokens)
    await books.reserve(Charge("h", DAY, Stage.EXTRACT), ONE, tokens)


async def test_spending_never_lets_more_through_than_the_budget_when_many_ask_at_once(books: UsageLedger) -> None:
    """Many tasks reserve and settle random entries: settled and open together stay within the budget."""
    seed = 3
    print(f"seed {seed}")
    rng, budget, granted = random.Random(seed), Budget(tokens=5_000), []

    async def ask(expected: int) -> None:
        try:
            number = await books.reserve(EXTRACT, ModelUsage(1, expected, 0), budget)
        except BudgetExceeded:
            return
        granted.append(number)
        if expected % 2:
            await books.settle(number, ModelUsage(1, expected // 2, 0))
        assert sum(one.tokens for one in (await books.day("g", DAY)).values()) <= 5_000

    await asyncio.gather(*(ask(rng.randrange(50, 400)) for _ in range(60)))
    assert 10 < len(granted) < 60


async def test_sqlite_spending_settles_what_a_dead_process_had_open_as_expected(tmp_path: Path) -> None:
    """After a restart every entry is stored, and a call whose end is unknown counts at its expected cost."""
    database = await SqliteDatabase.open(tmp_path)
    books = await SqliteUsageLedger.open(database)
    await books.settle(await books.reserve(EXTRACT, ONE, FREE), ONE)
    lost = await books.reserve(EXTRACT, ModelUsage(1, 500, 400, 90), FREE)
    await database.close()
    database = await SqliteDatabase.open(tmp_path)
    books = await SqliteUsageLedger.open(database)
    expected = ONE + ModelUsage(1, 500, 400, 90)
    assert await books.stages("g") == {Stage.EXTRACT: expected} == await books.day("g", DAY)
    await books.settle(lost, ONE)
    assert await books.document("g", "d") == expected
    assert await books.reserve(EXTRACT, ONE, FREE) > lost
    await database.close()
