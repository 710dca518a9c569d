"""Words of a question that a value of a row or a sentence expresses, over notes of a pottery: ordinals, labels, parts
of the day, places, and the thing that a question for the extreme compares.
"""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

POTTERY = (
    table("kilns.csv", "kiln: Ember 1; where: cellar; shelves: 6", "kiln: Ember 2; where: barn; shelves: 9"),
    table("steps.csv", "firing: 1; bring: raw pots", "firing: 2; bring: glazed pots", "firing: 3; bring: lustre"),
    table("rooms.csv", "room: A; seats: 12; phone: none", "room: B; seats: 7; phone: 2 lines"),
    table(
        "classes.csv",
        "class: Bowls for Beginners; day: Friday; start: 09:30",
        "class: Glazing; day: Friday; start: 14:15",
        "class: Raku; day: Monday; start: 19:00",
    ),
    table("replies.csv", "urgency: high; first reply: 2 h", "urgency: low; first reply: 9 h", title="replies"),
    table("stock.csv", "item: handcart; price_eur: 340", "item: throwing wheel; price_eur: 1250", title="stock"),
    note("fair.md", "The children will dance at the autumn fair. Marta Ruiz opens the fair.", title="Fair"),
    note("rules.md", "No lamps in the shed.", "Only members are allowed to enter the glaze store.", title="Rules"),
)


@pytest.mark.parametrize(
    ("question", "part", "other"),
    [
        ("What should I bring to the third firing?", "lustre", "glazed"),
        ("How many shelves has the second Ember?", "shelves: 9", "shelves: 6"),
        ("How fast is the first reply for low urgency?", "first reply: 9 h", "2 h"),
        ("How many people fit in room A?", "seats: 12", "seats: 7"),
        ("What is on Friday afternoons?", "Glazing", "Bowls"),
        ("Where is Ember 2 parked?", "barn", "cellar"),
        ("Which piece of equipment cost the most?", "throwing wheel", "handcart"),
        ("Who's going to dance at the fair?", "children", "To do"),
    ],
)
async def test_value_expresses_a_word_of_the_question(question: str, part: str, other: str) -> None:
    text = await answer(question, *POTTERY)
    assert part in text
    assert other not in text


@pytest.mark.parametrize(
    "question",
    [
        "What is on Monday mornings?",
        "Where is the trailer parked?",
        "What should I bring to the fourth firing?",
        "How many shelves has the third Ember?",
    ],
)
async def test_value_that_no_row_has_is_refused(question: str) -> None:
    assert await answer(question, *POTTERY) == NOTHING_FITS


async def test_question_with_am_asks_whether_something_is_permitted() -> None:
    """Only a question of yes or no takes the sentence that permits in place of its verb."""
    assert "Only members" in await answer("Am I allowed to enter the glaze store?", *POTTERY)
