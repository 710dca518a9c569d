"""The calls of graphtide.proto, each one a translation to and from the application port.

`calls.py` reports errors to the caller.

The invariant: a failed call has changed nothing, except for whole earlier batches of `PublishStream`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import cast

from grpc.aio import ServicerContext

from graphtide.services.access.credentials import CALLER
from graphtide.services.access.policy import visible
from graphtide.services.api.grpc.batching import PublishBatches, Whole
from graphtide.services.api.grpc.conversion import message_of, parameters, request_value
from graphtide.services.api.grpc.large_messages.aside import LARGE_ITEMS, read_aside, write_aside
from graphtide.services.api.grpc.standing.questions import QuestionCalls
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.envelope import RELATED, document_id, graph_name, letters_graph, related_count
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests import browsing as requests
from graphtide.services.api.schema.requests.corrections import correction_of
from graphtide.services.api.schema.requests.documents import document_of
from graphtide.services.api.schema.requests.preview import read_preview
from graphtide.services.api.schema.requests.questions import question_of
from graphtide.services.api.schema.shapes import answer_json, fields_json, reports_json
from graphtide.services.application import Answer, AnswerChunk, Application, FeedItem, LetterQuery, QueryRequest
from graphtide.services.changes.messages import change_event
from graphtide.services.changes.types import size_of
from graphtide.services.inspection.graph_pages import graphs_page
from graphtide.services.preview.messages import preview_message

TOKEN_MARGIN_S = 0.5
"""A wait for a token ends so long before the caller's deadline, so that the caller receives the state."""


