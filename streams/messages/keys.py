"""The names of the topics, and the keys of their records."""

from __future__ import annotations

import re
import unicodedata

from graphtide.streams.errors import Rejected

DOCUMENTS = "documents"
EXTRACTIONS = "extractions"
DELTAS = "deltas"
DEAD_LETTERS = "documents.dlq"
ANSWERS = "answers"
GRAPH_CHANGES = "graph-changes"

MAX_ID_CHARS = 512
_GRAPH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")  # also the name of a folder: no separator, no leading dot


def document_key(graph: str, doc_id: str) -> str:
    return f"{graph}|{doc_id}"


def split_document_key(key: str) -> tuple[str, str]:
    """Return (graph, doc_id). The name of a graph holds no `|`; a document id may. Raises Rejected for other keys."""
    graph, bar, doc_id = key.partition("|")
    if not bar or not graph or not doc_id.strip():
        raise Rejected(f"the record key {key[:80]!r} is not of the form graph|doc_id")
    if _GRAPH.fullmatch(graph) is None:
        raise Rejected(f"{graph[:80]!r} is not a valid graph name: use 1 to 64 of A-Z a-z 0-9 _ . - and no leading dot")
    if len(doc_id) > MAX_ID_CHARS:
        raise Rejected(f"the document id has {len(doc_id)} characters; the limit is {MAX_ID_CHARS}")
    if not doc_id.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in doc_id):
        raise Rejected(f"the document id {doc_id[:80]!r} contains a control character or a lone surrogate: remove it")
    return graph, doc_id
