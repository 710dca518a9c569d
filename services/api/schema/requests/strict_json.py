"""Strict JSON parsing: UTF-8, one value, bounded nesting. `fields.py` validates the values.

pydantic's parser is fast, but refuses a whole text for one lone surrogate or deep list without naming the field. The
standard parser reads those, so that the error can name the field; a text that both refuse is malformed.
"""

from __future__ import annotations

import json

from pydantic_core import from_json

from graphtide.services.api.schema.errors import MalformedRequest


def parse_json(raw: bytes) -> object:
    """Return the value in `raw`. Raises MalformedRequest with the position of the error. Cost: linear."""
    try:
        value: object = from_json(raw)
    except ValueError as error:
        return _parse_again(raw, str(error))
    return value


def _parse_again(raw: bytes, complaint: str) -> object:
    try:
        value: object = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"this is not UTF-8: byte {error.start} is invalid; encode the text as UTF-8") from error
    except RecursionError as error:
        raise MalformedRequest("this JSON is nested too deeply; flatten it") from error
    except ValueError as error:
        raise MalformedRequest(f"this is not JSON: {complaint}") from error
    return value
