"""The types of dead letters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LetterStatus:
    """A dead letter: a record that could not be processed, the reason, and its resolution: "" while unresolved.

    `text` is the beginning of the original with unprintable characters escaped; `original` is all of it in base64. Both
    are empty in a list.
    """

    id: str
    graph: str
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    buried_at: str
    resolution: str
    size_bytes: int
    text: str = ""
    original: str = ""


@dataclass(frozen=True, slots=True)
class LetterList:
    """A page of dead letters, oldest first. `next` is the `after` of the next page, "" on the last."""

    letters: tuple[LetterStatus, ...]
    next: str


@dataclass(frozen=True, slots=True)
class LetterQuery:
    """A page of dead letters: at most `limit` after `after`; resolved ones only when `resolved`."""

    after: str = ""
    limit: int = 50
    resolved: bool = False