class Servicer(QuestionCalls):
    """The service over `application`. Method names are those of the protocol."""

    def __init__(self, application: Application, limits: RequestLimits) -> None:
        self._application = application
        self._limits = limits

    async def Publish(self, request: pb.PublishRequest, context: ServicerContext) -> pb.Receipt:  # noqa: N802
        graph = graph_name(request.graph)
        read = lambda: document_of(graph, request_value(request), self._limits)  # noqa: E731
        receipt = await self._application.publish([await read_aside(read, request.ByteSize())])
        return pb.Receipt(token=receipt.token)

    async def PublishStream(  # noqa: N802
        self, requests: AsyncIterator[pb.PublishRequest], context: ServicerContext
    ) -> pb.PublishSummary:
        batches = PublishBatches(self._application, self._limits)
        async for request in requests:
            await batches.add(request)
        await batches.finish()
        return batches.summary()

    async def PublishAll(  # noqa: N802
        self, requests: AsyncIterator[pb.DocumentRecord], context: ServicerContext
    ) -> pb.Receipt:
        whole = Whole(self._limits)
        async for request in requests:
            await read_aside(partial(whole.add, request), request.ByteSize())
        receipt = await self._application.publish(whole.documents())
        return pb.Receipt(token=receipt.token)

    async def Delete(self, request: pb.DocumentRef, context: ServicerContext) -> pb.Receipt:  # noqa: N802
        receipt = await self._application.delete(graph_name(request.graph), document_id(request.id))
        return pb.Receipt(token=receipt.token)

    async def GetDocument(self, request: pb.DocumentRef, context: ServicerContext) -> pb.DocumentStatus:  # noqa: N802
        status = await self._application.document(graph_name(request.graph), document_id(request.id))
        return await write_aside(lambda: message_of(pb.DocumentStatus, fields_json(status)), len(status.facts))

    async def RelatedDocuments(  # noqa: N802
        self, request: pb.RelatedRequest, context: ServicerContext
    ) -> pb.RelatedList:
        count = related_count(str(request.count if request.HasField("count") else RELATED))
        found = await self._application.related(graph_name(request.graph), document_id(request.id), count)
        return message_of(pb.RelatedList, fields_json(found))

    async def Query(self, request: pb.QueryRequest, context: ServicerContext) -> pb.Answer:  # noqa: N802
        answer = await self._application.query(graph_name(request.graph), self._ask(request, context))
        return message_of(pb.Answer, answer_json(answer))

    async def Preview(self, request: pb.PreviewRequest, context: ServicerContext) -> pb.PreviewReply:  # noqa: N802
        graph = graph_name(request.graph)
        asked = await asyncio.to_thread(read_preview, graph, request.body, self._limits)
        found = await self._application.preview(graph, asked)
        return await write_aside(lambda: preview_message(found), LARGE_ITEMS)

    async def QueryStream(  # noqa: N802
        self, request: pb.QueryRequest, context: ServicerContext
    ) -> AsyncIterator[pb.AnswerEvent]:
        steps = self._application.stream(graph_name(request.graph), self._ask(request, context))
        first = True
        async with aclosing(cast("AsyncGenerator[Answer | AnswerChunk, None]", steps)):
            async for step in steps:
                yield _event(step, first)
                first = False

    async def GetEntity(self, request: pb.EntityRef, context: ServicerContext) -> pb.EntityStatus:  # noqa: N802
        at = requests.past_version(request.at or None)
        status = await self._application.entity(graph_name(request.graph), request.id, at)
        return message_of(pb.EntityStatus, fields_json(status))

    async def Reports(self, request: pb.GraphRef, context: ServicerContext) -> pb.ReportList:  # noqa: N802
        reports = await self._application.reports(graph_name(request.graph))
        return await write_aside(lambda: message_of(pb.ReportList, reports_json(reports)), len(reports))

    async def Stats(self, request: pb.GraphRef, context: ServicerContext) -> pb.GraphStats:  # noqa: N802
        stats = await self._application.stats(graph_name(request.graph))
        return message_of(pb.GraphStats, fields_json(stats))

    async def Digest(self, request: pb.DigestRequest, context: ServicerContext) -> pb.GraphDigest:  # noqa: N802
        at = requests.past_version(request.at or None)
        digest = await self._application.digest(graph_name(request.graph), at)
        return message_of(pb.GraphDigest, fields_json(digest))

    async def Verify(self, request: pb.GraphRef, context: ServicerContext) -> pb.Verification:  # noqa: N802
        found = await self._application.verify(graph_name(request.graph))
        return message_of(pb.Verification, fields_json(found))

    async def Rebuild(self, request: pb.GraphRef, context: ServicerContext) -> pb.Rebuilt:  # noqa: N802
        built = await self._application.rebuild(graph_name(request.graph))
        return message_of(pb.Rebuilt, fields_json(built))

    async def Purge(self, _: pb.PurgeRequest, context: ServicerContext) -> pb.Purged:  # noqa: N802
        purged = await self._application.purge()
        return message_of(pb.Purged, fields_json(purged))

    async def DeleteGraph(self, request: pb.DeleteGraphRequest, context: ServicerContext) -> pb.DeletedGraph:  # noqa: N802
        wait_s = requests.wait_seconds(parameters(request), requests.DELETION_WAIT_S)
        found = await self._application.delete_graph(graph_name(request.graph), _within(wait_s, context))
        return message_of(pb.DeletedGraph, fields_json(found))

    async def ListGraphs(self, request: pb.ListGraphsRequest, context: ServicerContext) -> pb.GraphList:  # noqa: N802
        limit, cursor = requests.graph_page(parameters(request))
        found = await self._application.graph_summaries()
        names = visible(CALLER.get().who, sorted(found))
        return message_of(pb.GraphList, fields_json(graphs_page([found[name] for name in names], limit, cursor)))

    async def ListDocuments(self, request: pb.DocumentQuery, context: ServicerContext) -> pb.DocumentPage:  # noqa: N802
        query = requests.document_query(parameters(request))
        found = await self._application.list_documents(graph_name(request.graph), query)
        return message_of(pb.DocumentPage, fields_json(found))

    async def ListEntities(self, request: pb.EntityQuery, context: ServicerContext) -> pb.EntityPage:  # noqa: N802
        query = requests.entity_query(parameters(request))
        found = await self._application.list_entities(graph_name(request.graph), query)
        return message_of(pb.EntityPage, fields_json(found))

    async def GetGroup(self, request: pb.GroupRequest, context: ServicerContext) -> pb.CohesiveGroup:  # noqa: N802
        k, limit = requests.group_size(parameters(request))
        found = await self._application.group(graph_name(request.graph), request.id, k, limit)
        return message_of(pb.CohesiveGroup, fields_json(found))

    async def GetNeighbourhood(  # noqa: N802
        self, request: pb.NeighbourhoodRequest, context: ServicerContext
    ) -> pb.Neighbourhood:
        hops, limit = requests.neighbourhood_size(parameters(request))
        found = await self._application.neighbourhood(graph_name(request.graph), request.id, hops, limit)
        return message_of(pb.Neighbourhood, fields_json(found))

    async def ListCommunities(  # noqa: N802
        self, request: pb.CommunityQuery, context: ServicerContext
    ) -> pb.CommunityPage:
        level, limit, cursor = requests.community_page(parameters(request))
        found = await self._application.list_communities(graph_name(request.graph), level, limit, cursor)
        return message_of(pb.CommunityPage, fields_json(found))

    async def GetCommunity(  # noqa: N802
        self, request: pb.CommunityRef, context: ServicerContext
    ) -> pb.CommunityDetails:
        found = await self._application.community(graph_name(request.graph), request.community)
        return message_of(pb.CommunityDetails, fields_json(found))

    async def GetToken(self, request: pb.TokenRef, context: ServicerContext) -> pb.TokenState:  # noqa: N802
        wait_s = _within(requests.wait_seconds(parameters(request)), context)
        found = await self._application.token_state(graph_name(request.graph), request.token, wait_s)
        return message_of(pb.TokenState, fields_json(found))

    async def FollowChanges(  # noqa: N802
        self, request: pb.ChangeQuery, context: ServicerContext
    ) -> AsyncIterator[pb.ChangeEvent]:
        query = requests.change_query(parameters(request), request.after)
        query = replace(query, rows=request.rows, follow=not request.ends)
        items = self._application.changes(graph_name(request.graph), query)
        async with aclosing(cast("AsyncGenerator[FeedItem, None]", items)) as found:
            async for item in found:
                yield await write_aside(partial(change_event, item), size_of(item))

    async def ListDeadLetters(  # noqa: N802
        self, request: pb.DeadLetterQuery, context: ServicerContext
    ) -> pb.DeadLetterList:
        limit = {"limit": request.limit} if request.HasField("limit") else {}
        query = LetterQuery(request.after, resolved=request.resolved, **limit)
        listed = await self._application.dead_letters(letters_graph(request.graph), query)
        return message_of(pb.DeadLetterList, fields_json(listed))

    async def GetDeadLetter(self, request: pb.DeadLetterRef, context: ServicerContext) -> pb.DeadLetter:  # noqa: N802
        letter = await self._application.dead_letter(letters_graph(request.graph), request.id)
        return message_of(pb.DeadLetter, fields_json(letter))

    async def RetryDeadLetter(self, request: pb.RetryRequest, context: ServicerContext) -> pb.Receipt:  # noqa: N802
        graph, correction = letters_graph(request.graph), None
        if request.HasField("document"):
            letter = await self._application.dead_letter(graph, request.id)
            read = partial(correction_of, letter, request.document, self._limits)
            correction = await read_aside(read, len(request.document))
        receipt = await self._application.retry_letter(graph, request.id, correction)
        return pb.Receipt(token=receipt.token)

    async def DiscardDeadLetter(self, request: pb.DeadLetterRef, context: ServicerContext) -> pb.DeadLetter:  # noqa: N802
        letter = await self._application.discard_letter(letters_graph(request.graph), request.id)
        return message_of(pb.DeadLetter, fields_json(letter))

    async def DropDeadLetter(self, request: pb.DeadLetterRef, context: ServicerContext) -> pb.DeadLetter:  # noqa: N802
        return await self.DiscardDeadLetter(request, context)

    def _ask(self, request: pb.QueryRequest, context: ServicerContext) -> QueryRequest:
        """Return the question; the caller's own deadline applies when it is earlier."""
        ask = question_of(request_value(request), self._limits)
        left_s = context.time_remaining()
        return ask if left_s is None else replace(ask, timeout_s=min(left_s, ask.timeout_s))


def _within(wait_s: float, context: ServicerContext) -> float:
    """Return the wait, ended before the caller's own deadline."""
    left_s = context.time_remaining()
    return wait_s if left_s is None else min(wait_s, max(0.0, left_s - TOKEN_MARGIN_S))


def _event(step: Answer | AnswerChunk, first: bool) -> pb.AnswerEvent:
    if isinstance(step, AnswerChunk):
        return pb.AnswerEvent(token=step.text)
    answer = message_of(pb.Answer, answer_json(step))
    return pb.AnswerEvent(context=answer) if first else pb.AnswerEvent(answer=answer)
