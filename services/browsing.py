"""Types of the browse operations: pages of graphs, documents, entities and communities, and the part around an entity.

Every page has an opaque `next`: the cursor of the following page, "" on the last one. A listing shows an item that
exists from its first to its last page exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from graphtide.graph.browsing.communities import CommunityMember, CommunitySummary
from graphtide.graph.browsing.entity_order import EntitySort
from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import MAX_HOPS, NeighbourEdge, Neighbourhood, NeighbourNode
from graphtide.graph.reports.rows import ReportFinding
from graphtide.streams.ports import RevisionState

__all__ = [
    "MAX_HOPS",
    "Browser",
    "CohesiveGroup",
    "CommunityDetails",
    "CommunityMember",
    "CommunityPage",
    "CommunityReport",
    "CommunitySummary",
    "DocumentPage",
    "DocumentQuery",
    "EntityPage",
    "EntityQuery",
    "EntitySort",
    "GraphSummary",
    "ListedDocument",
    "ListedEntity",
    "NeighbourEdge",
    "NeighbourNode",
    "Neighbourhood",
    "TokenState",
]

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
DEFAULT_NODES = 200


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """A graph: its version, and the number of its live documents."""

    graph: str
    version: int
    documents: int


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """A page of documents by id: of ids that begin with `prefix`, in `state`, from `source`; empty: any.

    Without `state`, documents whose newest revision is a deletion are left out.
    """

    prefix: str = ""
    state: RevisionState | None = None
    source: str = ""
    limit: int = DEFAULT_LIMIT
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in a list: the state of its newest revision. The other fields are those of the live revision."""

    id: str
    title: str
    source: str
    state: RevisionState
    revision: int
    occurred_at: str


@dataclass(frozen=True, slots=True)
class DocumentPage:
    documents: tuple[ListedDocument, ...]
    next: str


@dataclass(frozen=True, slots=True)
class EntityQuery:
    """A page of entities: with `q` in the name or a label, of one type, `at` an earlier version; empty: any."""

    q: str = ""
    type: str = ""
    sort: EntitySort = EntitySort.MENTIONS
    limit: int = DEFAULT_LIMIT
    cursor: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class ListedEntity:
    """An entity in a list. `degree` counts its neighbours, `community` is its finest community, 0 without one."""

    id: str
    name: str
    type: str
    mentions: int
    degree: int
    community: int


@dataclass(frozen=True, slots=True)
class EntityPage:
    """A page of entities. The order is that of the listing's first page; the values are those of `version`."""

    entities: tuple[ListedEntity, ...]
    version: int
    next: str


@dataclass(frozen=True, slots=True)
class CommunityPage:
    """A page of the communities of one level, in the order of their numbers."""

    communities: tuple[CommunitySummary, ...]
    version: int
    next: str


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """A community's report and the chunks that support it, all of which are in the graph.

    `rating` is the importance of the community, 0 to 10.
    """

    community: int
    level: int
    title: str
    summary: str
    sources: tuple[str, ...]
    version: int
    findings: tuple[ReportFinding, ...] = ()
    rating: float = 0.0


@dataclass(frozen=True, slots=True)
class CommunityDetails:
    """A community: its sub-communities, its most mentioned entities (at most 200 of `size`), and its report."""

    community: int
    level: int
    parent: int
    size: int
    children: tuple[CommunitySummary, ...]
    members: tuple[CommunityMember, ...]
    report: CommunityReport | None
    version: int


@dataclass(frozen=True, slots=True)
class TokenState:
    """The state of a token: whether the graph includes it, and the graph's version."""

    reached: bool
    version: int


class Browser(Protocol):
    """The browse operations of an application. Each page is read at one version of the graph.

    Errors: NotFound for an unknown graph, entity or community; Invalid for a wrong cursor; Expired for a listing that
    is too old to continue.
    """

    async def graph_summaries(self) -> Mapping[str, GraphSummary]:
        """Return all graphs, by name."""
        ...

    async def list_documents(self, graph: str, query: DocumentQuery) -> DocumentPage:
        """Return a page of documents by id. Cost: the documents read, at most 10,000."""
        ...

    async def list_entities(self, graph: str, query: EntityQuery) -> EntityPage:
        """Return a page of entities. Cost: that of `EntityOrder.page`, and at most 20,000 entities read."""
        ...

    async def neighbourhood(self, graph: str, entity_id: str, hops: int, limit: int) -> Neighbourhood:
        """Return at most `limit` entities within `hops` of one, with the edges between them."""
        ...

    async def group(self, graph: str, entity_id: str, k: int | None, limit: int) -> CohesiveGroup:
        """Return at most `limit` entities of the connected k-truss that holds one; None: of the largest k."""
        ...

    async def list_communities(self, graph: str, level: int, limit: int, cursor: str) -> CommunityPage:
        """Return a page of the communities of a level, 0 the finest."""
        ...

    async def community(self, graph: str, community: int) -> CommunityDetails:
        """Return a community with its members and its report."""
        ...

    async def token_state(self, graph: str, token: str, wait_s: float) -> TokenState:
        """Wait at most `wait_s` seconds until the graph includes a token, and return whether it does."""
        ...
