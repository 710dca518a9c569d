"""Text that a store, a record of Kafka and a JSON reply can hold."""

from __future__ import annotations


def storable(text: str) -> str:
    """Return the text without NUL characters and with `?` for halves of surrogate pairs, which have no UTF-8 form."""
    return text.replace("\0", "").encode(errors="replace").decode()
