"""The application of a process without graphs: it forwards every call to a query replica over gRPC.

It validates nothing: the server of this process has validated the requests, and the replica validates them again on
behalf of the same caller. The invariants: an error has the class that the replica raised; a document is accepted when a
replica has accepted it, and a batch in one step.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from graphtide.infra.settings import Settings
from graphtide.services.access.credentials import forwarded_metadata
from graphtide.services.api.grpc.conversion import question_message
from graphtide.services.api.grpc.decoding import answer_of, value_of
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.application import (
    Answer,
    AnswerChunk,
    ChangeQuery,
    CommunityReport,
    DeletedGraph,
    Digest,
    DocumentStatus,
    EntityStatus,
    FeedItem,
    FeedOpened,
    GraphRows,
    GraphStats,
    Health,
    LetterList,
    LetterQuery,
    LetterStatus,
    Preview,
    PreviewRequest,
    Purged,
    QueryRequest,
    Rebuilt,
    Receipt,
    RelatedDocuments,
    Verification,
)
from graphtide.services.changes.messages import feed_item, query_message
from graphtide.services.cluster.calls import call, error_raised, open_stream, within
from graphtide.services.cluster.channel import query_channel
from graphtide.services.cluster.graph_routing import SERVICE
from graphtide.services.cluster.remote_browser import RemoteBrowser
from graphtide.services.cluster.remote_questions import RemoteStandingQuestions
from graphtide.services.health import Dependency, with_dependencies
from graphtide.services.preview.messages import preview_body, preview_of
from graphtide.streams.changes.changed_document import change_token
from graphtide.streams.errors import GraphtideError, Retryable
from graphtide.streams.messages import DocumentMessage

T = TypeVar("T")
TIMEOUT_S = 60.0
LONG_S = 3600.0
"""Timeout of calls whose cost grows with the graph: verify, rebuild and purge."""
HEALTH_S = 1.5
"""Timeout of a health check; shorter than the timeout of the probes of this process."""
MAX_DETAIL_CHARS = 300
RESUMED_TIMES = 30
RESUME_S = 1.0
"""Attempts to continue a feed at another replica, and the wait before each."""
MARGIN_S = 2.0
"""Allowance for the network: the replica enforces the deadline of a stream at every piece."""


class RemoteApplication(RemoteBrowser, RemoteStandingQuestions):
    """Implementation of `graphtide.services.application.Application` that forwards to query replicas."""

    def __init__(self, channel: Callable[[], grpc.aio.Channel]) -> None:
        self._newest = channel
        self._use(channel())

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[RemoteApplication]:
        """Open the application at the address in the settings until the block ends. Makes no call."""
        async with query_channel(settings) as found:
            yield cls(found.channel)

    @property
    def _stub(self) -> GraphtideStub:
        channel = self._newest()
        if channel is not self._channel:
            self._use(channel)
        return self._calls

    def _use(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._calls = GraphtideStub(channel)

    # -- documents -----------------------------------------------------------------------------------------------------

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        records = (pb.DocumentRecord(graph=each.graph, id=each.doc_id, document=each.encode()) for each in documents)
        receipt = await call(self._stub.PublishAll, records)
        return Receipt(receipt.token, len(documents))

    async def delete(self, graph: str, doc_id: str) -> Receipt:
        receipt = await call(self._stub.Delete, pb.DocumentRef(graph=graph, id=doc_id))
        return Receipt(receipt.token, 1)

    async def document(self, graph: str, doc_id: str) -> DocumentStatus:
        return value_of(DocumentStatus, await call(self._stub.GetDocument, pb.DocumentRef(graph=graph, id=doc_id)))

    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        request = pb.RelatedRequest(graph=graph, id=doc_id, count=count)
        return value_of(RelatedDocuments, await call(self._stub.RelatedDocuments, request))

    async def preview(self, graph: str, request: PreviewRequest) -> Preview:
        asked = pb.PreviewRequest(graph=graph, body=preview_body(request))
        return preview_of(await call(self._stub.Preview, asked))

    # -- questions -----------------------------------------------------------------------------------------------------

    async def query(self, graph: str, ask: QueryRequest) -> Answer:
        answer = await call(self._stub.Query, question_message(graph, ask), ask.timeout_s)
        return answer_of(answer, ask.explain)

    async def stream(self, graph: str, ask: QueryRequest) -> AsyncIterator[Answer | AnswerChunk]:
        timeout_s = ask.timeout_s + MARGIN_S
        call, event = await open_stream(self._stub.QueryStream, question_message(graph, ask), timeout_s)
        try:
            while event is not grpc.aio.EOF:
                kind = event.WhichOneof("event")
                yield AnswerChunk(event.token) if kind == "token" else answer_of(getattr(event, kind), ask.explain)
                event = await within(call.read(), timeout_s)
        except grpc.aio.AioRpcError as error:
            raise error_raised(error) from error
        finally:
            call.cancel()

    async def changes(self, graph: str, query: ChangeQuery) -> AsyncIterator[FeedItem]:
        """Follow the feed of a replica; when it ends, continue at another one after the last item."""
        opened, failures = False, 0
        while True:
            call = None
            try:
                call, event = await open_stream(self._stub.FollowChanges, query_message(graph, query), None)
                while event is not grpc.aio.EOF:
                    item, failures = feed_item(event), 0
                    if not isinstance(item, FeedOpened) or not opened:
                        yield item
                    opened = True
                    if (after := _resumed_after(query, item)) is not None:
                        query = replace(query, after=after)
                    event = await call.read()
                return
            except (grpc.aio.AioRpcError, GraphtideError) as error:
                raised = error_raised(error) if isinstance(error, grpc.aio.AioRpcError) else error
                failures += 1
                if not isinstance(raised, Retryable) or not opened or failures > RESUMED_TIMES or not query.after:
                    raise raised from error
                await asyncio.sleep(raised.retry_after_s or RESUME_S)
            finally:
                if call is not None:
                    call.cancel()

    # -- the graph as a whole ------------------------------------------------------------------------------------------

    async def graphs(self) -> Mapping[str, int]:
        return {graph: summary.version for graph, summary in (await self.graph_summaries()).items()}

    async def stats(self, graph: str) -> GraphStats:
        return value_of(GraphStats, await call(self._stub.Stats, pb.GraphRef(graph=graph)))

    async def entity(self, graph: str, entity_id: str, at: str = "") -> EntityStatus:
        request = pb.EntityRef(graph=graph, id=entity_id, at=at)
        return value_of(EntityStatus, await call(self._stub.GetEntity, request))

    async def reports(self, graph: str) -> Sequence[CommunityReport]:
        listed = await call(self._stub.Reports, pb.GraphRef(graph=graph))
        return [value_of(CommunityReport, report) for report in listed.reports]

    async def digest(self, graph: str, at: str = "") -> Digest:
        return value_of(Digest, await call(self._stub.Digest, pb.DigestRequest(graph=graph, at=at)))

    async def verify(self, graph: str) -> Verification:
        return value_of(Verification, await call(self._stub.Verify, pb.GraphRef(graph=graph), LONG_S))

    async def rebuild(self, graph: str) -> Rebuilt:
        return value_of(Rebuilt, await call(self._stub.Rebuild, pb.GraphRef(graph=graph), LONG_S))

    async def delete_graph(self, graph: str, wait_s: float) -> DeletedGraph:
        request = pb.DeleteGraphRequest(graph=graph, wait_s=wait_s)
        return value_of(DeletedGraph, await call(self._stub.DeleteGraph, request, wait_s + TIMEOUT_S))

    async def purge(self) -> Purged:
        return value_of(Purged, await call(self._stub.Purge, pb.PurgeRequest(), LONG_S))

    # -- dead letters --------------------------------------------------------------------------------------------------

    async def dead_letters(self, graph: str, query: LetterQuery) -> LetterList:
        asked = pb.DeadLetterQuery(graph=graph, after=query.after, limit=query.limit, resolved=query.resolved)
        return value_of(LetterList, await call(self._stub.ListDeadLetters, asked))

    async def dead_letter(self, graph: str, letter_id: str) -> LetterStatus:
        ref = pb.DeadLetterRef(graph=graph, id=letter_id)
        return value_of(LetterStatus, await call(self._stub.GetDeadLetter, ref))

    async def retry_letter(self, graph: str, letter_id: str, correction: DocumentMessage | None = None) -> Receipt:
        document = _body(correction) if correction else None
        asked = pb.RetryRequest(graph=graph, id=letter_id, document=document)
        return Receipt((await call(self._stub.RetryDeadLetter, asked)).token, 1)

    async def discard_letter(self, graph: str, letter_id: str) -> LetterStatus:
        ref = pb.DeadLetterRef(graph=graph, id=letter_id)
        # DropDeadLetter: the name that replicas of the previous release know, too
        return value_of(LetterStatus, await call(self._stub.DropDeadLetter, ref))

    async def health(self) -> Health:
        """Return the health: ready when a query replica is."""
        return await with_dependencies(Health(True, {}), [Dependency("query", self._trouble)])

    async def _trouble(self) -> str:
        asked = health_pb2.HealthCheckRequest(service=SERVICE)
        try:
            health = health_pb2_grpc.HealthStub(self._newest())
            response = await health.Check(asked, timeout=HEALTH_S, metadata=forwarded_metadata())
        except grpc.aio.AioRpcError as error:
            details = " ".join((error.details() or "").split())[:MAX_DETAIL_CHARS]
            return f"no replica answers ({error.code().name}{': ' if details else ''}{details})"
        ready = response.status == health_pb2.HealthCheckResponse.SERVING
        return "" if ready else "the query replica is not ready"


def _resumed_after(query: ChangeQuery, item: FeedItem) -> str | None:
    """Return the token after which a feed continues once it has sent this item; None within a snapshot."""
    if isinstance(item, FeedOpened):
        return None if query.rows and not query.after else change_token(item.version)
    return item.token if not isinstance(item, GraphRows) or item.part == item.parts else None


def _body(document: DocumentMessage) -> bytes:
    """Return the document as the body of a PUT: its record without the schema version."""
    record = json.loads(document.encode())
    del record["schema"]
    return json.dumps(record).encode()
