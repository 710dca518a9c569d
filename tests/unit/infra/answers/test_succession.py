"""Values that a later note replaces: the later one is quoted, and the earlier one again once it is deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphtide.infra.models.local.answers.choosing.selection import answer_by_relevance, answer_by_rules
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import answer, chosen_of, note, table

OLD = note("plan.md", "The harvest festival is on 14 September 2024.", title="Plan", date="2024-03-01")
NEW = note("minutes.md", "The harvest festival is now on 21 September 2024.", title="Minutes", date="2024-06-12")
STOCK = table("stock.csv", "item: jam jar; stock: 120; shelf: A", "item: honey jar; stock: 64; shelf: B")
COUNT = note("count.md", "Ida counted again: there are 97 jam jars in stock.", title="Stock-taking", date="2024-05-02")


@pytest.mark.parametrize("notes", [(OLD, NEW), (NEW, OLD)])
async def test_later_document_replaces_the_value(notes: tuple[ContextPassage, ...]) -> None:
    """The order of the passages does not matter."""
    given = await answer("When is the harvest festival?", *notes)
    assert "21 September" in given
    assert "14 September" not in given


async def test_earlier_value_is_quoted_again_without_the_later_document() -> None:
    assert "14 September" in await answer("When is the harvest festival?", OLD)


async def test_correction_replaces_an_undated_row() -> None:
    """A dated sentence that says that it corrects replaces the value of an undated table."""
    given = await answer("How many jam jars are in stock?", STOCK, COUNT)
    assert "97" in given
    assert "120" not in given


async def test_later_section_of_one_document_replaces_the_earlier_one() -> None:
    first = note("runs.md", "The mean yield is 412 kg.", title="Runs", headings=("Run 1 (22 May)",), date="2024-05-22")
    second = note(
        "runs.md", "The mean yield is now 371 kg.", title="Runs", headings=("Run 2 (4 June)",), date="2024-05-22"
    )
    given = await answer("What is the mean yield?", first, second)
    assert "371" in given
    assert "412" not in given


async def test_value_of_another_thing_is_not_replaced() -> None:
    """A later note about a namesake ends nothing."""
    later = note("later.md", "The spring festival is now on 3 May 2025.", title="Plan", date="2024-12-01")
    given = await answer("When is the harvest festival?", OLD, later)
    assert "14 September" in given
    assert "3 May" not in given


def board(number: int, *sentences: str, heading: str = "Cottage") -> ContextPassage:
    """Return what the minutes of a month have below a heading."""
    return note(
        f"board-{number}.md", " ".join(sentences), title="Board", headings=(heading,), date=f"2026-0{number}-11"
    )


FEBRUARY = board(2, "The cottage is let from May.", "Price £110 a night.")
APRIL = board(4, "The boiler failed.", "The price is lowered to £95 for this year.")
NIGHT = "How much does a night in the cottage cost?"


def chosen_by_models(question: str, *notes: ContextPassage) -> str:
    """Return what is quoted where the models are sure of the second sentence."""
    units = units_of(notes)
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    relevance = Relevance({1: 0.9, 0: 0.04}, 0.0, dict.fromkeys(range(2), 0.1))
    [chosen] = answer_by_relevance(evidence, relevance, answer_by_rules(evidence))
    return chosen.unit.text


@pytest.mark.parametrize(
    ("later", "part"),
    [
        (APRIL, "£95"),
        (board(4, "The deposit is raised to £80."), "£110"),
        (board(4, "The price is lowered to £95 for this year.", heading="Tea room"), "£110"),
        (board(4, "The price is lower."), "£110"),
        (board(1, "The price is lowered to £95 for this year."), "£110"),
    ],
)
def test_change_below_the_same_heading_replaces_what_the_models_choose(later: ContextPassage, part: str) -> None:
    """A later document that states the change of the same thing by a value, and only that."""
    assert part in chosen_by_models(NIGHT, FEBRUARY, later)


def test_question_for_the_first_value_keeps_it() -> None:
    assert "£110" in chosen_by_models("How much was a night in the cottage to cost at first?", FEBRUARY, APRIL)


async def test_who_left_a_post_does_not_have_it() -> None:
    left = note("april.md", "Tam Geddes resigns as treasurer for health reasons.", title="April", date="2026-04-15")
    elected = note("july.md", "Peder Holm was elected treasurer with 30 votes.", title="July", date="2026-07-08")
    assert "Peder Holm" in await answer("Who is the treasurer?", left, elected)
    assert "Tam Geddes" in await answer("Who resigned as treasurer?", left, elected)


@pytest.mark.parametrize(
    ("later", "moved"),
    [("Inspector moved to 2 and 3 June.", True), ("Inspector wrote to us.", False), ("Fair moved to 6 June.", False)],
)
def test_what_is_moved_in_a_later_entry_without_a_year_is_at_the_new_date(later: str, moved: bool) -> None:
    diary = [note("diary.md", "Inspector visits on 19 May.", headings=["27 April"])]
    diary.append(replace(note("diary.md", later, headings=["13 May"]), ordinal=1))
    found = chosen_of("When does the inspector come?", diary, (0.9, 0.05), 0.01)
    assert found == ([later] if moved else ["Inspector visits on 19 May."])


def test_an_entry_of_another_document_without_a_year_is_not_later() -> None:
    notes = [
        note("a.md", "Inspector visits on 19 May.", headings=["27 April"]),
        note("b.md", "Inspector moved to 2 and 3 June.", headings=["13 May"]),
    ]
    assert chosen_of("When does the inspector come?", notes, (0.9, 0.05), 0.01) == ["Inspector visits on 19 May."]


FEE = note("a.md", "The fee for the boat is 40 euros.", date="2026-01-10")


@pytest.mark.parametrize(
    "later",
    [
        "The fee for the boat goes up to 45 euros.",
        "The fee for the boat comes down to 45 euros.",
        "The fee for the boat is put back to 45 euros.",
        "The fee for the boat was raised from 40 to 45 euros.",
        "Correction: the fee for the boat is 45 euros.",
        "The fee for the boat is now 45 euros.",
        "From 1 March 2026 the fee for the boat is 45 euros.",
    ],
)
def test_a_sentence_that_says_to_what_a_value_changes_replaces_it(later: str) -> None:
    """Also where the models find the first one more probable."""
    notes = [FEE, note("b.md", later, date="2026-02-10")]
    assert chosen_of("How much is the fee for the boat?", notes, (0.9, 0.05), 0.0) == [later]
    assert chosen_of("How much is the fee for the boat?", notes, (0.9, 0.04), 0.0) == [
        "The fee for the boat is 40 euros."
    ]
    earlier = [FEE, note("b.md", later, date="2025-02-10")]
    assert chosen_of("How much is the fee for the boat?", earlier, (0.9, 0.05), 0.0) != [later]


@pytest.mark.parametrize(
    ("question", "later"),
    [
        (
            "How much is the fee for the boat?",
            "The proposal that the fee for the boat goes up to 60 euros was rejected.",
        ),
        ("How much is the fee for the boat?", "The fee for the boat is not raised to 60 euros."),
        ("How much is the fee for the boat?", "If members leave, the fee for the boat goes up to 60 euros."),
        ("How much is the fee for the boat?", "For children the fee for the boat is reduced to 15 euros."),
        ("How much is the fee for the boat?", "The fee for the boat was raised to 25 euros in 1998."),
        ("How much was the fee for the boat originally?", "The fee for the boat was raised to 45 euros."),
        ("How much is the fee for the boat?", "Two years ago the fee for the boat was raised to 35 euros."),
        ("How much is the fee for the boat?", "Bo corrected the fee for the boat in 30 letters."),
    ],
)
def test_a_change_that_is_denied_uncertain_old_or_for_some_replaces_nothing(question: str, later: str) -> None:
    notes = [FEE, note("b.md", later)]
    assert chosen_of(question, notes, (0.9, 0.05), 0.0) == ["The fee for the boat is 40 euros."]


def test_a_day_that_follows_from_something_replaces_an_earlier_one() -> None:
    notes = [
        note("a.md", "The regatta is on Saturday 6 September.", date="2026-01-10"),
        note("b.md", "The hall is let on the 6th. The regatta is therefore on 13 September.", date="2026-02-10"),
    ]
    assert chosen_of("When is the regatta?", notes, (0.7, 0.05, 0.2), 0.0) == [
        "The regatta is therefore on 13 September."
    ]


def test_change_of_a_price_replaces_no_count_below_the_same_heading() -> None:
    """The later document has to name things that are counted."""
    counted = board(2, "The meeting was short.", "The board agreed on 42 light points now.")
    later = board(4, "The board met.", "The price is now £10,640.")
    assert "42" in chosen_by_models("How many light points are planned?", counted, later)


@pytest.mark.parametrize(
    ("title", "doc_id", "year"),
    [
        ("Autumn 2024 - trap diary", "diary.txt", 2024),
        ("Season", "nights/2025-season.txt", 2025),
        ("Plans for 2024", "2025.txt", 0),
        ("Season", "INC-2024.txt", 0),
    ],
)
def test_year_that_the_title_or_the_name_has_alone_is_that_of_its_days(title: str, doc_id: str, year: int) -> None:
    """An entry of a diary without years is later than one of the year before; several years tell nothing."""
    [unit] = units_of([note(doc_id, "The lamp failed.", title=title, headings=("6 September",), date="")])
    assert unit.date == (year, 9, 6)
