"""The tutorial as a newcomer follows it: its commands in its order, from an empty folder."""

import re
from pathlib import Path

import pytest

from tests.support.edit_picture import PICTURE, ROOT, picture
from tests.support.shell_page import blocks_of, run_page

pytestmark = pytest.mark.thorough

TUTORIAL = ROOT / "docs" / "tutorial.md"


def essence(output: str) -> str:
    """Return an output without versions and counts, and an answer without the passages that follow it."""
    if re.search(r"^mode \w", output, re.MULTILINE):
        output = output.partition("\n\n")[0]
    output = re.sub(r"(?m)^checked .*$", "checked", output)
    return re.sub(r"\bversion\W+\d+", "version N", output).strip()


def test_commands_of_the_tutorial_print_what_it_shows(tmp_path: Path) -> None:
    """Every output block equals the run; after a change of what users see, `make pages` writes the page."""
    page = TUTORIAL.read_text()
    shown = [block for block in blocks_of(page) if block.language == "text"]
    assert len(shown) > 8
    real = run_page(page, tmp_path)
    assert [essence(block.body) for block in shown] == [essence(block.body) for block in real]


def test_picture_of_the_edit_is_drawn_from_the_tutorial() -> None:
    """`make pages` draws it again."""
    assert PICTURE.read_text() == picture(TUTORIAL.read_text())
