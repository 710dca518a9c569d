"""CloudEvents 1.0 as documents: both modes, as the official SDK writes them, with a mapping and without."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings import kafka
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from graphtide.infra.sources.decoder import DirectValues
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import DocumentMessage, decode_document
from graphtide.streams.sources.types import Headers
from tests.support.source_records import change, decoded, mapping

ATTRIBUTES: dict[str, Any] = {"id": "e1", "source": "/crm", "type": "saved", "subject": "contracts/7"}
ROW = {"name": "Boiler", "signer": "Ana", "region": "north"}
EVENT = {"specversion": "1.0", **ATTRIBUTES}


def sent(mode: str, data: Any, **more: Any) -> tuple[bytes, Headers]:
    """Return value and headers of an event as the SDK sends it."""
    event = CloudEvent({**ATTRIBUTES, "time": datetime(2025, 11, 22, 10, tzinfo=UTC), **more}, data)
    write = kafka.to_structured if mode == "structured" else kafka.to_binary
    message = write(event, JSONFormat())
    return message.value, tuple(message.headers.items())


@pytest.mark.parametrize("mode", ["structured", "binary"])
async def test_event_of_the_sdk_is_mapped_in_both_modes(mode: str) -> None:
    """Subject, source and time are the defaults; templates see attributes with @."""
    value, headers = sent(mode, ROW, datacontenttype="application/json")
    [found] = await decoded(mapping(title="{@type} {name}", metadata=["region"]), None, value, headers)
    assert found.doc_id == "contracts/7"
    assert found.document is not None
    info = found.document.info
    assert (found.document.text, info.title) == ("Boiler was signed by Ana.", "saved Boiler")
    assert (info.source, info.occurred_at, info.metadata) == ("/crm", "2025-11-22T10:00:00Z", (("region", '"north"'),))


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_event_in_documents_is_a_document_without_a_mapping(mode: str) -> None:
    """The data is the body of a document, facts included, and the record's key names it."""
    body = {"text": "Ana signed.", "facts": [{"subject": "Ana", "predicate": "signed", "object": "it"}]}
    value, headers = sent(mode, body, datacontenttype="application/json")
    found = DirectValues({}).decode("g|a", value, headers)
    plain = {**body, "source": "/crm", "occurred_at": "2025-11-22T10:00:00Z"}
    assert found == decode_document("g|a", json.dumps(plain).encode())


def test_text_is_a_document_in_binary_mode() -> None:
    """The content type of the data says so."""
    value, headers = sent("binary", "Ana signed.", datacontenttype="text/plain")
    found = DirectValues({}).decode("g|a", value, headers)
    assert isinstance(found, DocumentMessage)
    assert found.text == "Ana signed."


async def test_event_deletes_when_its_type_says_so() -> None:
    """The built-in type, and those that the mapping names."""
    for kind, chosen in (("graphtide.document.deleted", mapping()), ("gone", mapping(delete_types=["gone"]))):
        [found] = await decoded(chosen, None, {**EVENT, "type": kind})
        assert (found.doc_id, found.document) == ("contracts/7", None)
    assert (
        DirectValues({}).decode("g|a", json.dumps({**EVENT, "type": "graphtide.document.deleted"}).encode(), ()) is None
    )


