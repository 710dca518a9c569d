"""The OpenAPI description: every operation has an id, a summary, credentials and valid examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from graphtide.graph.retrieval.modes.table import MODES
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation.description import JSON, operations
from tests.support.application import InMemoryApplication

Described = dict[str, Any]


@cache
def described() -> Described:
    return dict(create_app(InMemoryApplication()).openapi())


def every_operation() -> list[tuple[str, Described]]:
    return [(operation["operationId"], operation) for _, operation in operations(described())]


def contents(operation: Described) -> Iterator[tuple[str, Described]]:
    """Yield the media types of the request and of the successful responses, each with its description."""
    yield from operation.get("requestBody", {}).get("content", {}).items()
    for status, response in operation["responses"].items():
        if status in {"200", "202"}:
            yield from response.get("content", {}).items()


def test_operations_are_described_with_examples() -> None:
    """A readable id, a summary of one line, and an example of each body in JSON that its schema accepts."""
    for name, operation in every_operation():
        assert re.fullmatch("[a-z]+(_[a-z]+)*", name)
        assert operation["summary"] and "\n" not in operation["summary"] and operation["tags"], name
        for kind, content in contents(operation):
            if kind == JSON:
                assert "example" in content, f"{name}: run the request, and add it to examples.json"
                schema = {**content["schema"], "components": described()["components"]}
                Draft202012Validator(schema).validate(content["example"])


def test_operation_ids_are_unique() -> None:
    names = [name for name, _ in every_operation()]
    assert sorted(names) == sorted(set(names))


def test_description_names_the_credentials() -> None:
    """A bearer token or a key in a header, where the service has keys; probes need none."""
    schemes = described()["components"]["securitySchemes"]
    assert schemes["bearer"]["scheme"] == "bearer" and schemes["apiKey"]["name"] == "X-API-Key"
    assert described()["security"] == [{"bearer": []}, {"apiKey": []}, {}]
    assert described()["paths"]["/healthz"]["get"]["security"] == []


def test_modes_of_questions_are_an_enum() -> None:
    mode = described()["components"]["schemas"]["QueryBody"]["properties"]["mode"]
    assert sorted(MODES) in [option.get("enum") for option in mode["anyOf"]]
