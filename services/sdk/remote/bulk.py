"""Bulk loads over HTTP: NDJSON batches, each sent again until the service takes it.

The invariant: every document of the load is either accepted or listed in the receipt, in the order of the load. The
next batch is read only after the service has accepted the one before it, so the memory is that of one batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from graphtide.services.api.schema.errors import TooLarge
from graphtide.services.sdk.bulk import BATCH_CHARS, BATCH_DOCUMENTS, given_fields, merge_tokens, rejection
from graphtide.services.sdk.interface import BulkReceipt, Document, RejectedDocument
from graphtide.services.sdk.remote.errors import json_body
from graphtide.services.sdk.remote.transport import NDJSON, HttpCall, Transport, body_of
from graphtide.streams.errors import Broken, GraphtideError, Invalid, Overloaded


@dataclass(frozen=True, slots=True)
class _Line:
    """A document of the batch under construction."""

    index: int
    doc_id: str
    body: bytes


class BulkLoad:
    """The batch under construction, and the receipt of the batches before it."""

    def __init__(self, transport: Transport, graph: str, path: str) -> None:
        self._transport = transport
        self._graph = graph
        self._path = path
        self._batch: list[_Line] = []
        self._size_bytes = 0
        self.receipt = BulkReceipt("", 0)

    @property
    def is_full(self) -> bool:
        return len(self._batch) >= BATCH_DOCUMENTS or self._size_bytes >= BATCH_CHARS

    def take(self, index: int, document: Document) -> None:
        """Add a document to the batch; one that is not JSON is rejected here."""
        try:
            given = given_fields(document)
            body = json_line(self._graph, given)
        except GraphtideError as error:
            self._reject([rejection(index, document, error)])
            return
        self._batch.append(_Line(index, str(given.get("id", "")), body))
        self._size_bytes += len(body)

    async def publish(self) -> None:
        """Publish the batch; while the service is overloaded, wait as long as it asks for and try again."""
        batch, self._batch, self._size_bytes = self._batch, [], 0
        if batch:
            await self._publish(batch)

    async def _publish(self, batch: list[_Line]) -> None:
        try:
            receipt = await self._sent(b"".join(line.body for line in batch))
        except TooLarge as error:
            if len(batch) == 1:
                self._reject([RejectedDocument(batch[0].index, batch[0].doc_id, "", str(error))])
                return
            await self._publish(batch[: len(batch) // 2])
            await self._publish(batch[len(batch) // 2 :])
            return
        self._count(batch, receipt)

    async def _sent(self, lines: bytes) -> Mapping[str, Any]:
        call = HttpCall("POST", self._path, lines, NDJSON)
        while True:
            try:
                return json_body(await self._transport.send(call, all_rejected))
            except Overloaded as error:  # the retries of the transport are used up, or the wait is longer than theirs
                await self._transport.pause(error.retry_after_s)

    def _count(self, batch: list[_Line], receipt: Mapping[str, Any]) -> None:
        try:
            token, accepted = str(receipt.get("token") or ""), int(receipt["accepted"])
            refused = [(batch[each["index"]], each) for each in receipt["rejected"]]
            rows = [
                RejectedDocument(line.index, str(each.get("id", "")), each["field"], each["message"])
                for line, each in refused
            ]
            merged = merge_tokens(self.receipt.token, token)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise Broken(f"the receipt of a batch cannot be read: {error!r}; check that the URL is right") from error
        self.receipt = replace(self.receipt, token=merged, accepted=self.receipt.accepted + accepted)
        self._reject(rows)

    def _reject(self, rows: list[RejectedDocument]) -> None:
        rejected = sorted((*self.receipt.rejected, *rows), key=lambda each: each.index)
        self.receipt = replace(self.receipt, rejected=tuple(rejected))


def json_line(graph: str, given: Mapping[str, object]) -> bytes:
    """Return the document as one line of JSON. Raises Invalid for a value that JSON cannot express, by its field."""
    try:
        return body_of(given) + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        _check(graph, given)
        raise Invalid("document", f"cannot be written as JSON: {error}") from error


def _check(graph: str, given: Mapping[str, object]) -> None:
    """Raise Invalid as the service would for the value, naming the field."""
    from graphtide.services.api.schema.limits import RequestLimits
    from graphtide.services.api.schema.requests.documents import document_of

    document_of(graph, dict(given), RequestLimits())


def all_rejected(response: httpx.Response) -> bool:
    """Return True for the answer to a batch without a valid document, which lists the reasons."""
    if response.status_code != 422:
        return False
    try:
        return isinstance(json.loads(response.content).get("rejected"), list)
    except (ValueError, AttributeError):
        return False
