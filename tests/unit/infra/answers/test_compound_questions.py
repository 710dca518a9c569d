"""Questions that ask for two things: the parts are asked by themselves, too, and each sentence is quoted once."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.compound import parts_of
from tests.unit.infra.answers.notes import answer, note, table

WORKSHOP = (
    note("rack.md", "We took the Duo rack after all. Dana got it for 865 euros.", title="Bicycle rack"),
    note("lease.md", "I lean to three years.", "A bypass is planned for 2027.", title="Lease"),
    table("tours.csv", "tour: cellar; price: 27 euros", "tour: garden; price: 12 euros"),
    note("tours.md", "At most 24 people fit on the cellar tour.", title="Tours"),
)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Which rack did we buy, and for how much?", ("Which rack did we buy?", "For how much: rack did we buy?")),
        ("How much do we owe Mateus and why?", ("How much do we owe Mateus?", "Why: we owe Mateus?")),
        ("Who leads the ride and how long is it?", ("Who leads the ride?", "How long is it: leads the ride?")),
        (
            "What did Ana buy and which firm repaired the old pump?",
            ("What did Ana buy?", "Which firm repaired the old pump?"),
        ),
        (
            "On which day and at what hour is the alarm tested?",
            ("On which day is the alarm tested?", "At what hour is the alarm tested?"),
        ),
        (
            "It stays off. Which part is needed, and what does it cost?",
            ("It stays off. Which part is needed?", "What does it cost: part is needed?"),
        ),
        ("Did Elsie join, and from when?", ("Did Elsie join?", "From when: Elsie join?")),
    ],
)
def test_each_part_is_a_question_of_its_own(question: str, parts: tuple[str, str]) -> None:
    """A part that says too little alone has the words of the first one."""
    assert tuple(part.text for part in parts_of(question)) == parts


@pytest.mark.parametrize(
    "question",
    [
        "Who leads the ride?",
        "Which boats and trailers do we own?",
        "What do Ana and Bo bring?",
        "We met on Monday and when it rained we went home.",
        "Who came, and what did they bring, and why did they leave?",
        "and why?",
        "",
        "Who came and why? " + "x" * 400,
    ],
)
def test_other_questions_have_no_parts(question: str) -> None:
    """Three parts are no compound question either: what the third one is about is uncertain."""
    assert parts_of(question) == ()


async def test_both_things_are_answered_from_two_notes() -> None:
    both = await answer("How much is the cellar tour and how many people fit on the cellar tour?", *WORKSHOP)
    assert "27 euros" in both
    assert "24 people" in both


async def test_one_sentence_that_answers_both_parts_is_quoted_once() -> None:
    both = await answer("Which rack did we take and for how much did Dana get the Duo rack?", *WORKSHOP)
    assert both.count("865") == 1


async def test_nothing_is_added_where_the_first_part_has_no_answer() -> None:
    """The question is refused as a whole."""
    question = "Who won the regatta, and what is the price of the cellar tour?"
    assert await answer(question, *WORKSHOP) == await answer("Who won the regatta?", *WORKSHOP)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who washed the towels and when?", "Bo washed the van on 4 May."),
        ("When was the bridge built and by whom?", "The mill was built by Jan Kern."),
        ("Who leads the choir and when was it founded?", "The chess club was founded in 1990."),
    ],
)
async def test_a_sentence_about_another_thing_answers_no_second_part(question: str, sentence: str) -> None:
    """It has the verb alone, or what the pronoun of the question means is neither named nor meant by its pronoun."""
    first = note("a.md", "Ana washed the towels. The bridge was built in 1902. Ana leads the choir.")
    assert sentence not in await answer(question, first, note("b.md", sentence))


async def test_sentences_keep_their_order() -> None:
    """The whole answer comes first, in the order of the text."""
    sold = note("press.md", "The old press was sold by Bo. It was sold because it leaked oil.")
    found = await answer("Why was the press sold and by whom?", sold)
    assert found == "The old press was sold by Bo. It was sold because it leaked oil."
