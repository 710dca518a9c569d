"""JSON schemas of answers, and sendable text. Without an endpoint's client, so that importing it loads none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON schema that the answer must have, and its name."""

    name: str
    shape: Mapping[str, object]


def sendable(text: str) -> str:
    """Return valid UTF-8: half a surrogate pair becomes a question mark, in place, so that no position moves."""
    return text.encode("utf-8", "replace").decode()
