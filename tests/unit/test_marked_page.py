"""Writing a part of a documentation page: nothing else changes, and a page without markers is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.marked_page import write_part

BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"


def test_part_is_replaced_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    """Writing twice leaves one part."""
    page = tmp_path / "page.md"
    page.write_text(f"head {BEGIN} old {END} tail {END}")
    for part in ("\nfirst\n", "\nsecond\n"):
        write_part(page, BEGIN, END, part)
    assert page.read_text() == f"head {BEGIN}\nsecond\n{END} tail {END}"


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END} {BEGIN}", f"{BEGIN} text"])
def test_page_without_both_markers_is_refused_unchanged(tmp_path: Path, text: str) -> None:
    """A missing marker would otherwise remove the rest of the page."""
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match="lacks the markers"):
        write_part(page, BEGIN, END, "part")
    assert page.read_text() == text
