"""The routes of dead letters: list, show, retry and discard records that could not be processed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.api.http.bodies import JSON, content_type, parse, read_body
from graphtide.services.api.http.documentation.openapi import body_of, errors, graph_in, reply, schema
from graphtide.services.api.http.documentation.response_models import LetterBody, LetterListBody, TokenBody
from graphtide.services.api.schema.envelope import GRAPH_NAME, NO_GRAPH
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.corrections import correction_of
from graphtide.services.api.schema.shapes import fields_json
from graphtide.services.application import Application, LetterQuery
from graphtide.streams.dead_letters.queue import LETTER_ID, PAGE_POSITION
from graphtide.streams.errors import Invalid

LETTERS = "/v1/graphs/{graph}/dead-letters"
LETTER = LETTERS + "/{letter}"

_ERRORS = errors(400, 404, 422, 429, 503)

LettersOf = Annotated[
    str,
    Path(
        description=f"a graph's name; {NO_GRAPH}: records whose key names no graph",
        examples=["notes"],
        json_schema_extra={"pattern": rf"^({GRAPH_NAME}|\{NO_GRAPH})$"},
    ),
]
LetterId = Annotated[
    str,
    Path(
        alias="letter",
        description="a dead letter's id",
        examples=["0-12"],
        json_schema_extra={"pattern": f"^{LETTER_ID}$"},
    ),
]
After = Annotated[
    str, Query(description="the `next` of the previous page", json_schema_extra={"pattern": f"^({PAGE_POSITION})?$"})
]
Limit = Annotated[
    str,
    Query(
        description="maximum number of dead letters, 1 to 500",
        json_schema_extra={"type": "integer", "minimum": 1, "maximum": 500},
    ),
]
Resolved = Annotated[bool | None, Query(description="include resolved dead letters")]
Settled = Annotated[bool | None, Query(description="old name of `resolved`", deprecated=True)]


def letter_routes(application: Application, limits: RequestLimits) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["dead letters"])
    _add_looks(router, application)
    _add_ends(router, application, limits)
    return router


def _add_looks(router: APIRouter, application: Application) -> None:
    @router.get(LETTERS, responses={200: {"model": LetterListBody}, **_ERRORS})
    async def list_letters(
        request: Request,
        graph: LettersOf,
        after: After = "",
        limit: Limit = "50",
        resolved: Resolved = None,
        settled: Settled = None,
    ) -> Response:
        """List the unresolved dead letters, oldest first, without their originals."""
        if resolved is not None and settled is not None:
            raise Invalid("settled", "is the old name of resolved, which is given, too; remove settled")
        query = LetterQuery(after, _whole(limit), bool(resolved or settled))
        return reply(fields_json(await application.dead_letters(_graph(request, graph), query), old_names=True))

    @router.get(LETTER, responses={200: {"model": LetterBody}, **_ERRORS})
    async def show_letter(request: Request, graph: LettersOf, letter: LetterId) -> Response:
        """Return a dead letter, with its original."""
        return reply(fields_json(await application.dead_letter(_graph(request, graph), letter), old_names=True))


def _add_ends(router: APIRouter, application: Application, limits: RequestLimits) -> None:
    described = body_of({JSON: {"schema": schema("DocumentBody")}})
    described["requestBody"]["required"] = False

    @router.post(
        f"{LETTER}/retry",
        status_code=202,
        responses={202: {"model": TokenBody}, **errors(400, 404, 408, 413, 415, 422, 429, 503)},
        openapi_extra=described,
    )
    async def retry_letter(request: Request, graph: LettersOf, letter: LetterId) -> Response:
        """Publish the original again as a new revision, or, with a body, the corrected document instead."""
        graph, correction = _graph(request, graph), None
        raw = await read_body(request, limits.max_body_bytes, limits)
        if raw:
            content_type(request, JSON)
            stored = await application.dead_letter(graph, letter)
            correction = await parse(lambda body: correction_of(stored, body, limits), raw)
        receipt = await application.retry_letter(graph, letter, correction)
        return reply({"token": receipt.token}, 202)

    @router.delete(LETTER, responses={200: {"model": LetterBody}, **_ERRORS})
    async def discard_letter(request: Request, graph: LettersOf, letter: LetterId) -> Response:
        """Discard a dead letter: mark it resolved. It is no longer listed; the topic keeps the record."""
        return reply(fields_json(await application.discard_letter(_graph(request, graph), letter), old_names=True))


def _graph(request: Request, graph: str) -> str:
    return graph if graph == NO_GRAPH else graph_in(request, graph)


def _whole(limit: str) -> int:
    if not (limit.isdecimal() and len(limit) < 10):
        raise Invalid("limit", f"{limit[:20]!r} is not a whole number; use 1 to 500")
    return int(limit)
