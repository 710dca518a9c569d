"""The OpenAPI description allows what the service accepts: dates, limits, options by mode, whole numbers, links."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from graphtide.graph.retrieval.modes.table import MODES
from graphtide.graph.retrieval.options.table import options_of
from graphtide.graph.text.dates import GRAMMAR, date_span
from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation.exactness import BOUNDS, LINKS
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.browsing import wait_seconds
from graphtide.services.api.schema.requests.documents import document_of
from graphtide.services.api.schema.requests.events import EventReader
from graphtide.services.api.schema.requests.questions import read_question
from graphtide.streams.errors import Invalid
from tests.support.application import InMemoryApplication

LIMITS = RequestLimits(max_top_k=7, max_name_chars=20, max_facts=3, max_question_chars=50)


@cache
def description() -> dict[str, Any]:
    """Return the description by these limits. It is made in the processes of pytest that run one of these tests."""
    return create_app(InMemoryApplication(), LIMITS).openapi()


def allows(schema: str, value: object) -> bool:
    """Return whether a schema of the description allows the value."""
    return validator(schema).is_valid(value)


@cache
def validator(schema: str) -> Draft202012Validator:
    """Return the validator of a schema: preparing one takes longer than its checks."""
    return Draft202012Validator({"$ref": f"#/components/schemas/{schema}", "components": description()["components"]})


def accepts_question(body: dict[str, Any]) -> bool:
    """Return whether the service accepts a question."""
    try:
        read_question(json.dumps(body).encode(), LIMITS)
    except Invalid:
        return False
    return True


def accepts_document(body: dict[str, Any]) -> bool:
    """Return whether the service accepts a document of a batch."""
    try:
        document_of("notes", body, LIMITS)
    except Invalid:
        return False
    return True


def dates() -> Iterator[str]:
    """Yield dates at the ends of all years, months, days and times of day, and beyond them."""
    for year, month, day in product((0, 1, 100, 400, 1900, 2000, 2023, 2024, 9999), range(14), range(33)):
        yield f"{year:04d}-{month:02d}-{day:02d}"
    for year in range(10_000):
        yield from (f"{year:04d}", f"{year:04d}-02-29")
    clocks = (
        "00",
        "23",
        "24",
        "9",
        "23:59",
        "23:60",
        "2359",
        "23:59:59",
        "23:59:60",
        "00:00:00.123456789",
        "00:00:00.",
    )
    zones = ("", "Z", "z", "+23:59", "-2359", "+24", "-00:60")
    for clock, zone, gap in product(clocks, zones, "T _"):
        yield f"2024-02-29{gap}{clock}{zone}"


def test_pattern_of_dates_is_exact() -> None:
    """A date of the pattern is a day of the calendar, and every date that can be read has the form."""
    pattern = re.compile(GRAMMAR)
    assert [text for text in dates() if bool(pattern.fullmatch(text)) != (date_span(text) is not None)] == []


@pytest.mark.parametrize("mode", [None, *sorted(MODES)])
def test_options_are_those_of_the_mode(mode: str | None) -> None:
    """An option of another mode is refused, and the description says so."""
    known = {name: field.default for each in MODES for name, field in options_of(each).items()}
    for name, default in known.items():
        value = dict(default) if isinstance(default, tuple) else default
        body = {"question": "Who?", "options": {name: value}} | ({} if mode is None else {"mode": mode})
        assert allows("QueryBody", body) == accepts_question(body), body


@pytest.mark.parametrize(
    "changed",
    [
        {"top_k": 7},
        {"top_k": 8},
        {"top_k": 0},
        {"top_k": 7.0},
        {"top_k": 6.5},
        {"level": 2.0},
        {"level": 3},
        {"level": -1},
        {"question": "q" * 50},
        {"question": "q" * 51},
        {"question": " \u0085\x1f"},
        {"question": "q\0"},
        {"after": "v12"},
        {"after": "0:1,2:3"},
        {"after": ""},
        {"at": "12"},
        {"at": "x"},
        {"filters": {"metadata": {"a": [{"b": 1 << 62}]}}},
        {"filters": {"metadata": {"a": [{"b\0": 1}]}}},
        {"filters": {"sources": ["a\0"]}},
        {"filters": {"as_of": "2023-02-29"}},
    ],
)
def test_question_is_accepted_exactly_when_the_description_allows_it(changed: dict[str, Any]) -> None:
    body = {"question": "Who?"} | changed
    assert allows("QueryBody", body) == accepts_question(body)


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "\x7f"},
        {"id": "\u2003"},
        {"id": "a" * 512},
        {"id": "a" * 513},
        {"entities": [{"name": "n" * 20}]},
        {"entities": [{"name": "n" * 21}]},
        {"facts": [{"subject": "a", "predicate": "b", "object": "c"}] * 3},
        {"facts": [{"subject": "a", "predicate": "b", "object": "c"}] * 4},
        {"metadata": {"a": "\0"}},
        {"metadata": {"a": {"b": [None, True, 1.5, "c"]}}},
        {"occurred_at": "2024-13"},
    ],
)
def test_document_is_accepted_exactly_when_the_description_allows_it(changed: dict[str, Any]) -> None:
    body = {"id": "a", "text": "One."} | changed
    assert allows("BatchDocument", body) == accepts_document(body)


def test_described_events_are_those_that_are_read() -> None:
    """An event has data, unless it deletes a document."""
    schema = description()["paths"]["/v1/graphs/{graph}/documents"]["post"]["requestBody"]["content"][
        "application/cloudevents+json"
    ]["schema"]
    described = Draft202012Validator({**schema, "components": description()["components"]})
    event = {"specversion": "1.0", "id": "e", "source": "/s", "type": "t"}
    reader = EventReader("notes", DirectValues({}), LIMITS)
    for changed in (
        {},
        {"data": {"text": "One."}},
        {"data": {"id": "a", "text": "One."}},
        {"data": {"text": " "}},
        {"data": "One."},
        {"data": 1},
        {"type": "graphtide.document.deleted"},
    ):
        try:
            found = bool(reader.read_structured(json.dumps(event | changed).encode()).changes)
        except Invalid:
            found = False
        assert described.is_valid(event | changed) == found, changed


def test_wait_is_read_in_every_form_of_a_number() -> None:
    """A client may send all digits of a float."""
    assert wait_seconds({"wait_s": "41.904356859420496"}) == 41.904356859420496
    assert wait_seconds({"wait_s": "1e-05"}) == 1e-05


def test_limits_are_those_of_the_service() -> None:
    """No bound is the name of a limit any more, and each has the value of the settings."""
    assert description()["components"]["schemas"]["FactBody"]["properties"]["subject"]["maxLength"] == 20
    assert not re.search(rf'"({"|".join(BOUNDS)})": "', json.dumps(description()))


def test_links_lead_to_operations_with_these_parameters() -> None:
    """Each link names an operation of the description, and a value for each parameter of its path."""
    found = {
        each["operationId"]: (path, each)
        for path, methods in description()["paths"].items()
        for each in methods.values()
    }
    for source, links in LINKS.items():
        described = [response.get("links", {}) for response in found[source][1]["responses"].values()]
        assert [sorted(each) for each in described if each] == [sorted(name for name, *_ in links)]
        for _, target, parameters, _ in links:
            assert sorted(re.findall(r"\{(\w+)\}", found[target][0])) == sorted(parameters)
