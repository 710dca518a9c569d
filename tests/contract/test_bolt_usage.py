"""The usage ledger of a cluster: one budget over all its workers, and the open calls of a killed worker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from graphtide.infra.bolt import BoltBackend, BoltUsageLedger
from graphtide.infra.bolt.administration.schema import SCHEMA_VERSION, prepare
from graphtide.infra.bolt.cypher.schema import PUT_SCHEMA, READ_SCHEMA
from graphtide.infra.bolt.usage import DEAD_AFTER_MS
from graphtide.streams.errors import BudgetExceeded
from graphtide.streams.usage import Budget, Charge, ModelUsage, Stage
from tests.model.memory import MemoryLog
from tests.support.backends import Clock
from tests.support.neo4j_server import GraphServer, clear
from tests.support.usage_child import BUDGET, DAY, EXPECTED

EXTRACT = Charge("g", DAY, Stage.EXTRACT, "d")
ONE = ModelUsage(1, 100, 20, 7)


@pytest.fixture
def clock() -> Clock:
    return Clock(now_ms=10_000_000)


@pytest.fixture
async def backend(graph_server: GraphServer, clock: Clock) -> AsyncIterator[BoltBackend]:
    clear(graph_server.address)
    one = await BoltBackend.open(graph_server.address, MemoryLog(1, clock), clock)
    yield one
    await one.close()


async def test_bolt_spending_bounds_a_graphs_day_over_all_workers(backend: BoltBackend, clock: Clock) -> None:
    """Four workers request twelve calls each from a budget of ten: ten calls are granted in total."""
    workers = [await BoltUsageLedger.open(backend.database, clock) for _ in range(4)]
    budget, granted = Budget(tokens=10 * ONE.tokens), []

    async def ask(books: BoltUsageLedger) -> None:
        try:
            granted.append((books, await books.reserve(EXTRACT, ONE, budget)))
        except BudgetExceeded as refusal:
            assert refusal.retry_after_s is not None, "calls in flight may turn out cheaper"

    await asyncio.gather(*(ask(books) for books in workers for _ in range(12)))
    assert len(granted) == len({number for _, number in granted}) == 10
    assert await workers[0].day("g", DAY) == {Stage.EXTRACT: ModelUsage(10, 1_000, 200, 70)}
    await asyncio.gather(*(books.settle(number, ONE) for books, number in granted))
    with pytest.raises(BudgetExceeded) as final:
        await workers[3].reserve(EXTRACT, ONE, budget)
    assert final.value.retry_after_s is None
    assert await workers[1].stages("g") == {Stage.EXTRACT: ModelUsage(10, 1_000, 200, 70)}
    assert await workers[2].document("g", "d") == ModelUsage(10, 1_000, 200, 70)
    for books in workers:
        await books.close()


async def test_bolt_spending_settles_what_a_dead_worker_had_open_and_leaves_the_living_alone(
    backend: BoltBackend, clock: Clock
) -> None:
    """One of two workers is silent for too long: its call counts as expected, once, even if it settles later."""
    silent, alive = [await BoltUsageLedger.open(backend.database, clock) for _ in range(2)]
    lost = await silent.reserve(EXTRACT, ModelUsage(1, 500, 400, 90), Budget())
    kept = await alive.reserve(EXTRACT, ONE, Budget())
    clock.now_ms += DEAD_AFTER_MS - 1
    await alive.keep()
    assert await alive.stages("g") == {}, "not silent for long enough"
    clock.now_ms += 1
    await alive.keep()
    assert await alive.stages("g") == {Stage.EXTRACT: ModelUsage(1, 500, 400, 90)}
    await silent.settle(lost, ONE)
    await alive.settle(kept, ONE)
    expected = ONE + ModelUsage(1, 500, 400, 90)
    assert await silent.stages("g") == {Stage.EXTRACT: expected} == await alive.day("g", DAY)
    again = await silent.reserve(EXTRACT, ONE, Budget())
    assert again > lost
    await silent.close()
    assert await alive.stages("g") == {Stage.EXTRACT: expected + ONE}, "who leaves settles what it leaves open"
    await alive.close()


async def test_bolt_spending_holds_the_budget_when_a_worker_is_killed(backend: BoltBackend, clock: Clock) -> None:
    """After kill -9 during two calls they count against the budget, and are then settled at their expected cost."""
    address = backend.database.address
    command = [sys.executable, "-m", "tests.support.usage_child", address.uri, address.user, address.password]

    def killed() -> str:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            line = child.stdout.readline()
            child.kill()
        return line

    assert await asyncio.to_thread(killed) == "in flight\n"
    clock.now_ms = 1
    books = await BoltUsageLedger.open(backend.database, clock)
    with pytest.raises(BudgetExceeded, match="in flight"):
        await books.reserve(EXTRACT, ModelUsage(1, 149, 0), BUDGET)
    clock.now_ms = 1 << 45
    await books.keep()
    expected = EXPECTED + EXPECTED + ModelUsage(1, 10, 2, 1)
    assert await books.stages("g") == {Stage.EXTRACT: expected} == await books.day("g", DAY)
    assert await books.document("g", "d") == expected
    with pytest.raises(BudgetExceeded, match="252 tokens are spent"):
        await books.reserve(EXTRACT, ModelUsage(1, 149, 0), BUDGET)
    await books.close()


async def test_bolt_schema_of_the_version_before_gets_what_it_lacks(backend: BoltBackend) -> None:
    """A database that an earlier version created is migrated to this version's schema without reading its data."""
    await backend.database.write(lambda tx: tx.run(PUT_SCHEMA, version=1))
    await asyncio.to_thread(prepare, backend.database.address, backend.database.dialect)
    assert await backend.database.read(lambda tx: tx.run(READ_SCHEMA)) == [
        {"version": SCHEMA_VERSION, "restoring": None}
    ]


async def test_bolt_fellows_see_each_others_calls_until_they_leave(backend: BoltBackend, clock: Clock) -> None:
    """Counts by endpoint include all other workers; a worker is removed when it closes its ledger or dies."""
    books = [await BoltUsageLedger.open(backend.database, clock) for _ in range(3)]
    one, two, three = (each.peers() for each in books)
    assert set((await one.count({"language": 2}))["language"].values()) == {0}
    seen = await two.count({"language": 0, "embedding": 5})
    assert sorted(seen["language"].values()) == [0, 2] and set(seen["embedding"].values()) == {0}
    assert sorted((await three.count({}))["embedding"].values()) == [0, 5]
    assert sorted((await one.count({"language": 1}))["language"].values()) == [0, 0]
    await books[1].close()
    assert list((await three.count({}))["language"].values()) == [3]
    await books[0].keep()
    clock.now_ms += DEAD_AFTER_MS
    await books[2].keep()
    assert (await three.count({}))["language"] == {}
    for each in (books[0], books[2]):
        await each.close()
