"""Bounds of a request's lists and free-form values, checked in its bytes before protobuf parses them.

Four megabytes may hold two million empty facts, for each of which the parser makes an object. The invariant: no message
is parsed whose lists or free-form values are larger than requests may have. Malformed bytes are left to the parser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor

from graphtide.services.api.schema.errors import MalformedRequest
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.errors import Invalid

SMALL_BYTES = 16 << 10
"""Size up to which a message is parsed at once: it holds some thousand values."""
MAX_FIELDS = 1000
"""Fields of one name in a message, unless a limit has that name."""
STRUCT_BYTES = 8
"""Maximum size of a value in a Struct, as a multiple of its JSON: one digit is a double with its tags."""
STRUCT = "google.protobuf.Struct"
DESCENDED = ("graphtide.v1.EntityList", "graphtide.v1.FactList", "graphtide.v1.Filters")
_VARINT, _FIXED64, _BYTES, _GROUP, _GROUP_END, _FIXED32 = range(6)
_MAX_VARINT_BYTES = 10

Parse = Callable[[bytes], Any]


def bounded(parse: Parse, limits: RequestLimits) -> Parse:
    """Return the parser of a message kind, which raises Invalid for a message beyond the limits."""
    descriptor: Descriptor = parse.__self__.DESCRIPTOR  # type: ignore[attr-defined]

    def parse_bounded(raw: bytes) -> Any:
        if len(raw) > SMALL_BYTES:
            _Scan(raw, limits).check(descriptor, "", 0, len(raw))
        return parse(raw)

    return parse_bounded


class _Scan:
    """One pass over a message. Cost: its fields, and the elements of its lists up to the limits."""

    def __init__(self, raw: bytes, limits: RequestLimits) -> None:
        self._raw = raw
        self._struct_bytes = limits.max_metadata_bytes
        self._limits = {
            "facts.items": ("facts", limits.max_facts),
            "entities.items": ("entities", limits.max_entities),
            "filters.doc_ids": ("filters.doc_ids", limits.max_filter_values),
            "filters.sources": ("filters.sources", limits.max_filter_values),
        }
        self._counts: Counter[str] = Counter()

    def check(self, descriptor: Descriptor, within: str, start: int, end: int) -> None:
        """Check the fields in a part of the message. Raises Invalid, MalformedRequest."""
        known = descriptor.fields_by_number
        for number, begin, stop in self._fields(start, end):
            field = known.get(number)
            name = within + (field.name if field else "unknown")
            self._count(name)
            kind = field.message_type.full_name if field and field.message_type else ""
            if kind == STRUCT and stop - begin > STRUCT_BYTES * self._struct_bytes:
                raise Invalid(name, f"takes more than {self._struct_bytes} bytes as JSON; shorten it")
            if field is not None and kind in DESCENDED:
                self.check(field.message_type, f"{name}.", begin, stop)

    def _count(self, name: str) -> None:
        self._counts[name] += 1
        shown, limit = self._limits.get(name, (name, MAX_FIELDS))
        if self._counts[name] > limit:
            raise Invalid(shown, f"has more than {limit} entries, the limit; send them in parts, or raise the limit")

    def _fields(self, at: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield number, begin and end of each field's content. Stops at bytes that the parser refuses."""
        while at < end:
            tag, at = self._varint(at, end)
            number, wire, begin = tag >> 3, tag & 7, at
            if wire == _BYTES:
                size, begin = self._varint(at, end)
                at = begin + size
            elif wire in (_FIXED64, _FIXED32):
                at += 8 if wire == _FIXED64 else 4
            elif wire == _VARINT:
                _, at = self._varint(at, end)
            elif wire in (_GROUP, _GROUP_END):
                raise MalformedRequest("the message has a group, which no message of graphtide.proto has")
            else:
                return
            if at > end:
                return
            yield number, begin, at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """Return a number and the position after it, one beyond the end if it is malformed."""
        value = 0
        for place in range(_MAX_VARINT_BYTES):
            if at + place >= end:
                break
            byte = self._raw[at + place]
            value |= (byte & 127) << 7 * place
            if byte < 128:
                return value, at + place + 1
        return 0, end + 1
