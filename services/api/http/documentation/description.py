"""The OpenAPI description of the application: what FastAPI derives from the routes, completed.

Added here: the schemas of bodies that routes parse themselves, credentials, a summary of each operation, and an example
of each request and response. The examples in `examples.json` are replies of the service to the requests beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from graphtide.services.api.http.access import OPEN
from graphtide.services.api.http.documentation.exactness import add_links, named_schemas, set_limits
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import BatchDocument, DocumentBody
from graphtide.services.api.schema.requests.preview import PreviewBody
from graphtide.services.api.schema.requests.questions import QueryBody
from graphtide.services.api.schema.requests.standing import StandingQuestionBody

JSON = "application/json"
BODIES: tuple[type[BaseModel], ...] = (DocumentBody, BatchDocument, QueryBody, StandingQuestionBody, PreviewBody)
CREDENTIALS = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "`Authorization: Bearer …` with an API key or a JWT. A service without keys needs none.",
    },
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "An API key in a header of its own.",
    },
}
ANY_OR_NONE: list[dict[str, list[str]]] = [{"bearer": []}, {"apiKey": []}, {}]

Described = dict[str, Any]


def describe(app: FastAPI, limits: RequestLimits) -> Described:
    """Return the description of a service with these limits. Cost: a tenth of a second."""
    found_routes = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    described: Described = deepcopy(found_routes)  # routes share parts, whose limits are replaced below
    bodies = [(model, "validation") for model in BODIES]
    _, found = models_json_schema(bodies, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    described["components"]["schemas"].update(deepcopy({**found["$defs"], **named_schemas()}))
    described["components"]["securitySchemes"] = CREDENTIALS
    described["security"] = ANY_OR_NONE
    for path, operation in operations(described):
        operation["summary"] = _first_sentence(operation["description"])
        if path in OPEN:
            operation["security"] = []
        _leave_out_json(operation)
        _add_examples(operation)
        add_links(operation)
    set_limits(described, limits)
    return described


def operations(described: Described) -> Iterator[tuple[str, Described]]:
    """Yield every operation with its path."""
    for path, methods in described["paths"].items():
        for operation in methods.values():
            yield path, operation


def _first_sentence(text: str) -> str:
    """Return the first sentence of a description, without line breaks and its full stop."""
    return " ".join(text.split("\n\n", maxsplit=1)[0].split()).split(". ")[0].removesuffix(".")


def _leave_out_json(operation: Described) -> None:
    """Remove the JSON of any form that FastAPI describes for a route without a model: such routes return no JSON."""
    for response in operation["responses"].values():
        if response.get("content", {}).get(JSON) == {"schema": {}}:
            del response["content"][JSON]


def _add_examples(operation: Described) -> None:
    given = _examples().get(operation["operationId"], {})
    if "request" in given:
        operation["requestBody"]["content"][JSON]["example"] = given["request"]
    if "response" in given:
        success = min(status for status in operation["responses"] if status.startswith("2"))
        operation["responses"][success]["content"][JSON]["example"] = given["response"]


@cache
def _examples() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(files(__package__).joinpath("examples.json").read_text())
    return found
