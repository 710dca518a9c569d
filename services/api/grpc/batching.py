"""Batches of streamed documents, so that one durable step accepts many.

The invariant: memory holds at most one batch, of one graph, within the limits of a batch over HTTP, and the reasons of
at most MAX_REJECTED rejections.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from graphtide.services.api.grpc.conversion import request_value
from graphtide.services.api.grpc.large_messages.aside import read_aside
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.envelope import document_id, graph_name
from graphtide.services.api.schema.errors import Rejection, TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import document_of
from graphtide.services.api.schema.requests.json_structure import check_value_count
from graphtide.services.application import Application
from graphtide.streams.errors import Invalid, Rejected
from graphtide.streams.messages import DocumentMessage, decode_document, document_key

BATCH_DOCUMENTS = 256
BATCH_BYTES = 4 << 20
MAX_REJECTED = 10_000
"""Rejected documents of one stream; it ends with the next one."""


class PublishBatches:
    """The documents of one stream, published as batches fill. Not shared between calls."""

    def __init__(self, application: Application, limits: RequestLimits) -> None:
        self._application = application
        self._limits = limits
        self._documents: list[DocumentMessage] = []
        self._bytes = 0
        self._seen = 0
        self._accepted = 0
        self._tokens: list[str] = []
        self._rejected: list[Rejection] = []

    async def add(self, request: pb.PublishRequest) -> None:
        """Add the next document; publish a full batch. Raises what `Application.publish` raises."""
        index, self._seen = self._seen, self._seen + 1
        try:
            document = await read_aside(partial(self._document, request), request.ByteSize())
        except Invalid as error:
            self._rejected.append(Rejection(index, _printable(request.id), error.field, error.message))
            if len(self._rejected) > MAX_REJECTED:
                raise Invalid(
                    error.field, f"{error.message}; so are {MAX_REJECTED} other documents of the stream: correct them"
                ) from error
            return
        if self._documents and self._documents[0].graph != document.graph:
            await self._publish()
        self._documents.append(document)
        self._bytes += request.ByteSize()
        if len(self._documents) >= min(BATCH_DOCUMENTS, self._limits.max_batch_documents) or self._bytes >= BATCH_BYTES:
            await self._publish()

    def _document(self, request: pb.PublishRequest) -> DocumentMessage:
        return document_of(graph_name(request.graph), request_value(request), self._limits)

    async def finish(self) -> None:
        """Publish the rest. Raises Invalid when the stream was empty."""
        if not self._seen:
            raise Invalid("body", "the stream held no document; send at least one")
        await self._publish()

    def summary(self) -> pb.PublishSummary:
        """Return the outcome of all documents so far."""
        last = self._tokens[-1] if self._tokens else ""
        rejected = [pb.Rejection(**asdict(each)) for each in self._rejected]
        return pb.PublishSummary(token=last, accepted=self._accepted, rejected=rejected, tokens=self._tokens)

    async def _publish(self) -> None:
        if self._documents:
            receipt = await self._application.publish(self._documents)
            self._tokens.append(receipt.token)
            self._accepted += receipt.accepted
            self._documents, self._bytes = [], 0


class Whole:
    """The documents of one stream, held until the stream ends, for one durable step. Not shared between calls."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._documents: list[DocumentMessage] = []
        self._bytes = 0

    def add(self, request: pb.DocumentRecord) -> None:
        """Add the next document. Raises Invalid for a malformed one, and TooLarge for more than a batch may hold."""
        self._bytes += request.ByteSize()
        if len(self._documents) >= self._limits.max_batch_documents or self._bytes > self._limits.max_batch_bytes:
            limit = f"{self._limits.max_batch_documents} documents or {self._limits.max_batch_bytes} bytes"
            raise TooLarge(f"the batch has more than {limit}; send several batches")
        if self._documents and self._documents[0].graph != request.graph:
            raise Invalid("graph", "differs from the graph of the previous documents; send one graph per stream")
        key = document_key(graph_name(request.graph), document_id(request.id))
        check_value_count(request.document, self._limits.max_document_values)
        try:
            self._documents.append(decode_document(key, request.document))
        except Rejected as error:
            raise Invalid("document", str(error)) from error

    def documents(self) -> list[DocumentMessage]:
        """Return all documents. Raises Invalid when there are none."""
        if not self._documents:
            raise Invalid("body", "the stream held no document; send at least one")
        return self._documents


def _printable(doc_id: str) -> str:
    try:
        return document_id(doc_id)
    except Invalid:
        return ""
