"""Pages that nest elements: the limit, and what it does not count."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest

from graphtide.infra.files.formats.html.nesting import MAX_OPEN, check_nesting
from graphtide.infra.files.formats.html.page import MAX_DEPTH, markdown_of, parse_page
from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import UnreadableFileError
from tests.support.growth import MAX_GROWTH, lines_run


@pytest.mark.parametrize("opening", ["<div>", "<ul><li>x", "<table><tr><td>", "<b>x</i>"])
def test_a_page_that_nests_too_many_elements_is_refused_with_the_reason(opening: str) -> None:
    """Before the tree is built, whose time grows with the square of the depth."""
    with pytest.raises(UnreadableFileError, match=r"more than 1,500 elements inside one another, the last of them <"):
        list(read_bytes(opening.encode() * 100_000, "page.html"))


def test_a_mail_with_such_a_body_is_refused_with_the_reason() -> None:
    """The body of an HTML mail has the limit of a page."""
    mail = b"From: a@example.org\nContent-Type: text/html\n\n" + b"<div>x" * 100_000
    with pytest.raises(UnreadableFileError, match="elements inside one another"):
        list(read_bytes(mail, "mail.eml"))


@pytest.mark.parametrize(
    "repeated",
    ["<div>x</div>", "<br>", "<hr/>", "<li><b>x</li>", "</div>", "<i/>", "<", "<p>x", "<li><b>x", "<dt>x<dd>y"],
)
def test_closed_and_empty_elements_do_not_count(repeated: str) -> None:
    """However many there are: an end also closes the elements inside the one that it names, and so does a start that
    implies an end.
    """
    check_nesting(repeated * 3 * MAX_OPEN)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 4 * MAX_DEPTH])
def test_elements_within_deep_elements_keep_their_text_in_order(depth: int) -> None:
    """Markup below the depth that is converted is left out, and no text is."""
    words = [f"w{n}" for n in range(50)]
    inner = " ".join(f"<p><b>{word}</b><!-- no --></p>" for word in words)
    page = parse_page(f"<body><p>before</p>{'<div>' * depth}{inner}{'</div>' * depth}<p>after</p></body>")
    assert markdown_of(page).split() == ["before", *words, "after"]


def test_words_of_several_lines_and_cells_within_deep_elements_stay_apart() -> None:
    """Emphasis within a word does not divide it."""
    cells = "<table><tr><td>Price</td><td>40</td></tr></table>"
    inner = f"<p>on<b>e</b></p><p>two</p>three<br>four<ul><li>five</li><li>six</li></ul>{cells}"
    page = parse_page("<div>" * 2 * MAX_DEPTH + inner + "</div>" * 2 * MAX_DEPTH)
    assert markdown_of(page).split() == ["one", "two", "three", "four", "five", "six", "Price", "40"]


def test_elements_within_deep_elements_are_read_in_linear_time() -> None:
    """Counted as executed lines: the time was that of the square of their number."""
    pages = [
        parse_page("<div>" * 2 * MAX_DEPTH + "<i>word</i> " * count + "</div>" * 2 * MAX_DEPTH)
        for count in (400, 800, 1_600)
    ]
    counts = [lines_run(partial(markdown_of, page)) for page in pages]
    assert max(more / fewer for fewer, more in pairwise(counts)) <= MAX_GROWTH, counts
