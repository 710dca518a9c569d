"""Logical types of Kafka Connect, Debezium and Avro, converted to JSON values that a reader understands.

A date column arrives as a number of days, a decimal as bytes: the schema beside the value says so. A value whose type
is unknown, or which its type does not fit, is kept as it is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

_EPOCH = date(1970, 1, 1)
_MALFORMED = (ValueError, TypeError, ArithmeticError, KeyError, AttributeError, binascii.Error)
_CONNECT = "org.apache.kafka.connect.data."
_DEBEZIUM = "io.debezium.time."


def _day(days: int) -> str:
    return (_EPOCH + timedelta(days=days)).isoformat()


def _moment(per_second: int) -> Callable[[int], str]:
    def convert(count: int) -> str:
        seconds, rest = divmod(count, per_second)
        moment = datetime(1970, 1, 1) + timedelta(seconds=seconds, microseconds=rest * 1_000_000 // per_second)
        return iso(moment)

    return convert


def _clock(per_second: int) -> Callable[[int], str]:
    def convert(count: int) -> str:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=count * 1_000_000 // per_second)
        return iso(moment.time())

    return convert


_INTEGERS: Mapping[str, Callable[[int], str]] = {
    f"{_CONNECT}Date": _day,
    f"{_CONNECT}Time": _clock(1_000),
    f"{_CONNECT}Timestamp": _moment(1_000),
    f"{_DEBEZIUM}Date": _day,
    f"{_DEBEZIUM}Time": _clock(1_000),
    f"{_DEBEZIUM}MicroTime": _clock(1_000_000),
    f"{_DEBEZIUM}NanoTime": _clock(1_000_000_000),
    f"{_DEBEZIUM}Timestamp": _moment(1_000),
    f"{_DEBEZIUM}MicroTimestamp": _moment(1_000_000),
    f"{_DEBEZIUM}NanoTimestamp": _moment(1_000_000_000),
}


def iso(value: datetime | time | date) -> str:
    """Return ISO 8601: UTC as Z, and no fraction of a second that is zero."""
    text = value.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def from_connect(value: object, schema: object) -> object:
    """Return a value of Kafka Connect's JSON converter with its logical types converted by the schema beside it."""
    if value is None or not isinstance(schema, dict):
        return value
    try:
        return _by_connect(value, schema)
    except _MALFORMED:
        return value


def _by_connect(value: object, schema: Mapping[str, Any]) -> object:
    kind, name = schema.get("type"), schema.get("name")
    if kind == "struct" and isinstance(value, dict):
        if name == "io.debezium.data.VariableScaleDecimal":
            return _decimal(base64.b64decode(value["value"]), int(value["scale"]))
        types = {field["field"]: field for field in schema["fields"]}
        return {key: from_connect(inner, types.get(key)) for key, inner in value.items()}
    if kind == "array" and isinstance(value, list):
        return [from_connect(inner, schema.get("items")) for inner in value]
    if kind == "map" and isinstance(value, dict):
        return {key: from_connect(inner, schema.get("values")) for key, inner in value.items()}
    return _scalar_by_connect(value, name, schema)


def _scalar_by_connect(value: object, name: object, schema: Mapping[str, Any]) -> object:
    if name == f"{_CONNECT}Decimal" and isinstance(value, str):
        return _decimal(base64.b64decode(value), int(schema["parameters"]["scale"]))
    if isinstance(name, str) and name in _INTEGERS and isinstance(value, int):
        return _INTEGERS[name](value)
    return value


def from_avro(value: object, schema: Any, named: Mapping[str, Any]) -> object:
    """Return a decoded Avro value as JSON, with the types of Debezium converted that its schema names.

    `named` are the record types by full name; unions contain at most one other type than null.
    """
    if isinstance(schema, list):
        choices = [each for each in schema if each != "null"]
        schema = choices[0] if len(choices) == 1 else None
    if isinstance(schema, str):
        schema = named.get(schema)
    try:
        return _by_avro(value, schema if isinstance(schema, dict) else {}, named)
    except _MALFORMED:
        return plain(value)


def _by_avro(value: object, schema: Mapping[str, Any], named: Mapping[str, Any]) -> object:
    name = schema.get("connect.name")
    if isinstance(value, dict):
        if name == "io.debezium.data.VariableScaleDecimal":
            return _decimal(bytes(value["value"]), int(value["scale"]))
        types = {field["name"]: field["type"] for field in schema.get("fields", ())}
        inner_type = schema.get("values")
        return {str(key): from_avro(inner, types.get(key, inner_type), named) for key, inner in value.items()}
    if isinstance(value, list):
        return [from_avro(inner, schema.get("items"), named) for inner in value]
    if isinstance(name, str) and name in _INTEGERS and type(value) is int:
        return _INTEGERS[name](value)
    return plain(value)


def plain(value: object) -> object:
    """Return a JSON value for a value that an Avro decoder returns."""
    if isinstance(value, datetime | date | time):
        return iso(value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _decimal(unscaled: bytes, scale: int) -> str:
    if not -1000 <= scale <= 1000 or len(unscaled) > 500:
        raise ValueError("the decimal is too long")
    number = int.from_bytes(unscaled, "big", signed=True)
    return format(Decimal(number).scaleb(-scale), "f") if scale else str(number)
