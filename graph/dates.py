"""ISO 8601 dates of any precision, as the spans of time that they name.

Not a calendar, and no check of what a user may write. Invariant: a span is counted in whole microseconds since the
year 1 in UTC, so two spans compare whatever their precision and time zones; a date without a zone is taken as UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ]([\d:]+)(?:[.,](\d+))?(?:Z|[+-][\d:.,]+)?)?)?)?", re.ASCII)

_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1) // _MICROSECOND
_PRECISIONS = {2: 3600 * 10**6, 4: 60 * 10**6, 6: 10**6}  # by digits of the time of day


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` to before `end`, microseconds."""

    start: int
    end: int


def span(text: str) -> Span | None:
    """The time that an ISO date names: "2024" a year, "2024-05-31T12:30+02:00" a minute. None for anything else."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, time, fraction = found.groups()
    try:
        if time is None:
            first = date(int(year), int(month or 1), int(day or 1))
            return Span(_days(first), _days(first) + _length(first, month, day) * _DAY)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    offset = moment.utcoffset() or timedelta()
    start = (moment.replace(tzinfo=UTC) - datetime.min.replace(tzinfo=UTC) - offset) // _MICROSECOND
    digits = len(time.replace(":", ""))
    return Span(start, start + (10 ** max(0, 6 - len(fraction)) if fraction else _PRECISIONS[digits]))


@dataclass(frozen=True, slots=True)
class DateRange:
    """From `earliest` to before `latest`, microseconds; None is an open end."""

    earliest: int | None = None
    latest: int | None = None

    @classmethod
    def between(cls, earliest: str, latest: str) -> DateRange:
        """The range between two dates, both inclusive to their precision; "" is an open end.

        Raises ValueError for what is no date.
        """
        first, last = (_bound(text) if text else None for text in (earliest, latest))
        return cls(first.start if first else None, last.end if last else None)

    def holds(self, moment: str) -> bool:
        """Whether no part of the time that a date names lies outside. What is no date is in an unbounded range only."""
        if self.earliest is None and self.latest is None:
            return True
        when = span(moment)
        if when is None:
            return False
        after = self.earliest is None or self.earliest <= when.start
        return after and (self.latest is None or when.end <= self.latest)


def _bound(text: str) -> Span:
    found = span(text)
    if found is None:
        raise ValueError(f"{text!r} is not an ISO date")
    return found


def _days(day: date) -> int:
    return (day.toordinal() - 1) * _DAY


def _length(first: date, month: str | None, day: str | None) -> int:
    """Days in the year, month or day that begins with `first`."""
    if day is not None:
        return 1
    if month is None:
        return (date(first.year, 12, 31) - first).days + 1
    return 31 if first.month == 12 else (first.replace(month=first.month + 1) - first).days
