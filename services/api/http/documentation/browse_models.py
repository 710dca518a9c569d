"""The OpenAPI models of the browse routes' responses, for documentation only; see `response_models.py`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graphtide.services.api.http.documentation.response_models import ReportBody, Response

CURSOR = "the `cursor` of the next page, absent on the last"


class GraphSummaryBody(Response):
    graph: str
    version: int
    documents: int = Field(description="number of live documents")


class GraphPageBody(Response):
    graphs: list[GraphSummaryBody]
    next: str | None = Field(default=None, description=CURSOR)


class ListedDocumentBody(Response):
    id: str
    title: str
    source: str
    state: Literal["accepted", "applied", "superseded", "deleted", "failed"] = Field(
        description="the state of the newest revision; the other fields are those of the live revision"
    )
    revision: int
    occurred_at: str


class DocumentPageBody(Response):
    documents: list[ListedDocumentBody]
    next: str | None = Field(default=None, description=CURSOR)


class ListedEntityBody(Response):
    id: str
    name: str
    type: str
    mentions: int
    degree: int = Field(description="number of neighbours")
    community: int = Field(description="the finest community, 0 without one")


class EntityPageBody(Response):
    entities: list[ListedEntityBody]
    version: int
    next: str | None = Field(default=None, description=CURSOR)


class NeighbourNodeBody(ListedEntityBody):
    hop: int = Field(description="distance from the centre")


class NeighbourEdgeBody(Response):
    source: str
    target: str
    source_name: str
    target_name: str
    weight: float
    trussness: int = Field(description="the largest k such that a k-truss holds the edge")
    community: int = Field(description="the finest community that holds both ends, 0 without one")
    predicates: list[str] = Field(description="the most stated relations between the two")


class NeighbourhoodBody(Response):
    center: str
    nodes: list[NeighbourNodeBody] = Field(description="the nearest first")
    edges: list[NeighbourEdgeBody]
    truncated: bool = Field(description="whether the limit left out nodes")
    version: int


class CohesiveGroupBody(Response):
    center: str
    k: int = Field(description="each edge is in at least k - 2 triangles of the group")
    max_k: int = Field(description="the largest k of a k-truss that holds the entity, 0 for one without relations")
    nodes: list[NeighbourNodeBody] = Field(description="the nearest first; none for a k above max_k")
    edges: list[NeighbourEdgeBody] = Field(description="those of trussness k or more")
    truncated: bool = Field(description="whether the limit left out entities")
    version: int


class CommunitySummaryBody(Response):
    community: int
    level: int
    parent: int = Field(description="the community of the next coarser level, 0 without one")
    size: int = Field(description="number of entities")
    title: str = Field(description="the title of its report, empty without a current one")
    rating: float = Field(description="importance, 0 to 10")


class CommunityPageBody(Response):
    communities: list[CommunitySummaryBody]
    version: int
    next: str | None = Field(default=None, description=CURSOR)


class CommunityMemberBody(Response):
    id: str
    name: str
    type: str
    mentions: int


class CommunityDetailsBody(Response):
    community: int
    level: int
    parent: int
    size: int
    children: list[CommunitySummaryBody]
    members: list[CommunityMemberBody] = Field(description="the most mentioned entities, at most 200")
    report: ReportBody | None
    version: int


class TokenStateBody(Response):
    reached: bool = Field(description="whether the graph includes the token now")
    version: int
