"""Lists below a sentence with a colon: its items answer together, and what is after the list does not belong to it."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.segmentation import units_of
from tests.unit.infra.answers.notes import answer, note

ITEMS = [
    ("a rope of 20 m", "two lamps", "a knife"),
    ("a rope.", "two lamps.", "the knife, which hangs by the door."),
    ("Rope", "Lamps", "Knife"),
]
AFTER = ["The key to the shed is with Ana Ruiz, next door.", "Ask Bo Lind. He has the other key of the shed."]
QUESTIONS = ["What does the kit contain?", "What is in the kit?", "Which things does the kit contain?"]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("items", ITEMS)
async def test_items_of_an_introduction_answer_together(items: tuple[str, ...], after: str, question: str) -> None:
    """All of them, and not the paragraph below."""
    kit = note("kit.md", "It hangs in the shed. The kit contains:", *items, after)
    assert await answer(question, kit, note("b.md", "The shed was built in 1998.")) == " ".join(items)
    assert after.rstrip(".").endswith((await answer("Where is the key to the shed?", kit))[-8:].rstrip("."))


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("items", ITEMS)
def test_introduction_is_context_of_its_items_alone(items: tuple[str, ...], after: str) -> None:
    """Until a paragraph of another form, or the next introduction."""
    units = units_of([note("kit.md", "The kit contains:", *items, after, "To do:", "paint the shed")])
    introduced = [unit.text for unit in units if unit.lead_in == "The kit contains:"]
    assert introduced == list(items)
    assert units[-1].lead_in == "To do:"


LONG = "The key to the shed is with Ana Ruiz, next door. She is in on Mondays."


@pytest.mark.parametrize(
    ("items", "after"),
    [
        (("Wear a life jacket at all times.", "Do not fish near the bridge after dark."), LONG),
        (("1. Wear a life jacket at all times. It hangs here.", "2. Do not fish near the bridge after dark."), LONG),
        (("1. Wear a life jacket at all times.", "2. Do not fish near the bridge."), "Ana Ruiz wrote these in May."),
        (("1) a life jacket", "2) a rope of twenty metres in the box"), "and a paragraph that nothing closes here"),
    ],
)
async def test_list_of_sentences_ends_before_the_paragraph_below_it(items: tuple[str, ...], after: str) -> None:
    """Its items are numbered and the paragraph is not, or each has one sentence and the paragraph several."""
    rules = note("boat.md", "Rules for the boat:", *items, after)
    introduced = {unit.block for unit in units_of([rules]) if unit.lead_in == "Rules for the boat:"}
    assert introduced == set(range(1, len(items) + 1))
    if after == LONG:
        found = await answer("What are the rules for the boat?", rules)
        assert "bridge" in found and "Mondays" not in found


async def test_items_of_several_sentences_are_one_list() -> None:
    """An item may have more sentences than the first one, and a numbered list may have items of any length."""
    for items in (
        ("Wear a life jacket. It hangs here.", "Leave the bridge at dusk, as the current is strong. Call the warden."),
        ("Wear a life jacket now.", "Leave the bridge at dusk, as the current is strong. Call the warden."),
        ("1. Wear it.", "2. Leave the bridge at dusk, as the current is strong. Call the warden.", "3. Sing."),
    ):
        units = units_of([note("boat.md", "Rules for the boat:", *items)])
        assert all(unit.lead_in == "Rules for the boat:" for unit in units[1:])


async def test_question_about_something_else_gets_no_items() -> None:
    """Each word of the question is in the introduction, or in the title above it."""
    kit = note("kit.md", "The kit contains:", "a rope", "two lamps")
    for question in ("What does the boat contain?", "Who packs the kit?", "What does the kit of Ana contain?"):
        assert "a rope two lamps" not in await answer(question, kit)


@pytest.mark.parametrize(
    ("lead", "question", "answers"),
    [
        ("Rules for the trip:", "What does the trip need?", False),
        ("Rules for the trip:", "What are the rules for the trip?", True),
        ("The trip needs:", "What does the trip need?", True),
        ("For the trip:", "What does the trip need?", True),
    ],
)
async def test_list_of_other_things_is_no_answer(lead: str, question: str, answers: bool) -> None:
    """The introduction has the verb of the question, or nothing but its words."""
    text = await answer(question, note("trip.md", lead, "two whistles", "a red flag"))
    assert (text == "two whistles a red flag") == answers


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_later_of_two_lists_answers_and_none_without_its_correction(question: str) -> None:
    """By the dates of the documents, in any order."""
    old = note("a.md", "The kit contains:", "a rope", "two lamps", date="2026-03-01")
    new = note("b.md", "The kit contains:", "a rope", "three lamps", date="2026-05-01")
    for order in ((old, new), (new, old)):
        assert await answer(question, *order) == "a rope three lamps"
    correction = note("c.md", "Correction: the kit contains no rope any more.", date="2026-06-01")
    assert "no rope any more" in await answer(question, new, correction)
