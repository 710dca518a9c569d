"""Questions for what is left to do: the open items of checklists, and the rows in an open state."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.lexicon import FINISHED, UNFINISHED
from graphtide.infra.models.local.answers.questions.plan import plan_of
from tests.unit.infra.answers.notes import answer, note, table

ASKED = [
    "What is left to do?", "What is still to do?", "Which tasks are left?", "What is left to do for the move?",
    "What is left for the move?", "What remains to be done for the move?",
]  # fmt: skip
ITEMS = ("Done: book the van", "To do: pack the books", "To do: paint the hall", "Done: cancel the gas")


@pytest.mark.parametrize("question", ASKED)
async def test_open_items_of_a_checklist_are_what_is_left(question: str) -> None:
    """All of them, and none that is done."""
    assert await answer(question, note("move.md", *ITEMS, title="Move")) == f"{ITEMS[1]} {ITEMS[2]}"


@pytest.mark.parametrize("question", [each for each in ASKED if "move" in each])
async def test_items_of_something_else_are_not_left_for_it(question: str) -> None:
    """Each word of the question is in the item or above it."""
    text = await answer(question, note("fair.md", *ITEMS, title="Fair"))
    assert "pack the books" not in text or "paint the hall" not in text


@pytest.mark.parametrize("state", sorted(UNFINISHED))
async def test_rows_in_an_open_state_are_left(state: str) -> None:
    """Whatever word of the list says so."""
    rows = [
        f"task: pack the books; status: {state}",
        *(f"task: {each} it; status: {each}" for each in sorted(FINISHED)),
    ]
    for question in ASKED[:3]:
        assert await answer(question, table("move.csv", *rows)) == rows[0]


@pytest.mark.parametrize(
    "question",
    [
        "Who left the club?", "How much rope is left?", "Which ships have left?", "What is on the left?",
        "What is left in the fridge?", "Which items are left in the shed?", "What is left to eat?",
    ],
)  # fmt: skip
def test_left_in_another_sense_asks_for_no_items(question: str) -> None:
    """A side, a rest of something, and who went away."""
    assert not plan_of(question).to_do


@pytest.mark.parametrize("form", ["What is left in the {}?", "What is left to {}?", "Which things are left in the {}?"])
@pytest.mark.parametrize("thing", ["eat", "fridge", "budget"])
async def test_rest_of_something_is_no_task(form: str, thing: str) -> None:
    """A checklist beside the sentence that answers has no part in it."""
    rest = f"There is soup left, which the {thing} has."
    assert rest in await answer(form.format(thing), note("move.md", rest, *ITEMS, title="Move"))


async def test_without_open_items_nothing_is_left() -> None:
    """The question has no other word that a text could answer."""
    assert "Nothing in the documents" in await answer("What is left to do?", note("a.md", "The van is red.", "Done: x"))
