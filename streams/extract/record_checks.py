"""Checks of a record before and after its extraction: a key that names a document, and a large result."""

from __future__ import annotations

from graphtide.graph.records import Extraction
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.settings import LARGE_STATEMENTS, LARGE_UNITS
from graphtide.streams.log.document_position import is_erasure
from graphtide.streams.messages import split_document_key
from graphtide.streams.ports import ConsumedRecord


def is_large(extraction: Extraction) -> bool:
    """Return whether a thread encodes the extraction."""
    statements = sum(len(unit.mentions) + len(unit.facts) for unit in extraction.units)
    return len(extraction.units) > LARGE_UNITS or statements > LARGE_STATEMENTS


def is_named(delivered: ConsumedRecord) -> bool:
    """Return whether the record is of a document: its key is well-formed, and it erases nothing."""
    if is_erasure(delivered.record):
        return False
    try:
        split_document_key(delivered.record.key)
    except Rejected:
        return False
    return True
