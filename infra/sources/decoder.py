"""Decoders of records by the mappings of a sources file: of other systems' topics, and of values published directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphtide.infra.sources.cloud_events import DELETED, Event, envelope_of, is_event, read_event
from graphtide.infra.sources.envelopes import Envelope, Row, debezium, is_debezium, tombstone, unwrapped
from graphtide.infra.sources.mapper import changes
from graphtide.infra.sources.mapping import SourceMapping, SourcesFile
from graphtide.infra.sources.templates import Fields, as_text
from graphtide.infra.sources.wire import NoRegistry, Registry, parse, parse_json, parse_key
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import dump
from graphtide.streams.messages import DOCUMENTS, DocumentMessage, decode_document, split_document_key
from graphtide.streams.sources.types import Headers, SourceChange, SourceRecord

_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError)
_OF_EVENTS = frozenset({DELETED})
_DEFAULT = SourceMapping(topic=DOCUMENTS, graph="any", source="{source?}", occurred_at="{occurred_at?}")


class MappedTopics:
    """See SourceDecoder. One decoder serves all topics of the file."""

    def __init__(self, mappings: Mapping[str, SourceMapping], registry: Registry | None = None) -> None:
        self._mappings = mappings
        self._registry = registry or NoRegistry()

    def graph_of(self, topic: str) -> str:
        """See SourceDecoder.graph_of."""
        template = self._mappings[topic].templates.graph
        return "" if template.paths else template.render(Fields({}, {}))

    async def decode(self, record: SourceRecord) -> Sequence[SourceChange]:
        """See SourceDecoder.decode."""
        mapping = self._mappings[record.topic]
        try:
            return await self._decode(mapping, record)
        except _MALFORMED as error:
            raise _malformed(error) from error

    async def _decode(self, mapping: SourceMapping, record: SourceRecord) -> Sequence[SourceChange]:
        table = record.topic.rsplit(".", 1)[-1]
        places: dict[str, object] = {"topic": record.topic, "table": table}
        if mapping.format in ("auto", "cloudevents") and is_event(record.value, record.headers):
            event = read_event(record.value, record.headers)
            if event is not None:
                if isinstance(event.data, bytes):
                    event = Event(event.attributes, await parse(event.data, self._registry))
                return _of_event(mapping, event, places, await self._key(record))
        if mapping.format == "cloudevents":
            if record.value is None:
                return ()
            raise Rejected(
                "the record is no CloudEvent: it has neither specversion nor ce_ headers; correct the producer, or set"
                " another format in the mapping"
            )
        row = await self._key(record)
        found = {**places, "key": row}
        envelope = await self._envelope(mapping, record.value, row, found)
        return changes(mapping, envelope, _default_id(table, row)) if envelope is not None else ()

    async def _key(self, record: SourceRecord) -> Row | None:
        """Return the fields of the record's key; a key that is a text or a number has the field `key`."""
        key = await parse_key(record.key, self._registry)
        return key if isinstance(key, dict) else None if key is None else {"key": key}

    async def _envelope(
        self, mapping: SourceMapping, value: bytes | None, key: Row | None, found: Mapping[str, object]
    ) -> Envelope | None:
        body = None if value is None else await parse(value, self._registry)
        if body is None:
            return tombstone(key, found) if key is not None and _identifies(mapping, key) else None
        if not isinstance(body, dict):
            raise Rejected(f"the value is a JSON {type(body).__name__}, not an object: correct the producer")
        if mapping.format == "debezium" or (mapping.format == "auto" and is_debezium(body)):
            if not is_debezium(body):
                raise Rejected(
                    "the value is no Debezium envelope, which has op and before or after: set format = 'row' in the"
                    " mapping for records that ExtractNewRecordState has unwrapped"
                )
            return debezium(body, key, found)
        return unwrapped(body, key, found)


