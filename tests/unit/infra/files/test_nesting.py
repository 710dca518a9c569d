"""Pages that nest elements: the limit, and what it does not count."""

from __future__ import annotations

import pytest

from graphtide.infra.files.formats.html.nesting import MAX_OPEN, check_nesting
from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import UnreadableFileError


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
