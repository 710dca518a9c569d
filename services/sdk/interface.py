"""The interface that `graphtide.open` and every other way to reach a service share, and the values of bulk publishing.

A `Database` names graphs; a `Graph` publishes to one, asks it and inspects it. Nothing here says where the graph is
kept: the embedded implementation is `embedded.py`, the one over HTTP `remote/graph.py`, the blocking one `blocking.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.services.application import (
    Answer,
    AnswerChunk,
    CommunityReport,
    Digest,
    DocumentStatus,
    EntityStatus,
    Filters,
    GraphStats,
    Preview,
    Rebuilt,
    Receipt,
    RelatedDocuments,
    Verification,
)
from graphtide.services.browsing import CommunityDetails, CommunityPage, DocumentPage, EntityPage
from graphtide.services.changes.types import Change, GraphRows
from graphtide.services.standing.types import QuestionPage, StandingEvent, StandingQuestion

Document: TypeAlias = Mapping[str, Any]
"""A document as a mapping: `id` and `text`, optionally title, source, occurred_at, metadata, media_type, entities
and facts."""

Documents: TypeAlias = Iterable[Document] | AsyncIterable[Document]


@dataclass(frozen=True, slots=True)
class RejectedDocument:
    """A document of a bulk load that was not accepted.

    `index` counts from 0 in the order of the load, `id` is the document's id as far as it could be read, `field` names
    what is wrong and `message` says why.
    """

    index: int
    id: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class BulkReceipt:
    """The outcome of a bulk load. `token` covers every accepted document; it is empty when none was accepted."""

    token: str
    accepted: int
    rejected: tuple[RejectedDocument, ...] = ()


Progress: TypeAlias = Callable[[BulkReceipt], object]
"""Called after every batch of a bulk load with the receipt so far."""


class Questions(Protocol):
    """The standing questions of one graph: evaluated exactly at every version, with an event for every change."""

    async def put(
        self,
        id: str,  # noqa: A002 - the name of the field
        question: str,
        *,
        mode: str = "local",
        top_k: int = 5,
        filters: Filters | None = None,
        as_of: str = "",
        answer: bool = False,
        options: Mapping[str, object] | None = None,
    ) -> StandingQuestion:
        """Register a question, or replace it, and return it with its evidence. `answer`: write one at every event.

        Raises NotFound for a graph without a document, Invalid for a mode other than vector, local, passages, bridge.
        """
        ...

    async def get(self, id: str) -> StandingQuestion:  # noqa: A002 - the name of the field
        """Return a question with its current evidence. Raises NotFound."""
        ...

    async def delete(self, id: str) -> None:  # noqa: A002 - the name of the field
        """Delete a question with its events. Raises NotFound."""
        ...

    async def list(self, *, limit: int = 100, cursor: str = "") -> QuestionPage:
        """Return a page of questions by id; `cursor` is the `next` of the page before."""
        ...

    def watch(self, id: str, *, after: str | int = "") -> AsyncIterator[StandingEvent]:  # noqa: A002
        """Yield the changes of a question's evidence, each once and in order, until the question is deleted.

        `after` is the `seq` or the `token` of the last event that is known; without it all retained events are yielded.
        Raises NotFound, and Expired when the events after it are no longer retained.
        """
        ...


class Graph(Protocol):
    """One graph of a database. It comes into being with its first document.

    Errors: `NotFound` for an unknown graph, document or entity, `Invalid` for a wrong field, `Overloaded` and
    `DeadlineExceeded` when the service cannot answer in time, `Retryable` when a model endpoint is unreachable.
    """

    @property
    def name(self) -> str: ...

    @property
    def questions(self) -> Questions:
        """Return the standing questions of the graph."""
        ...

    async def add(
        self,
        doc_id: str,
        text: str,
        *,
        title: str = "",
        source: str = "",
        occurred_at: str = "",
        metadata: Mapping[str, Any] | None = None,
        entities: Sequence[Mapping[str, Any]] | None = None,
        facts: Sequence[Mapping[str, Any]] | None = None,
        media_type: str = "",
    ) -> Receipt:
        """Publish a document, or a new revision of it. Returns once the revision would survive a crash.

        `media_type` is text/markdown, text/plain or text/csv; without one Markdown is recognised. `occurred_at` is an
        ISO 8601 date. With `entities` or `facts`, even empty ones, no extractor runs for it.
        """
        ...

    async def add_many(self, documents: Documents, *, on_progress: Progress | None = None) -> BulkReceipt:
        """Publish documents in batches, each batch all or none; wrong documents are listed and the rest accepted.

        Waits while the service is overloaded, so a producer of any length is slowed to what the service takes.
        """
        ...

    async def delete(self, doc_id: str) -> Receipt:
        """Delete a document and everything that it alone supported. Raises NotFound."""
        ...

    async def document(self, doc_id: str) -> DocumentStatus:
        """Return the newest revision of a document: its state, its text and its facts. Raises NotFound."""
        ...

    async def related(self, doc_id: str, limit: int = 10) -> RelatedDocuments:
        """Return the documents most related to one that is live, best first. Raises NotFound."""
        ...

    async def ask(
        self,
        question: str,
        *,
        mode: str = "local",
        top_k: int = 5,
        after: str = "",
        filters: Filters | None = None,
        as_of: str = "",
        level: int | None = None,
        generate: bool = True,
        explain: bool = False,
        exact: bool = False,
        at: str = "",
        options: Mapping[str, object] | None = None,
        timeout_s: float = 30.0,
    ) -> Answer:
        """Answer a question from the live graph, with citations.

        `after` is a token of `add`, `add_many` or `delete`: the answer waits, at most `timeout_s` seconds, until the
        graph includes it. `as_of` is an ISO 8601 date: only what was valid then counts. Without `generate` the answer
        holds the context alone. An `exact` question searches every vector instead of the approximate indexes.
        `at` asks an earlier version of the graph: its number, the token of a change, or a token of publishing.
        `options` are those of the mode by name (docs/options.md). Raises Invalid for an option that it does not have.
        """
        ...

    def ask_stream(
        self,
        question: str,
        *,
        mode: str = "local",
        top_k: int = 5,
        after: str = "",
        filters: Filters | None = None,
        as_of: str = "",
        level: int | None = None,
        explain: bool = False,
        exact: bool = False,
        at: str = "",
        options: Mapping[str, object] | None = None,
        timeout_s: float = 30.0,
    ) -> AsyncIterator[Answer | AnswerChunk]:
        """Stream an answer: an `Answer` with the context and no text, then `AnswerChunk`s, last the whole `Answer`."""
        ...

    async def preview(
        self,
        *,
        publish: Sequence[Document] = (),
        delete: Sequence[str] = (),
        questions: Sequence[Mapping[str, Any]] = (),
    ) -> Preview:
        """Return the change that documents to publish or delete would cause, and the evidence of questions before and
        after it: {"question", "mode"?, "top_k"?, "filters"?, "options"?} each. Nothing is written. Raises Invalid,
        NotFound.
        """
        ...

    def changes(
        self,
        *,
        after: str = "",
        entity: str = "",
        type: str = "",  # noqa: A002 - the name of the field
        prefix: str = "",
        rows: bool = False,
        follow: bool = True,
    ) -> AsyncIterator[Change | GraphRows]:
        """Yield the commits of the graph after a token, in order and without end; without one, those from now on.

        `entity` (an id or a name), `type` (of an entity) and `prefix` (of documents' ids) select changes. With `rows`
        every change has the rows that it changed, and without `after` all rows come first (`GraphReplica`). Without
        `follow` the iterator ends at the present version. Raises Expired when a commit is no longer retained.
        """
        ...

    async def wait(self, token: str, timeout_s: float = 60.0) -> int:
        """Wait until the graph includes a token; returns the graph's version. Raises DeadlineExceeded."""
        ...

    async def entity(self, entity_id: str, *, at: str = "") -> EntityStatus:
        """Return an entity with its labels, merges, relations and communities. Raises NotFound."""
        ...

    async def documents(
        self, *, prefix: str = "", state: str = "", source: str = "", limit: int = 100, cursor: str = ""
    ) -> DocumentPage:
        """Return a page of documents by id; `cursor` is the `next` of the page before.

        `state` is that of the newest revision; without it, deleted documents are left out. A document that exists
        during the whole listing is listed exactly once.
        """
        ...

    async def entities(
        self,
        *,
        q: str = "",
        type: str = "",  # noqa: A002 - the name of the field
        sort: str = "mentions",
        limit: int = 100,
        cursor: str = "",
        at: str = "",
    ) -> EntityPage:
        """Return a page of entities by `mentions`, `degree` or `name`, in the order of the first page.

        `q` is a part of the name or a label. Raises Expired for a listing that is too old to continue.
        """
        ...

    async def neighbourhood(self, entity_id: str, *, hops: int = 1, limit: int = 200) -> Neighbourhood:
        """Return at most `limit` entities within `hops` (1 to 3) of one, with the edges between them.

        Raises NotFound.
        """
        ...

    async def group(self, entity_id: str, *, k: int | None = None, limit: int = 200) -> CohesiveGroup:
        """Return the cohesive group around an entity: the connected k-truss that holds it, by default of the largest k.

        Raises NotFound.
        """
        ...

    async def communities(self, *, level: int = 0, limit: int = 100, cursor: str = "") -> CommunityPage:
        """Return a page of the communities of a level, 0 the finest."""
        ...

    async def community(self, community: int) -> CommunityDetails:
        """Return a community with its sub-communities, members and report. Raises NotFound."""
        ...

    async def reports(self) -> Sequence[CommunityReport]:
        """Return the community reports that hold now, the coarsest communities first."""
        ...

    async def stats(self) -> GraphStats:
        """Return counts, version, lag and freshness."""
        ...

    async def digest(self, *, at: str = "") -> Digest:
        """Return the canonical digest of the graph at its version. Cost: what changed since the last call."""
        ...

    async def verify(self) -> Verification:
        """Recount everything that is stored from the documents and compare. Cost: linear in the graph."""
        ...

    async def rebuild(self) -> Rebuilt:
        """Build the graph anew from its live extractions and switch to it in one step. Cost: linear in the graph."""
        ...


class Database(Protocol):
    """The graphs of one service."""

    def graph(self, name: str, *, read_your_writes: bool = False) -> Graph:
        """Return a handle to a graph, which need not exist yet. Raises Invalid for a name that no graph may have.

        With `read_your_writes`, every read through the handle waits for the writes that were made through it.
        """
        ...

    async def delete_graph(self, name: str, timeout_s: float = 60.0) -> None:
        """Delete a graph with all its documents, and wait until nothing of it is left. The name may be used again.

        Raises NotFound, and DeadlineExceeded after `timeout_s`: the deletion continues then.
        """
        ...

    async def graphs(self) -> Mapping[str, int]:
        """Return the graphs that exist, with their versions."""
        ...
