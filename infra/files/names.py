"""Titles and dates from the names of files, for texts that state none."""

from __future__ import annotations

import re
from pathlib import PurePath

from graphtide.graph.text.dates import date_span

_DATE = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
_MONTH = re.compile(r"(?<!\d)(\d{4})[-_.](\d{2})(?![-_.]?\d)")
_SEPARATORS = re.compile(r"[-_\s]+")


def title_of(name: str) -> str:
    """Return the name of a file as words: `spare-parts_2024.csv` is "spare parts 2024"."""
    return _SEPARATORS.sub(" ", PurePath(name).stem).strip()


def date_of(name: str) -> str:
    """Return the date in the name of a file in ISO form: a day, as of `2024-05-31-minutes.md`, or a month, as of
    `notice-2024-05.txt`; "" without one.
    """
    for pattern in (_DATE, _MONTH):
        for found in pattern.finditer(PurePath(name).name):
            date = "-".join(found.groups())
            if date_span(date) is not None and "1900" <= found[1] < "2100":
                return date
    return ""
