"""A graph of a service over HTTP: each method of the interface is one request, or a bounded sequence of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from graphtide.graph.browsing.group import CohesiveGroup
from graphtide.graph.browsing.neighbourhood import Neighbourhood
from graphtide.services.api.schema.envelope import document_id
from graphtide.services.api.schema.errors import error_of
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
from graphtide.services.browsing import CommunityDetails, CommunityPage, DocumentPage, EntityPage, TokenState
from graphtide.services.changes.types import Change, GraphRows
from graphtide.services.sdk.bulk import numbered, plain_json, report
from graphtide.services.sdk.calls.open_calls import OpenCalls, calls_of_database
from graphtide.services.sdk.interface import BulkReceipt, Document, Documents, Progress
from graphtide.services.sdk.previews import preview_request
from graphtide.services.sdk.questions import question_json
from graphtide.services.sdk.remote.bulk import BulkLoad, json_line
from graphtide.services.sdk.remote.decoding import Result, decode, decode_answer
from graphtide.services.sdk.remote.errors import Unreachable
from graphtide.services.sdk.remote.events import ServerEvent
from graphtide.services.sdk.remote.questions import RemoteQuestions
from graphtide.services.sdk.remote.transport import EVENTS, JSON, HttpCall, Transport
from graphtide.streams.errors import Broken, DeadlineExceeded, NotFound

LONG_S = 3600.0
"""The time limit of work that grows with the graph: digest, verify, rebuild."""
MAX_WAIT_S = 30.0
"""The longest wait for a token in one request; longer waits take several."""
RESUME_S = 1.0
"""The wait before a stream that broke is opened again."""
MARGIN_S = 10.0
"""The time that an answer may take beyond the wait that was asked for."""
QUESTION_S = 30.0
"""The service's own limit for a question, with its wait for `after`, by default (`query_timeout_s`)."""


