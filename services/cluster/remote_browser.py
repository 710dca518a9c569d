"""The browse operations of a process without graphs: forwarded to a query replica."""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.services.api.grpc.decoding import value_of
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.browsing import (
    MAX_LIMIT,
    CommunityDetails,
    CommunityPage,
    DocumentPage,
    DocumentQuery,
    EntityPage,
    EntityQuery,
    GraphSummary,
    TokenState,
)
from graphtide.services.cluster.calls import call

WAIT_MARGIN_S = 5.0


class RemoteBrowser:
    """See Browser. The application that inherits it supplies the stub."""

    @property
    def _stub(self) -> GraphtideStub:
        raise NotImplementedError

    async def graph_summaries(self) -> Mapping[str, GraphSummary]:
        """See Browser.graph_summaries. Cost: one call per 1,000 graphs."""
        found: dict[str, GraphSummary] = {}
        cursor = ""
        while True:
            page = await call(self._stub.ListGraphs, pb.ListGraphsRequest(limit=MAX_LIMIT, cursor=cursor))
            found |= {each.graph: value_of(GraphSummary, each) for each in page.graphs}
            cursor = page.next
            if not cursor:
                return found

    async def list_documents(self, graph: str, query: DocumentQuery) -> DocumentPage:
        """See Browser.list_documents."""
        request = pb.DocumentQuery(
            graph=graph,
            prefix=query.prefix,
            state=query.state or "",
            source=query.source,
            limit=query.limit,
            cursor=query.cursor,
        )
        return value_of(DocumentPage, await call(self._stub.ListDocuments, request))

    async def list_entities(self, graph: str, query: EntityQuery) -> EntityPage:
        """See Browser.list_entities."""
        request = pb.EntityQuery(
            graph=graph,
            q=query.q,
            type=query.type,
            sort=query.sort,
            limit=query.limit,
            cursor=query.cursor,
            at=query.at,
        )
        return value_of(EntityPage, await call(self._stub.ListEntities, request))

    async def neighbourhood(self, graph: str, entity_id: str, hops: int, limit: int) -> Neighbourhood:
        """See Browser.neighbourhood."""
        request = pb.NeighbourhoodRequest(graph=graph, id=entity_id, hops=hops, limit=limit)
        return value_of(Neighbourhood, await call(self._stub.GetNeighbourhood, request))

    async def group(self, graph: str, entity_id: str, k: int | None, limit: int) -> CohesiveGroup:
        """See Browser.group."""
        request = pb.GroupRequest(graph=graph, id=entity_id, k=k, limit=limit)
        return value_of(CohesiveGroup, await call(self._stub.GetGroup, request))

    async def list_communities(self, graph: str, level: int, limit: int, cursor: str) -> CommunityPage:
        """See Browser.list_communities."""
        request = pb.CommunityQuery(graph=graph, level=level, limit=limit, cursor=cursor)
        return value_of(CommunityPage, await call(self._stub.ListCommunities, request))

    async def community(self, graph: str, community: int) -> CommunityDetails:
        """See Browser.community."""
        request = pb.CommunityRef(graph=graph, community=community)
        return value_of(CommunityDetails, await call(self._stub.GetCommunity, request))

    async def token_state(self, graph: str, token: str, wait_s: float) -> TokenState:
        """See Browser.token_state."""
        request = pb.TokenRef(graph=graph, token=token, wait_s=wait_s)
        return value_of(TokenState, await call(self._stub.GetToken, request, wait_s + WAIT_MARGIN_S))
