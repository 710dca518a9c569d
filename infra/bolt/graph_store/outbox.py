"""The Outbox port: notices of commits as nodes, numbered by their partition's watermark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from graphtide.infra.bolt import cypher
from graphtide.infra.bolt.codec import from_bytes, from_json, in_order, to_bytes
from graphtide.infra.bolt.database import BoltDatabase, Transaction, undeleted
from graphtide.streams.ports import Record

LAST = (1 << 63) - 1


class BoltOutbox:
    """See Outbox."""

    def __init__(self, database: BoltDatabase) -> None:
        self._database = database

    async def waiting(self, partition: int, limit: int) -> Sequence[tuple[int, Record]]:
        """See Outbox.waiting. Cost: the records returned (Memgraph: all that wait, in memory)."""
        bounds = {"first": in_order(partition, 0), "last": in_order(partition, LAST), "limit": limit}
        found = await self._database.ask(cypher.WAITING, **bounds)
        rows = undeleted(found, ("sequence", "record_key", "headers"))
        return [(row["sequence"], _record(row["record_key"], row["value"], row["headers"])) for row in rows]

    async def sent(self, partition: int, up_to: int) -> None:
        """See Outbox.sent."""
        bounds = {"first": in_order(partition, 0), "last": in_order(partition, up_to)}
        await self._database.ask(cypher.SENT, **bounds)


async def put_notices(tx: Transaction, partition: int, before: int, notices: Sequence[Record]) -> None:
    """Number the notices from `before` + 1 on and store them, within a commit that has locked the partition's
    watermark.
    """
    rows = [
        {
            "key": in_order(partition, sequence),
            "sequence": sequence,
            "record_key": record.key,
            "value": None if record.value is None else from_bytes(record.value),
            "headers": from_json([(name, from_bytes(value)) for name, value in record.headers]),
        }
        for sequence, record in enumerate(notices, before + 1)
    ]
    await tx.each(cypher.PUT_NOTICES, rows, partition=partition)


def _record(record_key: str, value: Any, headers: str) -> Record:
    kept = tuple((name, to_bytes(text)) for name, text in json.loads(headers))
    return Record(record_key, None if value is None else to_bytes(value), kept)
