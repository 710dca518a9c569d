"""Values that a later note replaces: the later one is quoted, and the earlier one again once it is deleted."""

from __future__ import annotations

import pytest

from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import answer, note, table

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