class DirectValues:
    """Decoder of values whose key, or whose HTTP address, names graph and document."""

    def __init__(self, mappings: Mapping[str, SourceMapping]) -> None:
        self._mappings = mappings

    @classmethod
    def of(cls, file: SourcesFile) -> DirectValues:
        """Return the decoder of a sources file."""
        return cls(file.direct())

    def decode(self, key: str, value: bytes, headers: Headers) -> DocumentMessage | None:
        """Return the document in a record of `documents`; None for a deletion. Raises Rejected."""
        try:
            return self._decode(key, value, headers)
        except _MALFORMED as error:
            raise _malformed(error) from error

    def _decode(self, key: str, value: bytes, headers: Headers) -> DocumentMessage | None:
        if is_event(value, headers):
            event = read_event(value, headers)
            if event is not None:
                return self.document_in(split_document_key(key), event)
        elif b'"op"' in value and b'"after"' in value:
            body = parse_json(value)
            if isinstance(body, dict) and is_debezium(body):
                identity = split_document_key(key)
                return self._row_in(identity, debezium(body, {"key": identity[1]}, {}))
        return decode_document(key, value)

    def event_changes(self, graph: str, event: Event) -> Sequence[SourceChange]:
        """Return the changes in an event for the graph. Raises Rejected."""
        mapping = self._mappings.get(graph)
        if mapping is not None:
            return _of_event(mapping, event, {})
        doc_id = self.id_of(event)
        return (SourceChange(graph, doc_id, self.document_in((graph, doc_id), event)),)

    @staticmethod
    def id_of(event: Event) -> str:
        """Return the id of the document in an event without a mapping."""
        named = event.data.get("id") if isinstance(event.data, dict) else None
        return named if isinstance(named, str) and named else event.subject

    def plain_body(self, graph: str, event: Event) -> dict[str, object] | None:
        """Return the body of the document in an event that is not mapped; None for every other event.

        Raises Rejected.
        """
        envelope = envelope_of(event, _delete_types(self._mappings.get(graph)))
        if graph in self._mappings or envelope.operation != "c" or envelope.is_row:
            return None
        body = {"source": event.attributes["source"], "occurred_at": event.attributes.get("time", "")}
        given = {name: value for name, value in (envelope.after or {}).items() if name != "id"}
        return {name: value for name, value in (body | given).items() if value != ""}

    def document_in(self, identity: tuple[str, str], event: Event) -> DocumentMessage | None:
        """Return the document in an event, whose identity is given; None for a deletion. Raises Rejected."""
        body = self.plain_body(identity[0], event)
        if body is not None:
            return decode_document("|".join(identity), _dumped(body))
        return self._row_in(identity, envelope_of(event, _delete_types(self._mappings.get(identity[0]))))

    def _row_in(self, identity: tuple[str, str], envelope: Envelope) -> DocumentMessage | None:
        mapping = self._mappings.get(identity[0]) or _DEFAULT
        found = changes(mapping.for_given_identity, envelope)
        if not found:
            raise Rejected(f"the mapping ignores the operation {envelope.operation[:20]!r}: skip it in the connector")
        document = found[-1].document
        return None if document is None else replace(document, graph=identity[0], doc_id=identity[1])


def _malformed(error: Exception) -> Rejected:
    """Return the reason for an error of any kind: no record may stop its partition, whatever it contains."""
    return Rejected(
        f"the record is malformed ({type(error).__name__}): send a flat JSON object, or correct the mapping"
    )


def _of_event(
    mapping: SourceMapping, event: Event, places: Mapping[str, object], key: Row | None = None
) -> Sequence[SourceChange]:
    envelope = envelope_of(event, _delete_types(mapping))
    located = replace(envelope, key=key, attributes={**places, **envelope.attributes})
    if envelope.is_row:  # the event's id is that of the change, not of the row
        return changes(mapping, located, _default_id(str(places.get("table", "")), key))
    return changes(mapping.for_events, replace(located, key=None), event.subject)


def _delete_types(mapping: SourceMapping | None) -> frozenset[str]:
    return _OF_EVENTS if mapping is None else _OF_EVENTS | frozenset(mapping.delete_types)


def _default_id(table: str, key: Row | None) -> str:
    """Return the id of a row without a template: the table and the values of the key."""
    values = [as_text(value) for value in (key or {}).values()]
    return f"{table}/{'/'.join(values)}" if values and all(values) else ""


def _identifies(mapping: SourceMapping, key: Row) -> bool:
    """Return True if the key alone gives graph and id, so that a tombstone can be mapped."""
    paths = (*mapping.templates.graph.paths, *mapping.templates.id.paths)
    return {path.split(".")[0] for path in paths if not path.startswith("@")} <= key.keys()


def _dumped(body: Mapping[str, object]) -> bytes:
    try:
        return dump(body)
    except (ValueError, UnicodeEncodeError) as error:
        raise Rejected(f"the document cannot be stored: {str(error)[:100]}") from error
