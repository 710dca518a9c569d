"""The documents of a file, and the errors of files that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

INSTALL = "install graphtide[files] to read it"


class UnreadableFileError(Exception):
    """A file, or a record of it, that cannot be read: the message gives the reason and the remedy."""


class EmptyFileError(UnreadableFileError):
    """A file without content: there is nothing in it, which is known, while other unreadable files may have any."""


class MissingReaderError(UnreadableFileError):
    """A file whose reader is missing, or failed for want of time or memory: the same file may be readable later."""


@dataclass(frozen=True, slots=True)
class FileDocument:
    """A document of a file. `key` identifies a record within its file and is empty for a file that is one document.

    `has_id` tells that the key is the record's own id. `body` is a complete document of a JSONL file that already has
    the fields of the HTTP interface; otherwise None.
    """

    text: str
    media_type: str
    key: str = ""
    title: str = ""
    occurred_at: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    has_id: bool = False


def labelled_text(fields: Mapping[str, str], rest: str) -> str:
    """Return a line for each field that is not empty, then the rest as a paragraph."""
    lines = "\n".join(f"{label}: {value}" for label, value in fields.items() if value)
    return "\n\n".join(filter(None, (lines, rest)))


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """A record of a file that cannot be read, such as a line that is not JSON. `line`, or the number of the object or
    the mail, counts from 1. `content` identifies a line by what it contains, "" for other records.
    """

    line: int
    reason: str
    content: str = ""
