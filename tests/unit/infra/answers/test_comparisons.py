"""Comparisons: two rows of one table, or two sentences of one document, state both sides alike."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.words import keys_of
from tests.unit.infra.answers.notes import answer, note, table

STALL = (
    table(
        "stock.csv", "item: blue mugs; count: 41; place: hut", "item: white mugs; count: 57; place: hut", title="Stock"
    ),
    table("prices.csv", "item: blue mugs; price: 4.50 euros", "item: white mugs; price: 3.80 euros", title="Prices"),
    note("care.md", "Blue mugs and white mugs are washed by hand.", title="Care"),
    note(
        "quotes.md",
        "Quote of Hartmann for the awning: £780 with poles. The other one, Sailmakers Voss, 690 pounds without.",
        title="Awning",
    ),
    table("jobs.csv", "job: awning old; firm: Hartmann; year: 2011", title="Jobs"),
)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Do we have more blue mugs or more white mugs?", ("count: 41", "count: 57")),
        ("Are the blue mugs or the white mugs cheaper?", ("4.50 euros", "3.80 euros")),
        ("Was the awning from Hartmann or the one from Voss quoted cheaper?", ("£780", "690 pounds")),
    ],
)
async def test_both_sides_are_stated_alike(question: str, parts: tuple[str, str]) -> None:
    given = await answer(question, *STALL)
    assert all(part in given for part in parts)


@pytest.mark.parametrize(
    ("question", "left", "right"),
    [
        ("Is the barn or the loft bigger?", "barn", "loft"),
        ("Was the quote from Hartmann or the one from Voss cheaper?", "Hartmann", "Voss"),
        ("Was Hartmann or Voss asked first?", "Hartmann", "Voss"),
        ("Which is longer, the jetty or the quay?", "jetty", "quay"),
    ],
)
def test_option_ends_at_what_both_have(question: str, left: str, right: str) -> None:
    assert plan_of(question).options == (keys_of(left), keys_of(right))


async def test_rows_with_what_is_compared_are_preferred() -> None:
    """Other tables name the same boats, with other numbers."""
    boats = table("boats.csv", "boat: Merganser; built: 1928", "boat: Petrel; built: 1912")
    wood = table("wood.csv", "stack: 3; volume: 1.1; for: Merganser", "stack: 4; volume: 1.4; for: Petrel")
    hauls = table("hauls.csv", "boat: Petrel; height: 4.6", "boat: Merganser; height: 4.8")
    found = await answer("Which boat is older, Merganser or Petrel?", wood, hauls, boats)
    assert ("1928" in found, "1912" in found) == (True, True)
