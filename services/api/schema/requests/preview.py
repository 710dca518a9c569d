"""Requests of previews: documents to publish or delete, and questions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from graphtide.graph.standing.types import EVALUATED_MODES
from graphtide.services.api.schema.envelope import ID_SCHEMA, document_id
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import BatchDocument, document_of
from graphtide.services.api.schema.requests.fields import Question, StrictModel, read_json
from graphtide.services.api.schema.requests.questions import (
    OPTIONS,
    EvaluatedMode,
    FiltersBody,
    ModeOptions,
    TopK,
    options_by_mode,
)
from graphtide.services.api.schema.requests.standing import standing_question_of
from graphtide.services.preview.types import MAX_DOCUMENTS, MAX_QUESTIONS, MAX_TEXT_CHARS, PreviewRequest
from graphtide.streams.errors import Invalid


class PreviewQuestion(StrictModel):
    """A question whose exact evidence is compared."""

    model_config = ConfigDict(json_schema_extra=options_by_mode(EVALUATED_MODES))

    question: Question = Field(examples=["What did Marie Curie discover?"])
    mode: EvaluatedMode | None = Field(
        default=None, examples=["vector"], description="vector, local, passages or bridge"
    )
    top_k: TopK | None = Field(default=None, examples=[5])
    filters: FiltersBody | None = None
    options: ModeOptions = Field(default=None, examples=[{"coverage": 8}], description=OPTIONS)


def _names_documents(field: str) -> dict[str, Any]:
    """Return the schema of an object with at least one document in this field."""
    return {"required": [field], "properties": {field: {"type": "array", "minItems": 1}}}


DeletedId = Annotated[str, Field(json_schema_extra={**ID_SCHEMA})]


class PreviewBody(StrictModel):
    """Documents to publish and ids of documents to delete, and questions. Each document occurs once."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [_names_documents("publish"), _names_documents("delete")]})

    publish: Annotated[list[BatchDocument], Field(max_length=MAX_DOCUMENTS)] | None = None
    delete: (
        Annotated[list[DeletedId], Field(max_length=MAX_DOCUMENTS, json_schema_extra={"uniqueItems": True})] | None
    ) = Field(default=None, examples=[["curie"]])
    questions: Annotated[list[PreviewQuestion], Field(max_length=MAX_QUESTIONS)] | None = None


def read_preview(graph: str, raw: bytes, limits: RequestLimits) -> PreviewRequest:
    """Return the preview in a JSON body. Raises MalformedRequest and Invalid."""
    body = read_json(PreviewBody, raw, limits, limits.max_document_values)
    publish = tuple(document_of(graph, each.model_dump(exclude_none=True), limits) for each in body.publish or ())
    delete = tuple(document_id(doc_id) for doc_id in body.delete or ())
    ids = [*(document.doc_id for document in publish), *delete]
    if not ids:
        raise Invalid("publish", "is empty, and so is delete; name at least one document")
    if len(set(ids)) < len(ids):
        twice = next(doc_id for doc_id in ids if ids.count(doc_id) > 1)
        raise Invalid("publish", f"document {twice[:80]!r} occurs twice; name each document once")
    if sum(len(document.text) for document in publish) > MAX_TEXT_CHARS:
        raise Invalid("publish", f"has more than {MAX_TEXT_CHARS:,} characters of text; preview fewer documents")
    questions = enumerate(body.questions or ())
    asked = (standing_question_of(f"q{n}", each.model_dump(exclude_none=True), limits) for n, each in questions)
    return PreviewRequest(publish, delete, tuple(asked))
