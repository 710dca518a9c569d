"""HTML inside Markdown: what its reader sees, as rows, headings, items and code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.blocks import Block
from graphtide.infra.documents.markdown.html_blocks import HtmlPart, HtmlReader
from graphtide.infra.documents.markdown.reader import read_markdown

SEVERITIES = """\
# Levels

Before.

| a | b |
| - | - |
| 1 | 2 |

Levels:

<table class="wide">
  <thead><tr><th>Severity</th><th>Meaning</th><th>Response</th></tr></thead>
  <tr>
    <td>SEV-1</td>
    <td><p>Critical.</p><ul><li>Data &amp; keys</li><li>all <b>users</b></li></ul></td>
    <td>Call</td>
  </tr>

  <tr><td>SEV-2</td><td></td><td>Mail; then wait</td></tr>
  <tr><td colspan="3">Above this line: major.</td></tr>
</table>
"""


def blocks(text: str) -> tuple[Block, ...]:
    return read_markdown(text).blocks


def test_table_has_rows_with_their_columns() -> None:
    """Also after an empty line, where Markdown ends the block. A cell across all columns is text."""
    found = blocks(SEVERITIES)
    assert [(block.text, block.row, block.table, block.lead_in) for block in found[2:]] == [
        ("Levels:", 0, 0, ""),
        ("Severity: SEV-1; Meaning: Critical. Data & keys, all users; Response: Call", 1, 2, "Levels:"),
        ("Severity: SEV-2; Response: Mail, then wait", 2, 2, "Levels:"),
        ("Above this line: major.", 0, 0, ""),
    ]
    assert [block.kind for block in found[3:5]] == [PassageKind.TABLE] * 2
    for block in found[3:5]:
        assert block.text.split(";")[0].removeprefix("Severity: ") in SEVERITIES[block.start : block.end]


def test_summary_is_the_heading_of_its_details() -> None:
    text = "## FAQ\n\n<details>\n<summary>How do I reset it?</summary>\n\nPress *red*.\n\n</details>\n\nAfter.\n"
    assert [(block.text, block.headings) for block in blocks(text)] == [
        ("Press red.", ("FAQ", "How do I reset it?")),
        ("After.", ("FAQ",)),
    ]


def test_heading_of_html_is_the_title() -> None:
    document = read_markdown(
        '<h1 align="center"><img src="a.png"> Brook </h1>\n<p align=center>A queue.<br>Fast.</p>\n'
    )
    assert document.title == "Brook"
    assert [block.text for block in document.blocks] == ["A queue.", "Fast."]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<dl><dt>MTTR</dt><dd>time to repair</dd></dl>", [HtmlPart("MTTR: time to repair", is_item=True)]),
        ("<ul><li>One</li><li>Two <i>3</i></ul>", [HtmlPart("One", is_item=True), HtmlPart("Two 3", is_item=True)]),
        ("<pre>\na <b>b</b>\n  c\n</pre>", [HtmlPart("a b\n  c", is_code=True)]),
        ("<style>p {x: y}</style><p>Shown</p><script>if (a<b) {}</script>", [HtmlPart("Shown")]),
        ("<div>a <!-- no --> b", [HtmlPart("a b")]),
        ("<td>outside of a table", [HtmlPart("outside of a table")]),
        ("<table><tr><td><img src=a></td></tr></table>", []),
        ("5 < 6 and 7 > 6", [HtmlPart("5 < 6 and 7 > 6")]),
        ("<div/><p>&lt;tag&gt;", [HtmlPart("<tag>")]),
    ],
)
def test_form_of_html(content: str, expected: list[HtmlPart]) -> None:
    assert list(HtmlReader().read(content)) == expected


def _table(*rows: str) -> str:
    """Return an HTML table of `<td>`; a row has its cells between bars."""
    cells = ("".join(f"<td>{cell}</td>" for cell in row.split("|")) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["Years|Pay", "More than 5|120k", "Less|100k"], ["Years: More than 5; Pay: 120k", "Years: Less; Pay: 100k"]),
        (["New Year|1 January", "May Day|1 May"], ["New Year; 1 January", "May Day; 1 May"]),
        (["Labour Day|First Monday", "Day 2|Last Monday"], ["Labour Day; First Monday", "Day 2; Last Monday"]),
        (["Name|Age", "Bo|7|x"], ["Name; Age", "Bo; 7; x"]),
        (["Only|row"], ["Only; row"]),
    ],
)
def test_first_row_without_digits_names_the_columns_of_numbers(rows: list[str], expected: list[str]) -> None:
    """Tables of handbooks often have no `<th>`. Two tables do not mix. A table may end in a later block of
    Markdown; its first row is of the block that it is in.
    """
    text = _table(*rows)
    numbered = [HtmlPart(row, row=number) for number, row in enumerate(expected, 1)]
    reader = HtmlReader()
    assert [*reader.read(text + text), *reader.end()] == [*numbered, *numbered]
    middle, parts = text.rindex("<tr>"), HtmlReader()
    assert [*parts.read(text[:middle]), *parts.read(text[middle:]), *parts.end()] == numbered
    assert [part.row for part in HtmlReader().read("<table><tr><td>A</td><td>b</td></tr>")] == [1]


def test_row_that_is_not_closed_ends_with_the_next_one_or_the_table() -> None:
    """Closing tags of rows and cells are optional in HTML."""
    reader = HtmlReader()
    found = list(reader.read("<table><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>"))
    assert found == [HtmlPart("a: 1; b: 2", row=1), HtmlPart("a: 3; b: 4", row=2)]


def test_heading_inside_an_item_or_a_quotation_is_text() -> None:
    """As one of Markdown is: what follows the list is not below it."""
    text = "## A\n\n- one\n\n  <h2>Two</h2>\n\n> <details><summary>Three</summary></details>\n\nFour\n"
    assert [(block.text, block.headings) for block in blocks(text)] == [
        (each, ("A",)) for each in ("one", "Two", "Three", "Four")
    ]


@pytest.mark.parametrize("rest", ["<table><tr><td>One</td><td>Two</td>", "<dl><dt>One; Two", "<div>\n\n<p>One; Two"])
def test_what_is_not_closed_is_kept(rest: str) -> None:
    assert [block.text for block in blocks(f"Before.\n\n{rest}")] == ["Before.", "One; Two"]


TAGS = "<table> </table> <tr> <td> </td> <th> <li> <pre> </pre> <summary> </details> <h2> </h2> <dt> <dd> <script> <b"
PIECES = st.sampled_from([*TAGS.split(), "</script>", "<!--", "-->", "word ", "&amp;", "\n\n", "> ", "<"])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_html_has_ordered_spans_and_shows_no_tag(text: str) -> None:
    found = blocks(f"<div>\n{text}")
    ends = [0, *(block.end for block in found)]
    assert all(end <= block.start <= block.end for end, block in zip(ends, found, strict=False))
    assert all(block.text.strip() for block in found)
    assert not any(
        "<td>" in block.text or "<pre>" in block.text for block in found if block.kind is not PassageKind.CODE
    )
