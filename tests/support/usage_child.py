"""A cluster worker that has two model calls in flight, reports it on standard output, and waits to be killed.

Run as `python -m tests.support.usage_child URI USER PASSWORD`.
"""

from __future__ import annotations

import asyncio
import sys

from graphtide.infra.bolt import BoltAddress, BoltUsageLedger
from graphtide.infra.bolt.database import BoltDatabase
from graphtide.streams.usage import Budget, Charge, ModelUsage, Stage

DAY = "2026-11-21"
EXPECTED = ModelUsage(1, 100, 20, 7)
BUDGET = Budget(tokens=400)


async def work(uri: str, user: str, password: str) -> None:
    books = await BoltUsageLedger.open(await BoltDatabase.connect(BoltAddress(uri, user, password)))
    done = await books.reserve(Charge("g", DAY, Stage.EXTRACT, "d"), EXPECTED, BUDGET)
    await books.settle(done, ModelUsage(1, 10, 2, 1))
    for _ in range(2):
        await books.reserve(Charge("g", DAY, Stage.EXTRACT, "d"), EXPECTED, BUDGET)
    sys.stdout.write("in flight\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
