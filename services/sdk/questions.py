"""Conversion of the arguments of `Graph.ask` and `Graph.ask_stream` to a checked `QueryRequest`.

HTTP's own check (`services/api/schema/requests/questions.py`) runs on the arguments as a JSON value. The invariant:
Python refuses what HTTP refuses, with the same messages, and the error names the argument.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace

from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.questions import question_of
from graphtide.services.application import Filters, QueryRequest
from graphtide.services.sdk.bulk import plain_json
from graphtide.streams.errors import Invalid


def query_request(
    arguments: Mapping[str, object], filters: object, as_of: object, timeout_s: float, limits: RequestLimits
) -> QueryRequest:
    """Return the question with `arguments` by the names of `QueryRequest`; None omits one. Raises Invalid."""
    try:
        return replace(question_of(_question(arguments, filters, as_of), limits), timeout_s=timeout_s)
    except Invalid as error:
        if as_of != "" and error.field == "filters.as_of":
            raise Invalid("as_of", error.message) from error
        raise


@dataclass(frozen=True, slots=True)
class QuestionJson:
    """A question as HTTP sends it."""

    body: bytes
    as_of: object

    @asynccontextmanager
    async def errors(self) -> AsyncIterator[None]:
        """Name the argument of Python in an error of the service about the block's question."""
        try:
            yield
        except Invalid as error:
            if self.as_of != "" and error.field == "filters.as_of":
                raise Invalid("as_of", error.message) from error
            raise


def question_json(arguments: Mapping[str, object], filters: object, as_of: object) -> QuestionJson:
    """Return the question for a service that checks it. Raises Invalid for what JSON cannot express."""
    body = _question(arguments, filters, as_of)
    try:
        return QuestionJson(json.dumps(body, allow_nan=False).encode(), as_of)
    except (TypeError, ValueError, RecursionError) as error:
        query_request(arguments, filters, as_of, 1.0, RequestLimits())
        raise Invalid("question", f"cannot be written as JSON: {error}") from error


def _question(arguments: Mapping[str, object], filters: object, as_of: object) -> dict[str, object]:
    conditions = {**filters_value(filters), **({"as_of": as_of} if as_of != "" else {})}
    body = {name: plain_json(value) for name, value in arguments.items() if value is not None}
    return {**body, "filters": conditions}


def filters_value(filters: object) -> dict[str, object]:
    """Return the conditions that are set, as HTTP receives them. Raises Invalid."""
    if filters is None:
        return {}
    if not isinstance(filters, Filters):
        raise Invalid("filters", f"must be graphtide.Filters, not {type(filters).__name__}")
    conditions = {each.name: getattr(filters, each.name) for each in fields(filters)}
    set_ones = {name: value for name, value in conditions.items() if value not in ((), "")}
    for name in set_ones.keys() & {"doc_ids", "sources"}:
        if isinstance(set_ones[name], tuple):
            set_ones[name] = list(set_ones[name])
    if "metadata" in set_ones:
        set_ones["metadata"] = _metadata_json(set_ones["metadata"])
    return set_ones


def _metadata_json(pairs: object) -> dict[object, object]:
    """Return the pairs of key and value as a mapping. Raises Invalid."""
    if not isinstance(pairs, tuple | list):
        raise Invalid("filters.metadata", f"must be a tuple of (key, value) pairs, not {type(pairs).__name__}")
    values: dict[object, object] = {}
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise Invalid("filters.metadata", f"contains {repr(pair)[:40]}, which is not a pair of a key and a value")
        if pair[0] in values:
            raise Invalid("filters.metadata", f"contains the key {pair[0][:40]!r} twice; a document has one value")
        values[pair[0]] = plain_json(pair[1])
    return values
