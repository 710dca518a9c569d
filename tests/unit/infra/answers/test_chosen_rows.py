"""Rows of tables that rules choose: by a column of yes and no, a bound or a superlative, or the one that is named."""

from __future__ import annotations

from functools import partial

import pytest

from graphtide.infra.models.local.answers.choosing.by_score import select
from graphtide.infra.models.local.answers.choosing.rows.stated import named_by_column, rows_beyond, rows_of_extreme
from graphtide.infra.models.local.answers.choosing.selection import (
    RuleAnswer,
    answer_by_relevance,
    answer_by_rules,
)
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.relevance import (
    UNANSWERED,
)
from graphtide.infra.models.local.answers.segmentation import units_of
from tests.support.growth import MAX_GROWTH, lines_run
from tests.unit.infra.answers.notes import chosen_of, note, table

NAMES = ("Ana", "Bo", "Cai", "Dee")
SEVERAL, ONE = "Which people crossed the strait?", "When was the strait crossed?"


CREW = ("name: Ana; cook aboard: yes", "name: Bo; cook aboard: no", "name: Cai; cook aboard: yes")
LOG = "Tell the cook aboard what you eat."


@pytest.mark.parametrize(
    ("question", "names"),
    [("Which cooks are aboard?", ["Ana", "Cai"]), ("Which cooks are not aboard?", ["Bo"])],
)
def test_a_column_of_yes_and_no_that_is_the_question_decides(question: str, names: list[str]) -> None:
    """Whatever the probabilities say, which do not see that "no" excludes a row."""
    units = units_of([table("crew.csv", *CREW), note("log.md", LOG)])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    by_rules = answer_by_rules(evidence)
    relevance = Relevance({0: 0.1, 1: 0.9}, 0.0, {0: 0.1, 1: 0.9})
    chosen = answer_by_relevance(evidence, relevance, by_rules)
    assert [each.unit.cells[0].value for each in chosen] == names


def test_a_column_with_one_answer_for_all_decides_nothing() -> None:
    units = units_of([table("crew.csv", *(row.replace("no", "yes") for row in CREW)), note("log.md", LOG)])
    evidence = score_units(plan_of("Which cooks are aboard?"), units, [0.0] * len(units))
    assert not answer_by_rules(evidence).is_stated


def test_a_column_of_yes_and_no_that_has_the_word_of_another_one_decides_nothing() -> None:
    """The column `owner` has the answer, and not `owner aboard`."""
    rows = table("boats.csv", "boat: Elm; owner: Ana; owner aboard: yes", "boat: Oak; owner: Bo; owner aboard: no")
    units = units_of([rows])
    evidence = score_units(plan_of("Who is the owner?"), units, [0.0] * len(units))
    assert not answer_by_rules(evidence).is_stated


BUDGET = (
    "item: Mast; amount: 900; approved: no",
    "item: Pool days; amount: 300; approved: yes",
    "item: Second winch; amount: 700; approved: no",
)


def test_a_column_decides_beside_words_that_say_what_the_rows_are() -> None:
    """ "Budget" is the heading and "items" a column; but no row is a "harbour item"."""
    units = units_of([table("plan.xlsx", *BUDGET, headings=("Budget 2027",)), note("log.md", "No budget before 2027.")])
    asked = score_units(plan_of("Which budget items are not approved?"), units, [0.0] * len(units))
    by_rules = answer_by_rules(asked)
    assert by_rules.is_stated
    assert [one.unit.cells[0].value for one in by_rules.chosen] == ["Mast", "Second winch"]
    other = score_units(plan_of("Which harbour items are not approved?"), units, [0.0] * len(units))
    assert not named_by_column(other)


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("How many hours has Tern 3 run?", True),
        ("How many hours has Tern 3 run since the last dive?", False),
        ("How many miles has Tern 3 run?", False),
    ],
)
def test_a_row_is_refused_late_if_it_is_named_and_has_the_column_asked_for(question: str, is_answered: bool) -> None:
    units = units_of([table("fleet.xlsx", "robot: Tern 2; hours: 120", "robot: Tern 3; hours: 388")])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    relevance = Relevance({0: 0.05, 1: 0.3}, 0.65, {0: 0.0, 1: 0.6})
    chosen = answer_by_relevance(evidence, relevance, RuleAnswer(()))
    assert [one.unit.cells[1].value for one in chosen] == (["388"] if is_answered else [])


HELPERS = (
    "name: Vane; task: tours; since: 2023",
    "name: Orr; task: garden; since: 2011",
    "name: Kerr; task: shop; since: 2017",
)


@pytest.mark.parametrize(
    ("question", "name"),
    [("Which helper has been there longest?", "Orr"), ("Who is the newest helper?", "Vane")],
)
def test_longest_and_newest_are_by_the_first_day(question: str, name: str) -> None:
    units = units_of([table("helpers.csv", *HELPERS, title="Helpers")])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    relevance = Relevance({0: 0.4, 1: 0.35, 2: 0.25}, 0.0, dict.fromkeys(range(3), 0.3))
    [chosen] = answer_by_relevance(evidence, relevance, RuleAnswer(select(evidence)))
    assert chosen.unit.cells[0].value == name


def test_longest_is_by_a_column_of_lengths_if_there_is_one() -> None:
    rows = ("name: Elm; length: 9 m; since: 2011", "name: Oak; length: 12 m; since: 2019")
    units = units_of([table("boats.csv", *rows, title="Boats")])
    evidence = score_units(plan_of("Which boat is the longest?"), units, [0.0] * len(units))
    assert [one.unit.cells[0].value for one in select(evidence)] == ["Oak"]


