"""Comparisons of things without capitals, and of "more or less": both sides are quoted."""

from __future__ import annotations

from itertools import permutations

import pytest

from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.words import key_of
from tests.unit.infra.answers.notes import answer, note

COLOURS = ("red", "blue", "green")
FORMS = [
    "Is the {} kiln hotter than the {} kiln?",
    "Is the {} kiln hotter than the {} one?",
    "Does the {} kiln reach more than the {} kiln?",
    "Does the {} kiln reach more or less than the {} kiln?",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pair", list(permutations(COLOURS, 2)))
async def test_both_things_of_a_comparison_are_quoted(pair: tuple[str, str], form: str) -> None:
    """In the order of the question, without the third one."""
    notes = [
        note(f"{each}.md", f"The {each} kiln reaches {1000 + 10 * at} degrees.") for at, each in enumerate(COLOURS)
    ]
    text = await answer(form.format(*pair), *notes)
    assert [each for each in text.split() if each in COLOURS] == list(pair)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Is rye bread cheaper than white bread?", ("rye", "white")),
        ("Is the deposit more or less than the rent?", ("deposit", "rent")),
        ("Did the spring fair raise more than the autumn fair?", ("spring", "autumn")),
        ("Is the house older or younger than the barn?", ("house", "barn")),
        ("Is the Elm older than the Oak?", ("Elm", "Oak")),
    ],
)
def test_sides_are_what_tells_the_things_apart(question: str, sides: tuple[str, str]) -> None:
    """Without a word that both have."""
    assert plan_of(question).options == tuple(frozenset({key_of(side.lower())}) for side in sides)


@pytest.mark.parametrize(
    "question",
    [
        "Is the lift faster than 2 m/s?", "Is the tank bigger than planned?", "Does it cost more than 30 euros?",
        "Did more than 30 people come?", "Is the house older than it looks?", "Did more or less rain fall in May?",
    ],
)  # fmt: skip
def test_a_limit_or_a_deed_is_no_side(question: str) -> None:
    """A comparison needs two things."""
    assert plan_of(question).options == ()
