"""Entries of a log within a passage: the date or time that opens each is context of all its sentences.

Numeric dates are read alike in all entries of a passage: day first, unless one of them can only be month first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from graphtide.infra.documents.line_starts import stamp_of
from graphtide.infra.models.local.answers.values.dates import Day, days_in

_NUMERIC = re.compile(r"(\d{1,2})[./-](\d{1,2})(?:[./-](\d{4}|\d{2}))?\b")
_ISO = re.compile(r"(\d{4})[-/.](\d{2})[-/.](\d{2})")
_MIN_ENTRIES, _CENTURY, _MAX_MONTH, _MAX_DAY = 2, 2000, 12, 31


def entries_of(firsts: Mapping[int, str], year: int) -> dict[int, tuple[str, Day]]:
    """Return the stamp and the day of each block that is an entry of a log, from the first unit of each block.

    A single block that begins with a date is no log. `year` is that of entries that name none.
    """
    stamps = {block: stamp for block, text in firsts.items() if (stamp := stamp_of(text))}
    if len(stamps) < _MIN_ENTRIES:
        return {}
    month_first = _is_month_first(stamps.values())
    return {block: (stamp, _day(stamp, year, month_first=month_first)) for block, stamp in stamps.items()}


def _is_month_first(stamps: Iterable[str]) -> bool:
    return any(int(found[2]) > _MAX_MONTH for stamp in stamps if (found := _NUMERIC.match(stamp)))


def _day(stamp: str, year: int, *, month_first: bool) -> Day:
    """Return the day of a stamp; zeros if it names none, as a time of day does not."""
    if (iso := _ISO.match(stamp)) is not None:
        return _checked(int(iso[1]), int(iso[2]), int(iso[3]))
    if (found := _NUMERIC.match(stamp)) is not None:
        first, second = int(found[1]), int(found[2])
        stated = int(found[3] or 0)
        stated += _CENTURY if 0 < stated < 100 else 0
        return _checked(stated or year, *((first, second) if month_first else (second, first)))
    stated_year, month, day = next(iter(days_in(stamp)), (0, 0, 0))
    return stated_year or year if month else 0, month, day


def _checked(year: int, month: int, day: int) -> Day:
    return (year, month, day) if 1 <= month <= _MAX_MONTH and 1 <= day <= _MAX_DAY else (0, 0, 0)
