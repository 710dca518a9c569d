"""Message types of the topics and their encoding. Every value is versioned JSON; an unknown schema is Rejected.

- `documents` (key `graph|doc_id`): a `DocumentMessage`; a null value is a deletion.
- `extractions` (key `graph`): an `ExtractionMessage`: the contribution of one revision, or its deletion.
- `deltas` (key `graph`): the version that a graph reached, and the entities that changed; in a cluster, the delta
  itself follows (`streams/follow/delta_records.py`).
- `documents.dlq`: a `DeadLetter`.

Any producer may write to `documents`, so records are untrusted: every value that decodes can be stored, indexed and
read back unchanged; every other value is Rejected with a reason that quotes at most a few words of it.
"""

from graphtide.streams.messages.dead_letters import DeadLetter, decode_dead_letter
from graphtide.streams.messages.documents import DocumentMessage, GivenEntity, GivenFact, decode_document
from graphtide.streams.messages.extractions import (
    ExtractionMessage,
    decode_extraction,
    decode_stored,
    extraction_of,
    unit_key,
)
from graphtide.streams.messages.fields import SCHEMA, metadata_pairs
from graphtide.streams.messages.keys import (
    ANSWERS,
    DEAD_LETTERS,
    DELTAS,
    DOCUMENTS,
    EXTRACTIONS,
    GRAPH_CHANGES,
    document_key,
    split_document_key,
)
from graphtide.streams.messages.notices import DeltaNotice, ReportRequest, decode_notice

__all__ = [
    "ANSWERS",
    "DEAD_LETTERS",
    "DELTAS",
    "DOCUMENTS",
    "EXTRACTIONS",
    "GRAPH_CHANGES",
    "SCHEMA",
    "DeadLetter",
    "DeltaNotice",
    "DocumentMessage",
    "ExtractionMessage",
    "GivenEntity",
    "GivenFact",
    "ReportRequest",
    "decode_dead_letter",
    "decode_document",
    "decode_extraction",
    "decode_notice",
    "decode_stored",
    "document_key",
    "extraction_of",
    "metadata_pairs",
    "split_document_key",
    "unit_key",
]
