"""The JSON object that a model's reply should be. What is believed of it is for its reader to say."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_TOKENS = 10_000_000
"""Of one call, whatever its endpoint claims: more than any model reads or writes."""


def object_of(text: str) -> dict[str, Any]:
    """The object in `text`; an empty one where it is anything else, cut off, or nested beyond reading."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def number_of(value: object, least: float, most: float) -> float | None:
    """A number held to its bounds; None for what is none, infinite ones and truth values among it.

    Python reads whole numbers of any length, which no float holds: they are bounded before they become one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(max(least, min(most, value)))
