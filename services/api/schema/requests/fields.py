"""Field types of requests (`documents.py`, `questions.py`) with their validation errors.

The invariants: every accepted string can be stored and read back unchanged (no NUL, no lone surrogate), and every error
names field, cause and remedy.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from graphtide.services.api.schema.errors import MalformedRequest
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.json_structure import check_value_count
from graphtide.services.api.schema.requests.strict_json import parse_json
from graphtide.streams.errors import Invalid
from graphtide.streams.json_parts import escape_surrogates

MAX_METADATA_DEPTH = 16
_INT64 = 1 << 63
_UNKNOWN_KEY = "unknown_key"


class StrictModel(BaseModel):
    """A request body or a part of it: no unknown fields, no coercion except from integer to float, finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_key(cls, value: object) -> object:
        """Stop at the first unknown key: one typo explains the error, and the validator would otherwise collect every
        key.
        """
        if isinstance(value, dict):
            unknown = next((key for key in value if key not in cls.model_fields), None)
            if unknown is not None:
                known = ", ".join(cls.model_fields)
                context = {"key": escape_surrogates(str(unknown)), "known": known}
                raise PydanticCustomError(_UNKNOWN_KEY, "is an unknown field; known are {known}", context)
        return value


Request = TypeVar("Request", bound=StrictModel)


def given(body: StrictModel) -> dict[str, Any]:
    """Return the fields that the caller gave, by name: the application's types have the defaults of the others."""
    return {name: value for name, value in body if value is not None}


def _limits(info: ValidationInfo) -> RequestLimits:
    return cast(RequestLimits, info.context)  # every validation goes through read_json or read_value


def check_text(value: str) -> str:
    """Return the text if it can be stored and read back unchanged."""
    if "\0" in value:
        raise PydanticCustomError("nul", "contains a NUL character; remove it")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            at = {"at": error.start}
            raise PydanticCustomError("surrogate", "contains half a surrogate pair at character {at}", at) from error
    return value


def _check_filled(value: str) -> str:
    if not value or value.isspace():
        raise PydanticCustomError("blank", "is empty or blank; omit the document or add text")
    return check_text(value)


def _check_name(value: str, info: ValidationInfo) -> str:
    if not value or value.isspace():
        raise PydanticCustomError("blank", "is empty or blank; add a name")
    return check_text(_bounded(value, _limits(info).max_name_chars))


def _check_description(value: str, info: ValidationInfo) -> str:
    return check_text(_bounded(value, _limits(info).max_description_chars))


def _check_question(value: str, info: ValidationInfo) -> str:
    if not value or value.isspace():
        raise PydanticCustomError("blank", "is empty or blank; add a question")
    return check_text(_bounded(value, _limits(info).max_question_chars))


def _bounded(value: str, limit: int) -> str:
    if len(value) > limit:
        context = {"length": len(value), "limit": limit}
        raise PydanticCustomError("long", "has {length} characters; the limit is {limit}", context)
    return value


def limited(name: str, remedy: str = "") -> tuple[Any, BeforeValidator]:
    """Return the annotations of a list limited by `name`: its length is validated before its entries, and validation
    stops at the first invalid entry.
    """

    def check(value: object, info: ValidationInfo) -> object:
        limit = getattr(_limits(info), name)
        if isinstance(value, list) and len(value) > limit:
            context = {"length": len(value), "limit": limit, "remedy": remedy}
            raise PydanticCustomError("long", "has {length} entries; the limit is {limit}{remedy}", context)
        return value

    return Field(fail_fast=True, json_schema_extra={"maxItems": name}), BeforeValidator(check)


