"""Names of graphs and ids of documents: their valid forms.

The invariant: a graph's name contains no `|`, so `graph|doc_id` can be split again; an id is stored unchanged.
"""

from __future__ import annotations

import re
import unicodedata

from graphtide.streams.errors import Invalid

GRAPH_NAME = r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}"
NO_GRAPH = "*"
"""Instead of a graph's name: the dead letters of records whose key names no graph."""
MAX_ID_CHARS = 512
MAX_RELATED = 100
RELATED = 10
"""Default number of related documents; MAX_RELATED is the maximum."""
_PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]*"
ID_SCHEMA: dict[str, str | int] = {
    "minLength": 1,
    "maxLength": MAX_ID_CHARS,
    "pattern": rf"^{_PRINTABLE}[^\s\x00-\x1f\x7f-\x9f]{_PRINTABLE}$",
}
"""The JSON Schema of an id, for clients; `document_id` enforces it."""

_GRAPH_NAME = re.compile(GRAPH_NAME)
_NUMBER = re.compile("[0-9]{1,9}")


def graph_name(graph: str) -> str:
    """Return the name unchanged. Raises Invalid when it is not a valid name."""
    if _GRAPH_NAME.fullmatch(graph) is None:
        remedy = "use 1 to 64 of A-Z a-z 0-9 _ . - and no leading dot"
        raise Invalid("graph", f"{graph[:80]!r} is not a valid graph name; {remedy}")
    return graph


def letters_graph(graph: str) -> str:
    """Return the name, or NO_GRAPH, unchanged. Raises Invalid for anything else."""
    return graph if graph == NO_GRAPH else graph_name(graph)


def document_id(doc_id: str, field: str = "id") -> str:
    """Return the id unchanged, with slashes and Unicode. Raises Invalid naming `field`."""
    if not doc_id.strip():
        raise Invalid(field, "is empty; use 1 to 512 characters")
    if len(doc_id) > MAX_ID_CHARS:
        raise Invalid(field, f"has {len(doc_id)} characters; the limit is {MAX_ID_CHARS}")
    if not doc_id.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in doc_id):
        raise Invalid(field, "contains a control character or half a surrogate pair; remove it")
    return doc_id


def related_count(count: str) -> int:
    """Return the requested number of related documents. Raises Invalid."""
    if not _NUMBER.fullmatch(count) or not 1 <= int(count) <= MAX_RELATED:
        raise Invalid("count", f"{count[:80]!r} is not a whole number from 1 to {MAX_RELATED}")
    return int(count)
