"""Protobuf requests of any type for property tests: made from descriptors, partly valid and partly invalid."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct
from hypothesis import strategies as st

INT64 = 1 << 63
GRAPHS = ("notes", "none", "*", "", "a|b", "x" * 65)
TEXTS = {
    "graph": GRAPHS,
    "id": ("curie", "a/ü", "none", "", "a\0b", "x" * 600),
    "text": ("Marie Curie discovered polonium.", " ", "\0", "[ " * 50),
    "question": ("Who discovered polonium?", "What is in all the notes?", "", "all the " * 40),
    "mode": ("local", "vector", "global", "auto", "none", ""),
    "after": ("0:0", "0:0,0:0", "0:999999999", "1:0", "x", "0:" + "9" * 18),
    "occurred_at": ("2024", "2024-05", "2024-05-31T12:00:00Z", "2024-01-01T00000000", "soon"),
    "occurred_from": ("2024", "2025-13", "9999-12-31"),
    "occurred_to": ("2024", "0000", "1999-01-01"),
    "as_of": ("2024", "2024-02-30"),
    "valid_from": ("2024", "-1"),
    "valid_to": ("2023", "2024-05-31"),
}
"""Values by field name that pass a request's first check, or are invalid in a way of their own."""

_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_RECORD = b'{"schema": 1, "text": "Ada met Bob.", "facts": []}'
_NUMBERS = st.integers(-2, 120) | st.sampled_from((-INT64, INT64 - 1)) | st.integers(-INT64, INT64 - 1)
_BY_KIND: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-2, 120),
    FieldDescriptor.CPPTYPE_INT64: _NUMBERS,
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats() | st.just(1.0),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
}


def requests(of: Descriptor) -> st.SearchStrategy[Message]:
    """Return messages of the type, each field present or absent."""
    kind = GetMessageClass(of)
    if of.full_name == Struct.DESCRIPTOR.full_name:
        return st.dictionaries(st.text(max_size=8), _JSON, max_size=4).map(_struct)
    fields = {field.name: _values(field) for field in of.fields}
    required = {name: fields.pop(name) for name in ("graph",) if name in fields}
    return st.fixed_dictionaries(required, optional=fields).map(lambda chosen: kind(**chosen))


def _values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    one = _single(field)
    return st.lists(one, max_size=3) if field.is_repeated else one


def _single(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return requests(field.message_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.just(_RECORD) | st.binary(max_size=40)
    if field.type == FieldDescriptor.TYPE_STRING:
        known = TEXTS.get(field.name, ("polonium",))
        return st.just(known[0]) | st.sampled_from(known) | st.text(max_size=30)
    return _BY_KIND[field.cpp_type]


def _struct(value: dict[str, Any]) -> Struct:
    made = Struct()
    made.update(value)
    return made
