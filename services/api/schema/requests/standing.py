"""Requests of standing questions: the body of a registration, the id, and the start of a stream of events."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import ConfigDict, Field

from graphtide.graph.retrieval.types import Filters
from graphtide.graph.standing.types import EVALUATED_MODES
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.browsing import whole
from graphtide.services.api.schema.requests.documents import IsoDate
from graphtide.services.api.schema.requests.fields import Question, StrictModel, read_json, read_value
from graphtide.services.api.schema.requests.questions import (
    OPTIONS,
    EvaluatedMode,
    FiltersBody,
    ModeOptions,
    TopK,
    options_by_mode,
    question_of,
)
from graphtide.services.standing.types import DEFAULT_LIMIT, MAX_LIMIT, check_mode
from graphtide.streams.errors import Invalid
from graphtide.streams.standing.records import MAX_QUESTION_ID_CHARS, QuestionDefinition

QUESTION_ID = rf"[A-Za-z0-9_-][A-Za-z0-9_.:-]{{0,{MAX_QUESTION_ID_CHARS - 1}}}"
_QUESTION_ID = re.compile(QUESTION_ID)


class StandingQuestionBody(StrictModel):
    """A standing question: it is evaluated exactly at every version of the graph."""

    model_config = ConfigDict(json_schema_extra=options_by_mode(EVALUATED_MODES))

    question: Question = Field(examples=["Who signed the contract for the boiler?"])
    mode: EvaluatedMode | None = Field(
        default=None, examples=["vector"], description="vector, local, passages or bridge"
    )
    top_k: TopK | None = Field(default=None, examples=[5])
    filters: FiltersBody | None = None
    options: ModeOptions = Field(default=None, examples=[{"coverage": 8}], description=OPTIONS)
    as_of: IsoDate | None = Field(default=None, description="the same as `filters.as_of`")
    answer: bool | None = Field(
        default=None, description="true: write an answer at every event, under the graph's budget"
    )


def question_id(given: str) -> str:
    """Return the id of a standing question unchanged. Raises Invalid."""
    if _QUESTION_ID.fullmatch(given) is None:
        remedy = f"use 1 to {MAX_QUESTION_ID_CHARS} of A-Z a-z 0-9 _ . : - and no leading dot"
        raise Invalid("id", f"{given[:80]!r} is not a valid id of a question; {remedy}")
    return given


def read_standing_question(id_: str, raw: bytes, limits: RequestLimits) -> QuestionDefinition:
    """Return the question in a JSON body. Raises MalformedRequest and Invalid."""
    return _definition(id_, read_json(StandingQuestionBody, raw, limits, limits.max_question_values), limits)


def standing_question_of(id_: str, value: object, limits: RequestLimits) -> QuestionDefinition:
    """Return the question in a parsed JSON value. Raises Invalid."""
    return _definition(id_, read_value(StandingQuestionBody, value, limits), limits)


def question_page(given: Mapping[str, str]) -> tuple[int, str]:
    """Return (limit, cursor). Raises Invalid."""
    return whole(given, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT), given.get("cursor", "")


def _definition(id_: str, body: StandingQuestionBody, limits: RequestLimits) -> QuestionDefinition:
    asked = body.model_dump(exclude_none=True, exclude={"as_of", "answer"})
    if body.as_of is not None:
        if body.filters is not None and body.filters.as_of not in (None, body.as_of):
            raise Invalid("as_of", f"is {body.as_of}, and filters.as_of is {body.filters.as_of}; give one of them")
        asked["filters"] = {**asked.get("filters", {}), "as_of": body.as_of}
    request = question_of(asked, limits)
    check_mode(request.mode)
    filters = Filters() if request.filters is None else request.filters
    return QuestionDefinition(
        question_id(id_), request.question, request.mode, request.top_k, filters, bool(body.answer), request.options
    )
