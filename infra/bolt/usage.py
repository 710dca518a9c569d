"""The UsageLedger port on Neo4j or Memgraph: one ledger for all processes of a cluster.

A call in flight is a node with the epoch of its worker. A worker writes a heartbeat at intervals. After DEAD_AFTER_MS
without one, the first worker that notices settles its calls at their expected cost: the real cost will never be known.
A worker that was only paused continues; what was settled for it stays settled.

Invariant: an account (one graph's day) holds the sums of its entries, and both change in one transaction under the
account's lock; so a budget holds over all processes, and an entry is settled once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from itertools import count
from typing import Any

from graphtide.infra.bolt.codec import in_order, key
from graphtide.infra.bolt.cypher import models as cypher
from graphtide.infra.bolt.database import BoltDatabase, Row, Transaction, undeleted
from graphtide.infra.bolt.peers import BoltPeers
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import BudgetExceeded, GraphtideError
from graphtide.streams.usage import SOON_S, Budget, Charge, ModelUsage, Stage, check_budget

log = logging.getLogger("graphtide.bolt")

TOUCH_S = 60.0
DEAD_AFTER_MS = 600_000
"""Ten minutes: ten missed heartbeats, and more than the clocks of two machines differ."""
COUNTER = "books"
MAX_ATTEMPTS = 1_000
EPOCH_BITS = 32
"""An entry's number is its worker's epoch and, in this many low bits, the worker's own count."""


