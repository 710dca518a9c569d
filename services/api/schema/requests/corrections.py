"""The corrected document to publish instead of a dead letter."""

from __future__ import annotations

from graphtide.services.api.schema.envelope import document_id, graph_name
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import read_document
from graphtide.services.application import LetterStatus
from graphtide.streams.errors import Invalid
from graphtide.streams.messages import DocumentMessage


def correction_of(letter: LetterStatus, raw: bytes, limits: RequestLimits) -> DocumentMessage:
    """Return the body of a PUT as a correction of the letter's document. Raises MalformedRequest and Invalid."""
    if not letter.graph:
        raise Invalid(
            "id", "the record's key names no document: publish the document under its id, and drop this dead letter"
        )
    return read_document(graph_name(letter.graph), document_id(letter.doc_id), raw, limits)
