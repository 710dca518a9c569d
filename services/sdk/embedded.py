"""The database of this process: the embedded service behind the Python interface, without a network.

The invariant: a document that `add` has returned for is durable, exactly as one that HTTP answered 202 for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.infra.settings import SettingsError, load_settings
from graphtide.services.api.schema.envelope import document_id, graph_name, related_count
from graphtide.services.api.schema.errors import MalformedRequest, TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests import browsing as requests
from graphtide.services.api.schema.requests.documents import document_of
from graphtide.services.api.schema.requests.preview import read_preview
from graphtide.services.application import (
    Answer,
    AnswerChunk,
    Application,
    CommunityReport,
    Digest,
    DocumentStatus,
    EntityStatus,
    FeedItem,
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
from graphtide.services.sdk.bulk import (
    BATCH_CHARS,
    BATCH_DOCUMENTS,
    given_fields,
    merge_tokens,
    numbered,
    plain_json,
    rejection,
    report,
)
from graphtide.services.sdk.callables import Answering, Embedding, Extracting, PassageScoring, own_models
from graphtide.services.sdk.calls.arguments import checked
from graphtide.services.sdk.calls.open_calls import OpenCalls, calls_of_database
from graphtide.services.sdk.interface import BulkReceipt, Document, Documents, Graph, Progress
from graphtide.services.sdk.previews import preview_request
from graphtide.services.sdk.questions import query_request
from graphtide.services.sdk.read_your_writes import ReadYourWrites
from graphtide.services.sdk.standing import EmbeddedQuestions
from graphtide.streams.errors import Broken, DeadlineExceeded, Invalid, Overloaded
from graphtide.streams.messages import DocumentMessage


@checked
@asynccontextmanager
async def open_database(
    data: str | Path,
    *,
    extractor: Extracting | None = None,
    embedder: Embedding | None = None,
    generator: Answering | None = None,
    reranker: PassageScoring | None = None,
    settings: Mapping[str, object] | None = None,
) -> AsyncIterator[EmbeddedDatabase]:
    """Open the graphs in a data folder, which is made if it is not there, until the block ends.

    One process holds a data folder at a time. `settings` are those of docs/settings.md by name; they win over the
    environment and over `graphtide.toml`. For `extractor`, `embedder`, `generator` and `reranker` see `callables.py`; a
    data folder keeps the embedder that it was begun with. Leaving the block ends calls of other tasks with Broken.
    The process gets at most two heaps of malloc from then on, unless its environment has MALLOC_ARENA_MAX.

    Raises Broken when the folder is in use, damaged or of another embedder, and for settings that do not go together,
    Invalid for arguments of a wrong type.
    """
    from graphtide.services.process.interpreter import limit_heaps
    from graphtide.services.wiring import open_application

    limit_heaps()
    try:
        chosen = load_settings({**(settings or {}), "data": Path(data)}, origin="the argument settings of open()")
    except SettingsError as error:
        raise Broken(str(error)) from error
    if chosen.kafka or chosen.bolt:
        raise Broken("the settings name a cluster (kafka, bolt), and open() is for this process alone: unset them")
    own = own_models(extractor, embedder, generator, reranker)
    async with open_application(chosen, own=own) as application:
        calls = OpenCalls()
        try:
            yield EmbeddedDatabase(application, RequestLimits.of(chosen), calls)
        finally:
            calls.close()


@calls_of_database
class EmbeddedDatabase:
    """See `graphtide.services.sdk.interface.Database`."""

    def __init__(self, application: Application, limits: RequestLimits, calls: OpenCalls | None = None) -> None:
        self._application = application
        self._limits = limits
        self._calls = calls or OpenCalls()

    def graph(self, name: str, *, read_your_writes: bool = False) -> Graph:
        """See Database.graph."""
        graph = EmbeddedGraph(graph_name(name), self._application, self._limits, self._calls)
        return ReadYourWrites(graph) if read_your_writes else graph

    async def delete_graph(self, name: str, timeout_s: float = 60.0) -> None:
        """See Database.delete_graph."""
        found = await self._application.delete_graph(graph_name(name), timeout_s)
        if not found.deleted:
            raise DeadlineExceeded(f"graph {name!r} was not deleted within {timeout_s:g} s; the deletion continues")

    async def graphs(self) -> Mapping[str, int]:
        """See Database.graphs."""
        return await self._application.graphs()


@calls_of_database
class EmbeddedGraph:
    """See `graphtide.services.sdk.interface.Graph`."""

    def __init__(self, name: str, application: Application, limits: RequestLimits, calls: OpenCalls) -> None:
        self._name = name
        self._application = application
        self._limits = limits
        self._calls = calls

    @property
    def name(self) -> str:
        return self._name

    @property
    def questions(self) -> EmbeddedQuestions:
        """See Graph.questions."""
        return EmbeddedQuestions(self._name, self._application, self._limits, self._calls)

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
        """See Graph.add."""
        document = {
            "id": doc_id,
            "text": text,
            "title": title,
            "source": source,
            "occurred_at": occurred_at,
            "metadata": plain_json(metadata),
            "entities": plain_json(entities),
            "facts": plain_json(facts),
            "media_type": media_type,
        }
        return await self._application.publish([self._message(document)])

    async def add_many(self, documents: Documents, *, on_progress: Progress | None = None) -> BulkReceipt:
        """See Graph.add_many."""
        load = _BulkLoad(self._application)
        async for index, document in numbered(documents):
            try:
                load.take(self._message(document))
            except (Invalid, MalformedRequest, TooLarge) as error:
                load.reject(index, document, error)
            if load.is_full:
                await load.publish()
                report(on_progress, load.receipt)
        await load.publish()
        report(on_progress, load.receipt)
        return load.receipt

    def _message(self, document: Document) -> DocumentMessage:
        return document_of(self._name, given_fields(document), self._limits)

    async def delete(self, doc_id: str) -> Receipt:
        """See Graph.delete."""
        return await self._application.delete(self._name, document_id(doc_id))

    async def document(self, doc_id: str) -> DocumentStatus:
        """See Graph.document."""
        return await self._application.document(self._name, document_id(doc_id))

    async def related(self, doc_id: str, limit: int = 10) -> RelatedDocuments:
        """See Graph.related."""
        return await self._application.related(self._name, document_id(doc_id), related_count(str(limit)))

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
        """See Graph.ask."""
        arguments = {"question": question, "mode": mode, "top_k": top_k, "after": after, "level": level}
        arguments |= {"generate": generate, "explain": explain, "exact": exact, "at": at, "options": options}
        request = query_request(arguments, filters, as_of, timeout_s, self._limits)
        return await self._application.query(self._name, request)

    async def ask_stream(
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
        """See Graph.ask_stream."""
        arguments = {"question": question, "mode": mode, "top_k": top_k, "after": after, "level": level}
        arguments |= {"explain": explain, "exact": exact, "at": at, "options": options}
        request = query_request(arguments, filters, as_of, timeout_s, self._limits)
        async for piece in self._application.stream(self._name, request):
            yield piece

    async def preview(
        self,
        *,
        publish: Sequence[Document] = (),
        delete: Sequence[str] = (),
        questions: Sequence[Mapping[str, Any]] = (),
    ) -> Preview:
        """See Graph.preview."""
        raw = preview_request(publish, delete, questions)
        asked = await asyncio.to_thread(read_preview, self._name, raw, self._limits)
        return await self._application.preview(self._name, asked)

    async def changes(
        self,
        *,
        after: str = "",
        entity: str = "",
        type: str = "",  # noqa: A002 - the name of the field
        prefix: str = "",
        rows: bool = False,
        follow: bool = True,
    ) -> AsyncIterator[Change | GraphRows]:
        """See Graph.changes."""
        detail, ends = "rows" if rows else "", "" if follow else "false"
        given = _given(entity=entity, type=type, prefix=prefix, detail=detail, follow=ends)
        items = self._application.changes(self._name, requests.change_query(given, after))
        async with aclosing(cast("AsyncGenerator[FeedItem, None]", items)) as found:
            async for item in found:
                if isinstance(item, Change | GraphRows):
                    yield item

    async def wait(self, token: str, timeout_s: float = 60.0) -> int:
        """See Graph.wait."""
        if not token:
            return (await self._application.stats(self._name)).version
        try:
            state = await self._application.token_state(self._name, token, timeout_s)
        except Invalid as error:
            raise Invalid("after" if error.field == "token" else error.field, error.message) from error
        if not state.reached:
            raise DeadlineExceeded(f"the graph did not include token {token[:80]} within {timeout_s:g} s")
        return state.version

    async def entity(self, entity_id: str, *, at: str = "") -> EntityStatus:
        """See Graph.entity."""
        return await self._application.entity(self._name, entity_id, requests.past_version(at or None))

    async def documents(
        self, *, prefix: str = "", state: str = "", source: str = "", limit: int = 100, cursor: str = ""
    ) -> DocumentPage:
        """See Graph.documents."""
        query = requests.document_query(_given(prefix=prefix, state=state, source=source, limit=limit, cursor=cursor))
        return await self._application.list_documents(self._name, query)

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
        """See Graph.entities."""
        query = requests.entity_query(_given(q=q, type=type, sort=sort, limit=limit, cursor=cursor, at=at))
        return await self._application.list_entities(self._name, query)

    async def neighbourhood(self, entity_id: str, *, hops: int = 1, limit: int = 200) -> Neighbourhood:
        """See Graph.neighbourhood."""
        size = requests.neighbourhood_size(_given(hops=hops, limit=limit))
        return await self._application.neighbourhood(self._name, entity_id, *size)

    async def group(self, entity_id: str, *, k: int | None = None, limit: int = 200) -> CohesiveGroup:
        """See Graph.group."""
        size = requests.group_size(_given(k=k, limit=limit))
        return await self._application.group(self._name, entity_id, *size)

    async def communities(self, *, level: int = 0, limit: int = 100, cursor: str = "") -> CommunityPage:
        """See Graph.communities."""
        page = requests.community_page(_given(level=level, limit=limit, cursor=cursor))
        return await self._application.list_communities(self._name, *page)

    async def community(self, community: int) -> CommunityDetails:
        """See Graph.community."""
        if community < 0:
            raise Invalid("community", f"'{community}' is not the number of a community")
        return await self._application.community(self._name, community)

    async def reports(self) -> Sequence[CommunityReport]:
        """See Graph.reports."""
        return await self._application.reports(self._name)

    async def stats(self) -> GraphStats:
        """See Graph.stats."""
        return await self._application.stats(self._name)

    async def digest(self, *, at: str = "") -> Digest:
        """See Graph.digest."""
        return await self._application.digest(self._name, requests.past_version(at or None))

    async def verify(self) -> Verification:
        """See Graph.verify."""
        return await self._application.verify(self._name)

    async def rebuild(self) -> Rebuilt:
        """See Graph.rebuild."""
        return await self._application.rebuild(self._name)


class _BulkLoad:
    """The batch under construction, and the receipt of the batches before it."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._batch: list[DocumentMessage] = []
        self._chars = 0
        self.receipt = BulkReceipt("", 0)

    @property
    def is_full(self) -> bool:
        return len(self._batch) >= BATCH_DOCUMENTS or self._chars >= BATCH_CHARS

    def take(self, message: DocumentMessage) -> None:
        self._batch.append(message)
        self._chars += len(message.text)

    def reject(self, index: int, document: object, error: Exception) -> None:
        self.receipt = replace(self.receipt, rejected=(*self.receipt.rejected, rejection(index, document, error)))

    async def publish(self) -> None:
        """Publish the batch; while the service is overloaded, wait as long as it asks for and try again."""
        if not self._batch:
            return
        while True:
            try:
                made = await self._application.publish(self._batch)
                break
            except Overloaded as error:
                await asyncio.sleep(error.retry_after_s)
        merged = merge_tokens(self.receipt.token, made.token)
        self.receipt = replace(self.receipt, token=merged, accepted=self.receipt.accepted + made.accepted)
        self._batch, self._chars = [], 0


def _given(**parameters: str | int | None) -> dict[str, str]:
    """Return the parameters as HTTP sends them; an empty text is a parameter that is not sent."""
    return {name: str(value) for name, value in parameters.items() if value not in ("", None)}
