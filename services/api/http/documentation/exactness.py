"""Completion of the OpenAPI description: the limits of the service, schemas by mode, and links between operations.

The invariant: a request that the description allows is accepted, except for the state of a graph and for the few
conditions that JSON Schema cannot express (`tests/fuzz/schemathesis_hooks.py` names each).
"""

from __future__ import annotations

from typing import Any

from graphtide.graph.retrieval.options.schema import mode_schemas
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.fields import METADATA_VALUE, METADATA_VALUE_SCHEMA
from graphtide.services.api.schema.requests.questions import options_name

Described = dict[str, Any]

BOUNDS = ("maxLength", "maxItems", "maximum")
DOCUMENT = {"graph": "$request.path.graph", "id": "$request.path.id"}
ENTERED = {"graph": "$request.path.graph", "token": "$response.body#/token"}
"""The parameters of the wait for an accepted change."""
_AWAIT = ("await_token", "get_token", ENTERED, "Wait until the graph includes the change.")
_READ = ("read_document", "get_document", DOCUMENT, "Read the document: its state is known at once.")
_FIRST = {"graph": "$request.path.graph", "id": "$request.body#/0/id"}
_READ_FIRST = ("read_first", "get_document", _FIRST, "Read the first document of a JSON list.")
_READ_QUESTION = ("read_question", "get_question", DOCUMENT, "Read the standing question.")
LINKS: dict[str, tuple[tuple[str, str, dict[str, str], str], ...]] = {
    "publish_document": (_READ, _AWAIT),
    "publish_documents": (_READ_FIRST, _AWAIT),
    "delete_document": (_AWAIT,),
    "put_question": (_READ_QUESTION,),
}
"""By operation: the name, the operation, the parameters and the description of each link of a success."""


def named_schemas() -> dict[str, Described]:
    """Return the schemas that those of request bodies refer to, by name."""
    options = {options_name(mode): schema for mode, schema in mode_schemas().items()}
    return {METADATA_VALUE: METADATA_VALUE_SCHEMA, **options}


def add_links(operation: Described) -> None:
    """Add the links of an operation to the description of its success."""
    for name, target, parameters, description in LINKS.get(operation["operationId"], ()):
        success = operation["responses"][min(status for status in operation["responses"] if status.startswith("2"))]
        link = {"operationId": target, "parameters": parameters, "description": description}
        success.setdefault("links", {})[name] = link


def set_limits(described: Any, limits: RequestLimits) -> None:
    """Replace the names of limits by their values, in place."""
    for value in described.values() if isinstance(described, dict) else described:
        if isinstance(value, dict | list):
            set_limits(value, limits)
    if isinstance(described, dict):
        for bound in BOUNDS:
            if isinstance(described.get(bound), str):
                described[bound] = getattr(limits, described[bound])
