"""Canonical names: what the outside sees instead of the inner ints, equal for equal content in any order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b


def short_digest(*parts: str) -> str:
    """16 hex characters that identify the parts. Parts are length-prefixed, so ("ab", "c") is not ("a", "bc")."""
    digest = blake2b(digest_size=8)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def entity_id(labels: Iterable[tuple[str, str]]) -> str:
    """The name of the entity made of these (name, type) labels: that of its least label."""
    return "e-" + short_digest(*min(labels))


def relation_id(subject: str, predicate: str, object_: str) -> str:
    """The name of the relation between two entity ids."""
    return "r-" + short_digest(subject, predicate, object_)


def chunk_id(doc_id: str, text: str, repeat: int) -> str:
    """The name of a chunk: its document, its text, and which repetition of that text in the document it is."""
    return f"{doc_id}#{short_digest(text, str(repeat))}"
