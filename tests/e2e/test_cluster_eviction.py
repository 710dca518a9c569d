"""A replica that evicts graphs at once, beside one that holds all: their answers, digests and lists are the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from graphtide.streams.errors import NotFound
from graphtide.streams.follow import delta_follower
from tests.e2e.test_quotas import SIZE, TEXT, Tenant, refused, tenant
from tests.support.guarded import KeyFile
from tests.support.role_cluster import TEXTS, after, document, opened
from tests.support.stages import eventually

GRAPHS = ("a", "b", "c")


async def test_replica_with_eviction_answers_as_one_that_holds_every_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents of three graphs are published and asked for with `after`, while unused graphs are evicted at once."""
    monkeypatch.setattr(delta_follower, "POLL_INTERVAL_S", 0.01)
    async with opened(tmp_path) as cluster:
        full = await cluster.replica("full")
        cluster.idle_graph_s = 1e-6
        small = await cluster.replica("small")

        def count(name: str, **labels: str) -> float:
            return cluster.registries["small"].get_sample_value(name, labels) or 0.0

        for doc_id, text in TEXTS.items():
            receipts = {graph: await small.publish([document(doc_id, text, graph)]) for graph in GRAPHS}
            for graph, receipt in receipts.items():
                answers = [await one.query(graph, after(receipt.token)) for one in (small, full)]
                assert answers[0] == answers[1]
                assert doc_id in {passage.doc_id for passage in answers[0].passages}

            async def all_evicted() -> bool:
                return count("graphtide_views_evicted") == len(GRAPHS) and not count("graphtide_views_loaded")

            await eventually(all_evicted)
            assert await small.graphs() == await full.graphs()
            assert await small.graph_summaries() == await full.graph_summaries()
        assert count("graphtide_view_evictions_total", reason="idle") >= len(TEXTS) * len(GRAPHS)
        for graph in GRAPHS:
            assert await small.digest(graph) == await full.digest(graph)
            assert (await small.verify(graph)).differences == ()
            assert (await small.document(graph, "lab")) == (await full.document(graph, "lab"))
        rebuilt = await small.rebuild("a")
        assert (await small.stats("a")).version >= rebuilt.version
        await small.delete_graph("b", 30.0)
        with pytest.raises(NotFound):
            await small.query("b", after(""))


@asynccontextmanager
async def small_tenant(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **quota: int
) -> AsyncIterator[tuple[Tenant, Callable[[], Awaitable[float]]]]:
    """Yield a caller with a quota at a replica that evicts at once, and a function that waits until all graphs left.

    The function returns the number of loads so far.
    """
    monkeypatch.setattr(delta_follower, "POLL_INTERVAL_S", 0.01)
    keys = KeyFile(folder / "keys.toml")
    key = keys.add("tenant", "t-*", "read write", **quota)
    async with opened(folder) as cluster:
        cluster.idle_graph_s = 1e-6
        replica = await cluster.replica("small")

        async def loads() -> float:
            def sample(name: str) -> float:
                return cluster.registries["small"].get_sample_value(name) or 0.0

            async def evicted() -> bool:
                return not sample("graphtide_views_loaded")

            await eventually(evicted)
            return sample("graphtide_view_loads_total")

        async with tenant(replica, folder, key, keys) as one:
            yield one, loads


async def test_quota_is_exact_for_graphs_that_are_not_in_memory_and_loads_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents of three graphs, all evicted before each publication; an edit needs no room; a deletion frees it."""
    async with small_tenant(tmp_path, monkeypatch, max_documents=3) as (one, loads):
        for graph in ("t-a", "t-b", "t-c"):
            await one.store(graph, "a")
        before = await loads()
        refused(await one.put("t-a", "b"), "3 documents", "hold 3, and 1 more")
        edited = await one.put("t-b", "a", TEXT + " Eve met Ada.")
        assert edited.status_code == httpx.codes.ACCEPTED and await loads() == before
        await one.settle("t-b", edited)
        await one.delete("t-c", "a")
        await loads()
        await one.store("t-a", "b")
        await loads()
        refused(await one.put("t-c", "a"), "3 documents", "hold 3, and 1 more")


async def test_bytes_of_graphs_that_are_not_in_memory_are_bounded_to_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of the document that an edit replaces is that of the stored one."""
    async with small_tenant(tmp_path, monkeypatch, max_bytes=2 * SIZE) as (one, loads):
        await one.store("t-a", "a")
        await loads()
        refused(await one.put("t-b", "b", TEXT + "!"), f"{2 * SIZE} bytes", f"hold {SIZE}, and {SIZE + 1} more")
        await one.store("t-b", "b")
        before = await loads()
        refused(await one.put("t-b", "b", TEXT + "!"), "bytes", f"hold {2 * SIZE}, and 1 more")
        assert await loads() == before
        await one.store("t-a", "a", TEXT[:-1])
        await loads()
        await one.store("t-b", "b", TEXT + "!")


async def test_list_of_graphs_counts_documents_not_revisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edits and deletions of graphs that are not in memory: the list shows what the views would."""
    async with small_tenant(tmp_path, monkeypatch) as (one, loads):
        for text in (TEXT, TEXT + " Eve met Ada.", TEXT[:-1]):
            await one.store("t-a", "a", text)
        await one.store("t-a", "b")
        await one.delete("t-a", "a")
        before = await loads()
        listed = (await one.http.get("/v1/graphs")).json()["graphs"]
        assert [(each["graph"], each["documents"]) for each in listed] == [("t-a", 1)]
        assert await loads() == before
