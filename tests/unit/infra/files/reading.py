"""Files of tests as documents and their passages."""

from __future__ import annotations

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import SplitPassage


def document(raw: bytes, name: str) -> FileDocument:
    """Return the only document of a file."""
    [one] = read_bytes(raw, name)
    assert isinstance(one, FileDocument)
    return one


def passages(raw: bytes, name: str) -> tuple[SplitPassage, ...]:
    """Return the passages of the only document of a file."""
    one = document(raw, name)
    return SemanticChunker().split(one.text, one.media_type)
