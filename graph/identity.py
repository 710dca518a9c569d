"""Canonical names: the public ids in place of the internal ints, equal for equal content in any order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b


def short_digest(*parts: str) -> str:
    """Return 16 hex characters that identify the parts. They are length-prefixed, so ("ab", "c") is not ("a", "bc")."""
    encoded = [part.encode() for part in parts]
    prefixed = b"".join([len(part).to_bytes(8, "big") + part for part in encoded])
    return blake2b(prefixed, digest_size=8).hexdigest()


def entity_id(labels: Iterable[tuple[str, str]]) -> str:
    """Return the id of the entity of these (name, type) labels: that of its smallest label."""
    return "e-" + short_digest(*min(labels))


def relation_id(subject: str, predicate: str, object_: str) -> str:
    """Return the id of the relation between two entity ids."""
    return "r-" + short_digest(subject, predicate, object_)


def chunk_id(doc_id: str, text: str, repeat: int) -> str:
    """Return the id of a chunk: from its document, its text, and the number of earlier chunks with the same text."""
    return f"{doc_id}#{short_digest(text, str(repeat))}"
