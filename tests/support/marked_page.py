"""Parts of a documentation page between two markers, which benches and sessions write anew."""

from __future__ import annotations

from pathlib import Path


def with_part(page: str, begin: str, end: str, part: str) -> str:
    """Return the page with another part between its markers. Raises ValueError for a page without both, in order."""
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page lacks the markers {begin} and {end}: add them where the part belongs")
    return f"{before}{begin}{part}{end}{after}"


def write_part(page: Path, begin: str, end: str, part: str) -> None:
    """Replace the part between a page's markers. Raises ValueError, and leaves the page, as `with_part`."""
    page.write_text(with_part(page.read_text(), begin, end, part))
