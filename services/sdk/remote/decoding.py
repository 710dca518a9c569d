"""Conversion of the service's JSON to the results of `services/application`.

The invariant: what `services/api/schema/shapes.py` encodes decodes to an equal value. Fields that this release does not
know are dropped, so an older client reads a newer service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from graphtide.services.application import Answer
from graphtide.streams.errors import Broken

Result = TypeVar("Result")


def decode(kind: type[Result], body: object) -> Result:
    """Return the body as a `kind`. Raises Broken when it is something else."""
    try:
        value: Result = _adapter(kind).validate_python(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        at = ".".join(map(str, first["loc"]))
        name = getattr(kind, "__name__", str(kind))
        remedy = "check that the URL is that of a Graphtide service of this release"
        raise Broken(f"the response is not a valid {name}: {at}: {first['msg']}; {remedy}") from error
    return value


def decode_answer(body: Mapping[str, Any]) -> Answer:
    """Return the body of an answer, or of the context that precedes one. Raises Broken."""
    subgraph = body.get("subgraph")
    parts = subgraph if isinstance(subgraph, Mapping) else {}
    return decode(Answer, {"answer": "", **body, "nodes": parts.get("nodes"), "edges": parts.get("edges")})


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Return the adapter of a type, built once."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}
