"""The change feed of a cluster: any replica, directly or through a gateway, gives the same changes after a token."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import graphtide
from graphtide.services.api.schema.shapes import dump, fields_json
from graphtide.services.application import Application, Change, ChangeQuery, FeedItem, GraphRows
from tests.support.role_cluster import TEXTS, after, document, opened

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


SEED = 20_261_125


async def changes_after(application: Application, token: str) -> list[Any]:
    """Return the changes after a token, up to now, as clients receive them."""
    items = application.changes("g", ChangeQuery(token, rows=True, follow=False))
    return [json.loads(dump(fields_json(item))) async for item in items if isinstance(item, Change)]


async def test_replica_that_starts_later_has_the_same_history(tmp_path: Path) -> None:
    """Its feed from the beginning, or from a publisher's token, equals that of a replica that saw every commit.

    So do the views of all earlier versions, the documents' states, superseded ones too, and the times of the commits.
    """
    print("seed", SEED)
    rng, digests, tokens = random.Random(SEED), dict[int, str](), list[str]()
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        one = await cluster.replica("one")
        await publish(one, "curie", TEXTS["curie"])
        for _ in range(8):
            name = rng.choice(sorted(TEXTS))
            if rng.random() < 0.3 and (await one.document("g", "curie")).state == "applied":
                receipt = await one.delete("g", "curie")
            else:
                await one.publish([document(name, f"{TEXTS[name]} Then {rng.random()}.")])
                receipt = await one.publish([document(name, f"{TEXTS[name]} {rng.random()}.")])
            await one.query("g", after(receipt.token))
            now = await one.digest("g")
            digests[now.version] = now.digest
            tokens.append(receipt.token)
        late = await cluster.replica("late")
        remote = await cluster.gateway(late)
        seen = await changes_after(one, "v0")
        assert await changes_after(late, "v0") == await changes_after(remote, "v0") == seen
        for token in tokens:
            assert await changes_after(remote, token) == await changes_after(one, token)
        copy = graphtide.GraphReplica()
        for change in seen:
            copy.apply(change)
            if copy.version in digests:
                assert copy.digest() == digests[copy.version]
        for version, wanted in digests.items():
            assert (await remote.digest("g", str(version))).digest == wanted
