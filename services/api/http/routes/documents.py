"""The routes of documents: publish one, publish a batch, delete, look up."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from graphtide.infra.sources.cloud_events import BATCH, STRUCTURED
from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.api.http.access import DirectRoute
from graphtide.services.api.http.bodies import JSON, NDJSON, content_type, parse, read_body
from graphtide.services.api.http.documentation.event_schema import EVENT_SCHEMA
from graphtide.services.api.http.documentation.openapi import (
    LARGE_CHARS,
    GraphPath,
    IdPath,
    body_of,
    document_in,
    encode_large,
    encoded_reply,
    errors,
    graph_in,
    reply,
    schema,
)
from graphtide.services.api.http.documentation.response_models import (
    BatchErrorBody,
    BatchReceipt,
    DocumentStatusBody,
    RelatedList,
    TokenBody,
)
from graphtide.services.api.http.routes.events import has_events, publish_events
from graphtide.services.api.schema.envelope import MAX_RELATED, RELATED, related_count
from graphtide.services.api.schema.errors import AllRejected
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import (
    LineCount,
    PublishBatch,
    read_document,
    read_lines,
    read_list,
)
from graphtide.services.api.schema.shapes import fields_json, status_json
from graphtide.services.application import Application
from graphtide.services.inspection.shared_reads import SharedReads

DOCUMENT = "/v1/graphs/{graph}/documents/{id:document_id}"
DOCUMENTS = "/v1/graphs/{graph}/documents"
RELATED_TO = f"{DOCUMENT}/related"

FACT_CHARS = 200
"""Approximate size of a fact in a response, in characters."""
_LIST = {
    "schema": {"type": "array", "minItems": 1, "maxItems": "max_batch_documents", "items": schema("BatchDocument")}
}
_EVENT = {
    "schema": EVENT_SCHEMA,
    "example": {
        "specversion": "1.0",
        "id": "8b1f",
        "source": "/notes",
        "type": "note.saved",
        "subject": "curie",
        "data": {"text": "Marie Curie discovered polonium in 1898."},
    },
}
_EVENTS = {"schema": {"type": "array", "minItems": 1, "maxItems": "max_batch_documents", "items": EVENT_SCHEMA}}
_LINES = {"schema": schema("BatchDocument"), "example": '{"id":"a","text":"One."}\n{"id":"b","text":"Two."}\n'}


def document_routes(application: Application, limits: RequestLimits, values: DirectValues | None = None) -> APIRouter:
    """Routes over `application`; `values` maps CloudEvents."""
    router = APIRouter(tags=["documents"], route_class=DirectRoute)
    _add_publish(router, application, limits)
    _add_batch(router, application, limits, values or DirectValues({}))
    _add_delete(router, application)
    statuses = _Statuses(application)
    _add_related(router, application, statuses)  # before the look-up, whose id matches the rest of the path
    _add_lookup(router, statuses)
    return router


def _add_publish(router: APIRouter, application: Application, limits: RequestLimits) -> None:
    @router.put(
        DOCUMENT,
        status_code=202,
        responses={202: {"model": TokenBody}, **errors(400, 408, 413, 415, 422, 429, 503)},
        openapi_extra=body_of({JSON: {"schema": schema("DocumentBody")}}),
    )
    async def publish_document(request: Request, graph: GraphPath, doc_id: IdPath) -> Response:
        """Insert or replace a document. The response means that the document survives a crash of the service."""
        graph, doc_id = document_in(request, graph, doc_id)
        content_type(request, JSON)
        raw = await read_body(request, limits.max_body_bytes, limits)
        document = await parse(lambda body: read_document(graph, doc_id, body, limits), raw)
        receipt = await application.publish([document])
        return reply({"token": receipt.token}, 202)


def _add_batch(router: APIRouter, application: Application, limits: RequestLimits, values: DirectValues) -> None:
    @router.post(
        DOCUMENTS,
        status_code=202,
        responses={
            202: {"model": BatchReceipt},
            **errors(400, 404, 408, 413, 415, 429, 503),
            422: {
                "model": BatchErrorBody,
                "description": "no document of the batch is valid; `rejected` gives the reasons",
            },
        },
        openapi_extra=body_of({JSON: _LIST, NDJSON: _LINES, STRUCTURED: _EVENT, BATCH: _EVENTS}),
    )
    async def publish_documents(request: Request, graph: GraphPath) -> Response:
        """Insert or replace many documents. The valid ones are accepted in one durable step; the response names the
        others.

        CloudEvents 1.0 are accepted in structured mode, in a batch, and in binary mode (`ce-` headers).
        """
        graph = graph_in(request, graph)
        if has_events(request):
            return reply(await publish_events(request, graph, application, limits, values), 202)
        kind = content_type(request, JSON, NDJSON)
        batch = await _read_batch(request, kind, graph, limits)
        if not batch.documents:
            raise AllRejected(batch.rejected)
        receipt = await application.publish(batch.documents)
        rejected = [each.as_json() for each in batch.rejected]
        return reply({"token": receipt.token, "accepted": receipt.accepted, "rejected": rejected}, 202)


async def _read_batch(request: Request, kind: str, graph: str, limits: RequestLimits) -> PublishBatch:
    max_bytes = limits.max_batch_bytes
    if kind == JSON:
        return await parse(lambda body: read_list(graph, body, limits), await read_body(request, max_bytes, limits))
    raw = await read_body(request, max_bytes, limits, LineCount(limits).check)
    return await parse(lambda body: read_lines(graph, body, limits), raw)


def _add_delete(router: APIRouter, application: Application) -> None:
    @router.delete(DOCUMENT, status_code=202, responses={202: {"model": TokenBody}, **errors(400, 404, 422, 429, 503)})
    async def delete_document(request: Request, graph: GraphPath, doc_id: IdPath) -> Response:
        """Delete a document, and everything that only it supports."""
        receipt = await application.delete(*document_in(request, graph, doc_id))
        return reply({"token": receipt.token}, 202)


def _add_related(router: APIRouter, application: Application, statuses: _Statuses) -> None:
    count = {"type": "integer", "minimum": 1, "maximum": MAX_RELATED, "default": RELATED}
    parameter = {"name": "count", "in": "query", "required": False, "schema": count}

    @router.get(
        RELATED_TO,
        responses={200: {"model": RelatedList}, **errors(400, 404, 422, 429, 503)},
        openapi_extra={"parameters": [parameter]},
    )
    async def get_related_documents(request: Request, graph: GraphPath, doc_id: IdPath) -> Response:
        """Return the related documents of a document: shared entities, and the similarity of their passages.

        To look up a document whose own id ends in /related, write that slash as %2F.
        """
        if not request.scope.get("raw_path", b"/related").split(b"?")[0].endswith(b"/related"):
            return await statuses.reply(*document_in(request, graph, f"{doc_id}/related"))
        wanted = related_count(request.query_params.get("count", str(RELATED)))
        return reply(fields_json(await application.related(*document_in(request, graph, doc_id), wanted)))


def _add_lookup(router: APIRouter, statuses: _Statuses) -> None:
    @router.get(DOCUMENT, responses={200: {"model": DocumentStatusBody}, **errors(400, 404, 422, 429, 503)})
    async def get_document(request: Request, graph: GraphPath, doc_id: IdPath) -> Response:
        """Return the state of a document's newest revision, the reason of a failure, and its content in the graph."""
        return await statuses.reply(*document_in(request, graph, doc_id))


class _Statuses:
    """Replies with the status of documents. Callers that receive the same status share its encoding."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._encoded: SharedReads[bytes] = SharedReads()

    async def reply(self, graph: str, doc_id: str) -> Response:
        status = await self._application.document(graph, doc_id)
        if len(status.text) + FACT_CHARS * len(status.facts) < LARGE_CHARS:
            return reply(fields_json(status, old_names=True))
        return encoded_reply(await self._encoded.read(id(status), lambda: encode_large(lambda: status_json(status))))
