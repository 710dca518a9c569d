"""The OpenAPI models of previews, for documentation only; see `response_models.py`."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import Field

from graphtide.services.api.http.documentation.question_models import EvidenceItemBody
from graphtide.services.api.http.documentation.response_models import Response

T = TypeVar("T")


class ChangedItems(Response, Generic[T]):
    added: list[T]
    changed: list[T]
    removed: list[T]


class ChangedDocumentBody(Response):
    id: str
    revision: int = Field(description="0: it is assigned when the document is published")
    state: Literal["applied", "deleted"]


class ChangedEntityBody(Response):
    id: str
    name: str
    type: str
    mentions: int


class ChangedRelationBody(Response):
    id: str
    subject: str
    predicate: str
    object: str
    subject_name: str
    object_name: str
    count: int


class LinkBody(Response):
    a: str
    b: str
    rule: str
    score: float


class EntityMergeBody(Response):
    into: str
    name: str
    sources: list[str]
    evidence: list[LinkBody]


class EntitySplitBody(Response):
    source: str
    name: str
    into: list[str]
    evidence: list[LinkBody]


class PreviewedChangeBody(Response):
    version: int
    token: str
    committed_at: str
    documents: list[ChangedDocumentBody]
    entities: ChangedItems[ChangedEntityBody]
    relations: ChangedItems[ChangedRelationBody]
    merges: list[EntityMergeBody]
    splits: list[EntitySplitBody]
    rebuilt: bool
    rows: None


class QuestionPreviewBody(Response):
    question: str
    mode: str
    changed: bool = Field(description="whether the ordered list of passages is another one")
    before: list[EvidenceItemBody]
    after: list[EvidenceItemBody]
    entered: list[EvidenceItemBody]
    left: list[EvidenceItemBody]


class PreviewReply(Response):
    version: int = Field(description="the version that the preview starts from")
    change: PreviewedChangeBody
    questions: list[QuestionPreviewBody]