@calls_of_database
class RemoteGraph:
    """See `graphtide.services.sdk.interface.Graph`."""

    def __init__(self, name: str, transport: Transport, calls: OpenCalls) -> None:
        self._name = name
        self._transport = transport
        self._calls = calls
        self._path = f"/v1/graphs/{segment(name)}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def questions(self) -> RemoteQuestions:
        """See Graph.questions."""
        return RemoteQuestions(self._name, self._transport, self._calls)

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
        path = self._document(doc_id)
        fields: dict[str, Any] = {"title": title, "source": source, "occurred_at": occurred_at}
        fields |= {"metadata": metadata, "entities": entities, "facts": facts, "media_type": media_type}
        given = {"text": text, **{name: plain_json(value) for name, value in fields.items() if value not in (None, "")}}
        json_line(self._name, {"id": doc_id, **given})
        body = json_line(self._name, given)
        made = await self._transport.json(HttpCall("PUT", path, body, JSON))
        return decode(Receipt, {"accepted": 1, **made})

    async def add_many(self, documents: Documents, *, on_progress: Progress | None = None) -> BulkReceipt:
        """See Graph.add_many."""
        load = BulkLoad(self._transport, self._name, f"{self._path}/documents")
        async for index, document in numbered(documents):
            load.take(index, document)
            if load.is_full:
                await load.publish()
                report(on_progress, load.receipt)
        await load.publish()
        report(on_progress, load.receipt)
        return load.receipt

    async def delete(self, doc_id: str) -> Receipt:
        """See Graph.delete. After a cut connection, a deletion that the service made counts as this one."""
        call = HttpCall("DELETE", self._document(doc_id), repeatable=False)
        try:
            made = await self._transport.json(call)
        except Unreachable:
            return await self._deleted_again(doc_id, call)
        return decode(Receipt, {"accepted": 1, **made})

    async def _deleted_again(self, doc_id: str, call: HttpCall) -> Receipt:
        """Delete a document whose deletion has an unknown outcome."""
        try:
            return decode(Receipt, {"accepted": 1, **await self._transport.json(call)})
        except NotFound:  # the first request deleted it, and its receipt was lost
            return Receipt((await self.document(doc_id)).token, 1)

    async def document(self, doc_id: str) -> DocumentStatus:
        """See Graph.document."""
        return decode(DocumentStatus, await self._transport.json(HttpCall("GET", self._document(doc_id))))

    async def related(self, doc_id: str, limit: int = 10) -> RelatedDocuments:
        """See Graph.related."""
        call = HttpCall("GET", f"{self._document(doc_id)}/related", params=_given(count=limit))
        return decode(RelatedDocuments, await self._transport.json(call))

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
        asked = question_json(arguments, filters, as_of)
        path, limit_s = f"{self._path}/query", timeout_s + MARGIN_S
        call = HttpCall("POST", path, asked.body, JSON, timeout_s=limit_s, budget_s=timeout_s)
        try:
            async with asyncio.timeout(timeout_s), asked.errors():
                await self._wait_before(after, timeout_s)
                return decode_answer(await self._transport.json(call))
        except TimeoutError as error:
            raise DeadlineExceeded(f"no answer within {timeout_s:g} s") from error

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
        asked = question_json(
            arguments | {"explain": explain, "exact": exact, "at": at, "options": options}, filters, as_of
        )
        path, limit_s = f"{self._path}/query", timeout_s + MARGIN_S
        call = HttpCall("POST", path, asked.body, JSON, accept=EVENTS, timeout_s=limit_s, budget_s=timeout_s)
        deadline = asyncio.get_running_loop().time() + timeout_s
        await self._wait_before(after, timeout_s)
        async with aclosing(self._transport.events(call)) as events:
            while True:
                try:
                    async with asyncio.timeout_at(deadline), asked.errors():
                        step = _step(await anext(events, None), self._transport.url)
                except TimeoutError as error:
                    raise DeadlineExceeded(f"no whole answer within {timeout_s:g} s") from error
                yield step.value
                if step.is_last:
                    return

    async def _wait_before(self, after: str, timeout_s: float) -> None:
        """Wait for the token before the question if its caller allows more time than the service gives a question."""
        if after and timeout_s > QUESTION_S:
            await self.wait(after, timeout_s)

    async def preview(
        self,
        *,
        publish: Sequence[Document] = (),
        delete: Sequence[str] = (),
        questions: Sequence[Mapping[str, Any]] = (),
    ) -> Preview:
        """See Graph.preview."""
        raw = preview_request(publish, delete, questions)
        return decode(Preview, await self._transport.json(HttpCall("POST", f"{self._path}/preview", raw, JSON)))

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
        """See Graph.changes. A stream that breaks is opened again after the last change."""
        detail, ends = "rows" if rows else "", "" if follow else "false"
        given = _given(entity=entity, type=type, prefix=prefix, detail=detail, follow=ends)
        if not after and not rows:
            after = f"v{(await self.stats()).version}"
        while True:
            params = given | ({"after": after} if after else {})
            call = HttpCall("GET", f"{self._path}/changes", params=params, accept=EVENTS)
            try:
                async with aclosing(self._transport.events(call)) as events:
                    async for event in events:
                        after = event.id or after
                        yield _change(event)
            except Unreachable:
                await asyncio.sleep(RESUME_S)
                continue
            if not follow:
                return
            await asyncio.sleep(RESUME_S)

    async def wait(self, token: str, timeout_s: float = 60.0) -> int:
        """See Graph.wait."""
        if not token:
            return (await self.stats()).version
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            wait_s = max(0.0, min(MAX_WAIT_S, deadline - loop.time()))
            path = f"{self._path}/tokens/{segment(token)}"
            call = HttpCall("GET", path, params={"wait_s": f"{wait_s:.3f}"}, timeout_s=wait_s + MARGIN_S)
            state = decode(TokenState, await self._transport.json(call))
            if state.reached:
                return state.version
            if loop.time() >= deadline:
                raise DeadlineExceeded(f"the graph did not include token {token[:80]} within {timeout_s:g} s")

    async def entity(self, entity_id: str, *, at: str = "") -> EntityStatus:
        """See Graph.entity."""
        return await self._read(EntityStatus, f"entities/{segment(entity_id)}", _given(at=at))

    async def documents(
        self, *, prefix: str = "", state: str = "", source: str = "", limit: int = 100, cursor: str = ""
    ) -> DocumentPage:
        """See Graph.documents."""
        params = _given(prefix=prefix, state=state, source=source, limit=limit, cursor=cursor)
        return await self._page(DocumentPage, "documents", params)

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
        params = _given(q=q, type=type, sort=sort, limit=limit, cursor=cursor, at=at)
        return await self._page(EntityPage, "entities", params)

    async def neighbourhood(self, entity_id: str, *, hops: int = 1, limit: int = 200) -> Neighbourhood:
        """See Graph.neighbourhood."""
        path = f"entities/{segment(entity_id)}/neighbourhood"
        return await self._read(Neighbourhood, path, _given(hops=hops, limit=limit))

    async def group(self, entity_id: str, *, k: int | None = None, limit: int = 200) -> CohesiveGroup:
        """See Graph.group."""
        return await self._read(CohesiveGroup, f"entities/{segment(entity_id)}/group", _given(k=k, limit=limit))

    async def communities(self, *, level: int = 0, limit: int = 100, cursor: str = "") -> CommunityPage:
        """See Graph.communities."""
        return await self._page(CommunityPage, "communities", _given(level=level, limit=limit, cursor=cursor))

    async def community(self, community: int) -> CommunityDetails:
        """See Graph.community."""
        return await self._read(CommunityDetails, f"communities/{segment(str(community))}")

    async def reports(self) -> Sequence[CommunityReport]:
        """See Graph.reports."""
        body = await self._transport.json(HttpCall("GET", f"{self._path}/reports"))
        return decode(_Reports, body).reports

    async def stats(self) -> GraphStats:
        """See Graph.stats."""
        return await self._read(GraphStats, "stats")

    async def digest(self, *, at: str = "") -> Digest:
        """See Graph.digest."""
        return await self._long(Digest, HttpCall("GET", f"{self._path}/digest", params=_given(at=at), timeout_s=LONG_S))

    async def verify(self) -> Verification:
        """See Graph.verify."""
        return await self._long(Verification, HttpCall("POST", f"{self._path}/verify", timeout_s=LONG_S))

    async def rebuild(self) -> Rebuilt:
        """See Graph.rebuild."""
        call = HttpCall("POST", f"{self._path}/rebuild", timeout_s=LONG_S, repeatable=False)
        return await self._long(Rebuilt, call)

    async def _read(self, kind: type[Result], path: str, params: Mapping[str, str] | None = None) -> Result:
        return decode(kind, await self._transport.json(HttpCall("GET", f"{self._path}/{path}", params=params)))

    async def _page(self, kind: type[Result], path: str, params: Mapping[str, str]) -> Result:
        call = HttpCall("GET", f"{self._path}/{path}", params=params)
        return decode(kind, {"next": "", **await self._transport.json(call)})

    async def _long(self, kind: type[Result], call: HttpCall) -> Result:
        return decode(kind, await self._transport.json(call))

    def _document(self, doc_id: str) -> str:
        return f"{self._path}/documents/{segment(document_id(doc_id))}"


