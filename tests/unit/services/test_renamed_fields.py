"""Renamed fields of JSON responses: both names are sent, described, and equal."""

from __future__ import annotations

from dataclasses import fields

import pytest
from pydantic import BaseModel

from graphtide.graph.retrieval.types import AnswerEdge
from graphtide.services.api.http.documentation import response_models as models
from graphtide.services.api.schema.renamed_fields import RENAMED_FIELDS
from graphtide.services.api.schema.shapes import answer_json, fields_json
from graphtide.services.application import Answer, ContextPart, Health, LetterStatus, StatedFact, Usage
from graphtide.services.component_state import RUNNING, degraded

BODIES: dict[type, type[BaseModel]] = {
    Answer: models.AnswerBody,
    Health: models.HealthBody,
    LetterStatus: models.LetterBody,
    StatedFact: models.StatedFactBody,
    AnswerEdge: models.EdgeBody,
}


@pytest.mark.parametrize("renamed", RENAMED_FIELDS)
def test_old_names_are_described_as_deprecated_beside_the_present_ones(renamed: type) -> None:
    """A type has the present names alone; the description of its JSON has both and marks the old ones."""
    own = {field.name for field in fields(renamed)}
    body = BODIES[renamed].model_fields
    for new, old in RENAMED_FIELDS[renamed].items():
        assert new in own and old not in own
        assert not body[new].deprecated and body[old].deprecated
        assert f"`{new}`" in str(body[old].description)


def test_answers_send_renamed_fields_under_both_names() -> None:
    """The reason of the mode, the context and the value that supersedes a relation have the same value under both."""
    edge = AnswerEdge("e", "a", "p", "b", 1.0, superseding_value="Kenji")
    part = ContextPart("report", "text", ("c",), 1.0)
    body = answer_json(
        Answer("", (), (), (), (edge,), 1, "local", Usage(), None, (part,), "one entity"), old_names=True
    )
    assert body["mode_reason"] == body["chosen"] == "one entity"
    assert body["context_parts"] == body["parts"] != []
    assert isinstance(body["subgraph"], dict)
    [sent] = body["subgraph"]["edges"]
    assert sent["superseding_value"] == sent["instead"] == "Kenji"


def test_health_sends_old_names_over_http_only() -> None:
    """Messages of gRPC know fields by number, so they are made from the present names."""
    health = Health(False, {"kafka": degraded("unreachable"), "extract": RUNNING})
    assert fields_json(health) == {"ready": False, "components": {"kafka": "unreachable", "extract": "running"}}
    assert fields_json(health, old_names=True)["parts"] == {"kafka": "unreachable", "extract": "running"}
