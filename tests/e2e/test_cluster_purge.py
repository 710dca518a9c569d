"""`graphtide purge` in a cluster: every replica forgets the earlier versions that hold deleted content."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from graphtide.services.application import ChangeQuery, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.streams.changes.purge_marker import mark_purge
from graphtide.streams.errors import Expired
from tests.support.role_cluster import document, opened
from tests.support.stages import eventually

VAULT = "Irene Curie keeps the radium in the vault of Lisbon."


def asked(*, after: str = "", at: str = "") -> QueryRequest:
    return QueryRequest(
        "What does Irene Curie keep in the vault of Lisbon?", generate=False, timeout_s=30, after=after, at=at
    )


async def is_expired(replica: LocalApplication, version: int) -> bool:
    """Return True once the version is refused."""
    try:
        await replica.query("g", asked(at=f"v{version}"))
    except Expired:
        return True
    return False


async def test_replicas_forget_purged_texts(tmp_path: Path) -> None:
    """A replica that has opened an earlier version, one that has read its changes, and one that starts later: none
    shows the deleted text once the purge is marked; versions after it are shown.
    """
    async with opened(tmp_path) as cluster:
        replicas = [await cluster.replica(name) for name in ("one", "two")]
        for text in (VAULT, "Marie Curie discovered polonium in Paris."):
            receipt = await replicas[0].publish([document(f"d{len(text)}", text)])
            await replicas[0].query("g", asked(after=receipt.token))
        receipt = await replicas[0].delete("g", f"d{len(VAULT)}")
        [deleted, _] = [(await replica.query("g", asked(after=receipt.token))).version for replica in replicas]
        shown = await replicas[0].query("g", asked(at=f"v{deleted - 1}"))
        assert VAULT in [passage.text for passage in shown.passages]
        seen = [item async for item in replicas[1].changes("g", ChangeQuery("v0", follow=False))]
        assert len(seen) > 1
        assert isinstance(replicas[0], LocalApplication) and isinstance(replicas[1], LocalApplication)
        assert replicas[0]._past._opened and replicas[1]._feed._recent

        await mark_purge(cluster.backing.log)
        for replica in (*replicas, await cluster.replica("three")):
            assert isinstance(replica, LocalApplication)
            await eventually(partial(is_expired, replica, deleted - 1))
            assert not replica._past._opened and not replica._feed._recent
            with pytest.raises(Expired):
                [item async for item in replica.changes("g", ChangeQuery("v0", follow=False))]

        receipt = await replicas[0].publish([document("pierre", "Pierre Curie studied piezoelectricity.")])
        answer = await replicas[0].query("g", asked(after=receipt.token))
        assert (await replicas[0].digest("g", f"v{answer.version}")).version == answer.version
