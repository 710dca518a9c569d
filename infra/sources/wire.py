"""Decoding of a record's key or value: JSON with or without Kafka Connect's schema, or a schema registry's format."""

from __future__ import annotations

import asyncio
from typing import Protocol

from graphtide.infra.sources.logical_types import from_connect
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import load_in_parts

MAGIC = 0
"""First byte of a schema registry's format; JSON never begins with it."""
ASIDE_BYTES = 64 << 10
"""Size from which values are decoded in a thread."""


class Registry(Protocol):
    """Decoder of values in a schema registry's format."""

    async def decode(self, data: bytes) -> object:
        """Return the value as JSON. Raises Rejected for an unknown schema, Retryable while it cannot be fetched."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class NoRegistry:
    """The registry of a process whose settings name none."""

    async def decode(self, data: bytes) -> object:
        """Refuse."""
        raise Rejected(
            "the record is in a schema registry's format, and no registry is configured: set"
            " GRAPHTIDE_SCHEMA_REGISTRY_URL, or let the connector use JsonConverter"
        )

    async def close(self) -> None:
        """Do nothing."""


async def parse(data: bytes, registry: Registry) -> object:
    """Return the value as JSON, its logical types converted. Raises Rejected and Retryable."""
    if data[:1] == bytes([MAGIC]):
        return await registry.decode(data)
    return parse_json(data) if len(data) < ASIDE_BYTES else await asyncio.to_thread(parse_json, data)


def parse_json(data: bytes) -> object:
    """Return the JSON value; of a value with Kafka Connect's schema, the payload. Raises Rejected."""
    try:
        return payload_of(load_in_parts(data))
    except (ValueError, RecursionError) as error:
        raise Rejected(
            f"the value is not JSON ({type(error).__name__}: {str(error)[:100]}): let the connector use JsonConverter,"
            " or configure a schema registry for Avro"
        ) from error


def payload_of(value: object) -> object:
    """Return the payload of a value with Kafka Connect's schema; any other value as it is."""
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        return from_connect(value["payload"], value["schema"])
    return value


async def parse_key(data: bytes | None, registry: Registry) -> object:
    """Return a record's key as JSON: fields, a text or a number; None for a record without a key.

    A key that is not JSON is text. Raises Rejected for a key that is neither, and Retryable.
    """
    if not data:
        return None
    if data[:1] == bytes([MAGIC]):
        return await registry.decode(data)
    try:
        return payload_of(load_in_parts(data))
    except (ValueError, RecursionError):
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise Rejected("the record's key is neither JSON nor text: set the connector's key.converter") from error
