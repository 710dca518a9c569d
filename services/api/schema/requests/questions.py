"""Questions: their wire format, and the conversion to `QueryRequest`.

Only the form is validated here; the application raises Invalid for unknown modes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from graphtide.graph.records import COMMUNITY_LEVELS
from graphtide.graph.retrieval.options.fields import InvalidOption, Options
from graphtide.graph.retrieval.options.schema import mode_schemas
from graphtide.graph.retrieval.options.table import read_options
from graphtide.graph.retrieval.types import MODE_NAMES, Filters
from graphtide.graph.standing.types import EVALUATED_MODES
from graphtide.graph.text.dates import date_span
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.browsing import TOKEN_PATTERN, VERSION_PATTERN, past_version
from graphtide.services.api.schema.requests.documents import IsoDate
from graphtide.services.api.schema.requests.fields import (
    STORED,
    WHOLE,
    Description,
    Metadata,
    Question,
    StrictModel,
    check_text,
    given,
    limited,
    read_json,
    read_value,
)
from graphtide.services.application import QueryRequest
from graphtide.streams.errors import Invalid
from graphtide.streams.json_parts import escape_surrogates


def _check_mode(value: str) -> str:
    if not 1 <= len(value) <= 32:
        raise PydanticCustomError("long", "is not the name of a mode; omit it for local")
    return check_text(value)


DEFAULT_MODE = "local"
Mode = Annotated[str, AfterValidator(_check_mode), Field(json_schema_extra={"enum": sorted(MODE_NAMES)})]
EvaluatedMode = Annotated[str, AfterValidator(_check_mode), Field(json_schema_extra={"enum": sorted(EVALUATED_MODES)})]
TopK = Annotated[int, Field(ge=1, json_schema_extra={"maximum": "max_top_k"}), WHOLE]
Level = Annotated[int, Field(ge=0, le=COMMUNITY_LEVELS - 1), WHOLE]
Value = Annotated[str, AfterValidator(check_text), Field(json_schema_extra=STORED)]


def options_name(mode: str) -> str:
    """Return the name of the schema of a mode's options."""
    return f"{mode.title().replace('-', '')}Options"


def _reference(mode: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{options_name(mode)}"}


ModeOptions = Annotated[
    dict[str, Any] | None, WithJsonSchema({"anyOf": [*map(_reference, mode_schemas()), {"type": "null"}]})
]


def options_by_mode(modes: Iterable[str]) -> dict[str, Any]:
    """Return the schema that allows each mode its own options only; without a mode those of the default one."""
    return {"anyOf": [_with_options(mode) for mode in sorted(modes)]}


def _with_options(mode: str) -> dict[str, Any]:
    own = _reference(mode) if mode in mode_schemas() else {"type": "object", "maxProperties": 0}
    named = {"options": {"anyOf": [own, {"type": "null"}]}}
    if mode == DEFAULT_MODE:
        return {"properties": {"mode": {"enum": [mode, None]}, **named}}
    return {"required": ["mode"], "properties": {"mode": {"enum": [mode]}, **named}}


OPTIONS = "options of the mode; an omitted one has the default of the settings, or of this schema"


AfterToken = Annotated[Description, Field(json_schema_extra={"pattern": f"^{TOKEN_PATTERN}?$"})]
AtVersion = Annotated[Description, Field(json_schema_extra={"pattern": f"^{VERSION_PATTERN}?$"})]


class FiltersBody(StrictModel):
    """Conditions on the document of a passage; an omitted condition admits all. Dates are inclusive, to their
    precision.
    """

    doc_ids: Annotated[list[Value], *limited("max_filter_values")] | None = None
    sources: Annotated[list[Value], *limited("max_filter_values")] | None = None
    metadata: Metadata | None = Field(default=None, description="each named key must have exactly this value")
    occurred_from: IsoDate | None = Field(default=None, examples=["1890-01-01"])
    occurred_to: IsoDate | None = Field(default=None, examples=["1899-12-31"])
    as_of: IsoDate | None = Field(
        default=None, examples=["1895"], description="exclude facts that are known to be invalid at this date"
    )


class QueryBody(StrictModel):
    """A question to a graph."""

    model_config = ConfigDict(json_schema_extra=options_by_mode(MODE_NAMES))

    question: Question = Field(examples=["What did Marie Curie discover?"])
    mode: Mode | None = Field(default=None, examples=["local"])
    top_k: TopK | None = Field(default=None, examples=[5])
    after: AfterToken | None = Field(default=None, description="a token: wait until the graph includes it")
    filters: FiltersBody | None = None
    generate: bool | None = Field(
        default=None, description="false: return the context only, without a generated answer"
    )
    level: Level | None = Field(default=None, description="for mode global: 0 is the finest level of reports")
    explain: bool | None = Field(default=None, description="true: return the retrieval steps in `trace`")
    exact: bool | None = Field(
        default=None, description="true: search every vector, so that the passages depend on the graph's content alone"
    )
    at: AtVersion | None = Field(
        default=None, description="an earlier version: its number, the token of a change, or a token of publishing"
    )
    options: ModeOptions = Field(default=None, examples=[{"coverage": 8}], description=OPTIONS)


def read_question(raw: bytes, limits: RequestLimits) -> QueryRequest:
    """Return the question in a JSON body. Raises MalformedRequest and Invalid."""
    return _ask(read_json(QueryBody, raw, limits, limits.max_question_values), limits)


def question_of(value: object, limits: RequestLimits) -> QueryRequest:
    """Return the question in a parsed JSON value. Raises Invalid."""
    return _ask(read_value(QueryBody, value, limits), limits)


def _ask(body: QueryBody, limits: RequestLimits) -> QueryRequest:
    if (body.top_k or 0) > limits.max_top_k:
        raise Invalid("top_k", f"must be at most {limits.max_top_k}")
    fields = given(body)
    if body.at:
        fields["at"] = past_version(body.at)
    if body.filters:
        fields["filters"] = _filters(body.filters)
    if body.options is not None:
        fields["options"] = _options(body.mode or DEFAULT_MODE, body.options)
    return QueryRequest(**fields, timeout_s=limits.query_timeout_s)


def _options(mode: str, given: dict[str, Any]) -> Options:
    """Return checked options. Raises Invalid, for an unknown mode too."""
    if mode not in MODE_NAMES:
        raise Invalid("mode", f"{mode!r} is not a mode; use one of {', '.join(sorted(MODE_NAMES))}")
    try:
        return read_options(mode, given)
    except InvalidOption as error:
        raise Invalid(f"options.{escape_surrogates(error.name)[:80]}", escape_surrogates(str(error))) from error


def _filters(body: FiltersBody) -> Filters:
    since, till = body.occurred_from or "", body.occurred_to or ""
    first, last = date_span(since), date_span(till)
    if first and last and first.start >= last.end:
        raise Invalid("filters.occurred_from", f"{since} is later than occurred_to, {till}; swap them")
    fields = given(body)
    for name in fields.keys() & {"doc_ids", "sources"}:
        fields[name] = tuple(fields[name])
    return Filters(**fields | {"metadata": tuple((body.metadata or {}).items())})
