"""Forms of questions that people use for one kind of answer, and questions that say that a value changed."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.words import key_of
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("For what reason was the ferry stopped?", Kind.REASON),
        ("What made the pump fail?", Kind.REASON),
        ("What led to the flood?", Kind.REASON),
        ("Whereabouts is the ladder?", Kind.PLACE),
        ("Which cupboard are the flags in?", Kind.PLACE),
        ("Which nurse is on duty?", Kind.PERSON),
        ("How late can I call the office?", Kind.DATE),
        ("What's the latest I can hand in the form?", Kind.DATE),
        ("What is the latest version?", Kind.VERSION),
        ("What's the most we may spend on paint?", Kind.QUANTITY),
        ("What do we owe the roofer?", Kind.QUANTITY),
    ],
)
def test_form_of_the_question_decides_its_kind(question: str, kind: Kind) -> None:
    assert plan_of(question).kind is kind


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("What number do I ring for a taxi?", "phone"),
        ("What is Dr Ek's mobile number?", "phone"),
        ("What is Mr van Dalen's phone number?", "phone"),
        ("What's the most we may spend on paint?", "money"),
        ("What do we owe the roofer?", "money"),
    ],
)
def test_form_of_the_question_decides_what_is_measured(question: str, measure: str) -> None:
    assert plan_of(question).measures == {measure}


def test_counted_noun_is_behind_its_adjective_and_a_partitive_is_no_attribute() -> None:
    assert plan_of("How many different birds nest here?").counted == key_of("birds")
    assert plan_of("What is the biggest bit of clay in the box?").attribute == ""
    assert plan_of("What is Mary Ek's locker code?").attribute == key_of("code")


def test_plural_after_the_first_noun_of_a_compound_is_what_is_asked_for() -> None:
    plan = plan_of("Which budget items are missing?")
    assert plan.plural and plan.kind is Kind.THING
    assert plan_of("Which budget is too small?").kind is Kind.QUANTITY


@pytest.mark.parametrize("question", ["What is the policy number?", "What is the number of the insurance policy?"])
def test_number_beside_what_it_numbers_need_not_occur(question: str) -> None:
    assert "number" not in {term.text for term in plan_of(question).terms if not term.weak}


async def test_number_of_a_thing_is_the_code_after_it() -> None:
    notes = note("todo.txt", "call insurance about the van (policy HM-20-7731)"), note("log.md", "The policy is old.")
    assert "HM-20-7731" in await answer("What is the number of the insurance policy?", *notes)
    other = note("todo.txt", "call insurance about the policy, 2 vans")
    assert await answer("What is the number of the insurance policy?", other, notes[1]) == NOTHING_FITS


def test_phrase_that_only_says_that_something_happens_is_weak() -> None:
    weak = [term.text for term in plan_of("When will the third concert take place?").terms if term.weak]
    assert weak == ["take"]


MILL = (
    note(
        "plan.md",
        "The mill race is 4.10 m wide at the sluice. Visitors pay a deposit two days before.",
        title="Mill race",
        date="2025-03-01",
    ),
    note(
        "minutes.md",
        "From 1 June one day's deposit is enough. Recounted on site: 4.35 m at the sluice.",
        title="Meeting about the mill",
        date="2025-05-20",
    ),
    table("tools.csv", "tool: rake; place: barn", "tool: scythe; place: loft", title="Tools"),
)


async def test_correction_is_quoted_when_the_question_says_that_the_value_was_wrong() -> None:
    """A later sentence that corrects need not repeat what the earlier one is about, if the question asks for it."""
    assert "4.35 m" in await answer("How wide is the mill race at the sluice really?", *MILL)


async def test_earlier_value_is_quoted_when_no_later_one_corrects_it() -> None:
    given = await answer("How wide is the mill race at the sluice now?", MILL[0], MILL[2])
    assert "4.10 m" in given


def test_question_that_asks_for_what_is_so_now_does_not_need_these_words() -> None:
    plan = plan_of("What is the correct total of visitors?")
    assert plan.latest
    assert [term.text for term in plan.terms if term.weak] == ["correct"]
    assert not plan_of("How wide is the mill race?").latest
