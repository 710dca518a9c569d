"""A handle to a graph whose reads include the writes that were made through it.

The invariant: a read begins after the graph includes every earlier write of the handle. Where several replicas answer,
a result of a replica that is older than that is read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

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
from graphtide.services.sdk.bulk import merge_tokens
from graphtide.services.sdk.interface import BulkReceipt, Documents, Graph, Progress, Questions
from graphtide.services.standing.types import QuestionPage, StandingEvent, StandingQuestion
from graphtide.streams.errors import DeadlineExceeded

WAIT_S = 60.0
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.02, 1.0

Result = TypeVar("Result")


class ReadYourWrites:
    """See `graphtide.services.sdk.interface.Graph`; every read waits at most WAIT_S for the writes before it."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._written = ""
        self._seen = ""
        self._version = 0

    @property
    def name(self) -> str:
        return self._graph.name

    @property
    def questions(self) -> QuestionsAfterWrites:
        """See Graph.questions."""
        return QuestionsAfterWrites(self._graph.questions, self._read)

    async def add(self, doc_id: str, text: str, **fields: Any) -> Receipt:
        """See Graph.add."""
        return self._wrote(await self._graph.add(doc_id, text, **fields))

    async def add_many(self, documents: Documents, *, on_progress: Progress | None = None) -> BulkReceipt:
        """See Graph.add_many."""
        return self._wrote(await self._graph.add_many(documents, on_progress=on_progress))

    async def delete(self, doc_id: str) -> Receipt:
        """See Graph.delete."""
        return self._wrote(await self._graph.delete(doc_id))

    async def document(self, doc_id: str) -> DocumentStatus:
        """See Graph.document."""
        return await self._read(lambda: self._graph.document(doc_id))

    async def related(self, doc_id: str, limit: int = 10) -> RelatedDocuments:
        """See Graph.related."""
        return await self._read(lambda: self._graph.related(doc_id, limit))

    async def ask(self, question: str, *, after: str = "", **options: Any) -> Answer:
        """See Graph.ask."""
        return await self._graph.ask(question, after=merge_tokens(after or "", self._written), **options)

    async def ask_stream(
        self, question: str, *, after: str = "", **options: Any
    ) -> AsyncIterator[Answer | AnswerChunk]:
        """See Graph.ask_stream."""
        async for step in self._graph.ask_stream(question, after=merge_tokens(after or "", self._written), **options):
            yield step

    async def preview(self, **options: Any) -> Preview:
        """See Graph.preview."""
        return await self._read(lambda: self._graph.preview(**options))

    async def changes(self, **options: Any) -> AsyncIterator[Change | GraphRows]:
        """See Graph.changes."""
        await self._reach_writes()
        async for item in self._graph.changes(**options):
            yield item

    async def wait(self, token: str, timeout_s: float = 60.0) -> int:
        """See Graph.wait."""
        return await self._graph.wait(token, timeout_s)

    async def entity(self, entity_id: str, **options: Any) -> EntityStatus:
        """See Graph.entity."""
        return await self._read(lambda: self._graph.entity(entity_id, **options))

    async def documents(self, **options: Any) -> DocumentPage:
        """See Graph.documents."""
        return await self._read(lambda: self._graph.documents(**options))

    async def entities(self, **options: Any) -> EntityPage:
        """See Graph.entities."""
        return await self._read(lambda: self._graph.entities(**options))

    async def group(self, entity_id: str, **options: Any) -> CohesiveGroup:
        """See Graph.group."""
        return await self._read(lambda: self._graph.group(entity_id, **options))

    async def neighbourhood(self, entity_id: str, **options: Any) -> Neighbourhood:
        """See Graph.neighbourhood."""
        return await self._read(lambda: self._graph.neighbourhood(entity_id, **options))

    async def communities(self, **options: Any) -> CommunityPage:
        """See Graph.communities."""
        return await self._read(lambda: self._graph.communities(**options))

    async def community(self, community: int) -> CommunityDetails:
        """See Graph.community."""
        return await self._read(lambda: self._graph.community(community))

    async def reports(self) -> Sequence[CommunityReport]:
        """See Graph.reports."""
        return await self._read(self._graph.reports)

    async def stats(self) -> GraphStats:
        """See Graph.stats."""
        return await self._read(self._graph.stats)

    async def digest(self, **options: Any) -> Digest:
        """See Graph.digest."""
        return await self._read(lambda: self._graph.digest(**options))

    async def verify(self) -> Verification:
        """See Graph.verify."""
        return await self._read(self._graph.verify)

    async def rebuild(self) -> Rebuilt:
        """See Graph.rebuild."""
        return await self._read(self._graph.rebuild)

    def _wrote(self, receipt: WriteReceipt) -> WriteReceipt:
        self._written = merge_tokens(self._written, receipt.token)
        return receipt

    async def _reach_writes(self) -> None:
        """Wait until the graph includes the writes so far. Raises DeadlineExceeded."""
        written = self._written
        if written != self._seen:
            self._version = max(self._version, await self._graph.wait(written, WAIT_S))
            self._seen = written

    async def _read(self, read: Callable[[], Awaitable[Result]]) -> Result:
        """Return a result that includes the writes so far. Raises DeadlineExceeded."""
        await self._reach_writes()
        version, pause_s = self._version, _FIRST_PAUSE_S
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while getattr(result := await read(), "version", version) < version:
            if asyncio.get_running_loop().time() > deadline:
                raise DeadlineExceeded(f"no replica reached version {version} within {WAIT_S:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        return result


WriteReceipt = TypeVar("WriteReceipt", Receipt, BulkReceipt)


class QuestionsAfterWrites:
    """See Questions; evidence includes the writes of the handle before it."""

    def __init__(
        self,
        questions: Questions,
        read: Callable[[Callable[[], Awaitable[StandingQuestion]]], Awaitable[StandingQuestion]],
    ) -> None:
        self._questions = questions
        self._read = read

    async def put(self, id: str, question: str, **options: Any) -> StandingQuestion:  # noqa: A002
        """See Questions.put."""
        return await self._read(lambda: self._questions.put(id, question, **options))

    async def get(self, id: str) -> StandingQuestion:  # noqa: A002
        """See Questions.get."""
        return await self._read(lambda: self._questions.get(id))

    async def delete(self, id: str) -> None:  # noqa: A002
        """See Questions.delete."""
        await self._questions.delete(id)

    async def list(self, *, limit: int = 100, cursor: str = "") -> QuestionPage:
        """See Questions.list."""
        return await self._questions.list(limit=limit, cursor=cursor)

    def watch(self, id: str, *, after: str | int = "") -> AsyncIterator[StandingEvent]:  # noqa: A002
        """See Questions.watch."""
        return self._questions.watch(id, after=after)
