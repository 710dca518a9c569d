"""The settings of the extract stage, and its fixed limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphtide.streams.extract.pipeline import ExtractionLimits
from graphtide.streams.messages import (
    DocumentMessage,
    decode_document,
)
from graphtide.streams.tracing import Headers

Decode = Callable[[str, bytes, Headers], DocumentMessage | None]
"""Reader of a record's key, value and headers: the document, or None for a deletion. Raises Rejected."""
RECORDS_PER_SLOT = 8
"""Started records per slot: while every slot waits for a model, malformed records can still be dead-lettered."""
EVER = 1 << 62
LARGE_BYTES = 16_000
HEAVY_BYTES = 16 << 10
"""Size of a document from which its extraction waits for questions to other graphs: a tenth of a second of work."""
LARGE_UNITS, LARGE_STATEMENTS = 16, 200
"""Size of a document, and of its extraction, from which threads decode and encode them: a fact takes 10 µs."""
MAX_PARKED = 20_000
PARKED_BYTES = 256 << 20
"""Maximum records in memory that wait for their graph's budget; at the limit, no record of any graph is read."""


@dataclass(frozen=True, slots=True)
class ExtractSettings:
    """Settings of the stage. `concurrency` is the number of slots.

    `read_ahead` is the maximum number of uncommitted records, `held_bytes` the maximum size of the records in memory,
    `crashes_allowed` the maximum number of starts of an extraction that never finished, `decode` the reader of records.
    """

    concurrency: int = 8
    poll_s: float = 5.0
    crashes_allowed: int = 8
    read_ahead: int = 10_000
    held_bytes: int = 64 << 20
    caps: ExtractionLimits = field(default_factory=ExtractionLimits)
    decode: Decode = lambda key, value, _: decode_document(key, value)
