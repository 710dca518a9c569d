"""Texts of PDF files: which lines at the edges of pages are page numbers, and damaged files."""

from __future__ import annotations

from collections.abc import Sequence

import pypdf
import pytest

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import UnreadableFileError
from tests.support.documents import pdf_file
from tests.unit.infra.files.reading import document


def texts(*pages: Sequence[str]) -> list[str]:
    """Return the texts of the pages of a file that has these lines."""
    raw = pdf_file([[(10, line) for line in page] for page in pages])
    return [" ".join(page.split()) for page in document(raw, "a.pdf").text.split("\f")[:-1]]


def test_number_that_is_no_page_number_is_kept() -> None:
    assert texts(["Items in stock", "450", "Total amount in euros", "450"]) == [
        "Items in stock 450 Total amount in euros 450"
    ]
    assert texts(["Stock", "450"], ["Orders", "17"], ["Staff", "9"]) == ["Stock 450", "Orders 17", "Staff 9"]


@pytest.mark.parametrize("form", ["{}", "Page {}", "- {} -", "{} / 99", "Seite {} von 99"])
@pytest.mark.parametrize("first", [1, 16])
def test_numbers_that_count_up_with_the_pages_are_left_out(form: str, first: int) -> None:
    pages = [[f"Hall {name}", form.format(first + at)] for at, name in enumerate("ABC")]
    assert texts(*pages) == ["Hall A", "Hall B", "Hall C"]
    assert texts(*([page[1], page[0]] for page in pages)) == ["Hall A", "Hall B", "Hall C"]


def test_page_number_is_left_out_at_its_place_alone() -> None:
    """The same number in the text of its page, and at the edge of another page, is text."""
    found = texts(["Pumps", "2", "in stock", "1"], ["Fans", "2", "in stock", "2"], ["9", "Ducts", "2", "and", "3"])
    assert found == ["Pumps 2 in stock", "Fans 2 in stock", "9 Ducts 2 and"]


def test_running_header_is_left_out_at_the_edge_alone() -> None:
    pages = [["Report", f"Text {name}", "Report", f"More {name}"] for name in "ABC"]
    assert texts(*pages) == [f"Text {name} Report More {name}" for name in "ABC"]


def test_file_with_an_unknown_filter_is_named_with_the_reason() -> None:
    raw = pdf_file([[(10, "text")]]).replace(b"<< /Length", b"<< /Filter /Foo /Length")
    with pytest.raises(UnreadableFileError, match=r"not a readable PDF file .*Foo.*save it again as PDF"):
        list(read_bytes(raw, "a.pdf"))


@pytest.mark.parametrize("error", [AssertionError, NotImplementedError, ZeroDivisionError])
def test_errors_of_the_library_are_named_with_the_remedy(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise error("damaged")

    monkeypatch.setattr(pypdf.PageObject, "extract_text", fail)
    with pytest.raises(UnreadableFileError, match=r"not a readable PDF file \(damaged\); save it again as PDF"):
        list(read_bytes(pdf_file([[(10, "text")]]), "a.pdf"))