async def test_event_without_a_time_has_none() -> None:
    """The SDK would invent the present time, which would differ in a replay."""
    first, second = [await decoded(mapping(), None, {**EVENT, "data": ROW}) for _ in range(2)]
    assert first == second
    assert first[0].document is not None
    assert first[0].document.info.occurred_at == ""


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"specversion": "0.3"}, "must be '1.0'"),
        ({"id": ""}, "no id"),
        ({"id": 5}, "invalid"),
        ({"source": None}, "source"),
        ({"time": "yesterday"}, "invalid"),
        ({"time": 5}, "invalid"),
        ({"type": ["t"]}, "invalid|type"),
        ({"data": None}, "no data"),
        ({"data": [1]}, "list"),
        ({"data": 5}, "int"),
        ({"data": None, "data_base64": "***"}, "base64"),
        ({"data": None, "data_base64": 5}, "base64"),
        ({"data": {"other": 1}}, "no field 'name'"),
        ({"bad-name": "x"}, "invalid"),
    ],
)
async def test_malformed_event_is_refused_with_its_cause(wrong: dict[str, Any], cause: str) -> None:
    """Each is a dead letter, and never an error of another kind."""
    with pytest.raises(Rejected, match=cause):
        await decoded(mapping(), None, {**EVENT, "data": ROW, **wrong})


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ((("ce_specversion", b"1.0"),), b"{}"),
        ((("ce_id", b"\xff"), ("ce_specversion", b"1.0")), b"{}"),
        ((("CE_ID", b"1"), ("ce_specversion", b"1.0"), ("ce_source", b"s"), ("ce_type", b"t")), b"{no json"),
        ((("ce_id", b"1"), ("ce_specversion", b"1.0"), ("ce_source", b"s"), ("ce_type", b"t")), b"[" * 100_000),
        ((("ce_id", b"1"), ("ce_specversion", b"1.0"), ("ce_source", b"s"), ("ce_type", b"t")), b"\xff\xfe"),
        ((("ce_id", b"1"), ("ce_specversion", b"1.0"), ("ce_source", b"s"), ("ce_type", b"t")), None),
    ],
)
async def test_malformed_binary_event_is_refused(headers: Headers, value: bytes | None) -> None:
    """Missing attributes, bytes that are no text, data that is no JSON, no data."""
    with pytest.raises(Rejected):
        await decoded(mapping(), None, value, headers)


def test_envelope_of_debezium_in_documents_is_a_document() -> None:
    """The record's key names the document; an operation d deletes it."""
    values = DirectValues({})
    saved = values.decode("g|a", json.dumps(change("c", {"text": "Ana signed."})).encode(), ())
    assert saved is not None
    assert saved.text == "Ana signed."
    assert values.decode("g|a", json.dumps({**change("d", None), "after": None}).encode(), ()) is None
    mapped = DirectValues({"g": mapping(topic="documents", graph="g", id="{id}")})
    found = mapped.decode("g|a", json.dumps(change("u", {**ROW, "id": 9})).encode(), ())
    assert found is not None
    assert (found.doc_id, found.text) == ("a", "Boiler was signed by Ana.")


def nested(depth: int) -> tuple[str, str]:
    """Return a list of that depth as JSON, and its schema of Kafka Connect."""
    schema = '{"type":"array","items":' * depth + '{"type":"int32"}' + "}" * depth
    return "[" * depth + "1" + "]" * depth, schema


@pytest.mark.parametrize("depth", [200, 500, 900, 100_000])
def test_deeply_nested_value_in_documents_is_rejected(depth: int) -> None:
    """A JSON parser accepts some depths that a conversion does not: none is an error of another kind."""
    value, schema = nested(depth)
    rows = DirectValues({"g": mapping(topic="documents", graph="g", metadata=["region"])})
    event = json.dumps(EVENT)[:-1]
    for data in (
        f'{{"schema":{schema},"payload":{value}}}',
        f'{{"op":"c","after":{{"name":"A","signer":"B","region":{value}}}}}',
        f'{{"op":"c","after":{{"name":{value},"signer":"B","region":1}}}}',
    ):
        for sent_value in (f'{event},"data":{data}}}', data):
            with suppress(Rejected):  # the shallow ones may be stored
                rows.decode("g|a", sent_value.encode(), ())


async def test_avro_in_binary_mode_is_decoded_when_it_is_ascii() -> None:
    """The first byte tells it from text, whatever content type the producer sets."""

    class Registry:
        async def decode(self, data: bytes) -> object:
            return ROW if data == b"\0\0\0\0\1short" else None

        async def close(self) -> None:
            """Do nothing."""

    for kind in (b"application/avro", b"application/json"):
        headers = tuple((f"ce_{name}", str(value).encode()) for name, value in EVENT.items())
        [found] = await decoded(
            mapping(), None, b"\0\0\0\0\1short", (*headers, ("content-type", kind)), registry=Registry()
        )
        assert found.document is not None
        assert found.document.text == "Boiler was signed by Ana."
