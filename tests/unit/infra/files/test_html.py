"""Pages as browsers show them: ends that are left out, tables that span cells, forms, and the main content."""

from __future__ import annotations

import pytest
from bs4.element import Tag

from graphtide.infra.documents.markdown.reader import read_markdown
from graphtide.infra.files.formats.html.page import html_to_markdown
from graphtide.infra.files.types import UnreadableFileError
from tests.support.documents import word_file
from tests.unit.infra.files.reading import passages

MAIL = b"From: a@example.org\nContent-Type: text/html\n\n"


def blocks(page: str) -> list[str]:
    """Return the texts of the blocks of a page."""
    return [block.text for block in read_markdown(html_to_markdown(page)).blocks]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<ul><li>A<li>B<ul><li>C</ul><li>D</ul>", ["A", "B", "B: C", "D"]),
        ("<ol><li><p>A<li><div>B</div></ol>", ["1. A", "2. B"]),
        ("<table><tr><th>Name<th>Town<tr><td>Ana<td>Bonn</table>", ["Name: Ana; Town: Bonn"]),
        (
            "<table><thead><tr><td>a<td>b<tbody><tr><td>1<td>2<tfoot><tr><td>3<td>4</table>",
            ["a: 1; b: 2", "a: 3; b: 4"],
        ),
        ("<table><caption>Persons<tr><th>a<th>b<tr><td>1<td>2</table>", ["Persons:", "a: 1; b: 2"]),
        ("<dl><dt>x<dd>y<dt>z<dd>w</dl>", ["x: y", "z: w"]),
        ("<p>One<p>Two<div>Three</div>", ["One", "Two", "Three"]),
        ("<head><title>t</title><p>One", ["One"]),
        ("<head><title>t</title><body>One", ["One"]),
        ("<p>x<table><tr><td>a</p>b</div><td>c</table>", ["x", "ab; c"]),
    ],
)
def test_end_that_is_left_out_is_that_of_the_standard(page: str, expected: list[str]) -> None:
    """A browser writes such pages, and minifiers make them of others."""
    assert blocks(page) == expected


def test_head_of_a_mail_that_is_not_closed_is_left_out_without_its_body() -> None:
    [passage] = passages(MAIL + b"<html><head><title>t</title><body><p>The crane is here.", "mail.eml")
    assert passage.text.endswith("The crane is here.") and "\nt\n" not in passage.text


@pytest.mark.parametrize("text", ["<![0:30] text", "See <![word here", "<![", "<![-a]>", "<![Cdatas[x]]>"])
def test_unknown_section_is_text(text: str) -> None:
    """Python's parser raises AssertionError for it; a placeholder of a transcript was one."""
    assert blocks(f"<p>{text}</p><p>After.</p>") == [text, "After."]
    assert text in passages(MAIL + f"<p>{text}</p>".encode(), "mail.eml")[0].text


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "<tr><th>Region<th>Site<th>Tank<tr><td rowspan=2>North<td>T1<td>Al<tr><td>T2<td>Bo"
            "<tr><td>South<td>T3<td>Cy",
            [
                "Region: North; Site: T1; Tank: Al",
                "Region: North; Site: T2; Tank: Bo",
                "Region: South; Site: T3; Tank: Cy",
            ],
        ),
        ("<tr><th>a<th>b<tr><td>1<td rowspan=0>2<tr><td>3<tr><td>4", ["a: 1; b: 2", "a: 3; b: 2", "a: 4; b: 2"]),
        ("<tr><th>a<th>b<tr><td rowspan=9999999>1<td>2<tr><td>3", ["a: 1; b: 2", "a: 1; b: 3"]),
        ("<tr><th>a<th>b<th>c<tr><td colspan=2>1<td>2", ["a: 1; c: 2"]),
        ("<tr><th>a<th>b<th>c<tr><td colspan=2 rowspan=2>1<td>2<tr><td>3", ["a: 1; c: 2", "a: 1; c: 3"]),
        (
            "<tr><th rowspan=2>Site<th colspan=2>Tank<tr><th>a<th>b<tr><td>N<td>1<td>2",
            ["Site: N; Tank a: 1; Tank b: 2"],
        ),
        ("<tr><th colspan=2>Prices<tr><th>a<th>b<tr><td>1<td>2", ["Prices:", "a: 1; b: 2"]),
        ("<tbody><tr><th>a<th>b<tr><td rowspan=5>1<td>2<tbody><tr><td>3<td>4", ["a: 1; b: 2", "a: 3; b: 4"]),
        ("<tr><th>a<th>b<tr><td>1<td>2<td>3", ["a: 1; b: 2; 3"]),
        ("<tr><th>Name<td>Ana<td>Bo<tr><th>Town<td>Bonn<td>Oslo", ["Name: Ana; Town: Bonn", "Name: Bo; Town: Oslo"]),
        ("<tr><td>only<td>row", ["only; row"]),
        ("<tr><td rowspan=x colspan=-1>a<td>b<tr><td>1<td>2", ["a: 1; b: 2"]),
        ("<form><tr><td>a<td>b<tr><td>1<td>2</form>", ["a: 1; b: 2"]),
        ("stray<tr><th>a<th>b<tr><td>1<td>2", ["stray:", "a: 1; b: 2"]),
    ],
)
def test_cells_have_the_columns_that_a_browser_shows(rows: str, expected: list[str]) -> None:
    """A cell over several rows is in each of them; one over several columns is in the first."""
    assert blocks(f"<table>{rows}</table>") == expected


