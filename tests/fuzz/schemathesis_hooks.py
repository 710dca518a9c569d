"""Extension of schemathesis: the serialization of NDJSON."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from schemathesis import SerializationContext


@schemathesis.serializer("application/x-ndjson")
def write_lines(_: SerializationContext, value: Any) -> bytes:
    """Write a document as a batch of one line, anything else as it is."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
