"""Lines of a diary that are nothing but a day are headings of the lines below them."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.day_lines import is_day_line
from graphtide.infra.documents.plain import read_plain


def headings(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(block.text, block.headings) for block in read_plain(text).blocks]


@pytest.mark.parametrize(
    "line",
    [
        "3 March", "3rd March 2026", "March 3", "Mar. 3, 2026", "2026-04-13", "13.04.2026", "13/04/26",
        "Monday 3 March", "Mon, 3 Mar", "3 March (Monday)", "2026-04-13, Monday", "the 3rd May:", "Sept 12",
    ],
)  # fmt: skip
def test_a_day_alone_is_a_day_line(line: str) -> None:
    assert is_day_line(line)


@pytest.mark.parametrize(
    "line",
    ["4 Marbles", "3.4.10", "3 March: slept well", "in March", "March", "12 May we met", "14:30", "Monday", "10 12 14"],
)
def test_what_only_begins_like_a_day_is_none(line: str) -> None:
    assert not is_day_line(line)


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_entries_of_a_diary_are_below_their_day(gap: str) -> None:
    text = f"CARE DIARY\n\n3 March\nSlept well.{gap}5 March\nFell in the bathroom.\nThe mat is gone now."
    assert headings(text) == [
        ("Slept well.", ("CARE DIARY", "3 March")),
        ("Fell in the bathroom.", ("CARE DIARY", "5 March")),
        ("The mat is gone now.", ("CARE DIARY", "5 March")),
    ]


def test_a_single_day_is_no_heading() -> None:
    """It may date a letter."""
    text = "3 March 2026\n\nDear Ana,\n\nthe roof leaks."
    assert all(not above for _, above in headings(text))


def test_a_day_without_an_entry_remains_a_text() -> None:
    assert headings("3 March\n5 March\nSlept well.") == [("3 March", ()), ("Slept well.", ("5 March",))]
