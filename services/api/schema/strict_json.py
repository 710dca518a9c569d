"""Bytes to JSON values, strictly: UTF-8, one value, bounded nesting. Not a validator: see `fields.py` for that.

pydantic's parser is quick, but refuses a whole text for one lone surrogate or deep list without saying which field
holds it. The standard parser reads those, so that the field can be named; what both refuse is malformed.
"""

from __future__ import annotations

import json

from pydantic_core import from_json

from graphtide.services.api.schema.errors import MalformedRequest


def parse_json(raw: bytes) -> object:
    """The value in `raw`. Raises Malformed, saying where the text stops being JSON. Cost: linear."""
    try:
        value: object = from_json(raw)
    except ValueError as error:
        return _parse_again(raw, str(error))
    return value


def _parse_again(raw: bytes, complaint: str) -> object:
    try:
        value: object = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"this is not UTF-8: byte {error.start} is wrong; encode it as UTF-8") from error
    except RecursionError as error:
        raise MalformedRequest("this JSON is nested too deeply to be read; flatten it") from error
    except ValueError as error:
        raise MalformedRequest(f"this is not JSON: {complaint}") from error
    return value
