"""Years that a text does not write beside its days: of a diary by its first line, and "last year" by its date."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.plain import read_plain
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import PLAIN, ContextPassage
from tests.unit.infra.answers.notes import answer, note

DAYS = "3 March\nPlanted the beans.\n\n5 March\nBought a spade.\n"


@pytest.mark.parametrize("first", ["Diary {}", "{}", "Garden of Ana, {}", "Notes from the garden {}"])
@pytest.mark.parametrize("year", [1998, 2023])
def test_days_of_a_diary_have_the_year_of_its_first_line(first: str, year: int) -> None:
    """It is a heading of all days."""
    split = SemanticChunker().split(f"{first.format(year)}\n\n{DAYS}", PLAIN)
    passages = [
        ContextPassage(one.text, "diary", "diary.txt", str(at), place=one.place) for at, one in enumerate(split)
    ]
    dates = {unit.text: unit.date for unit in units_of(passages)}
    assert dates["Planted the beans."] == (year, 3, 3)
    assert dates["Bought a spade."] == (year, 3, 5)


@pytest.mark.parametrize("text", ["Gate code 2023\n\nThe shed is open.\n", "We moved in 2023\n\n" + DAYS])
def test_number_at_the_end_of_another_line_makes_no_title(text: str) -> None:
    """Neither without days, nor after a verb."""
    first = text.partition("\n")[0]
    assert all(first not in block.headings for block in read_plain(text).blocks)


@pytest.mark.parametrize(("words", "distance"), [("This year", 0), ("Last year", -1), ("Next year", 1)])
@pytest.mark.parametrize("year", [2019, 2026])
async def test_years_named_by_their_distance_are_those_of_the_document(words: str, distance: int, year: int) -> None:
    """Two documents name the same distance; the one that means the year answers."""
    notes = [
        note(f"{each}.md", f"{words} the fair takes {each - 1900} tents.", date=f"{each}-02-03")
        for each in (year, year + 5)
    ]
    text = await answer(f"How many tents did the fair take in {year + distance}?", *notes)
    assert text == f"{words} the fair takes {year - 1900} tents."


def test_document_without_a_date_names_no_year_by_distance() -> None:
    assert not units_of([note("a.md", "Last year the fair took 40 tents.")])[0].lead_keys