class BoltUsageLedger:
    """See `graphtide.streams.usage.UsageLedger`. Made by `open`, in the event loop that uses it; ended by `close`."""

    def __init__(self, database: BoltDatabase, clock_ms: Callable[[], int], epoch: int) -> None:
        self._database = database
        self._clock_ms = clock_ms
        self._epoch = epoch
        self._numbers = count((epoch << EPOCH_BITS) + 1)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._accounts: dict[int, str] = {}
        self._writing: set[asyncio.Task[Any]] = set()
        self._keeper: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, database: BoltDatabase, clock_ms: Callable[[], int] = now_ms) -> BoltUsageLedger:
        """Take a new epoch, settle the open calls of dead workers, and start the heartbeat."""
        [row] = await database.write(lambda tx: tx.run(cypher.CLAIM_BOOKS_EPOCH, name=COUNTER))
        books = cls(database, clock_ms, row["epoch"])
        await books.keep()
        books._keeper = asyncio.create_task(books._keep_now_and_then(), name="books")
        return books

    async def close(self) -> None:
        """Settle open calls at their expected cost, and delete this worker's node."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await asyncio.gather(*self._writing, return_exceptions=True)
        try:
            await self._database.write(lambda tx: self._settle_open_calls(tx, self._epoch))
        except GraphtideError as error:
            log.warning("the usage ledger was not closed; another worker will settle its open calls: %s", error)

    def peers(self) -> BoltPeers:
        """Return the other workers that call models."""
        return BoltPeers(self._database, self._epoch)

    # -- UsageLedger ---------------------------------------------------------------------------------------------------

    async def reserve(self, charge: Charge, expected: ModelUsage, budget: Budget) -> int:
        """See UsageLedger.reserve. One durable write of one statement. A repeated write counts once."""
        number, account = next(self._numbers), _account(charge.graph, charge.day)
        row = self._entry(number, charge, expected) | {
            "most_tokens": budget.tokens,
            "most_cost": budget.cost_nano,
            "now_ms": self._clock_ms(),
        }
        found = await self._in_turn(account, cypher.RESERVE, row)
        if found["granted"]:
            self._accounts[number] = account
            return number
        check_budget(charge, {name: _figures(found, name) for name in ("settled", "open")}, expected, budget)
        raise BudgetExceeded(
            f"the budget of graph {charge.graph!r} for {charge.day} is reserved by calls in flight", SOON_S
        )

    async def settle(self, number: int, spent: ModelUsage) -> None:
        """See UsageLedger.settle. Completes even if the caller is cancelled meanwhile."""
        account = self._accounts.get(number, "")
        await self._in_turn(account, cypher.SETTLE, {"key": in_order(number), **_amounts(spent)})
        self._accounts.pop(number, None)

    async def day(self, graph: str, day: str) -> Mapping[Stage, ModelUsage]:
        """See UsageLedger.day. Takes the account's lock, like a write of it.

        Neo4j reads committed rows one by one: without the lock a call that is settled meanwhile would be read twice,
        not at all, or as a deleted node without values.
        """
        account = _account(graph, day)

        async def work(tx: Transaction) -> list[Row]:
            await tx.run(cypher.LOCK_ACCOUNT, account=account)
            settled = await tx.run(cypher.SPENT_ON_DAY, account=account)
            return [*settled, *await tx.run(cypher.OPEN_ON_DAY, account=account)]

        async with self._turns[account]:
            return _by_stage(await self._database.read(work))

    async def stages(self, graph: str) -> Mapping[Stage, ModelUsage]:
        """See UsageLedger.stages. Cost: the number of days with calls."""
        return _by_stage(await self._database.read(lambda tx: tx.run(cypher.SPENT_BY_GRAPH, graph=graph)))

    async def document(self, graph: str, doc_id: str) -> ModelUsage:
        """See UsageLedger.document."""
        at = key(graph, doc_id)
        rows = await self._database.read(lambda tx: tx.run(cypher.SPENT_ON_DOCUMENT, document=at))
        return _spent(rows[0]) if rows else ModelUsage()

    # -- workers -------------------------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Write this worker's heartbeat, and settle the open calls of dead workers."""
        now = self._clock_ms()
        await self._database.write(lambda tx: tx.run(cypher.TOUCH_BOOKS_WORKER, epoch=self._epoch, now_ms=now))
        before_ms = now - DEAD_AFTER_MS
        dead = await self._database.read(lambda tx: tx.run(cypher.DEAD_BOOKS_WORKERS, before_ms=before_ms))
        for row in dead:
            await self._settle_dead(row["epoch"], before_ms)

    async def _settle_dead(self, epoch: int, before_ms: int) -> None:
        async def work(tx: Transaction) -> int:
            locked = await tx.run(cypher.HOLD_DEAD_BOOKS_WORKER, epoch=epoch, before_ms=before_ms)
            return await self._settle_open_calls(tx, epoch) if locked else 0

        settled = await self._database.write(work)
        if settled:
            log.warning("%d calls of a dead worker were settled at their expected cost", settled)

    async def _settle_open_calls(self, tx: Transaction, epoch: int) -> int:
        found = await tx.run(cypher.OPEN_CALLS_OF, epoch=epoch)
        left = undeleted(found, ("key", *_amounts(ModelUsage())))  # its worker may settle a call during the read
        for row in sorted(left, key=lambda row: str(row["key"])):
            await tx.run(cypher.SETTLE, rows=[{"key": row["key"], **_amounts(_spent(row))}])
        await tx.run(cypher.FORGET_BOOKS_WORKER, epoch=epoch)
        return len(left)

    async def _keep_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(TOUCH_S)
            try:
                await self.keep()
            except GraphtideError as error:
                log.warning("the usage ledger cannot be updated now and is tried again: %s", error)

    async def _in_turn(self, account: str, statement: str, row: Row) -> Row:
        """Complete one write of the account; writes of this process queue here instead of in the database."""

        if len(self._turns) > MAX_ATTEMPTS:  # a lock dropped too early only costs a wait in the database
            idle = [idle_account for idle_account, turn in self._turns.items() if not turn.locked()]
            for idle_account in idle:
                del self._turns[idle_account]

        async def write() -> Row:
            async with self._turns[account]:
                found = await self._database.write(lambda tx: tx.run(statement, rows=[row]))
                return found[0] if found else {}

        return await self._to_its_end(write())

    async def _to_its_end(self, writing: Coroutine[Any, Any, Row]) -> Row:
        task = asyncio.create_task(writing)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    def _entry(self, number: int, charge: Charge, expected: ModelUsage) -> dict[str, object]:
        counted = 0 if charge.stage is Stage.EMBED else 1
        return {
            "key": in_order(number),
            "worker": self._epoch,
            "account": _account(charge.graph, charge.day),
            "spending": key(charge.graph, charge.day, charge.stage.value),
            "document": key(charge.graph, charge.doc_id) if charge.doc_id else "",
            "graph": charge.graph,
            "stage": charge.stage.value,
            "tokens": counted * expected.tokens,
            "counted": counted,
            **_amounts(expected),
        }


def _account(graph: str, day: str) -> str:
    return key(graph, day)


def _amounts(spent: ModelUsage) -> dict[str, int]:
    return {
        "calls": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost_nano": spent.cost_nano,
    }


def _spent(row: Row) -> ModelUsage:
    return ModelUsage(row["calls"], row["prompt_tokens"], row["completion_tokens"], row["cost_nano"])


def _figures(found: Row, name: str) -> dict[Stage, ModelUsage]:
    """Return an account's sums in the form of the budget check, where the stage makes no difference."""
    return {Stage.OTHER: ModelUsage(prompt_tokens=found[f"{name}_tokens"], cost_nano=found[f"{name}_cost"])}


def _by_stage(rows: Iterable[Row]) -> dict[Stage, ModelUsage]:
    found: defaultdict[Stage, ModelUsage] = defaultdict(ModelUsage)
    for row in rows:
        found[Stage(row["stage"])] += _spent(row)
    return {stage: each for stage, each in found.items() if each != ModelUsage()}
