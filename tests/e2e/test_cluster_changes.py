"""The change feed of a cluster: any replica, directly or through a gateway, gives the same changes after a token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import graphtide
from graphtide.services.api.schema.shapes import fields_json
from graphtide.services.application import Application, Change, ChangeQuery, FeedItem, GraphRows
from tests.e2e.test_cluster_roles import TEXTS, after, document, opened

ENDS_S = 120


async def next_of(items: AsyncIterator[FeedItem], kind: type[Any]) -> Any:
    """Return the next item of that kind."""
    async for item in items:
        if isinstance(item, kind):
            return item
    raise AssertionError("the feed ended")


async def publish(application: Application, doc_id: str, text: str) -> None:
    receipt = await application.publish([document(doc_id, text)])
    await application.query("g", after(receipt.token))


async def test_feed_of_any_replica_gives_the_digest(tmp_path: Path) -> None:
    """A copy that begins at one replica continues at the other, and through a gateway; so does an earlier version."""
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        one, two = await cluster.replica("one"), await cluster.replica("two")
        remote = await cluster.gateway(two)
        await publish(one, "curie", TEXTS["curie"])
        await publish(two, "pierre", TEXTS["pierre"])
        first = await two.digest("g")
        copy, feed = graphtide.GraphReplica(), one.changes("g", ChangeQuery(rows=True))
        while True:
            part = await next_of(feed, GraphRows)
            copy.apply(fields_json(part))
            if part.part == part.parts:
                break
        await publish(one, "lab", TEXTS["lab"])
        copy.apply(fields_json(await next_of(feed, Change)))
        await two.query("g", after((await one.delete("g", "curie")).token))
        change = await next_of(remote.changes("g", ChangeQuery(f"v{copy.version}", rows=True)), Change)
        assert [(each.id, each.state) for each in change.documents] == [("curie", "deleted")]
        copy.apply(fields_json(change))
        now = await two.digest("g")
        assert (copy.version, copy.digest()) == (now.version, now.digest)
        assert await remote.digest("g", str(first.version)) == first
