"""The position in `documents` that an extraction was made from, as a header of its record.

The deletion of a graph covers revisions by position; a record of `extractions` may arrive long after it.
"""

from __future__ import annotations

import re

from graphtide.streams.log.revisions import FIRST_NUMBER
from graphtide.streams.ports import Position, Record
from graphtide.streams.tracing import Headers

POSITION = "document-position"
ERASED = "deleted-with-graph"
"""Marks a tombstone in `documents` that the deletion of a graph left for a document: it is not a revision."""
_FORM = re.compile(rb"([0-9]{1,9}):([0-9]{1,18})")


def with_position(headers: Headers, position: Position) -> Headers:
    """Return the headers with the position; one that a producer of `documents` chose is replaced."""
    others = tuple(header for header in headers if header[0] != POSITION)
    return (*others, (POSITION, b"%d:%d" % (position.partition, position.offset)))


def position_in(headers: Headers, revision: int) -> Position | None:
    """Return the position of a revision from the headers of its extraction; None for a record of an earlier version.

    A number of the embedded log is the offset itself.
    """
    found = _FORM.fullmatch(dict(headers).get(POSITION, b""))
    if found is not None:
        return Position(int(found[1]), int(found[2]))
    return Position(0, revision) if revision < FIRST_NUMBER else None


def tombstone(key: str) -> Record:
    """Return the tombstone of a document whose graph was deleted."""
    return Record(key, None, ((ERASED, b"1"),))


def is_erasure(record: Record) -> bool:
    """Return True for such a tombstone."""
    return record.value is None and any(name == ERASED for name, _ in record.headers)
