"""Publishing of CloudEvents: the changes of their documents, in order, with one token for all."""

from __future__ import annotations

from itertools import groupby

from starlette.requests import Request

from graphtide.infra.sources.cloud_events import BATCH, STRUCTURED
from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.api.http.bodies import JSON, content_type, parse, read_body
from graphtide.services.api.schema.errors import AllRejected
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.events import BINARY_HEADER, EventBatch, EventReader
from graphtide.services.application import Application
from graphtide.services.sdk.bulk import merge_tokens
from graphtide.streams.errors import NotFound
from graphtide.streams.sources.types import SourceChange

DATA_TYPES = (JSON, "text/plain", "text/markdown", "text/csv")
"""The media types of data in binary mode."""
EVENT_TYPES = (STRUCTURED, BATCH)


def has_events(request: Request) -> bool:
    """Return True for a request with CloudEvents."""
    media = request.headers.get("content-type", "").lower().partition(";")[0].strip()
    return media in EVENT_TYPES or BINARY_HEADER in request.headers


async def publish_events(
    request: Request, graph: str, application: Application, limits: RequestLimits, values: DirectValues
) -> dict[str, object]:
    """Publish the events of the request; return the body of the reply. Raises AllRejected, NotFound, Invalid."""
    batch = await _read(request, EventReader(graph, values, limits), limits)
    if not batch.changes and batch.rejected:
        raise AllRejected(batch.rejected)
    token, accepted = await _publish(batch.changes, application)
    return {"token": token, "accepted": accepted, "rejected": [each.as_json() for each in batch.rejected]}


async def _read(request: Request, reader: EventReader, limits: RequestLimits) -> EventBatch:
    if BINARY_HEADER in request.headers:
        content_type(request, *DATA_TYPES)
        raw = await read_body(request, limits.max_body_bytes, limits)
        return await parse(lambda body: reader.read_binary(request.headers, body), raw)
    if content_type(request, *EVENT_TYPES) == STRUCTURED:
        return await parse(reader.read_structured, await read_body(request, limits.max_body_bytes, limits))
    return await parse(reader.read_batch, await read_body(request, limits.max_batch_bytes, limits))


async def _publish(changes: tuple[SourceChange, ...], application: Application) -> tuple[str, int]:
    """Apply the changes in order. A deletion of a document that does not exist is no failure beside other changes: an
    event may arrive twice. Raises NotFound when every change was such a deletion.
    """
    token, accepted, missing = "", 0, NotFound("the request has no change")
    for is_document, run in groupby(changes, lambda change: change.document is not None):
        if is_document:
            receipt = await application.publish([each.document for each in run if each.document is not None])
            token, accepted = merge_tokens(token, receipt.token), accepted + receipt.accepted
            continue
        for change in run:
            try:
                receipt = await application.delete(change.graph, change.doc_id)
            except NotFound as error:
                missing = error
            else:
                token, accepted = merge_tokens(token, receipt.token), accepted + 1
    if not accepted:
        raise missing
    return token, accepted
