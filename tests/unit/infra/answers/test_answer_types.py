"""Answers of the generator without a model, for each type of question, over invented notes."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import BAKERY, answer, note, table


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Who is the head baker?", "Ilse Kamp is the head baker."),
        ("Who built the stone oven?", "built by Radek Molnar"),
        ("Where does the key to the flour store hang?", "hangs behind the till"),
        ("How long does the small oven need to heat up?", "45 minutes"),
        ("How much does a walnut loaf cost?", "price_eur: 5.10"),
        ("How heavy is a spelt roll?", "weight: 70 g"),
        ("When is the walnut loaf baked?", "baked on: Saturday"),
        ("Which is heavier, the rye loaf or the walnut loaf?", "weight: 1 kg"),
        ("Who replaces Petra Lang until 9 June?", "Tomasz replaces her"),
        ("When was the stone oven built?", "1998"),
        ("What every visitor must do?", "wear a cap"),
    ],
)
async def test_answer_holds_the_value_when_one_passage_states_it(question: str, part: str) -> None:
    """The type of the question selects the sentence or the row with a value of that type."""
    assert part in await answer(question, *BAKERY)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("How much does a walnut loaf cost?", "4.20"),
        ("How heavy is a spelt roll?", "1 kg"),
        ("How long does the small oven need to heat up?", "310"),
    ],
)
async def test_answer_leaves_out_the_neighbouring_row(question: str, absent: str) -> None:
    assert absent not in await answer(question, *BAKERY)


@pytest.mark.parametrize(
    "question",
    [
        "What is the telephone number of Ilse Kamp?",
        "How much does Tomasz Wrona earn?",
        "Why did Radek Molnar leave the bakery?",
        "Who is the captain of the ferry?",
        "Can the stone oven be controlled by an app?",
        "How many visitors fell ill in 2022?",
        "How much does a poppy seed cake cost?",
    ],
)
async def test_question_is_refused_when_nothing_supports_an_answer(question: str) -> None:
    """Shared words are no support: the names, the relation and a value of the type must be there."""
    assert await answer(question, *BAKERY) == NOTHING_FITS


async def test_pronoun_brings_the_previous_sentence_along() -> None:
    """A sentence that opens with a pronoun has no meaning alone."""
    given = await answer("What temperature does the stone oven reach?", *BAKERY)
    assert given.startswith("The stone oven was built by Radek Molnar in 1998. It reaches 310")


async def test_list_has_all_items_below_the_heading_that_is_asked() -> None:
    given = await answer("What every visitor must do?", *BAKERY)
    assert all(item in given for item in ("wash your hands", "wear a cap", "no rings"))


async def test_all_rows_are_quoted_when_they_answer_alike() -> None:
    """Rows of one table that have the same words of the question answer together."""
    shifts = table(
        "shifts.csv", "name: Ada Bell; desk: north", "name: Bo Crane; desk: south", "name: Cy Dorn; desk: north"
    )
    given = await answer("Who sits at the north desk?", shifts)
    assert "Ada Bell" in given
    assert "Cy Dorn" in given
    assert "Bo Crane" not in given


async def test_two_steps_are_joined_by_a_name() -> None:
    """One passage names who is described, the other states what is asked of that person."""
    mail = note("mail.txt", "We have recalled the batch of 3 May.", title="Recall", headings=("Mail from Nora Quist",))
    people = table(
        "people.csv", "name: Olaf Berg; role: buyer; extension: 210", "name: Nora Quist; role: chemist; extension: 245"
    )
    given = await answer("What is the extension of the chemist who recalled the batch of 3 May?", mail, people)
    assert "245" in given
    assert "210" not in given


async def test_heading_comes_along_when_it_holds_the_date() -> None:
    notes = note("log.md", "The new pump was installed.", title="Log", headings=("14 August 2023",))
    other = note("log.md", "The filter was cleaned.", title="Log", headings=("2 July 2023",))
    assert (await answer("When was the new pump installed?", notes, other)).startswith("14 August 2023: The new pump")


async def test_other_day_is_no_answer() -> None:
    """A value of another day than the question names is not quoted."""
    first = note("a.md", "Water at the weir: 9.1 °C.", title="Field day", date="2024-04-04")
    assert await answer("What was the water temperature at the weir on 9 May 2024?", first) == NOTHING_FITS