def _check_metadata(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    if not value:
        return value
    _check_json(value, 1)
    size, limit = len(json.dumps(value, ensure_ascii=False).encode()), _limits(info).max_metadata_bytes
    if size > limit:
        context = {"size": size, "limit": limit}
        raise PydanticCustomError("long", "takes {size} bytes as JSON; the limit is {limit}", context)
    return value


def _check_json(value: object, depth: int) -> None:
    if depth > MAX_METADATA_DEPTH:
        raise PydanticCustomError("deep", "is nested deeper than {limit} levels", {"limit": MAX_METADATA_DEPTH})
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("finite", "contains a number that is not finite, which JSON does not allow")
    elif isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise PydanticCustomError("wide", "contains an integer of more than 64 bits; write it as a string")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_key(key)
            _check_json(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_json(inner, depth + 1)
    elif value is not None and not isinstance(value, int | float):
        problem = "contains a value of type {type}, which JSON does not have; convert it to one of {json}"
        raise PydanticCustomError("json", problem, {**_type_of(value), "json": "str, int, float, bool, list, dict"})


def _check_key(key: object) -> None:
    if not isinstance(key, str):  # only a caller in Python can have one
        raise PydanticCustomError("key", "contains a key of type {type}; write it as a string", _type_of(key))
    check_text(key)


def _type_of(value: object) -> dict[str, Any]:
    return {"type": _type_name(value)}


def _type_name(value: object) -> str:
    """Return the name of the value's type, with its module unless it is a built-in one: numpy has a `bool`, too."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _as_integer(value: object) -> object:
    """Return a float that is a whole number as an integer: to JSON, 1.0 and 1 are one number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_as_integer)

# The schemas describe the fields; the functions validate them with readable errors. A name of RequestLimits is replaced
# by its value in the description of a service.
STORED: dict[str, Any] = {"pattern": r"^[^\x00]*$"}
FILLED: dict[str, Any] = {"minLength": 1, "pattern": r"^[^\x00]*[^\s\x1c-\x1f\x85\x00][^\x00]*$"}
METADATA_VALUE = "MetadataValue"
_METADATA = {
    "type": "object",
    "propertyNames": STORED,
    "additionalProperties": {"$ref": f"#/components/schemas/{METADATA_VALUE}"},
}
METADATA_VALUE_SCHEMA: dict[str, Any] = {
    "title": METADATA_VALUE,
    "description": f"JSON without NUL characters, at most {MAX_METADATA_DEPTH} levels deep",
    "anyOf": [
        {"type": ["null", "boolean"]},
        {"type": "string", **STORED},
        {"type": "integer", "minimum": -_INT64, "maximum": _INT64 - 1},
        {"type": "number"},
        {"type": "array", "items": {"$ref": f"#/components/schemas/{METADATA_VALUE}"}},
        _METADATA,
    ],
}

FilledText = Annotated[str, AfterValidator(_check_filled), Field(json_schema_extra=FILLED)]
Name = Annotated[str, AfterValidator(_check_name), Field(json_schema_extra={**FILLED, "maxLength": "max_name_chars"})]
Description = Annotated[
    str,
    AfterValidator(_check_description),
    Field(json_schema_extra={**STORED, "maxLength": "max_description_chars"}),
]
Question = Annotated[
    str, AfterValidator(_check_question), Field(json_schema_extra={**FILLED, "maxLength": "max_question_chars"})
]
Metadata = Annotated[dict[str, Any], AfterValidator(_check_metadata), WithJsonSchema(_METADATA)]


def read_json(model: type[Request], raw: bytes, limits: RequestLimits, max_values: int) -> Request:
    """Return the request in a JSON body. Raises MalformedRequest, TooLarge beyond `max_values`, or Invalid naming the
    first invalid field.
    """
    if not raw.strip():
        raise MalformedRequest("the body is empty; send a JSON object")
    check_value_count(raw, max_values)
    return read_value(model, parse_json(raw), limits)


def read_value(model: type[Request], value: object, limits: RequestLimits) -> Request:
    """Return the request in a parsed JSON value. Raises Invalid naming the first invalid field."""
    try:
        return model.model_validate(value, context=limits)
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> Invalid:
    first = error.errors(include_url=False)[0]
    if first["type"] == "finite_number":
        first["msg"] = "must be a finite number"
    key = (first["ctx"]["key"],) if first["type"] == _UNKNOWN_KEY else ()
    return Invalid(_path((*first["loc"], *key)) or "body", _complaint(first))


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path[:200]


_JSON_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}

_WANTED = {
    "string_type": "a string",
    "float_type": "a number",
    "int_type": "an integer",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def _complaint(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "is missing; it is required"
    if error["type"] in _WANTED:
        return f"must be {_WANTED[error['type']]}, not {json_name(error['input'])}"
    return error["msg"].replace("Input should be", "must be")


def json_name(value: object) -> str:
    """Return the name of the value's type, as errors call it."""
    return "null" if value is None else _JSON_NAMES.get(type(value), f"a value of type {_type_name(value)}")
