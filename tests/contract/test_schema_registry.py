"""A schema registry's wire format: decoded by the official client and fastavro, over a real socket."""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
import pytest_asyncio

from graphtide.infra.sources.registry import SchemaRegistry
from graphtide.streams.errors import Rejected, Retryable
from tests.support.ports import free_port
from tests.support.schema_registry import FakeRegistry, avro, framed, registration
from tests.support.serving import http_service
from tests.support.source_records import decoded, mapping

COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "type": "int"},
    {"name": "name", "type": "string"},
    {"name": "signer", "type": ["null", "string"], "default": None},
    {"name": "signed_on", "type": ["null", {"type": "int", "connect.name": "io.debezium.time.Date"}]},
    {"name": "paid_on", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
]
ROW_TYPE = {"type": "record", "name": "Value", "namespace": "shop.public.contracts", "fields": COLUMNS}
ENVELOPE: dict[str, Any] = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.contracts",
    "fields": [
        {"name": "before", "type": ["null", ROW_TYPE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ],
}
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
ROW = {
    "id": 7,
    "name": "Boiler",
    "signer": "Ana",
    "signed_on": 20414,
    "paid_on": date(2025, 11, 23),
    "at": datetime(2025, 11, 22, 10, tzinfo=UTC),
    "amount": Decimal("1234.50"),
    "tags": ["a", "b"],
}
CHOSEN = mapping(
    text="{name} was signed by {signer} on {signed_on}, paid on {paid_on}: {amount}.",
    occurred_at="{at}",
    metadata=["tags"],
)


class Registered:
    """A registry, its address, and a decoder that uses it."""

    def __init__(self, url: str, fake: FakeRegistry) -> None:
        self.url = url
        self.fake = fake
        self.decoder = SchemaRegistry(url, fake.user, fake.password)
        self._subjects = secrets.token_hex(4)

    async def register(self, subject: str, body: dict[str, Any]) -> int:
        """Register a schema; return its number."""
        login = (self.fake.user, self.fake.password) if self.fake.user else None
        async with httpx.AsyncClient(auth=login) as client:
            address = f"{self.url}/subjects/{self.subject(subject)}/versions"
            return int((await client.post(address, json=body)).raise_for_status().json()["id"])

    def subject(self, name: str) -> str:
        """Return a subject of this test alone."""
        return f"{self._subjects}-{name}"


@pytest_asyncio.fixture
async def registry() -> AsyncIterator[Registered]:
    """Yield a registry with credentials, or the one that the environment names."""
    if given := os.environ.get("GRAPHTIDE_TEST_SCHEMA_REGISTRY"):
        found = Registered(given, FakeRegistry())
        yield found
        await found.decoder.close()
        return
    fake = FakeRegistry("reader", "kept secret")
    async with http_service(fake.application()) as url:
        found = Registered(url, fake)
        yield found
        await found.decoder.close()


async def test_avro_envelope_is_mapped(registry: Registered) -> None:
    """Key and value; unions, Avro's logical types and Debezium's."""
    key = avro(await registry.register("key", registration(KEY)), KEY, {"id": 7})
    number = await registry.register("value", registration(ENVELOPE))
    value = avro(number, ENVELOPE, {"before": None, "after": ROW, "op": "c"})
    [found] = await decoded(CHOSEN, key, value, registry=registry.decoder)
    assert found.doc_id == "contracts/7"
    assert found.document is not None
    assert found.document.text == "Boiler was signed by Ana on 2025-11-22, paid on 2025-11-23: 1234.50."
    assert (found.document.info.occurred_at, found.document.info.metadata) == (
        "2025-11-22T10:00:00Z",
        (("tags", '["a","b"]'),),
    )
    deletion = avro(number, ENVELOPE, {"before": ROW, "after": None, "op": "d"})
    [found] = await decoded(CHOSEN, key, deletion, registry=registry.decoder)
    assert (found.doc_id, found.document) == ("contracts/7", None)


async def test_schema_with_references_is_decoded(registry: Registered) -> None:
    """The type of the row is in a subject of its own."""
    person = {"type": "record", "name": "Person", "fields": [{"name": "name", "type": "string"}]}
    await registry.register("person", registration(person))
    row = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": "name", "type": "string"}, {"name": "signer", "type": "Person"}],
    }
    reference = {"name": "Person", "subject": registry.subject("person"), "version": 1}
    number = await registry.register("row", registration(row, references=[reference]))
    whole = {**row, "fields": [row["fields"][0], {"name": "signer", "type": person}]}
    value = avro(number, whole, {"name": "Boiler", "signer": {"name": "Ana"}})
    chosen = mapping(text="{name} was signed by {signer.name}.")
    [found] = await decoded(chosen, {"id": 1}, value, registry=registry.decoder)
    assert found.document is not None
    assert found.document.text == "Boiler was signed by Ana."


