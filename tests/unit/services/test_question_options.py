"""Options of a question on the way to the application: JSON, protobuf, the command line, storage and the settings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import pytest

import graphtide
from graphtide.infra.hnsw import HnswParameters
from graphtide.infra.index_folder import hnsw_parameters
from graphtide.infra.settings import Settings, SettingsError, load_settings
from graphtide.services.api.chat.requests import read_chat
from graphtide.services.api.grpc.conversion import question_message, request_value
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.questions import question_of
from graphtide.services.api.schema.requests.standing import standing_question_of
from graphtide.services.cli.asking.options import options_from
from graphtide.services.cli.exit_codes import CommandError
from graphtide.streams.errors import Invalid
from graphtide.streams.standing.records import QuestionDefinition

LIMITS = RequestLimits()
PIPELINE = {"question": "Who?", "mode": "pipeline", "options": {"beam": 8, "lambda": 0.5, "multipliers": {"led": 2}}}
READ = (("beam", 8), ("lambda", 0.5), ("multipliers", (("led", 2.0),)))


def nested(depth: int) -> object:
    """Return an object within objects."""
    value: object = 1
    for _ in range(depth):
        value = {"led": value}
    return value


def test_options_are_read_in_canonical_form() -> None:
    """The order of names does not matter, and whole numbers are those of the option's type."""
    body = {**PIPELINE, "options": dict(reversed(list(PIPELINE["options"].items())))}  # type: ignore[attr-defined]
    assert question_of(body, LIMITS).options == question_of(PIPELINE, LIMITS).options == READ


def test_protobuf_carries_options_unchanged() -> None:
    """A forwarded question is read as the one that was sent; a client's doubles are whole numbers again."""
    asked = question_of(PIPELINE, LIMITS)
    message = question_message("g", asked)
    assert question_of(request_value(pb.QueryRequest.FromString(message.SerializeToString())), LIMITS).options == READ


def test_no_options_and_an_empty_object_are_the_same() -> None:
    """A question to register is looked up by its options, so these are never a dictionary."""
    body = {"question": "Who?", "options": {}}
    assert question_of(body, LIMITS).options == standing_question_of("q", body, LIMITS).options == ()


@pytest.mark.parametrize(
    ("mode", "options", "field"),
    [
        ("pipeline", {"beam": 0}, "options.beam"),
        ("pipeline", {"multipliers": {"led": -1}}, "options.multipliers"),
        ("vector", {"beam": 8}, "options.beam"),
        ("auto", {"beam": 8}, "options.beam"),
        ("local", {"\ud800": 1}, "options.\\ud800"),
        ("pipeline", {"beam": 10**400}, "options.beam"),
        ("pipeline", {"lambda": -(10**5000)}, "options.lambda"),
        ("pipeline", {"lambda": math.nan}, "options.lambda"),
        ("pipeline", {"multipliers": {"led": 10**400}}, "options.multipliers"),
        ("pipeline", {"beam": nested(100_000)}, "options.beam"),
        ("nothing", {"beam": 8}, "mode"),
        ("local", [], "options"),
    ],
)
def test_wrong_option_is_refused_by_its_name(mode: str, options: object, field: str) -> None:
    """The error names the field, for questions and for standing questions."""
    with pytest.raises(Invalid) as refused:
        question_of({"question": "Who?", "mode": mode, "options": options}, LIMITS)
    assert refused.value.field == field
    with pytest.raises(Invalid) as refused:
        standing_question_of("q", {"question": "Who?", "mode": mode, "options": options}, LIMITS)
    assert refused.value.field in (field, "mode")


def test_stored_definition_keeps_options() -> None:
    """A standing question is decoded with the options that it was registered with; an older one has none."""
    definition = standing_question_of("q", {"question": "Who?", "options": {"coverage": 8}}, LIMITS)
    assert definition.options == (("coverage", 8),)
    assert QuestionDefinition.decode("q", definition.encode()) == definition
    assert QuestionDefinition.decode("q", '{"question": "Who?", "mode": "local", "top_k": 5}').options == ()


def test_chat_completion_takes_options() -> None:
    """A further field of a chat request sets them."""
    raw = b'{"model": "g/local", "messages": [{"role": "user", "content": "Who?"}], "options": {"coverage": 8}}'
    assert read_chat(raw, LIMITS).question.options == (("coverage", 8),)


def test_command_line_reads_values_as_json_and_entries_by_a_dot() -> None:
    """`--option` sets a number, a text or an entry of an object."""
    given = ["hops=2", "traversal=breadth", "pruning=false", "multipliers.founded=2", "multipliers.led=0.5"]
    expected = {"hops": 2, "traversal": "breadth", "pruning": False, "multipliers": {"founded": 2, "led": 0.5}}
    assert options_from(given) == expected
    assert options_from([f"hops={'[' * 100_000}"]) == {"hops": "[" * 100_000}
    for wrong in (["hops"], ["=2"], ["multipliers.=2"], ["hops=2", "hops.a=3"]):
        with pytest.raises(CommandError, match="not an option"):
            options_from(wrong)


def test_settings_check_default_options(tmp_path: Path) -> None:
    """A file with an unknown mode, an unknown option or a value out of range is refused with the place."""
    file = tmp_path / "graphtide.toml"
    file.write_text("[mode_options.pipeline]\nbeam = 8\n")
    assert load_settings(file=file).default_options == {"pipeline": (("beam", 8),)}
    for table, named in (("pipeline]\nbeam = 0", "pipeline.beam"), ("walk]\nbeam = 1", "walk"), ("local]\nk = 1", "k")):
        file.write_text(f"[mode_options.{table}\n")
        with pytest.raises(SettingsError, match=f"mode_options in .*{named}"):
            load_settings(file=file)


async def test_default_options_apply_to_questions_without_them(tmp_path: Path) -> None:
    """The trace shows the option of the settings, of a mode that `auto` chose too; the question's own replaces it."""
    settings = {"mode_options": {"local": {"coverage": 9}}}
    async with graphtide.open(tmp_path, settings=settings) as db:
        notes = db.graph("g")
        await notes.wait((await notes.add("a", "Ada Lovelace wrote the notes on the engine.")).token)
        found = []
        for mode, options in (("local", None), ("auto", None), ("local", {"coverage": 3})):
            answer = await notes.ask("What did Ada write?", mode=mode, options=options, explain=True, generate=False)
            [step] = [each for each in answer.trace or () if each["step"] == "options"]
            found += [item["name"] for item in cast(Any, step["items"]) if item["id"] == "coverage"]
        kept = await notes.questions.put("q", "What did Ada write?")
    assert found == ["9", "9", "3"]
    assert kept.options == {"coverage": 9}


def test_parameters_of_the_index_are_settings() -> None:
    """Without settings they are those of the measurements."""
    assert hnsw_parameters(Settings()) == HnswParameters()
    changed = Settings(hnsw_m=8, hnsw_ef_construction=40, hnsw_ef=64)
    assert hnsw_parameters(changed) == HnswParameters(links=8, build_width=40, search_width=64)
