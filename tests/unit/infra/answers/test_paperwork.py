"""Questions to the papers of a household: bookings, warranties, a car's service book, messages of a tenant."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.choosing.rows.stated import rows_stated
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import chosen_of, note, table

CHAT = note(
    "chat.txt",
    "[02/02/2026, 08:14] Oskar: I will be away from 9 to 23 February",
    "[18/04/2026, 21:40] Oskar: would it be ok if my sister moves in from June?",
)
ITEMS = table(
    "items.csv",
    "item: Boiler; bought: 2019-06-03; warranty_until: 2026-06-03",
    "item: Mower; bought: 2021-04-10",
)


def evidence_of(question: str, *notes: ContextPassage) -> AnswerEvidence:
    units = units_of(notes)
    return score_units(plan_of(question), units, [0.0] * len(units))


def test_a_later_message_of_the_same_sender_moves_no_date() -> None:
    """Only the name of the sender is common to both."""
    expected = "[02/02/2026, 08:14] Oskar: I will be away from 9 to 23 February"
    assert chosen_of("When is Oskar away?", [CHAT], (0.98, 0.01), 0.006) == [expected]


@pytest.mark.parametrize("question", ["Which item has no warranty?", "Which item has no warranty date?"])
def test_the_column_for_the_end_of_something_is_that_for_it(question: str) -> None:
    assert [one.unit.cells[0].value for one in rows_stated(evidence_of(question, ITEMS))] == ["Mower"]


def test_a_column_for_the_day_alone_is_that_for_the_date() -> None:
    events = table("events.csv", "event: Fair; date: 2026-07-04", "event: Quiz")
    assert [one.unit.cells[0].value for one in rows_stated(evidence_of("Which event has no date?", events))] == ["Quiz"]


@pytest.mark.parametrize(
    ("cell", "is_sum"),
    [
        ("Amount: -72.50", True),
        ("Betrag: 1.250,00", True),
        ("amount: £12", True),
        ("Amount: 500 g", False),
        ("Amount: see note", False),
        ("Miles: 72.50", False),
    ],
)
def test_the_amount_of_a_booking_is_what_something_cost(cell: str, is_sum: bool) -> None:
    row = table("bank.csv", f"Payee: Clinic; {cell}; Note: vaccination")
    [scored] = evidence_of("What did the vaccination cost?", row).scored
    assert (scored.fits, scored.coverage > 0.85) == (is_sum, is_sum)


@pytest.mark.parametrize(("year", "covered"), [("2024", True), ("2023", False)])
def test_a_date_in_figures_is_of_its_year(year: str, covered: bool) -> None:
    row = table("car.md", "date: 2024-09-09; miles: 61,020")
    [scored] = evidence_of(f"How many miles did it have in {year}?", row).scored
    assert (scored.covers[-1] > 0.9) is covered


@pytest.mark.parametrize(
    "question",
    ["What is the accountant's phone number?", "What is Farah's phone number?", "What is the phone number of Farah?"],
)
def test_a_number_after_a_possessive_is_what_is_asked_for(question: str) -> None:
    plan = plan_of(question)
    assert (plan.kind, plan.measures) == (Kind.QUANTITY, frozenset({"phone"}))


@pytest.mark.parametrize(
    ("text", "tells"),
    [("Beagle, born 9 November 2019, 13 kg", True), ("Born in 2019.", True), ("He was born in Leeds.", False)],
)
def test_how_old_is_told_by_the_day_of_birth(text: str, tells: bool) -> None:
    [scored] = evidence_of("How old is Biscuit?", note("dog.md", text, title="Biscuit")).scored
    assert scored.fits is tells


@pytest.mark.parametrize(
    ("question", "by_sentence"),
    [("How large is the discount at Larkfield?", True), ("How large is the excess at Larkfield?", False)],
)
def test_a_row_without_the_noun_gives_way_to_the_sentence_that_has_it(question: str, by_sentence: bool) -> None:
    rows = table("insurance.md", "what: Buildings; company: Larkfield; premium: £231; excess: £350")
    mail = note("mail.eml", "Since you had no claim, you keep the discount of 15 %.", title="Mail from Larkfield")
    [found] = chosen_of(question, [rows, mail], (0.6, 0.02), 0.2)
    assert found.startswith("Since") is by_sentence
