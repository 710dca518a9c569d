"""The day of a passage, and the years that its sentences name by their distance from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from graphtide.infra.models.local.answers.values.dates import Day, days_in
from graphtide.streams.model_ports import ContextPassage


def day_of(passage: ContextPassage) -> Day:
    """Return the date of a passage: that of its innermost heading that names one, else that of its document."""
    document = next(iter(days_in(passage.occurred_at[:10])), (0, 0, 0))
    if document == (0, 0, 0) and passage.occurred_at[:4].isdigit():
        part = passage.occurred_at[5:7]
        document = (int(passage.occurred_at[:4]), int(part) if part.isdigit() else 0, 0)
    texts = (*reversed(passage.place.headings), passage.title)
    for text in texts:
        for year, month, day in days_in(text):
            return year or document[0] or _first_year(texts) or _only_year((*texts, _path(passage))), month, day
    return document


def _first_year(texts: Sequence[str]) -> int:
    """Return the first year that a date of the texts names: "10 April" below "Diary, April 2025" is of 2025."""
    return next((year for text in texts for year, _, _ in days_in(text) if year), 0)


def _path(passage: ContextPassage) -> str:
    """Return the path that identifies the document, without the ending of its name."""
    path = passage.doc_id.partition("#")[0]
    return path.removesuffix(PurePosixPath(path).suffix)


def _only_year(texts: Sequence[str]) -> int:
    """Return the only year in the texts, as in "Autumn 2024" or `2025-season.txt`; 0 if there are several
    or none.
    """
    found = {int(year) for text in texts for year in _YEAR_ALONE.findall(text)}
    return found.pop() if len(found) == 1 else 0


_YEAR_ALONE = re.compile(r"(?<![\w.,-])(?:19[5-9]|20[0-4])[0-9](?![\w.,/])")


def named_years(text: str, year: int) -> frozenset[str]:
    """Return the years that a sentence of a year names by their distance: 2025 for "last year" in 2026; none for 0."""
    return frozenset(str(year + _YEARS[found.lower()]) for found in _YEAR_NAMED.findall(text)) if year else _NO_KEYS


_NO_KEYS = frozenset[str]()
_YEARS = {"this": 0, "last": -1, "next": 1}
_YEAR_NAMED = re.compile(r"\b(this|last|next) year\b", re.IGNORECASE)
