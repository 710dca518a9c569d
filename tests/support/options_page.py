"""Writer of the table in docs/options.md: `python -m tests.support.options_page`."""

from __future__ import annotations

from pathlib import Path

from graphtide.graph.retrieval.options.schema import options_table

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
HEAD = "| mode | option |"


def write() -> None:
    """Replace the table at the end of the page."""
    text = PAGE.read_text().split(HEAD)[0].rstrip("\n")
    PAGE.write_text(f"{text}\n\n{options_table()}\n")


if __name__ == "__main__":
    write()
