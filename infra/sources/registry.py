"""Values in a schema registry's wire format: a zero byte, the schema's number in four bytes, then Avro or JSON.

Confluent's client fetches schemas, fastavro decodes. A schema never changes, so each is fetched once. Invariants: an
unreachable registry, or one that refuses the credentials, is Retryable: the records wait, and none is rejected for it;
the time and the stack that a value takes are bounded by its bytes (`avro_limits.py`).
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from graphtide.infra.settings import Settings
from graphtide.infra.sources.avro_limits import has_cycle, unbounded_array
from graphtide.infra.sources.logical_types import from_avro
from graphtide.infra.sources.wire import ASIDE_BYTES, NoRegistry, Registry
from graphtide.streams.errors import Broken, Rejected, Retryable
from graphtide.streams.json_parts import load_in_parts

HEADER_BYTES = 5
TIMEOUT_S = 10.0
MAX_SCHEMAS = 1_000
MAX_REFERENCES = 100
UNKNOWN_SCHEMA = 40403
"""The registry's code for a schema that does not exist; any other 404 is from a server that is no registry."""
_MISSING = "the extra schema-registry is not installed: pip install 'graphtide[schema-registry]'"
_NO_REGISTRY = (OSError, TimeoutError, ValueError, TypeError, KeyError)
"""The errors of a connection, and of answers that no registry gives, such as a web page."""
_UNDECODABLE = (
    EOFError,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    StopIteration,
    ArithmeticError,
    MemoryError,
    RecursionError,
    AssertionError,
)


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A parsed schema, and the named types in it. `is_recursive`: values of a type may contain values of that type."""

    parsed: Any
    named: Mapping[str, Any]
    is_recursive: bool = False


class SchemaRegistry:
    """See Registry. Made in the event loop that uses it; `close` ends its connections."""

    def __init__(self, url: str, user: str = "", password: str = "", ca_file: str = "") -> None:
        try:
            from confluent_kafka.schema_registry import AsyncSchemaRegistryClient
        except ImportError as error:
            raise Broken(_MISSING) from error
        settings: dict[str, object] = {"url": url, "timeout": TIMEOUT_S, "max.retries": 0}
        if user:
            settings["basic.auth.user.info"] = f"{user}:{password}"
        if ca_file:
            settings["ssl.ca.location"] = ca_file
        self._url = url
        self._client = AsyncSchemaRegistryClient(settings)
        self._schemas: OrderedDict[int, AvroSchema | None] = OrderedDict()

    async def decode(self, data: bytes) -> object:
        """See Registry.decode."""
        if len(data) <= HEADER_BYTES:
            raise Rejected(f"the value has {len(data)} bytes, which is no Avro or JSON of a schema registry")
        number = int.from_bytes(data[1:HEADER_BYTES], "big")
        if number not in self._schemas:
            self._schemas[number] = await self._fetch(number)
            if len(self._schemas) > MAX_SCHEMAS:
                self._schemas.popitem(last=False)
        schema = self._schemas[number]
        if len(data) < ASIDE_BYTES:
            return decode_value(data, schema, number)
        return await asyncio.to_thread(decode_value, data, schema, number)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.__aexit__(None, None, None)  # type: ignore[no-untyped-call]

    async def _fetch(self, number: int) -> AvroSchema | None:
        """Return the Avro schema of that number; None for a JSON schema."""
        found = await self._asked(self._client.get_schema(number), f"the schema {number}")
        kind = found.schema_type or "AVRO"
        if kind == "JSON":
            return None
        if kind != "AVRO":
            raise Rejected(f"the schema {number} is of type {kind}: let the connector use Avro or JSON Schema")
        named: dict[str, Any] = {}
        await self._add_references(found, named, set())
        return parse_avro(found.schema_str, named, number)

    async def _add_references(self, schema: Any, named: dict[str, Any], seen: set[tuple[str, int]]) -> None:
        """Add the named types of the schemas that this one refers to, the innermost first."""
        for reference in schema.references or ():
            place = (reference.subject, reference.version)
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > MAX_REFERENCES:
                raise Rejected(f"the schema refers to more than {MAX_REFERENCES} others: simplify it")
            asked = self._client.get_version(reference.subject, reference.version)
            inner = (await self._asked(asked, f"the subject {reference.subject}")).schema
            await self._add_references(inner, named, seen)
            parse_avro(inner.schema_str, named, reference.version)

    async def _asked(self, request: Any, what: str) -> Any:
        from confluent_kafka.schema_registry import SchemaRegistryError

        failures: tuple[type[Exception], ...] = (*_http_errors(), *_NO_REGISTRY)
        try:
            return await request
        except SchemaRegistryError as error:
            if error.error_code == UNKNOWN_SCHEMA:
                raise Rejected(
                    f"the registry does not know {what}: check that GRAPHTIDE_SCHEMA_REGISTRY_URL names the registry"
                    " of the connector"
                ) from None
            if error.http_status_code in (401, 403):
                raise Retryable(
                    f"the schema registry at {self._url} refuses the credentials (status {error.http_status_code}):"
                    " set GRAPHTIDE_SCHEMA_REGISTRY_USER and GRAPHTIDE_SCHEMA_REGISTRY_PASSWORD"
                ) from None
            raise Retryable(
                f"the schema registry at {self._url} answered {error.http_status_code} for {what}"
            ) from None
        except failures as error:
            raise Retryable(
                f"the schema registry at {self._url} is unreachable ({type(error).__name__}): records wait for it"
            ) from None


def _http_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the HTTP libraries that Confluent's client uses: the one that is installed."""
    found = [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
    return tuple(module.HTTPError for module in found)


def open_registry(settings: Settings) -> Registry:
    """Return the registry of the settings. Raises Broken for settings that cannot be used."""
    if not settings.schema_registry_url:
        return NoRegistry()
    password = settings.schema_registry_password.get_secret_value()
    try:
        return SchemaRegistry(
            settings.schema_registry_url, settings.schema_registry_user, password, settings.schema_registry_ca_file
        )
    except (ValueError, TypeError, OSError) as error:
        raise Broken(f"the schema registry of the settings cannot be used: {type(error).__name__}") from None


def parse_avro(text: str | None, named: dict[str, Any], number: int) -> AvroSchema:
    """Return the schema in the text. Raises Rejected for one that is malformed, or does not bound its values."""
    from fastavro import parse_schema

    try:
        parsed = parse_schema(json.loads(text or ""), named_schemas=named)
    except Exception as error:  # noqa: BLE001 - the parser raises errors of many kinds for a malformed schema
        raise Rejected(f"the schema {number} is no Avro schema ({type(error).__name__}): register it again") from None
    if unbounded_array(parsed, named):
        raise Rejected(
            f"the schema {number} has an array whose items take no bytes, so that a short value can have any number of"
            " them: give the items a type other than null"
        )
    return AvroSchema(parsed, named, has_cycle(parsed, named))


def decode_value(data: bytes, schema: AvroSchema | None, number: int) -> object:
    """Return the value of a record, whose first HEADER_BYTES name the schema. Raises Rejected."""
    if schema is None:
        return _json(data[HEADER_BYTES:])
    stream = io.BytesIO(data)
    stream.seek(HEADER_BYTES)
    try:
        return from_avro(_reader(schema)(stream, schema.parsed, None), schema.parsed, schema.named)
    except _UNDECODABLE as error:
        raise Rejected(
            f"the value does not fit its Avro schema {number} ({type(error).__name__}): check the producer"
        ) from None


def _reader(schema: AvroSchema) -> Callable[..., object]:
    """Return fastavro's reader: compiled, or for a recursive schema the one in Python.

    The compiled one overflows the stack of the process with a value that is nested too deeply; the other one raises
    RecursionError.
    """
    if schema.is_recursive:
        from fastavro._read_py import schemaless_reader as interpreted

        return cast("Callable[..., object]", interpreted)
    from fastavro import schemaless_reader

    return schemaless_reader


def _json(data: bytes) -> object:
    try:
        return load_in_parts(data)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the value is not JSON, as its schema says ({type(error).__name__})") from None
