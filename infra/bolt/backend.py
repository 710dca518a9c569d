"""The cluster's graph store: one Bolt database, opened as GraphStore, Outbox, Ledger and memo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.administration.schema import prepare
from graphtide.infra.bolt.cypher import schema as schema_cypher
from graphtide.infra.bolt.database import BoltDatabase, with_retries
from graphtide.infra.bolt.graph_store.store import BoltStore
from graphtide.infra.bolt.ledger import BoltLedger
from graphtide.infra.bolt.memo import CAPACITY, BoltVectorStore
from graphtide.infra.bolt.standing import BoltQuestionStore
from graphtide.streams.clock import now_ms
from graphtide.streams.ports import Log


class BoltBackend:
    """The storage adapters over one Bolt database. Made by `open`, in the event loop that uses it, and ended by
    `close`.

    `clock_ms` dates ledger entries.
    """

    def __init__(self, database: BoltDatabase, log: Log, clock_ms: Callable[[], int]) -> None:
        self.database = database
        self.log = log
        self.clock_ms = clock_ms
        self.ledger = BoltLedger(database, log, clock_ms)
        self.store = BoltStore(database, self.ledger, clock_ms)
        self.questions = BoltQuestionStore(database)

    @classmethod
    async def open(cls, address: BoltAddress, log: Log, clock_ms: Callable[[], int] = now_ms) -> BoltBackend:
        """Connect, prepare the schema, and delete unfinished rebuilds of dead processes.

        Raises Broken, with the remedy, for wrong credentials and for a server without transactions; Retryable when the
        server does not answer within the address's timeout.
        """
        database = await BoltDatabase.connect(address)
        try:
            await with_retries(lambda: asyncio.to_thread(prepare, address, database.dialect))
            backend = cls(database, log, clock_ms)
            await backend.store.sweep()
        except BaseException:  # also a cancellation
            await database.close()
            raise
        return backend

    def vectors(self, table: str, capacity: int = CAPACITY) -> BoltVectorStore:
        """Return a memo that all processes of the cluster share. `table` is a constant of the code."""
        return BoltVectorStore(self.database, table, capacity)

    async def history(self) -> str:
        """Return the id of the database's history: a restore from a backup begins another one."""
        [row] = await self.database.ask(schema_cypher.HISTORY, fresh=uuid4().hex)
        return str(row["history"])

    async def close(self) -> None:
        """Close the connections."""
        await self.database.close()
