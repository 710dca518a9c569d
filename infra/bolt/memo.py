"""VectorStore in the graph database, which shares model answers among workers; the least recently used rows are
dropped.

A row's `slot` contains its table and a number that rises with each put. Rows more than `capacity` below the newest
number are dropped, which bounds the rows without counting them. A row that is used while in the older half of that
window gets a new number at this process's next put, so used rows stay. (Renewals use up numbers too: under constant
reuse the memo may hold fewer rows than `capacity`, at worst half.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from graphtide.infra.bolt.codec import SCOPE_MARK, from_bytes, in_order, key, to_bytes
from graphtide.infra.bolt.cypher import models as cypher
from graphtide.infra.bolt.database import BoltDatabase, Transaction, undeleted
from graphtide.infra.models.cache.keys import KEY_BYTES

CAPACITY = 500_000


class BoltVectorStore:
    """See `VectorStore`. Holds at most `capacity` rows in `table`, which is a constant of the code."""

    def __init__(self, database: BoltDatabase, table: str, capacity: int = CAPACITY) -> None:
        self._database = database
        self._table = table
        self._capacity = capacity
        self._renewed: dict[bytes, None] = {}

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """See VectorStore.get_many."""
        wanted = {self._key(name): name for name in keys}
        found = await self._database.ask_each_key(cypher.GET_MEMOS, list(wanted))
        rows = undeleted(found, ("key", "value", "slot"))
        for row in await self._database.ask(cypher.READ_MEMO_TABLE, table=self._table) if rows else ():
            old = self._slot(row["newest"] - self._capacity // 2)
            self._renewed.update((wanted[row["key"]], None) for row in rows if row["slot"] <= old)
        return {wanted[row["key"]]: to_bytes(row["value"]) for row in rows}

    async def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """See VectorStore.put_many. Durable when it returns."""
        if not items:
            return
        renewed = [name for name in self._renewed if name not in items]
        self._renewed.clear()

        async def work(tx: Transaction) -> None:
            taken = len(renewed) + len(items)
            [row] = await tx.run(cypher.HOLD_MEMO_TABLE, table=self._table, taken=taken)
            newest = row["newest"]
            slots = (self._slot(number) for number in range(newest - taken + 1, newest + 1))
            await tx.each(cypher.RENEW_MEMOS, [{"key": self._key(name), "slot": next(slots)} for name in renewed])
            rows = [
                {"key": self._key(name), "value": from_bytes(value), "slot": next(slots)}
                for name, value in items.items()
            ]
            await tx.each(cypher.PUT_MEMOS, rows)
            oldest = newest - self._capacity
            if oldest > 0:
                await tx.run(cypher.FORGET_MEMOS, first=self._slot(0), last=self._slot(oldest))

        await self._database.write(work)

    async def purge(self, scope: bytes, keep: Collection[bytes] = ()) -> int:
        """See VectorStore.purge. Durable when it returns. Cost: the table's keys, once."""
        kept = {self._key(name) for name in keep}
        sought = {
            "table": self._table + SCOPE_MARK,
            "scope": self._key(scope),
            "length": len(self._key(b"0" * KEY_BYTES)),
        }
        rows = await self._database.ask(cypher.FIND_MEMOS, **sought)
        doomed = [row["key"] for row in undeleted(rows, ("key",)) if row["key"] not in kept]
        await self._database.ask_each_key(cypher.DELETE_MEMOS, doomed)
        return len(doomed)

    def _key(self, name: bytes) -> str:
        return key(self._table, name.hex())

    def _slot(self, number: int) -> str:
        return key(self._table, in_order(max(number, 0)))
