"""Text and JSON of models' replies as well-formed Unicode, whatever an endpoint sends.

Callers validate the content. Half a surrogate pair is valid in JSON but not in UTF-8, so no database and no socket
accepts it: it is replaced here, where replies and cached replies are read.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAX_TOKENS = 10_000_000
"""Upper bound of the reported tokens of one call: more than any model reads or writes."""


def object_of(text: str) -> dict[str, Any]:
    """Return the object in `text`; an empty one for any other text, a truncated one, or one nested too deeply."""
    try:
        body = parsed(text)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def parsed(text: str | bytes) -> Any:
    """Return the JSON value of a text, its strings well-formed. Raises ValueError or RecursionError."""
    return _cleaned(json.loads(text))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(name): _cleaned(item) for name, item in value.items()}
    return value


def well_formed(text: str) -> str:
    """Return valid Unicode: two halves of a surrogate pair become their character, a lone half a question mark."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "replace").decode()
    return text


class Pieces:
    """The pieces of a streamed text, each made well-formed: a pair that two pieces share is kept together."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """Return the complete part of the text that was not returned yet."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return well_formed(text.removesuffix(self._half))

    def end(self) -> str:
        """Return the rest: a half without its other half, replaced."""
        return well_formed(self._half)


def number_of(value: object, minimum: float, maximum: float) -> float | None:
    """Return a number limited to its bounds; None for other values, infinite ones and booleans included.

    Python reads whole numbers of any length, which no float holds: they are bounded before they become one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(max(minimum, min(maximum, value)))
