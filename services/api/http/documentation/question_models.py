"""The OpenAPI models of standing questions, for documentation only; see `response_models.py`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from graphtide.services.api.http.documentation.browse_models import CURSOR
from graphtide.services.api.http.documentation.response_models import Response


class EvidenceItemBody(Response):
    doc_id: str
    chunk_id: str
    score: float
    text: str = Field(description="empty once the passage no longer exists")
    title: str


class StandingQuestionReply(Response):
    id: str
    question: str
    mode: str
    top_k: int
    version: int = Field(description="the version that the evidence is of")
    changed_version: int = Field(description="the version that the evidence has been the same since")
    changed_at: str
    seq: int = Field(description="the number of the last event, 0 without one")
    passages: list[EvidenceItemBody] = Field(description="the evidence, best first")
    with_answer: bool
    answer: str = Field(description="the answer of the last event, if answers are written")
    filters: dict[str, Any]
    options: dict[str, Any] = Field(description="options of the mode, the defaults of the settings included")


class QuestionPageBody(Response):
    questions: list[StandingQuestionReply]
    next: str | None = Field(default=None, description=CURSOR)
