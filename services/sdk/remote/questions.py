"""Standing questions of a graph of a service over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from urllib.parse import quote

from graphtide.services.api.schema.envelope import graph_name
from graphtide.services.api.schema.errors import error_of
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.standing import question_id, standing_question_of
from graphtide.services.application import Filters
from graphtide.services.sdk.calls.open_calls import OpenCalls, calls_of_database
from graphtide.services.sdk.remote.decoding import decode
from graphtide.services.sdk.remote.transport import EVENTS, JSON, HttpCall, Transport, body_of
from graphtide.services.sdk.standing import given_options, question_value
from graphtide.services.standing.types import QuestionPage, StandingEvent, StandingQuestion
from graphtide.streams.errors import Invalid, NotFound, Retryable

RECONNECT_S = 1.0


@calls_of_database
class RemoteQuestions:
    """See `graphtide.services.sdk.interface.Questions`."""

    def __init__(self, graph: str, transport: Transport, calls: OpenCalls) -> None:
        self._transport = transport
        self._calls = calls
        self._path = f"/v1/graphs/{quote(graph_name(graph), safe='')}/questions"

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
        """See Questions.put."""
        value = question_value(question, mode, top_k, filters, as_of, answer) | given_options(options)
        try:
            body = body_of(value)
        except (TypeError, ValueError, RecursionError) as error:
            standing_question_of(question_id(id), value, RequestLimits())
            raise Invalid("options", f"cannot be written as JSON: {error}") from error
        return decode(StandingQuestion, await self._transport.json(HttpCall("PUT", self._of(id), body, JSON)))

    async def get(self, id: str) -> StandingQuestion:  # noqa: A002 - the name of the field
        """See Questions.get."""
        return decode(StandingQuestion, await self._transport.json(HttpCall("GET", self._of(id))))

    async def delete(self, id: str) -> None:  # noqa: A002 - the name of the field
        """See Questions.delete."""
        await self._transport.send(HttpCall("DELETE", self._of(id)))

    async def list(self, *, limit: int = 100, cursor: str = "") -> QuestionPage:
        """See Questions.list."""
        params = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        found = await self._transport.json(HttpCall("GET", self._path, params=params))
        return decode(QuestionPage, {"next": "", **found})

    async def watch(self, id: str, *, after: str | int = "") -> AsyncIterator[StandingEvent]:  # noqa: A002
        """See Questions.watch. Continues after the last event when the connection ends."""
        seen, begun = "" if after is None else str(after), False
        while True:
            call = HttpCall("GET", f"{self._of(id)}/events", params={"after": seen} if seen else None, accept=EVENTS)
            try:
                async with aclosing(self._transport.events(call)) as events:
                    async for event in events:
                        if event.name == "error":
                            raise error_of(event.data.encode())
                        begun, found = True, decode(StandingEvent, json.loads(event.data))
                        seen = str(found.seq)
                        yield found
                begun = True
            except NotFound:
                if begun:  # the question was deleted while it was watched
                    return
                raise
            except Retryable:
                if not begun:
                    raise
            await asyncio.sleep(RECONNECT_S)

    def _of(self, id_: str) -> str:
        return f"{self._path}/{quote(question_id(id_), safe='')}"