@dataclass(frozen=True, slots=True)
class _Reports:
    reports: tuple[CommunityReport, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a streamed answer."""

    value: Answer | AnswerChunk
    is_last: bool = False


def _step(event: ServerEvent | None, url: str) -> _Step:
    """Return the step that an event carries. Raises the error of an `error` event, Unreachable at the stream's end."""
    if event is None:
        raise Unreachable(url, "the stream ended before the end of the answer")
    if event.name == "error":
        raise error_of(event.data.encode())
    try:
        data = json.loads(event.data)
    except ValueError as error:
        raise Broken(f"{url} sent an event that is not JSON; check that the URL is the service's") from error
    if event.name == "token":
        return _Step(decode(AnswerChunk, data))
    if event.name in ("context", "answer") and isinstance(data, Mapping):
        return _Step(decode_answer(data), event.name == "answer")
    raise Broken(f"{url} sent an unknown event {event.name[:40]!r}; update graphtide")


def _change(event: ServerEvent) -> Change | GraphRows:
    """Return the item that an event of a feed carries. Raises the error of an `error` event."""
    if event.name == "error":
        raise error_of(event.data.encode())
    body = json.loads(event.data)
    return decode(GraphRows, body) if event.name == "rows" else decode(Change, body)


def segment(text: str) -> str:
    """Return a segment of a path: percent-encoded, slashes included, and never a relative one."""
    encoded = quote(text, safe="")
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def _given(**parameters: str | int | None) -> dict[str, str]:
    """Return the parameters that are set."""
    return {name: str(value) for name, value in parameters.items() if value not in ("", None)}
