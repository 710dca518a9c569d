"""Marks of Obsidian and of definition lists in notes: no text, and no statement lost."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.markdown.comments import without_comments
from graphtide.infra.documents.markdown.reader import read_markdown
from tests.support.growth import grows_linearly


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The valve leaks. ^block1", ["The valve leaks."]),
        ("- one ^37066d\n- two", ["one", "two"]),
        ("| a | b |\n|-|-|\n| 1 | 2 |\n\n^table-1\n\nText", ["a: 1; b: 2", "Text"]),
        ("It is m c ^2", ["It is m c ^2"]),
        ("See [[Pumps#^37066d]] now", ["See Pumps now"]),
        ("Text %%not this%% more", ["Text more"]),
        ("%%\nhidden\n\n```\nx\n```\n%%\n\nShown", ["Shown"]),
        ("%% kanban:settings\n- x\n%%\nShown", ["Shown"]),
        ("%%time\n\nand 100%% of a, 50%% of b", ["%%time", "and 100%% of a, 50%% of b"]),
        ("```\n%%a%%\n%%\nb\n%%\n```\n\n`%%c%%`", ["%%a%%\n%%\nb\n%%", "%%c%%"]),
        ("==high **and** low== and ==[[Ana]]==.", ["high and low and Ana."]),
        ("a == b, c==d and e==f, `==x==`", ["a == b, c==d and e==f, ==x=="]),
        ("> [!my-note] Mind it", ["Mind it"]),
        ("> [!info|right]- Mind it", ["Mind it"]),
        ("> One\n> [!note] Two", ["One", "Two"]),
        ("[!note] Mind it", ["Mind it"]),
    ],
)
def test_mark_of_a_note_is_no_text(text: str, expected: list[str]) -> None:
    assert [block.text for block in read_markdown(text).blocks] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Term\n: A\n: B", ["Term: A", "Term: B"]),
        ("**Term:**\n:   A\n:   B\n: C", ["Term: A", "Term: B", "Term: C"]),
        ("Term\n: A\n\n: B\n\nEnd", ["Term: A", "Term: B", "End"]),
        ("Text\n\n- x\n\n## H\n\n: B", ["Text", "x", ": B"]),
    ],
)
def test_each_definition_is_a_statement_of_its_term(text: str, expected: list[str]) -> None:
    assert [block.text for block in read_markdown(text).blocks] == expected


def test_comment_is_cleared_line_by_line() -> None:
    """Lines keep their numbers; a comment that is not closed stays text."""
    assert without_comments("a\n%% b\nc %%\nd") == "a\n\n\nd"
    assert without_comments("a\n%% b\nc\nd") == "a\n%% b\nc\nd"


@pytest.mark.parametrize(
    "part", ["%%", "%% ", "%%a", "%%\n", "%% a\n", "==a", "==a== ", "== ", "^a ", ": a\n", "[!a]\n"]
)
def test_marks_take_work_in_proportion_to_the_length(part: str) -> None:
    grows_linearly(read_markdown, part)
