"""Sizes of the graphs' contents, which commits keep in the heads of the graphs.

A head has no count for its version after a commit of an earlier release, or one that did not know its change. Such a
graph is counted when it is read, and its head keeps the result if no commit came between.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.infra.bolt.cypher import graphs as cypher
from graphtide.infra.bolt.cypher import tables
from graphtide.infra.bolt.database import BlockingTransaction, BoltDatabase, Row
from graphtide.streams.errors import Retryable
from graphtide.streams.ports import ContentSize, GraphContent

ATTEMPTS = 5
"""Times that a graph is counted whose writer commits meanwhile."""


async def read(database: BoltDatabase) -> Mapping[str, GraphContent]:
    """Return the content of each graph that exists. Cost: one statement, and the passages of uncounted graphs."""
    for _ in range(ATTEMPTS):
        found = await database.ask(cypher.CONTENTS)
        uncounted = [row for row in found if row["documents"] is None or row["text_bytes"] is None]
        if not uncounted:
            return {
                row["name"]: GraphContent(row["version"], ContentSize(row["documents"], row["text_bytes"]))
                for row in found
            }
        for row in uncounted:
            await _count(database, row)
    names = ", ".join(row["name"] for row in uncounted[:3])
    raise Retryable(f"the content of {names} changed while it was counted; try again", 1.0)


async def _count(database: BoltDatabase, head: Row) -> None:
    """Count the rows of a graph, and note the result in its head if that has not changed."""
    size = await database.read_in_thread(lambda tx: _size(tx, head["scope"]))
    same = {"graph": head["name"], "version": head["version"], "scope": head["scope"]}
    await database.ask(cypher.FILL_CONTENT, **same, documents=size.documents, text_bytes=size.text_bytes)


def _size(tx: BlockingTransaction, scope: str) -> ContentSize:
    [documents] = (row[0] for row in tx.stream(tables.DOCUMENT.count, scope=scope))
    return ContentSize(documents, sum(len(row[0].encode()) for row in tx.stream(cypher.READ_TEXTS, scope=scope)))