def test_cells_of_word_that_are_merged_are_in_each_row() -> None:
    """mammoth makes `rowspan` of vMerge."""

    def merged(text: str, how: str) -> str:
        return f"{text}</w:t></w:r></w:p><w:tcPr><w:vMerge{how}/></w:tcPr><w:p><w:r><w:t>"

    rows = [["Region", "Site"], [merged("North", ' w:val="restart"'), "T1"], [merged("", ""), "T2"]]
    [passage] = passages(word_file([], rows), "a.docx")
    assert passage.text == "Region: North; Site: T1\n\nRegion: North; Site: T2"


def test_page_whose_cells_cover_too_much_is_named() -> None:
    """Without the covered positions its values would have wrong columns."""
    hostile = f"<table>{'<tr>' + '<td rowspan=1000 colspan=1000>abc' * 100}</table>" * 20
    with pytest.raises(UnreadableFileError, match="cover more than 1,000,000 positions; save it without rowspan"):
        html_to_markdown(hostile)
    wide = f"<table>{'<tr><td colspan=1000>a<tr><td>1<td>2' * 3_000}</table>"
    assert len(html_to_markdown(wide)) < 2 * len(wide)


def test_long_text_of_a_cell_is_in_its_first_row_alone() -> None:
    [first, second] = blocks(f"<table><tr><th>a<th>b<tr><td rowspan=2>{'word ' * 100}<td>2<tr><td>3</table>")
    assert "word" in first and second == "b: 3"


def test_table_in_a_cell_is_text_of_the_cell_or_a_table() -> None:
    """A table that only arranges others is no table of the document."""
    inner = "<table><tr><th>Type<th>No<tr><td>Tel<td>7<tr><td>Fax<td>8</table>"
    outer = f"<table><tr><th>Name<th>Contacts<tr><td>Ana<td>see {inner}<tr><td>Bo<td>none</table>"
    assert blocks(outer) == ["Name: Ana; Contacts: see Type: Tel, No: 7, Type: Fax, No: 8", "Name: Bo; Contacts: none"]
    layout = f"<table><tr><td>Menu<td><p>Hello</p>{inner}</table>"
    assert blocks(layout) == ["Menu", "Hello", "Type: Tel; No: 7", "Type: Fax; No: 8"]


def test_text_of_a_form_is_kept_without_its_controls() -> None:
    """ASP.NET and SharePoint put the whole page into one."""
    controls = "<input value=q><select><option>x</select><textarea>y</textarea><button>Go</button><script>z</script>"
    assert blocks(f"<form id=aspnetForm><h1>T</h1><p>Text</p>{controls}</form>") == ["Text"]


def test_main_content_has_the_heading_above_it_and_every_article() -> None:
    """Navigation, menus, asides and footers stay out."""
    page = (
        "<nav>menu</nav><header><h1>Pumps</h1><ul><li>menu</ul></header><main><p>One</p><article>Two</article></main>"
        "<p>around</p><main><p>Three</p></main><article><p>Four</p></article><aside><article>Ad</article></aside>"
        "<footer>Imprint</footer>"
    )
    assert html_to_markdown(page) == "# Pumps\n\nOne\n\nTwo\n\nThree\n\nFour\n"
    assert blocks("<h1>T</h1><p>before</p><article>One</article>") == ["before", "One"]


def test_what_is_not_content_is_left_out_wherever_it_is() -> None:
    """Also within one another, and first, last or alone in its parent."""
    noise = "<!-- c --><script>x</script>"
    nested = f"<nav><footer>{noise}menu</footer></nav><div role=banner>{noise}top</div><div>{noise}</div>"
    assert blocks(f"<body>{noise}<p>{noise}one{noise}</p>{nested}<p>two</p>{noise}</body>") == ["one", "two"]


def test_nothing_that_is_left_out_is_searched_for_among_its_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with 16,000 comments and scripts took half a minute, most of it in this search."""
    monkeypatch.delattr(Tag, "index")
    assert blocks("<p>word</p><!-- c --><script>x</script>" * 3) == ["word"] * 3
