"""Phrases in a text, by whole words."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.words import spaced

_REASONS = (
    "because", "due to", "so that", "as a result", "reason", "reasons", "cause", "caused", "causes", "owing",
    "therefore",
    "in order to", "for fear", "thanks to", "so",
)  # fmt: skip


def has_phrase(text: str, phrases: Sequence[str]) -> bool:
    """Return whether the text has one of the phrases, by whole words."""
    words = spaced(text)
    return any(f" {phrase} " in words for phrase in phrases)


def has_reason(text: str) -> bool:
    return has_phrase(text, _REASONS)
