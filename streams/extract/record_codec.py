"""Decoding of records of `documents` and encoding of extractions, large ones in threads; and the check of a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from graphtide.graph.records import ChunkContribution
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.pipeline import DocumentFrame
from graphtide.streams.extract.settings import LARGE_BYTES, LARGE_STATEMENTS, LARGE_UNITS, Decode
from graphtide.streams.log.document_position import is_erasure
from graphtide.streams.messages import DocumentMessage, ExtractionMessage, split_document_key
from graphtide.streams.messages.extraction_encoder import ExtractionEncoder
from graphtide.streams.messages.extractions import SMALL_BYTES, is_decodable
from graphtide.streams.ports import ConsumedRecord, Record
from graphtide.streams.scheduling.work_pool import WorkPool


async def decoded(record: Record, value: bytes, decode: Decode, pool: WorkPool) -> DocumentMessage | None:
    """Return the document of a record; None for a deletion. Raises Rejected."""
    work = partial(decode, record.key, value, record.headers)
    return await pool.run(work, record.key.partition("|")[0]) if len(value) >= LARGE_BYTES else work()


@dataclass(frozen=True, slots=True)
class EncodedExtraction:
    """The bytes of an extraction's message; and the message, if it is small and decoding returns an equal one."""

    value: bytes
    message: ExtractionMessage | None = None


async def encoded(
    encoder: ExtractionEncoder, message: ExtractionMessage, frame: DocumentFrame, media_type: str, pool: WorkPool
) -> EncodedExtraction:
    """Return the message with the encoder's units and the rest of the extraction."""
    rest = (message, frame.info, frame.gaps, media_type)
    if encoder.is_sliced or _is_large(encoder.first):
        return EncodedExtraction(await pool.run(partial(encoder.finish, *rest), message.graph))
    whole = encoder.whole(*rest)
    value = whole.encode()
    is_kept = len(value) <= SMALL_BYTES and is_decodable(whole)
    return EncodedExtraction(value, whole if is_kept else None)


def deletion(graph: str, doc_id: str, revision: int, accepted_ms: int) -> EncodedExtraction:
    """Return the message of a deleted document."""
    message = ExtractionMessage(graph, doc_id, revision, None, accepted_ms)
    return EncodedExtraction(message.encode(), message)


def _is_large(units: Sequence[ChunkContribution]) -> bool:
    statements = sum(len(unit.mentions) + len(unit.facts) for unit in units)
    return len(units) > LARGE_UNITS or statements > LARGE_STATEMENTS


def is_named(delivered: ConsumedRecord) -> bool:
    """Return whether the record is of a document: its key is well-formed, and it erases nothing."""
    if is_erasure(delivered.record):
        return False
    try:
        split_document_key(delivered.record.key)
    except Rejected:
        return False
    return True
