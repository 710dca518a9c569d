"""The HTTP interface compared with its own description, by requests that schemathesis generates from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from graphtide.services.api.http.documentation.exactness import LINKS
from tests.fuzz.http import fuzz
from tests.support.processes import service

pytestmark = pytest.mark.thorough

SEED = int(os.environ.get("GRAPHTIDE_FUZZ_SEED", "22"))
"""Fixed, so that a run repeats the one before; `make fuzz` takes a random one."""


def test_service_answers_as_it_describes(tmp_path: Path) -> None:
    """A minute of valid and invalid requests: no 500 and no answer outside the description."""
    print(f"seed {SEED}")
    code, report = fuzz(tmp_path, SEED, seconds=45)
    assert code == 0, report


def test_created_resources_are_readable_through_the_links(tmp_path: Path) -> None:
    """After a 200 or 202 each link of the description leads to the document, the question, or the wait for the token,
    without a pause, also for a document that is not applied yet.
    """
    given = {"text": "Marie Curie discovered polonium in 1898."}
    requests: dict[str, Any] = {
        "publish_document": {"path": {"id": "notes/a b.md"}, "body": given},
        "publish_documents": {"path": {}, "body": [{"id": "second", **given}]},
        "put_question": {"path": {"id": "polonium"}, "body": {"question": "Who?", "mode": "vector"}},
        "delete_document": {"path": {"id": "notes/a b.md"}, "body": None},
    }
    with service(tmp_path / "data") as running, httpx.Client(base_url=running.url, timeout=120) as client:
        paths = client.get("/openapi.json").json()["paths"]
        operations = {each["operationId"]: (path, name) for path, ways in paths.items() for name, each in ways.items()}
        for name, request in requests.items():
            chosen = {"graph": "notes", **request["path"]}
            path, method = operations[name]
            created = client.request(method, address(path, chosen), json=request["body"])
            assert created.status_code in (200, 202), created.text
            values = {"request.path": chosen, "request.body": request["body"], "response.body": created.json()}
            for _, target, parameters, _ in LINKS[name]:
                named = {key: resolved(expression, values) for key, expression in parameters.items()}
                found = client.get(address(operations[target][0], named))
                assert found.status_code == 200, (name, target, found.text)


def address(path: str, values: Mapping[str, str]) -> str:
    """Return a path of the description with these values."""
    return path.format(**{name: quote(value, safe="") for name, value in values.items()})


def resolved(expression: str, values: Mapping[str, Any]) -> str:
    """Return the value of a runtime expression of OpenAPI."""
    place, _, pointer = expression.removeprefix("$").partition("#/")
    if not pointer:
        place, _, pointer = place.rpartition(".")
    value = values[place]
    for step in pointer.split("/"):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return str(value)
