"""The lease of views: every operation on a graph works while the graph is evicted whenever nothing holds it.

The operations are enumerated from the application, so a new one without a call here fails a test.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphtide.services.application import ChangeQuery, LetterQuery, PreviewRequest, QueryRequest
from graphtide.services.browsing import DocumentQuery, EntityQuery
from graphtide.services.cluster.roles import query
from graphtide.services.local_application import LocalApplication
from graphtide.streams.errors import GraphtideError, NotFound
from graphtide.streams.follow.evicting_views import EvictingViews
from graphtide.streams.follow.view_ports import EvictionReason
from graphtide.streams.standing.records import QuestionDefinition
from tests.support.role_cluster import TEXTS, document, opened
from tests.support.stages import running

Operation = Callable[[Any], Awaitable[object]]
ASKED = QueryRequest("Who discovered polonium?", mode="vector", generate=False)
QUESTION = QuestionDefinition("q", ASKED.question, "vector", 2)


class EagerViews(EvictingViews):
    """Views that leave as soon as nothing holds them: after each load, and at every turn of `evict`."""

    async def wake(self, graph: str) -> None:
        await super().wake(graph)
        await self._leave(graph)

    async def evict(self) -> None:
        """Evict until cancelled."""
        while True:
            for graph in self.versions():
                await self._leave(graph)
            await asyncio.sleep(0)

    async def _leave(self, graph: str) -> None:
        await self._evict(graph, EvictionReason.IDLE, lambda: graph not in self._users)


async def entity_of(app: Any) -> str:
    return str((await app.query("g", ASKED)).nodes[0].id)


async def all_of(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


async def first_event(app: Any) -> object:
    async with aclosing(app.question_events("g", "q", "")) as events:
        assert await anext(events) is None
        return await anext(events)


async def stats_of(app: Any) -> object:
    found = await app.stats("g")
    return replace(found, event_to_queryable_ms={}, spending={}, freshness_s=0.0)


async def rows_of_feed(app: Any) -> object:
    """Return the rows with which a feed begins: their order is that in which the replica read them."""
    items = await all_of(app.changes("g", ChangeQuery(rows=True, follow=False)))
    return sorted(repr((kind, row)) for part in items[1:] for kind, rows in part.rows.items() for row in rows)


async def community_of(app: Any) -> object:
    listed = await app.list_communities("g", 0, 10, "")
    return await app.community("g", listed.communities[0].community)


async def entity_status(app: Any) -> object:
    return await app.entity("g", await entity_of(app))


async def around(app: Any) -> object:
    return await app.neighbourhood("g", await entity_of(app), 1, 50)


async def group(app: Any) -> object:
    return await app.group("g", await entity_of(app), None, 50)


READS: dict[str, Operation] = {
    "document": lambda app: app.document("g", "alias"),
    "related": lambda app: app.related("g", "lab", 2),
    "preview": lambda app: app.preview("g", PreviewRequest(delete=("lab",))),
    "query": lambda app: app.query("g", ASKED),
    "stream": lambda app: all_of(app.stream("g", ASKED)),
    "changes": rows_of_feed,
    "stats": stats_of,
    "entity": entity_status,
    "reports": lambda app: app.reports("g"),
    "digest": lambda app: app.digest("g"),
    "verify": lambda app: app.verify("g"),
    "list_documents": lambda app: app.list_documents("g", DocumentQuery()),
    "list_entities": lambda app: app.list_entities("g", EntityQuery()),
    "neighbourhood": around,
    "group": group,
    "list_communities": lambda app: app.list_communities("g", 0, 10, ""),
    "community": community_of,
    "put_question": lambda app: app.put_question("g", QUESTION),
    "question": lambda app: app.question("g", "q"),
    "list_questions": lambda app: app.list_questions("g", 10, ""),
    "question_events": first_event,
}
"""Operations that read the view of a graph, each as a call whose result does not depend on the replica."""
NO_VIEW = {"delete", "dead_letters", "dead_letter", "retry_letter", "discard_letter", "delete_question", "delete_graph"}
"""Operations on a graph that read no view: they use the ledger, the log or the store."""
ELSEWHERE = {"rebuild", "token_state"}
"""Operations that read the view and are called with arguments of their own below."""


def on_a_graph() -> set[str]:
    """Return the public operations of the application whose first argument is a graph."""
    found = inspect.getmembers(LocalApplication, inspect.isfunction)
    return {name for name, one in found if name[0] != "_" and "graph" in list(inspect.signature(one).parameters)[1:2]}


@asynccontextmanager
async def two_replicas(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Any, Any, str]]:
    """Yield a replica that holds every graph, one that evicts at every turn, and the token of the last document."""
    async with opened(folder) as cluster:
        full: Any = await cluster.replica("full")
        first = await full.publish([document("curie", TEXTS["curie"])])
        await full.query("g", replace(ASKED, after=first.token))
        await full.put_question("g", QUESTION)
        texts = TEXTS | {"alias": "MARIE CURIE discovered POLONIUM.", "again": "Who discovered polonium? Irene Curie."}
        receipt = await full.publish([document(*each) for each in texts.items()])
        await full.query("g", replace(ASKED, after=receipt.token))
        monkeypatch.setattr(query, "EvictingViews", EagerViews)
        cluster.idle_graph_s = 1e-6
        eager: Any = await cluster.replica("eager")
        async with running(eager._runtime.views.evict):
            yield full, eager, receipt.token


def test_every_operation_on_a_graph_is_called_here() -> None:
    """A new operation needs a call, which fails if the operation reads a view that it does not hold."""
    assert on_a_graph() == READS.keys() | NO_VIEW | ELSEWHERE


async def test_every_operation_works_while_graphs_leave_memory_at_every_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each result equals that of a replica that holds all graphs."""
    async with two_replicas(tmp_path, monkeypatch) as (full, eager, token):
        for name, call in READS.items():
            assert await call(eager) == await call(full), name
        reached = await eager.token_state("g", token, 30.0)
        assert reached.reached and reached.version >= (await full.query("g", ASKED)).version
        assert await eager.dead_letters("g", LetterQuery()) == await full.dead_letters("g", LetterQuery())
        rebuilt = await eager.rebuild("g")
        assert rebuilt.switched and (await eager.stats("g")).version >= rebuilt.version
        await eager.delete_question("g", "q")
        assert (await eager.delete("g", "lab")).accepted == 1
        assert (await eager.delete_graph("g", 30.0)).deleted
        with pytest.raises(NotFound):
            await eager.query("g", ASKED)


async def test_no_operation_works_without_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls above would find a missing lease: without one each of them fails, or reads another state."""
    async with two_replicas(tmp_path, monkeypatch) as (full, eager, token):
        calls = READS | {"token_state": lambda app: app.token_state("g", token, 0.2)}
        for name, call in calls.items():
            expected = await call(full)
            with monkeypatch.context() as bare:
                bare.setattr(eager._runtime.views, "in_use", lambda graph: nullcontext())
                try:
                    found = await call(eager)
                except GraphtideError:
                    continue
                assert found != expected, name