async def test_json_schema_is_decoded_and_protobuf_refused(registry: Registered) -> None:
    """The data of a JSON schema is JSON behind the header."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    number = await registry.register("json", registration(schema, "JSON"))
    value = framed(number, json.dumps({"name": "Boiler", "signer": "Ana"}).encode())
    [found] = await decoded(mapping(), {"id": 1}, value, registry=registry.decoder)
    assert found.document is not None
    assert found.document.text == "Boiler was signed by Ana."
    with pytest.raises(Rejected, match="not JSON"):
        await registry.decoder.decode(framed(number, b"{"))
    body = {"schema": 'syntax = "proto3"; message M { string a = 1; }', "schemaType": "PROTOBUF"}
    number = await registry.register("proto", body)
    with pytest.raises(Rejected, match="PROTOBUF"):
        await registry.decoder.decode(framed(number, b"\0"))


async def test_wrong_data_is_refused(registry: Registered) -> None:
    """An unknown number, too few bytes, data of another schema, lengths beyond the end."""
    number = await registry.register("wrong", registration(KEY))
    text = await registry.register("text", registration({"type": "record", "name": "T", "fields": [COLUMNS[1]]}))
    for data in (
        framed(999_999, b"\2"),
        b"\0",
        b"\0\0\0\0\1",
        framed(number, b"\xff" * 20),
        framed(text, b""),
        framed(text, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01a"),
        framed(text, b"\x01abc"),
        framed(text, b"\x04\xff\xfe"),
    ):
        with pytest.raises(Rejected):
            await registry.decoder.decode(data)


async def test_schema_is_fetched_once(registry: Registered) -> None:
    """Every further value of the schema needs no request."""
    number = await registry.register("once", registration(KEY))
    before = registry.fake.asked
    for at in range(5):
        assert await registry.decoder.decode(avro(number, KEY, {"id": at})) == {"id": at}
    if not os.environ.get("GRAPHTIDE_TEST_SCHEMA_REGISTRY"):
        assert registry.fake.asked == before + 1


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_records_wait_when_the_registry_cannot_answer(
    registry: Registered, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Any failure but an unknown schema is Retryable: 404 may come from a server that is no registry."""
    if os.environ.get("GRAPHTIDE_TEST_SCHEMA_REGISTRY"):
        pytest.skip("a real registry cannot be made to fail")
    number = await registry.register("late", registration(KEY))
    registry.fake.fails_with = status
    with caplog.at_level(logging.DEBUG), pytest.raises(Retryable) as caught:
        await registry.decoder.decode(avro(number, KEY, {"id": 1}))
    registry.fake.fails_with = 0
    assert await registry.decoder.decode(avro(number, KEY, {"id": 1})) == {"id": 1}
    secret = registry.fake.password
    assert secret not in str(caught.value) + caplog.text


async def test_records_wait_when_the_registry_is_unreachable_or_refuses_the_password(registry: Registered) -> None:
    """Nothing listens; or the credentials are wrong, and the message names the settings."""
    absent = SchemaRegistry(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Retryable, match="unreachable"):
        await absent.decode(framed(1, b"\2"))
    await absent.close()
    if registry.fake.user:
        wrong = SchemaRegistry(registry.url, "reader", "hunter2")
        with pytest.raises(Retryable, match="GRAPHTIDE_SCHEMA_REGISTRY_PASSWORD") as caught:
            await wrong.decode(framed(1, b"\2"))
        assert "hunter2" not in repr(caught.value)
        await wrong.close()
