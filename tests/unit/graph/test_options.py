"""Options of the modes: ranges, canonical form, effect, and the documentation that is derived from them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.options.fields import InvalidOption, options_from_json, options_json
from graphtide.graph.retrieval.options.schema import default_json, options_schema, options_table
from graphtide.graph.retrieval.options.table import SETTINGS, options_of, read_options, settings_from, with_defaults
from graphtide.graph.retrieval.types import MODE_NAMES, Question
from graphtide.graph.view import LiveView
from tests.model.small_views import bag_of_words, random_documents, small_view
from tests.support.random_options import end_values, outside_values, random_options

OPTIONS = [(mode, name) for mode in SETTINGS for name in options_of(mode)]
TEXT = "lin near cedar"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def view() -> LiveView:
    return small_view(random_documents(random.Random(7), 40))


def question(mode: str, **options: object) -> Question:
    return Question(TEXT, bag_of_words(TEXT), 6, mode, options=read_options(mode, options))


def test_every_mode_but_auto_has_settings() -> None:
    """The table has the modes that a question can name."""
    assert SETTINGS.keys() == MODES.keys() - {"auto"} and tuple(MODES) == MODE_NAMES


@pytest.mark.parametrize(("mode", "name"), OPTIONS)
def test_option_accepts_its_range_and_refuses_what_is_outside(mode: str, name: str) -> None:
    """The default and both ends are accepted; the error for any other value names the option."""
    known = options_of(mode)[name]
    for value in [default_json(known), *end_values(known)]:
        ((read_name, _),) = read_options(mode, {name: value})
        assert read_name == name
    for value in outside_values(known):
        with pytest.raises(InvalidOption) as refused:
            read_options(mode, {name: value})
        assert refused.value.name == name


@pytest.mark.parametrize("mode", sorted(MODES))
def test_unknown_option_is_refused_with_the_known_ones(mode: str) -> None:
    """A mode accepts its own options alone."""
    with pytest.raises(InvalidOption, match=mode) as refused:
        read_options(mode, {"no_such_option": 1})
    assert refused.value.name == "no_such_option"
    assert all(name in str(refused.value) for name in options_of(mode))


@pytest.mark.parametrize("mode", sorted(SETTINGS))
def test_default_values_as_options_change_nothing(view: LiveView, mode: str) -> None:
    """Every default that is documented is the one that is used."""
    defaults = {name: default_json(each) for name, each in options_of(mode).items()}
    assert settings_from(SETTINGS[mode], read_options(mode, defaults)) == SETTINGS[mode]()
    assert retrieve(view, question(mode, **defaults)) == retrieve(view, question(mode))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", sorted(SETTINGS))
def test_any_values_within_the_ranges_give_a_result(view: LiveView, mode: str, seed: int) -> None:
    """No combination of accepted values fails, and a result depends on the values alone."""
    print("seed", seed)
    asked = replace(question(mode), options=random_options(random.Random(seed), mode), explain=True)
    found = retrieve(view, asked)
    assert len(found.passages) <= 6
    assert retrieve(view, asked) == found


@pytest.mark.parametrize("mode", sorted(SETTINGS))
def test_trace_begins_with_the_options_of_the_mode(view: LiveView, mode: str) -> None:
    """The trace shows every option with its value, and which ones the question gave."""
    options = random_options(random.Random(3), mode)
    trace = retrieve(view, replace(question(mode), options=options, explain=True)).trace
    assert trace is not None
    known = options_of(mode)
    if known:
        assert trace.steps[0].name == "options"
        assert {item.id: item.score for item in trace.steps[0].items} == {n: float(n in dict(options)) for n in known}
    assert [step.name for step in trace.steps].count("options") == (1 if known else 0)


@pytest.mark.parametrize("mode", sorted(SETTINGS))
def test_options_survive_json(mode: str) -> None:
    """The stored form of options is read as equal options."""
    for seed in range(20):
        options = random_options(random.Random(seed), mode)
        assert options_from_json(options_json(options)) == options
        assert read_options(mode, options_json(options)) == options


def test_options_of_a_question_replace_the_defaults_one_by_one() -> None:
    """A default stays where the question gives another option."""
    defaults = read_options("pipeline", {"hops": 2, "beam": 9})
    given = read_options("pipeline", {"beam": 3})
    assert dict(with_defaults(given, defaults)) == {"hops": 2, "beam": 3}
    assert with_defaults(given, ()) == given


def test_multiplier_of_a_predicate_directs_the_guided_search(view: LiveView) -> None:
    """A predicate with multiplier 0 is never followed; one with a high multiplier is."""
    predicates = {statement.predicate for statement in view.statements.values()}
    silent = question("pipeline", multipliers=dict.fromkeys(predicates, 0), threshold=0.01)
    loud = question("pipeline", multipliers=dict.fromkeys(predicates, 10), threshold=0.01)
    reached = [visited(view, asked) for asked in (silent, loud)]
    assert reached[0] < reached[1]


def visited(view: LiveView, asked: Question) -> set[str]:
    trace = retrieve(view, replace(asked, explain=True)).trace
    assert trace is not None
    (step,) = (step for step in trace.steps if step.name == "priority-guided")
    return {item.id for item in step.items}


def test_schema_describes_every_option() -> None:
    """The JSON Schema has each mode's options with their ranges."""
    kinds = {kind.get("title"): kind for kind in options_schema()["anyOf"]}
    for mode, name in OPTIONS:
        assert name in kinds[f"options of {mode}"]["properties"]
    assert kinds["options of pipeline"]["properties"]["beam"]["maximum"] == options_of("pipeline")["beam"].maximum


def test_page_lists_every_option() -> None:
    """The table of docs/options.md is the derived one; `python -m tests.support.options_page` writes it."""
    assert options_table() in (ROOT / "docs" / "options.md").read_text()