PRICES = (
    table("specs.csv", "unit: V350; price: 2740", "unit: V350 E; price: 3120"),
    table("parts.csv", "part: flap; fits: V350, V350 E; price: 31"),
)


def test_row_of_the_thing_is_preferred_to_one_that_mentions_it_among_others() -> None:
    found = chosen_of("What is the price of the V350 E?", PRICES, (0.0, 0.5, 0.3), 0.0)
    assert found == ["unit: V350 E; price: 3120"]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which units cost more than 3000 euros?", ["V350 E"]),
        ("Which units cost less than 3000 euros?", ["V350"]),
        ("Which units cost more than 9000 euros?", []),
    ],
)
def test_rows_beyond_a_bound_are_those_of_the_table_of_the_things(question: str, values: list[str]) -> None:
    """Sentences have more words of the question, and say nothing about units."""
    units = units_of([*PRICES, note("mail.txt", "We reckon with costs of 130 000 euros.")])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    assert [one.unit.cells[0].value for one in rows_beyond(evidence)] == values


def test_rules_decide_which_row_of_a_table_has_the_greatest_value() -> None:
    """To the models, its rows are alike."""
    rows = table("cars.csv", "car: Elm; seats: 48", "car: Oak; seats: 62", "car: Ash; seats: 36")
    assert chosen_of("Which car has the most seats?", [rows], (0.5, 0.1, 0.2), 0.0) == ["car: Oak; seats: 62"]


def test_people_who_cannot_are_the_rows_with_no() -> None:
    rows = table("members.csv", "name: Ana; can drive: yes", "name: Bo; can drive: no", "name: Cai; can drive: no")
    found = chosen_of("Who cannot drive?", [rows, note("a.md", "We cannot promise.")], (0.4, 0.2, 0.1, 0.1), 0.0)
    assert [text.partition(";")[0] for text in found] == ["name: Bo", "name: Cai"]


def test_shortest_is_by_a_column_that_a_unit_names() -> None:
    """And never by one that says when something is."""
    rows = table("films.csv", "film: Elm; year: 2024; minutes: 97", "film: Oak; year: 2026; minutes: 12")
    assert chosen_of("Which film is the shortest?", [rows], (0.5, 0.3), 0.0) == ["film: Oak; year: 2026; minutes: 12"]


HOSTS = table(
    "inventory.csv", "host: atlas-1; role: database; monthly_eur: 214", "host: argo-1; role: deploy; monthly_eur: 22"
)
PLANS = table("plans.md", "plan: Business; price per month: 790", "plan: Team; price per month: 99")


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Which host is the most expensive?", "atlas-1"),
        ("Which host is the cheapest?", "argo-1"),
        ("Which plan is the most expensive?", "Business"),
        ("Which host for staging is the most expensive?", ""),
        ("Which dog is the most expensive?", ""),
    ],
)
def test_superlative_is_looked_for_in_the_table_of_the_things(question: str, value: str) -> None:
    units = units_of([PLANS, HOSTS, note("mail.txt", "The most expensive of all is hosted in Helsinki.")])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    assert [one.unit.cells[0].value for one in rows_of_extreme(evidence)] == ([value] if value else [])


def test_price_is_a_column_of_a_currency_in_the_row_that_is_named() -> None:
    found = chosen_of("What does argo-1 cost per month?", [HOSTS], (0.0, 0.2), UNANSWERED)
    assert found == ["host: argo-1; role: deploy; monthly_eur: 22"]


def test_price_of_one_is_preferred_to_a_row_that_mentions_the_things() -> None:
    notes = [
        note("june.txt", "New: Plantmark, \u00a34.10 a label, 300 ordered."),
        table("budget.md", "line: labels; plan: \u00a32,400"),
    ]
    assert chosen_of("How much is a label?", notes, (0.6, 0.35), 0.0) == [
        "New: Plantmark, \u00a34.10 a label, 300 ordered."
    ]
    assert chosen_of("What is planned for labels?", notes, (0.5, 0.45), 0.0) == ["line: labels; plan: \u00a32,400"]


TRIPS = table(
    "log.csv",
    "date: 1 August; skipper: Marta; hours: 6",
    "date: 9 August; skipper: Jun; hours: 3",
    "date: 2 September; skipper: Amelie; hours: 8",
)


def test_greatest_value_decides_where_the_rules_cover_nothing() -> None:
    """The question has no word of the table."""
    loft = table("jobs.md", "job: sails to loft; who: Marta")
    assert chosen_of("Who sailed the longest?", [TRIPS, loft], (0.8, 0.0, 0.01, 0.1), 0.0) == [
        "date: 2 September; skipper: Amelie; hours: 8"
    ]


def test_rows_within_a_bound_are_left_out_of_those_that_models_choose() -> None:
    found = chosen_of("Which trips took more than 5 hours?", [TRIPS], (0.7, 0.7, 0.7), 0.0)
    assert [text.rpartition(" ")[2] for text in found] == ["6", "8"]


@pytest.mark.parametrize(
    "question",
    ["Which host is the most expensive?", "Which hosts cost more than 5 euros?", "Which hosts are remote?"],
)
def test_work_is_in_proportion_to_the_tables(question: str) -> None:
    """Each row is a table of its own."""

    def work(count: int) -> int:
        rows = (f"host: h{at}; price {at}: 1; price: {at}; remote: yes" for at in range(count))
        units = units_of([table(f"{at}.csv", row) for at, row in enumerate(rows)])
        evidence = score_units(plan_of(question), units, [0.0] * len(units))
        return sum(lines_run(partial(find, evidence)) for find in (named_by_column, rows_beyond, rows_of_extreme))

    work(10)  # fills the caches of words
    assert work(400) <= MAX_GROWTH * work(200)
