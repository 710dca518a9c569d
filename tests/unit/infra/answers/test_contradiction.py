"""Rows of another day, or of another thing than the one asked for, answer nothing, however probable they seem."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.choosing.selection import RuleAnswer, answer_by_relevance, answer_by_rules
from graphtide.infra.models.local.answers.matching.contradiction import uncontradicted, without_contradicted
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import note, table

NURSES = ("Jo", "Mali", "Sian")
ROTA = table("rota.csv", *(f"date: 2026-12-0{day}; nurse: {name}" for day, name in enumerate(NURSES, start=3)))
ANIMALS = table("animals.csv", "name: Monty; species: dog; diet: no milk", "name: Duchess; species: cat; diet: kidney")


def evidence_of(question: str, *notes: ContextPassage) -> AnswerEvidence:
    units = units_of(notes)
    return score_units(plan_of(question), units, [0.0] * len(units))


def probable(*shares: float) -> Relevance:
    """Return the relevance with these probabilities of the units, by their places."""
    return Relevance(dict(enumerate(shares)), 1.0 - sum(shares), dict(enumerate(shares)))


def test_probability_of_rows_of_other_days_goes_to_the_row_of_the_day() -> None:
    evidence = evidence_of("Which nurse works on 4 December?", ROTA)
    found = without_contradicted(evidence, probable(0.3, 0.4, 0.2))
    assert set(found.units) == {1} and found.units[1] == pytest.approx(0.9)
    assert found.none == pytest.approx(0.1)


def test_nothing_answers_where_no_row_is_of_the_day() -> None:
    evidence = evidence_of("Which nurse works on 10 December?", ROTA)
    found = without_contradicted(evidence, probable(0.3, 0.4, 0.2))
    assert not found.units and found.none == pytest.approx(1.0)
    assert not answer_by_relevance(evidence, probable(0.3, 0.4, 0.2), RuleAnswer(()))


@pytest.mark.parametrize(
    "rows",
    [
        ("from: 2026-12-07; until: Monday; nurse: Jo", "from: 2026-12-14; until: Monday; nurse: Mali"),
        ("week of: 2026-12-07; nurse: Jo", "week of: 2026-12-14; nurse: Mali"),
        ("date: December 2026; nurse: Jo", "date: January 2027; nurse: Mali"),
    ],
)
def test_rows_of_periods_may_have_the_day(rows: tuple[str, str]) -> None:
    evidence = evidence_of("Which nurse works on 10 December?", table("rota.csv", *rows))
    assert without_contradicted(evidence, probable(0.5, 0.3)) == probable(0.5, 0.3)


@pytest.mark.parametrize("words", ["after 3", "since 3", "before 10", "between 3 and 5", "later than 3"])
def test_rows_of_other_days_answer_where_the_day_is_a_bound(words: str) -> None:
    evidence = evidence_of(f"Which nurses work {words} December?", ROTA)
    assert without_contradicted(evidence, probable(0.3, 0.4, 0.2)) == probable(0.3, 0.4, 0.2)


def test_row_of_another_thing_answers_nothing_and_none_of_that_thing_answers_instead() -> None:
    found = without_contradicted(evidence_of("Which cat gets no milk?", ANIMALS), probable(0.7, 0.1))
    assert set(found.units) == {1} and found.units[1] == pytest.approx(0.1)
    assert found.none == pytest.approx(0.9)


@pytest.mark.parametrize(
    "question",
    ["Which animal gets no milk?", "Who gets no milk?", "Which cats do not get milk?"],
)
def test_questions_for_no_value_of_a_column_and_denials_change_nothing(question: str) -> None:
    assert without_contradicted(evidence_of(question, ANIMALS), probable(0.1, 0.7)) == probable(0.1, 0.7)


LOG = note(
    "log.txt", "21 June Record day: 118 visitors.", "3 July Few visitors: 12.", "30 June: counted for July, 90 came."
)


def test_entries_of_another_month_answer_nothing_about_a_month() -> None:
    found = without_contradicted(evidence_of("How many visitors came in July?", LOG), probable(0.5, 0.3, 0.1))
    assert set(found.units) == {1, 2} and found.none == pytest.approx(0.6)
    found = without_contradicted(evidence_of("How many visitors came in August?", LOG), probable(0.5, 0.3, 0.1))
    assert not found.units


@pytest.mark.parametrize(
    "question", ["How many visitors came since July?", "How many visitors came?", "How many in Julytown?"]
)
def test_entries_of_other_months_answer_other_questions(question: str) -> None:
    assert without_contradicted(evidence_of(question, LOG), probable(0.5, 0.3, 0.1)) == probable(0.5, 0.3, 0.1)


def test_rules_leave_rows_of_other_months_out() -> None:
    rows = ("date: 2026-03-07; task: path", "date: 2026-04-11; task: hedge", "date: 2026-05-16; task: pond")
    evidence = evidence_of("Which task was in May?", table("days.csv", *rows))
    assert [scored.unit.cells[1].value for scored in answer_by_rules(evidence).chosen] == ["pond"]
    assert not answer_by_rules(evidence_of("Which task was in June?", table("days.csv", *rows))).chosen


@pytest.mark.parametrize("question", ["Which tasks were in March and April?", "Was more done in March or April?"])
def test_each_month_that_is_named_counts(question: str) -> None:
    rows = ("date: 2026-03-07; task: path", "date: 2026-04-11; task: hedge")
    evidence = evidence_of(question, table("days.csv", *rows))
    assert without_contradicted(evidence, probable(0.5, 0.3)) == probable(0.5, 0.3)
    assert uncontradicted(evidence, evidence.scored) == evidence.scored


def test_rows_of_another_month_and_of_another_thing_beside_a_sentence() -> None:
    """A sentence that contradicts has no table, and rows of it none to share with."""
    evidence = evidence_of("Which nurse works in November?", ROTA, LOG)
    found = without_contradicted(evidence, Relevance(dict.fromkeys(range(6), 0.1), 0.4, dict.fromkeys(range(6), 0.1)))
    assert not found.units and found.none == pytest.approx(1.0)


def test_sentences_contradict_nothing() -> None:
    evidence = evidence_of("Which nurse works on 4 December?", note("log.md", "Jo works on 5 December."))
    assert without_contradicted(evidence, probable(0.7)) == probable(0.7)


OLD, NEW = "The guarantee is two years.", "Units delivered on or after 1 January 2026 have a guarantee of three years."


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ("How long is the guarantee for a unit delivered in 2025?", {0}),
        ("How long is the guarantee for a unit delivered on 31 December 2025?", {0}),
        ("How long is the guarantee for a unit delivered in 2026?", {0, 1}),
        ("How long is the guarantee for a unit delivered in March 2026?", {0, 1}),
        ("How long is the guarantee for a unit?", {0, 1}),
        ("How long is the guarantee for a unit delivered before 2025?", {0, 1}),
        ("When in 2025 did the guarantee of a unit change?", {0, 1}),
    ],
)
def test_what_is_so_in_another_period_is_left_out(question: str, places: set[int]) -> None:
    """As if it had not been read: what is so in the period in question is mostly stated elsewhere."""
    evidence = evidence_of(question, note("old.md", OLD), note("new.md", NEW))
    found = without_contradicted(evidence, probable(0.3, 0.5))
    assert set(found.units) == places
    assert sum(found.units.values()) + found.none == pytest.approx(1.0)
    kept = uncontradicted(evidence, evidence.scored)
    assert {evidence.scored.index(one) for one in kept} == places


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        ("Until 30 June the market is on the quay.", False),
        ("Until 30 September the market is on the quay.", True),
        ("From 1 September the market is on the quay.", False),
        ("From 1 May the market is on the quay.", True),
        ("From 1 May until 30 June the market is on the quay.", True),
        ("The market is on the quay since Ana left on 30 June.", True),
    ],
)
def test_limit_without_a_year_is_compared_with_days_without_one(text: str, is_left: bool) -> None:
    evidence = evidence_of("Where is the market on 12 July?", note("market.md", text), note("b.md", "On the green."))
    assert (0 in without_contradicted(evidence, probable(0.5, 0.3)).units) is is_left


@pytest.mark.parametrize(("code", "is_left"), [("V100", False), ("V200", True), ("7", True), ("E4", True)])
def test_columns_for_other_codes_of_the_form_answer_nothing(code: str, is_left: bool) -> None:
    rows = table("noise.md", "Speed: 1; V200: 21 dB; V350: 24 dB", "Speed: 2; V200: 27 dB; V350: 30 dB")
    evidence = evidence_of(f"How loud is the {code} at speed 2?", rows)
    found = without_contradicted(evidence, probable(0.1, 0.6))
    assert bool(found.units) is is_left
    assert found.none == pytest.approx(0.3 if is_left else 1.0)


@pytest.mark.parametrize(
    ("question", "note_", "is_left"),
    [
        ("When is the closing party?", note("party.txt", "At 21:15, 7 May.", headings=("Opening party",)), False),
        ("When is the opening party?", note("party.txt", "At 21:15, 7 May.", headings=("Opening party",)), True),
        ("When is the closing party?", note("party.txt", "At 21:15, 7 May.", headings=("Garden party",)), True),
        ("When is the autumn concert?", note("choir.md", "The spring concert moves to 25 April."), False),
        (
            "When is the autumn concert?",
            note("choir.md", "The spring concert is cancelled, the autumn one is not."),
            True,
        ),
        ("When is the autumn concert?", note("choir.md", "In spring the concert hall is closed."), True),
    ],
)
def test_other_one_of_alternatives_answers_nothing(question: str, note_: ContextPassage, is_left: bool) -> None:
    found = without_contradicted(evidence_of(question, note_), probable(0.8))
    assert bool(found.units) is is_left
    assert found.none == pytest.approx(0.2 if is_left else 1.0)


@pytest.mark.parametrize(
    ("day", "place"), [("10 December", 0), ("13 December", 0), ("14 December 2026", 1), ("21 December", None)]
)
def test_row_whose_period_has_the_day_answers(day: str, place: int | None) -> None:
    rows = ("from: 2026-12-07; to: 2026-12-13; nurse: Jo", "from: 2026-12-14; to: 2026-12-20; nurse: Mali")
    evidence = evidence_of(f"Which nurse works on {day}?", table("rota.csv", *rows))
    found = without_contradicted(evidence, probable(0.5, 0.3))
    assert set(found.units) == ({place} if place is not None else set())
    assert [one.on_day for one in evidence.scored] == [place == 0, place == 1]


@pytest.mark.parametrize(
    ("question", "places"), [("Who owns the item that is still open?", {1}), ("Who owns an item?", {0, 1})]
)
def test_rows_in_the_other_state_answer_nothing(question: str, places: set[int]) -> None:
    rows = ("item: retention; owner: Jo; state: done", "item: lag; owner: Mali; state: open")
    evidence = evidence_of(question, table("items.md", *rows))
    assert set(without_contradicted(evidence, probable(0.5, 0.3)).units) == places


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        ("Closed on 25 and 26 December and on 1 January.", False),
        ("Closed on 25 December and from 1 to 5 June.", True),
        ("The garden closes at 19:00.", True),
        ("As of 3 May, it closes at 20:00 in June.", True),
    ],
)
def test_days_of_other_months_alone_date_nothing(text: str, is_left: bool) -> None:
    evidence = evidence_of("When does the garden close in June?", note("visit.html", text))
    assert bool(without_contradicted(evidence, probable(0.8)).units) is is_left
