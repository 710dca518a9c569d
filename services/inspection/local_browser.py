"""The browse operations of an application on the views of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.graph.view import LiveView
from graphtide.services.browsing import (
    CommunityDetails,
    CommunityPage,
    DocumentPage,
    DocumentQuery,
    EntityPage,
    EntityQuery,
    GraphSummary,
    TokenState,
)
from graphtide.services.inspection import browsing
from graphtide.services.runtime import Runtime, using_graph
from graphtide.streams.errors import Invalid, NotFound

T = TypeVar("T")


class LocalBrowser:
    """See Browser. The application that inherits it supplies the runtime and reads outside the event loop."""

    _runtime: Runtime

    async def _view(self, graph: str) -> LiveView:
        raise NotImplementedError

    async def _view_at(self, graph: str, at: str) -> LiveView:
        raise NotImplementedError

    async def _read(self, graph: str, read: Callable[[], T]) -> T:
        raise NotImplementedError

    async def graph_summaries(self) -> Mapping[str, GraphSummary]:
        """See Browser.graph_summaries."""
        views = self._runtime.views
        stored = await self._runtime.store.contents() if views.evicted else {}
        evicted = {
            graph: GraphSummary(graph, content.version, content.size.documents)
            for graph, content in stored.items()
            if graph in views.evicted
        }
        return evicted | {view.graph: browsing.summary_of(view) for view in views.all()}

    @using_graph
    async def list_documents(self, graph: str, query: DocumentQuery) -> DocumentPage:
        """See Browser.list_documents."""
        await self._runtime.known(graph)
        return await browsing.documents_page(self._runtime.ledger, self._runtime.views.get(graph), graph, query)

    @using_graph
    async def list_entities(self, graph: str, query: EntityQuery) -> EntityPage:
        """See Browser.list_entities."""
        return await self._read(graph, partial(browsing.entities_page, await self._view_at(graph, query.at), query))

    @using_graph
    async def neighbourhood(self, graph: str, entity_id: str, hops: int, limit: int) -> Neighbourhood:
        """See Browser.neighbourhood."""
        view = await self._view(graph)
        found = await self._read(graph, partial(browsing.around, view, entity_id, hops, limit))
        if found is None:
            raise NotFound(f"graph {graph!r} has no entity {entity_id!r}")
        return found

    @using_graph
    async def group(self, graph: str, entity_id: str, k: int | None, limit: int) -> CohesiveGroup:
        """See Browser.group."""
        view = await self._view(graph)
        found = await self._read(graph, partial(browsing.group_around, view, entity_id, k, limit))
        if found is None:
            raise NotFound(f"graph {graph!r} has no entity {entity_id!r}")
        return found

    @using_graph
    async def list_communities(self, graph: str, level: int, limit: int, cursor: str) -> CommunityPage:
        """See Browser.list_communities."""
        view = await self._view(graph)
        await self._runtime.shelves.fill(view)
        return await self._read(graph, partial(browsing.communities_page, view, level, limit, cursor))

    @using_graph
    async def community(self, graph: str, community: int) -> CommunityDetails:
        """See Browser.community."""
        view = await self._view(graph)
        await self._runtime.shelves.fill(view)
        found = await self._read(graph, partial(browsing.community_details, view, community))
        if found is None:
            raise NotFound(f"graph {graph!r} has no community {community}")
        return found

    @using_graph
    async def token_state(self, graph: str, token: str, wait_s: float) -> TokenState:
        """See Browser.token_state."""
        try:
            await self._runtime.known(graph, token, wait_s)
            reached = await self._runtime.progress.reached(graph, token, wait_s, self._runtime.maintenance.refusal)
        except Invalid as error:
            raise Invalid("token", error.message) from error
        return TokenState(reached, self._runtime.views.version(graph))
