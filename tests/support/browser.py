"""The browse operations of the in-memory Application: whole documents, no entities."""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.services.browsing import (
    CommunityDetails,
    CommunityPage,
    DocumentPage,
    DocumentQuery,
    EntityPage,
    EntityQuery,
    GraphSummary,
    ListedDocument,
    TokenState,
)
from graphtide.streams.errors import NotFound
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import RevisionState


class InMemoryBrowser:
    """See Browser. One page holds everything."""

    documents: dict[tuple[str, str], tuple[int, DocumentMessage | None]]
    _version: dict[str, int]

    async def _pass(self) -> None:
        raise NotImplementedError

    def _known(self, graph: str) -> str:
        raise NotImplementedError

    async def graph_summaries(self) -> Mapping[str, GraphSummary]:
        await self._pass()
        return {
            graph: GraphSummary(graph, version, sum(1 for name, _ in self.documents if name == graph))
            for graph, version in self._version.items()
        }

    async def list_documents(self, graph: str, query: DocumentQuery) -> DocumentPage:
        await self._pass()
        self._known(graph)
        documents = sorted((name, of) for (inside, name), of in self.documents.items() if inside == graph)
        rows = (
            ListedDocument(name, "", "", RevisionState.APPLIED if message else RevisionState.DELETED, revision, "")
            for name, (revision, message) in documents
            if name.startswith(query.prefix)
        )
        return DocumentPage(tuple(rows)[: query.limit], "")

    async def list_entities(self, graph: str, query: EntityQuery) -> EntityPage:
        await self._pass()
        return EntityPage((), self._version[self._known(graph)], "")

    async def neighbourhood(self, graph: str, entity_id: str, hops: int, limit: int) -> Neighbourhood:
        await self._pass()
        raise NotFound(f"graph {self._known(graph)} has no entity {entity_id}")

    async def group(self, graph: str, entity_id: str, k: int | None, limit: int) -> CohesiveGroup:
        await self._pass()
        raise NotFound(f"graph {self._known(graph)} has no entity {entity_id}")

    async def list_communities(self, graph: str, level: int, limit: int, cursor: str) -> CommunityPage:
        await self._pass()
        return CommunityPage((), self._version[self._known(graph)], "")

    async def community(self, graph: str, community: int) -> CommunityDetails:
        await self._pass()
        raise NotFound(f"graph {self._known(graph)} has no community {community}")

    async def token_state(self, graph: str, token: str, wait_s: float) -> TokenState:
        await self._pass()
        return TokenState(True, self._version[self._known(graph)])
