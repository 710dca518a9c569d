"""The Outbox port: notices of commits as nodes, numbered by their partition's watermark.

A process that writes a partition relays its notices from memory, and their nodes are deleted by the next commit, or by
`settle`. After a crash its successor reads the nodes, and may relay some of them a second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphtide.infra.bolt.codec import from_bytes, from_json, in_order, to_bytes
from graphtide.infra.bolt.cypher import partitions as cypher
from graphtide.infra.bolt.database import BoltDatabase, Row, Transaction, batched, undeleted
from graphtide.infra.bolt.graph_store.unsent import Notice, UnsentNotices
from graphtide.streams.ports import Record

LAST = (1 << 63) - 1


class BoltOutbox:
    """See Outbox. The store calls `claimed`, `committed` and `failed` for the partitions that this process writes."""

    def __init__(self, database: BoltDatabase) -> None:
        self._database = database
        self._unsent: dict[int, UnsentNotices] = {}

    async def waiting(self, partition: int, limit: int) -> Sequence[Notice]:
        """See Outbox.waiting. Cost: none in the process that writes the partition; elsewhere the records returned
        (Memgraph: all that wait, in memory).
        """
        unsent = self._unsent.get(partition)
        if unsent is not None and unsent.complete:
            return unsent.first(limit)
        if unsent is None:
            return (await self._stored(partition, 0, limit))[0]
        while True:
            losses = unsent.losses
            stored, is_all = await self._stored(partition, unsent.sent, limit)
            if unsent.losses == losses:  # otherwise the read may lack a notice that is no longer in memory
                return unsent.merged(stored, limit, complete=is_all)

    async def _stored(self, partition: int, sent: int, limit: int) -> tuple[Sequence[Notice], bool]:
        """Return the first notices of the store after that sequence; True if they are all."""
        bounds = {"first": in_order(partition, sent + 1), "last": in_order(partition, LAST), "limit": limit}
        found = await self._database.ask(cypher.WAITING, **bounds)
        rows = undeleted(found, ("sequence", "record_key", "headers"))
        notices = [(row["sequence"], _record(row["record_key"], row["value"], row["headers"])) for row in rows]
        return notices, len(found) < limit

    async def sent(self, partition: int, up_to: int) -> None:
        """See Outbox.sent. In the process that writes the partition, the next commit or `settle` deletes the nodes."""
        unsent = self._unsent.get(partition)
        if unsent is None:
            await self._delete(partition, up_to)
        else:
            unsent.mark_sent(up_to)

    async def settle(self, partition: int) -> None:
        """See Outbox.settle."""
        unsent = self._unsent.get(partition)
        if unsent is not None and unsent.deleted < unsent.sent:
            up_to = unsent.sent
            await self._delete(partition, up_to)
            unsent.deleted = max(unsent.deleted, up_to)

    async def _delete(self, partition: int, up_to: int) -> None:
        bounds = {"first": in_order(partition, 0), "last": in_order(partition, up_to)}
        await self._database.ask(cypher.SENT, **bounds)

    # -- commits of this process ---------------------------------------------------------------------------------------

    def claimed(self, partition: int) -> None:
        """Begin to keep the notices of a partition: no other process commits to it any more."""
        self._unsent[partition] = UnsentNotices()

    def relayed(self, partition: int) -> int:
        """Return the sequence up to which the nodes of a partition may be deleted."""
        unsent = self._unsent.get(partition)
        return unsent.sent if unsent is not None and unsent.deleted < unsent.sent else 0

    def committed(self, partition: int, notices: Mapping[int, Record], deleted: int) -> None:
        """Keep the notices of a commit, which deleted the nodes up to `deleted`."""
        unsent = self._unsent.get(partition)
        if unsent is not None:
            unsent.add(notices)
            unsent.deleted = max(unsent.deleted, deleted)

    def failed(self, partition: int) -> None:
        """Note a commit of unknown outcome: its notices may be stored."""
        unsent = self._unsent.get(partition)
        if unsent is not None:
            unsent.lose()


def numbered(before: int, notices: Sequence[Record]) -> Mapping[int, Record]:
    """Number the notices of a commit from `before` + 1 on."""
    return dict(enumerate(notices, before + 1))


async def put_notices(tx: Transaction, partition: int, notices: Mapping[int, Record], relayed: int) -> None:
    """Store the notices and delete those up to `relayed`, within a commit that has locked the partition's watermark."""
    rows = [_row(partition, *each) for each in notices.items()]
    bounds = {"first": in_order(partition, 0), "last": in_order(partition, relayed)}
    for portion in batched(rows) or ([[]] if relayed else []):
        await tx.run(cypher.PUT_NOTICES, rows=portion, partition=partition, **bounds)


def _row(partition: int, sequence: int, record: Record) -> Row:
    return {
        "key": in_order(partition, sequence),
        "sequence": sequence,
        "record_key": record.key,
        "value": None if record.value is None else from_bytes(record.value),
        "headers": from_json([(name, from_bytes(value)) for name, value in record.headers]),
    }


def _record(record_key: str, value: Any, headers: str) -> Record:
    kept = tuple((name, to_bytes(text)) for name, text in json.loads(headers))
    return Record(record_key, None if value is None else to_bytes(value), kept)
