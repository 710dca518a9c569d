"""Counting of extraction attempts: the attempts that start together are counted in one statement.

Calls that arrive while a statement runs wait for the next one, so a lone call is sent at once and a burst takes two
statements. Every caller continues only after its own attempt is durable.
"""

from __future__ import annotations

import asyncio

from graphtide.infra.bolt.cypher import revisions as cypher
from graphtide.infra.bolt.database import PORTION_ROWS, BoltDatabase


class AttemptCounter:
    """Counts attempts of revisions, by their keys in the ledger."""

    def __init__(self, database: BoltDatabase) -> None:
        self._database = database
        self._waiting: list[tuple[str, asyncio.Future[int | None]]] = []
        self._counting: asyncio.Task[None] | None = None

    async def count(self, key: str) -> int | None:
        """Count an attempt of the revision. Returns its new number of attempts, None for an unknown revision.

        A cancelled caller's attempt may be counted. Raises what the database raises.
        """
        counted: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, counted))
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(self._count_waiting())
        return await counted

    async def _count_waiting(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            try:
                found = await self._database.ask(cypher.BEGIN_ATTEMPTS, keys=sorted(batch))
            except Exception as error:  # noqa: BLE001 - each caller raises it
                _fail(batch, error)
                continue
            attempts = {row["key"]: int(row["attempts"]) for row in found}
            for key, counted in batch.items():
                if not counted.done():
                    counted.set_result(attempts.get(key))

    def _next_batch(self) -> dict[str, asyncio.Future[int | None]]:
        """Take the waiting calls, at most one of each key: a statement counts a key once."""
        batch: dict[str, asyncio.Future[int | None]] = {}
        left: list[tuple[str, asyncio.Future[int | None]]] = []
        for key, counted in self._waiting:
            if counted.done():  # its caller was cancelled
                continue
            if key in batch or len(batch) == PORTION_ROWS:
                left.append((key, counted))
            else:
                batch[key] = counted
        self._waiting = left
        return batch


def _fail(batch: dict[str, asyncio.Future[int | None]], error: Exception) -> None:
    for counted in batch.values():
        if not counted.done():
            counted.set_exception(error)
