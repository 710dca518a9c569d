"""A gateway's questions while a replica loads their graph: another holder answers them, or they wait for the load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from graphtide.infra.settings import Settings
from graphtide.services.application import Answer, ChangeQuery, QueryRequest
from graphtide.services.changes.types import FeedOpened
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.streams.errors import NotLoaded
from graphtide.streams.follow import evicting_views
from graphtide.streams.follow.load_policy import LOAD_POLICY, LoadPolicy
from graphtide.streams.ports import SnapshotUse
from graphtide.streams.standing.records import QuestionDefinition
from tests.support.role_cluster import TEXTS, document, opened
from tests.support.serving import grpc_server
from tests.support.stages import eventually

ASKED = QueryRequest("Who discovered polonium?", mode="vector", generate=False)


@dataclass
class Loading:
    """A replica that holds the graph, another one whose loads wait until `may_load` is set, and their ports."""

    full: Any
    loading: Any
    ports: dict[str, int] = field(default_factory=dict)
    may_load: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def deferred(self) -> int:
        return int(self.loading._runtime.views.deferred_loads)

    def has_loaded(self) -> bool:
        return self.loading._runtime.views.get("g") is not None

    @asynccontextmanager
    async def gateway(self, *names: str, factor: int = 0) -> AsyncIterator[RemoteApplication]:
        """Yield a gateway to these replicas. By default it asks them in turn."""
        target = "ipv4:" + ",".join(f"127.0.0.1:{self.ports[name]}" for name in names)
        async with RemoteApplication.open(Settings(query_target=target, replication_factor=factor)) as one:
            yield one

    async def publish(self, doc_id: str) -> str:
        text = f"{doc_id} discovered polonium, says Marie Curie."
        return str((await self.full.publish([document(doc_id, text)])).token)


@asynccontextmanager
async def loading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Loading]:
    monkeypatch.setattr(evicting_views, "BRIEF_LOAD_S", 0.01)
    async with opened(folder) as cluster:
        full = await cluster.replica("full")
        receipt = await full.publish([document(*each) for each in TEXTS.items()])
        await full.query("g", replace(ASKED, after=receipt.token))
        await full.put_question("g", QuestionDefinition("q", ASKED.question, "vector", 2))
        cluster.idle_graph_s = 3600.0
        one = Loading(full, await cluster.replica("loading"))
        snapshot = cluster.backing.store.snapshot

        async def slow(graph: str, use: SnapshotUse) -> object:
            await one.may_load.wait()
            return await snapshot(graph, use)

        monkeypatch.setattr(cluster.backing.store, "snapshot", slow)
        async with grpc_server(one.full) as first, grpc_server(one.loading) as second:
            one.ports |= {"full": first, "loading": second}
            yield one
            one.may_load.set()


async def check(one: Loading, remote: RemoteApplication, doc_id: str) -> None:
    """Make every kind of call with a new document: each one sees it."""
    token = await one.publish(doc_id)
    asked = replace(ASKED, after=token, top_k=50)
    assert doc_id in {passage.doc_id for passage in (await remote.query("g", asked)).passages}
    streamed = [piece async for piece in remote.stream("g", asked) if isinstance(piece, Answer)]
    assert doc_id in {passage.doc_id for passage in streamed[0].passages}
    assert (await remote.token_state("g", token, 30.0)).reached
    feed = remote.changes("g", ChangeQuery(follow=False))
    assert isinstance(await anext(feed), FeedOpened)
    events = remote.question_events("g", "q", "")
    assert await anext(events) is None
    streams: tuple[Any, ...] = (feed, events)
    for stream in streams:
        await stream.aclose()


async def test_former_holder_answers_while_the_new_one_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call fails or waits for the load, which continues; afterwards the new holder answers, too."""
    async with loading(tmp_path, monkeypatch) as one, one.gateway("full", "loading") as remote:
        number = 0

        async def was_asked() -> bool:
            nonlocal number
            number += 1
            await check(one, remote, f"early{number}")
            return one.deferred > 2

        await eventually(was_asked)
        assert not one.has_loaded()
        one.may_load.set()

        async def is_loaded() -> bool:
            return one.has_loaded()

        await eventually(is_loaded)
        before = one.deferred
        for late in range(4):
            await check(one, remote, f"late{late}")
        assert one.deferred == before


async def test_question_waits_for_the_load_when_no_replica_holds_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only replica is asked first, then as another one, then waits: the answer includes the token."""
    async with loading(tmp_path, monkeypatch) as one, one.gateway("loading", factor=2) as remote:
        token = await one.publish("only")
        waiting = asyncio.create_task(remote.query("g", replace(ASKED, after=token, top_k=50)))

        async def was_asked() -> bool:
            return one.deferred == 1

        await eventually(was_asked)
        assert not waiting.done()
        one.may_load.set()
        assert "only" in {passage.doc_id for passage in (await waiting).passages}


async def test_replica_loads_nothing_for_a_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe is answered at once, with an error that a gateway recognises; a graph in memory answers it."""
    async with loading(tmp_path, monkeypatch) as one:
        one.may_load.set()
        token = LOAD_POLICY.set(LoadPolicy.NEVER)
        try:
            with pytest.raises(NotLoaded):
                await one.loading.query("g", ASKED)
            assert not one.has_loaded() and one.loading._runtime.views.restores == 0
            assert (await one.full.query("g", ASKED)).passages
        finally:
            LOAD_POLICY.reset(token)
