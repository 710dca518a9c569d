"""A replica that evicts graphs at once, beside one that holds all: their answers, digests and lists are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.streams.errors import NotFound
from graphtide.streams.follow import delta_follower
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
