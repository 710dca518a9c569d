"""What a graph and a document may be called. Not the document's content: that is `documents.py`.

The invariant: a graph's name holds no `|`, so `graph|doc_id` can be taken apart again; an id is kept as it came.
"""

from __future__ import annotations

import re
import unicodedata

from graphtide.streams.errors import Invalid

GRAPH_NAME = r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}"
NO_GRAPH = "*"
"""In the place of a graph's name, for dead letters: those of records whose key names no graph."""
MAX_ID_CHARS = 512
MAX_RELATED = 100
RELATED = 10
"""How many related documents there are at most, and when nobody says how many."""
_PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]*"
ID_SCHEMA: dict[str, str | int] = {
    "minLength": 1,
    "maxLength": MAX_ID_CHARS,
    "pattern": rf"^{_PRINTABLE}[^\s\x00-\x1f\x7f-\x9f]{_PRINTABLE}$",
}
"""An id, as JSON Schema describes it to clients; `document_id` judges."""

_GRAPH_NAME = re.compile(GRAPH_NAME)
_NUMBER = re.compile("[0-9]{1,9}")


def graph_name(graph: str) -> str:
    """The name as it came. Raises Invalid when it is none."""
    if _GRAPH_NAME.fullmatch(graph) is None:
        cure = "use 1 to 64 of A-Z a-z 0-9 _ . - and no dot in front"
        raise Invalid("graph", f"{graph[:80]!r} is not a graph's name; {cure}")
    return graph


def letters_graph(graph: str) -> str:
    """The name as it came, or NO_GRAPH. Raises Invalid when it is neither."""
    return graph if graph == NO_GRAPH else graph_name(graph)


def document_id(doc_id: str, field: str = "id") -> str:
    """The id as it came, slashes and Unicode included. Raises Invalid naming `field`."""
    if not doc_id.strip():
        raise Invalid(field, "is empty; give 1 to 512 characters")
    if len(doc_id) > MAX_ID_CHARS:
        raise Invalid(field, f"has {len(doc_id)} characters; the limit is {MAX_ID_CHARS}")
    if not doc_id.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in doc_id):
        raise Invalid(field, "holds a control character or half a surrogate pair; take it out")
    return doc_id


def related_count(count: str) -> int:
    """How many related documents are asked for. Raises Invalid."""
    if not _NUMBER.fullmatch(count) or not 1 <= int(count) <= MAX_RELATED:
        raise Invalid("count", f"{count[:80]!r} is not a number from 1 to {MAX_RELATED}")
    return int(count)
