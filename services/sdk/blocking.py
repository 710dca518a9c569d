"""The blocking twins: the same interface for programs without an event loop.

An event loop runs in a thread of its own for as long as a database is open; every call waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.services.application import (
    Answer,
    AnswerChunk,
    CommunityReport,
    Digest,
    DocumentStatus,
    EntityStatus,
    GraphStats,
    Preview,
    Rebuilt,
    Receipt,
    RelatedDocuments,
    Verification,
)
from graphtide.services.browsing import CommunityDetails, CommunityPage, DocumentPage, EntityPage
from graphtide.services.changes.types import Change, GraphRows
from graphtide.services.sdk import interface
from graphtide.services.sdk.interface import BulkReceipt, Document, Progress
from graphtide.services.sdk.remote.connection import Certificate, TokenSource, Verify
from graphtide.services.sdk.remote.database import connect
from graphtide.services.sdk.standing import BlockingQuestions

if TYPE_CHECKING:
    from graphtide.services.sdk.callables import Answering, Embedding, Extracting, PassageScoring

Item = TypeVar("Item")


class Graph:
    """A graph. Every method is that of `graphtide.Graph` with the same parameters, and blocks until it is done."""

    def __init__(self, portal: BlockingPortal, graph: interface.Graph) -> None:
        self._portal = portal
        self._graph = graph

    @property
    def name(self) -> str:
        return self._graph.name

    @property
    def questions(self) -> BlockingQuestions:
        """See `graphtide.Graph.questions`."""
        return BlockingQuestions(self._portal, lambda: self._graph.questions)

    def add(self, doc_id: str, text: str, **fields: Any) -> Receipt:
        """See `graphtide.Graph.add`."""
        return self._portal.call(partial(self._graph.add, doc_id, text, **fields))

    def add_many(self, documents: Iterable[Document], *, on_progress: Progress | None = None) -> BulkReceipt:
        """See `graphtide.Graph.add_many`."""
        return self._portal.call(partial(self._graph.add_many, documents, on_progress=on_progress))

    def delete(self, doc_id: str) -> Receipt:
        """See `graphtide.Graph.delete`."""
        return self._portal.call(self._graph.delete, doc_id)

    def document(self, doc_id: str) -> DocumentStatus:
        """See `graphtide.Graph.document`."""
        return self._portal.call(self._graph.document, doc_id)

    def related(self, doc_id: str, limit: int = 10) -> RelatedDocuments:
        """See `graphtide.Graph.related`."""
        return self._portal.call(self._graph.related, doc_id, limit)

    def ask(self, question: str, **options: Any) -> Answer:
        """See `graphtide.Graph.ask`."""
        return self._portal.call(partial(self._graph.ask, question, **options))

    def ask_stream(self, question: str, **options: Any) -> Iterator[Answer | AnswerChunk]:
        """See `graphtide.Graph.ask_stream`."""
        stream = self._graph.ask_stream(question, **options)
        try:
            while (piece := self._portal.call(_next_of, stream)) is not None:
                yield piece
        finally:
            self._portal.call(_close, stream)

    def preview(self, **options: Any) -> Preview:
        """See `graphtide.Graph.preview`."""
        return self._portal.call(partial(self._graph.preview, **options))

    def changes(self, **options: Any) -> Iterator[Change | GraphRows]:
        """See `graphtide.Graph.changes`."""
        stream = self._graph.changes(**options)
        try:
            while (change := self._portal.call(_next_of, stream)) is not None:
                yield change
        finally:
            self._portal.call(_close, stream)

    def wait(self, token: str, timeout_s: float = 60.0) -> int:
        """See `graphtide.Graph.wait`."""
        return self._portal.call(self._graph.wait, token, timeout_s)

    def entity(self, entity_id: str, **options: Any) -> EntityStatus:
        """See `graphtide.Graph.entity`."""
        return self._portal.call(partial(self._graph.entity, entity_id, **options))

    def documents(self, **options: Any) -> DocumentPage:
        """See `graphtide.Graph.documents`."""
        return self._portal.call(partial(self._graph.documents, **options))

    def entities(self, **options: Any) -> EntityPage:
        """See `graphtide.Graph.entities`."""
        return self._portal.call(partial(self._graph.entities, **options))

    def group(self, entity_id: str, **options: Any) -> CohesiveGroup:
        """See `graphtide.Graph.group`."""
        return self._portal.call(partial(self._graph.group, entity_id, **options))

    def neighbourhood(self, entity_id: str, **options: Any) -> Neighbourhood:
        """See `graphtide.Graph.neighbourhood`."""
        return self._portal.call(partial(self._graph.neighbourhood, entity_id, **options))

    def communities(self, **options: Any) -> CommunityPage:
        """See `graphtide.Graph.communities`."""
        return self._portal.call(partial(self._graph.communities, **options))

    def community(self, community: int) -> CommunityDetails:
        """See `graphtide.Graph.community`."""
        return self._portal.call(self._graph.community, community)

    def reports(self) -> Sequence[CommunityReport]:
        """See `graphtide.Graph.reports`."""
        return self._portal.call(self._graph.reports)

    def stats(self) -> GraphStats:
        """See `graphtide.Graph.stats`."""
        return self._portal.call(self._graph.stats)

    def digest(self, **options: Any) -> Digest:
        """See `graphtide.Graph.digest`."""
        return self._portal.call(partial(self._graph.digest, **options))

    def verify(self) -> Verification:
        """See `graphtide.Graph.verify`."""
        return self._portal.call(self._graph.verify)

    def rebuild(self) -> Rebuilt:
        """See `graphtide.Graph.rebuild`."""
        return self._portal.call(self._graph.rebuild)


class Database:
    """The graphs of one service; see `graphtide.Database`."""

    def __init__(self, portal: BlockingPortal, database: interface.Database) -> None:
        self._portal = portal
        self._database = database

    def graph(self, name: str, *, read_your_writes: bool = False) -> Graph:
        """See `graphtide.Database.graph`."""
        return Graph(self._portal, self._database.graph(name, read_your_writes=read_your_writes))

    def delete_graph(self, name: str, timeout_s: float = 60.0) -> None:
        """See `graphtide.Database.delete_graph`."""
        self._portal.call(self._database.delete_graph, name, timeout_s)

    def graphs(self) -> Mapping[str, int]:
        """See `graphtide.Database.graphs`."""
        return self._portal.call(self._database.graphs)


@contextmanager
def open_blocking(
    data: str | Path,
    *,
    extractor: Extracting | None = None,
    embedder: Embedding | None = None,
    generator: Answering | None = None,
    reranker: PassageScoring | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Database]:
    """Open the graphs in a data folder until the block ends; see `graphtide.open`."""
    from graphtide.services.sdk.embedded import open_database

    own: dict[str, Any] = {"extractor": extractor, "embedder": embedder, "generator": generator, "reranker": reranker}
    opened = open_database(data, **own, settings=settings)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as database:
        yield Database(portal, database)


@contextmanager
def connect_blocking(
    url: str,
    *,
    api_key: str = "",
    token: TokenSource | None = None,
    verify: Verify = True,
    cert: Certificate | None = None,
    timeout: float = 60.0,
    retries: int = 5,
) -> Iterator[Database]:
    """Connect to the service at `url` until the block ends; see `graphtide.connect`."""
    connected = connect(url, api_key=api_key, token=token, verify=verify, cert=cert, timeout=timeout, retries=retries)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected) as database:
        yield Database(portal, database)


async def _next_of(stream: AsyncIterator[Item]) -> Item | None:
    return await anext(stream, None)


async def _close(stream: AsyncIterator[object]) -> None:
    if isinstance(stream, AsyncGenerator):
        await stream.aclose()
