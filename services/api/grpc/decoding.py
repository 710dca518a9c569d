"""Decoding of protobuf answers into the application's types, for a process that forwards to another one.

One rule serves all types: a message's fields have the names of the dataclass's, so a new field needs no code here. The
invariant: a value that `conversion.py` encoded is decoded to an equal value (numbers in free-form parts travel as
doubles; whole ones become integers again).
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.application import Answer

T = TypeVar("T")


def value_of(kind: type[T], message: Message) -> T:
    """Return the dataclass `kind` that the message carries. Fields missing in the message keep their defaults."""
    return _read(kind, _dict(message))  # type: ignore[no-any-return]


def answer_of(message: pb.Answer, explained: bool) -> Answer:
    """Return the answer. Its subgraph is a nested message, and its trace is present only when `explained`."""
    body = _dict(message)
    body |= body.pop("subgraph", {"nodes": [], "edges": []})
    if not explained:
        del body["trace"]
    return _read(Answer, body)  # type: ignore[no-any-return]


def _dict(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return found


def _read(kind: Any, value: Any) -> Any:
    """Return the JSON value as a value of the type. int64 arrives as a string, an enum as its value."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(
            **{
                each.name: _read(hints[each.name], value.get(each.name))
                for each in fields(kind)
                if each.name in value or (_may_be_none(hints[each.name]) and each.default is MISSING)
            }
        )
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _read(next(arg for arg in args if arg is not type(None)), value)
    if origin is tuple:
        return tuple(_read(args[0], each) for each in value)
    if origin is not None and issubclass(origin, Mapping):
        return {name: _read(args[1], each) for name, each in value.items()}
    return kind(value) if isinstance(kind, type) and kind is not object else _plain(value)


def _may_be_none(kind: Any) -> bool:
    """Return True when an omitted field means None."""
    return type(None) in get_args(kind)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
