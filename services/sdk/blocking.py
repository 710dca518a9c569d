"""The blocking twins: the same interface for programs without an event loop.

An event loop runs in a thread of its own for as long as a database is open; every call waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from graphtide.services.sdk import interface
from graphtide.services.sdk.calls.blocking_calls import BlockingCalls, blocking, blocking_stream
from graphtide.services.sdk.remote.connection import Certificate, TokenSource, Verify
from graphtide.services.sdk.remote.database import connect
from graphtide.services.sdk.standing import BlockingQuestions

if TYPE_CHECKING:
    from graphtide.services.sdk.callables import Answering, Embedding, Extracting, PassageScoring


class Graph:
    """A graph. Every method is that of `graphtide.Graph` with the same parameters, and blocks until it is done."""

    def __init__(self, calls: BlockingCalls, graph: interface.Graph) -> None:
        self._calls = calls
        self._twin = graph

    @property
    def name(self) -> str:
        return self._twin.name

    @property
    def questions(self) -> BlockingQuestions:
        """See `graphtide.Graph.questions`."""
        return BlockingQuestions(self._calls, lambda: self._twin.questions)

    add = blocking(interface.Graph.add)
    add_many = blocking(interface.Graph.add_many)
    delete = blocking(interface.Graph.delete)
    document = blocking(interface.Graph.document)
    related = blocking(interface.Graph.related)
    ask = blocking(interface.Graph.ask)
    ask_stream = blocking_stream(interface.Graph.ask_stream)
    preview = blocking(interface.Graph.preview)
    changes = blocking_stream(interface.Graph.changes)
    wait = blocking(interface.Graph.wait)
    entity = blocking(interface.Graph.entity)
    documents = blocking(interface.Graph.documents)
    entities = blocking(interface.Graph.entities)
    neighbourhood = blocking(interface.Graph.neighbourhood)
    group = blocking(interface.Graph.group)
    communities = blocking(interface.Graph.communities)
    community = blocking(interface.Graph.community)
    reports = blocking(interface.Graph.reports)
    stats = blocking(interface.Graph.stats)
    digest = blocking(interface.Graph.digest)
    verify = blocking(interface.Graph.verify)
    rebuild = blocking(interface.Graph.rebuild)


class Database:
    """The graphs of one service; see `graphtide.Database`."""

    def __init__(self, calls: BlockingCalls, database: interface.Database) -> None:
        self._calls = calls
        self._twin = database

    def graph(self, name: str, *, read_your_writes: bool = False) -> Graph:
        """See `graphtide.Database.graph`."""
        return Graph(self._calls, self._twin.graph(name, read_your_writes=read_your_writes))

    delete_graph = blocking(interface.Database.delete_graph)
    graphs = blocking(interface.Database.graphs)


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
    with _blocking(opened) as database:
        yield database


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
    with _blocking(connected) as database:
        yield database


@contextmanager
def _blocking(opened: AbstractAsyncContextManager[interface.Database]) -> Iterator[Database]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as database:
        calls = BlockingCalls(portal)
        try:
            yield Database(calls, database)
        finally:
            calls.close()
