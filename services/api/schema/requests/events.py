"""CloudEvents as requests: an event in structured or binary mode, or a batch of structured events.

An event is a document or a deletion (`infra/sources/decoder.py`). The invariant: a document of an event obeys the same
limits as a published one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from graphtide.infra.sources.cloud_events import Event, binary_http, structured
from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.api.schema.envelope import document_id
from graphtide.services.api.schema.errors import Rejection, TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import BLANKS, document_of, too_many
from graphtide.services.api.schema.requests.json_structure import check_value_count, elements
from graphtide.streams.errors import Invalid, Rejected
from graphtide.streams.json_parts import load_in_parts
from graphtide.streams.sources.types import SourceChange

BINARY_HEADER = "ce-specversion"


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The changes of the valid events in their order, and the reason of each rejection."""

    changes: tuple[SourceChange, ...]
    rejected: tuple[Rejection, ...]


class EventReader:
    """Reader of events for one graph."""

    def __init__(self, graph: str, values: DirectValues, limits: RequestLimits) -> None:
        self._graph = graph
        self._values = values
        self._limits = limits

    def read_structured(self, raw: bytes) -> EventBatch:
        """Return the changes of the event in a structured body. Raises Invalid, MalformedRequest, TooLarge."""
        return EventBatch(self._changes(lambda: self._parsed(raw)), ())

    def read_binary(self, headers: Mapping[str, str], raw: bytes) -> EventBatch:
        """Return the changes of the event in headers and body. Raises Invalid, TooLarge."""
        return EventBatch(self._changes(lambda: binary_http(headers, raw, self._check)), ())

    def read_batch(self, raw: bytes) -> EventBatch:
        """Return the changes of a JSON list of structured events. Raises Invalid, MalformedRequest, TooLarge."""
        text = raw.strip(BLANKS)
        if not (text.startswith(b"[") and text.endswith(b"]") and len(text) >= 2):
            raise Invalid("body", "must be a JSON list of CloudEvents; send one as application/cloudevents+json")
        inner = text[1:-1].strip(BLANKS)
        return self._batch(elements(inner) if inner else ())

    def _batch(self, texts: Iterable[bytes]) -> EventBatch:
        changes: list[SourceChange] = []
        rejected: list[Rejection] = []
        for index, text in enumerate(texts):
            if index >= self._limits.max_batch_documents:
                raise too_many(self._limits.max_batch_documents)
            try:
                changes += self._changes(lambda text=text: self._parsed(text))  # type: ignore[misc]
            except Invalid as error:
                rejected.append(Rejection(index, "", error.field, error.message))
            except TooLarge as error:
                rejected.append(Rejection(index, "", "", str(error)))
        if not changes and not rejected:
            raise Invalid("body", "contains no event; send at least one")
        return EventBatch(tuple(changes), tuple(rejected))

    def _parsed(self, raw: bytes) -> Event:
        if len(raw) > self._limits.max_body_bytes:
            raise TooLarge(f"the event has {len(raw)} bytes; the limit is {self._limits.max_body_bytes}; split it")
        self._check(raw)
        if raw.strip(BLANKS)[:1] != b"{":
            raise Invalid("body", "is no JSON object; send a CloudEvent")
        event = structured(raw, self._check)
        if event is None:
            raise Invalid("body", "is no CloudEvent: it has no specversion")
        return event

    def _check(self, raw: bytes) -> None:
        """Raise TooLarge for JSON with more values than a document may have."""
        check_value_count(raw, self._limits.max_document_values)

    def _changes(self, read: Callable[[], Event]) -> tuple[SourceChange, ...]:
        try:
            event = read()
            body = self._values.plain_body(self._graph, event)
            if body is not None:
                document = document_of(self._graph, {**body, "id": self._values.id_of(event)}, self._limits)
                return (SourceChange(self._graph, document.doc_id, document),)
            return tuple(map(self._checked, self._values.event_changes(self._graph, event)))
        except Rejected as error:
            raise Invalid("event", str(error)) from error
        except RecursionError as error:
            raise Invalid("event", "is nested too deeply; flatten it") from error

    def _checked(self, change: SourceChange) -> SourceChange:
        """Return the change after the checks of a published document. Raises Invalid."""
        document_id(change.doc_id)
        if change.graph != self._graph:
            raise Invalid("event", f"is mapped to the graph {change.graph[:64]!r}; send it to that graph")
        if change.document is not None:
            body = load_in_parts(change.document.encode())
            body.pop("schema", None)
            document_of(self._graph, {"id": change.doc_id, **body}, self._limits)
        return change
