"""ISO 8601 dates of any precision, as time intervals.

One grammar serves validation and parsing: a year, a month, a day, or a day and a time of day with or without an offset
from UTC. So every accepted date can be parsed. Invariant: an interval is counted in whole microseconds since the year 1
in UTC, so two intervals compare whatever their precision and time zones; a date without a zone is taken as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta

_YEAR = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH = "(0[48]|[2468][048]|[13579][26])"
_LEAP_DAY = rf"([0-9]{{2}}{_FOURTH}|({_FOURTH}00))-02-29"
_MONTH = "(0[1-9]|1[0-2])"
_DAY_OF_YEAR = rf"{_MONTH}-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31"
_HOUR_MINUTE = "([01][0-9]|2[0-3])(:?[0-5][0-9])?"
_TIME = r"([01][0-9]|2[0-3])(:?[0-5][0-9](:?[0-5][0-9]([.,][0-9]{1,9})?)?)?"
GRAMMAR = rf"({_YEAR}(-{_MONTH})?|({_YEAR}-({_DAY_OF_YEAR})|{_LEAP_DAY})([T ]{_TIME}(Z|[+-]{_HOUR_MINUTE})?)?)"
"""The dates that `date_span` reads, as a regular expression for schemas."""
_ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?)?)?",
    re.ASCII,
)
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1) // _MICROSECOND
_HOUR = 3600 * 10**6
_MINUTE = 60 * 10**6
_SECOND = 10**6


@dataclass(frozen=True, slots=True)
class DateSpan:
    """From `start` to before `end`, microseconds."""

    start: int
    end: int


def date_span(text: str) -> DateSpan | None:
    """Return the interval that a date names: "2024" a year, "2024-05-31T12:30+02:00" a minute; else None."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, *rest = found.groups()
    try:
        first = date(int(year), int(month or 1), int(day or 1))
        if hour is None:
            return DateSpan(_days(first), _days(first) + _length(first, month, day) * _DAY)
        return _moment(first, hour, rest)
    except ValueError:
        return None


def _moment(day: date, hour: str, rest: Sequence[str | None]) -> DateSpan:
    """Return the interval of a time of day; its length follows the precision. Raises ValueError for an invalid time."""
    minute, second, fraction, sign, offset_hours, offset_minutes = rest
    clock = time(int(hour), int(minute or 0), int(second or 0))
    offset = time(int(offset_hours or 0), int(offset_minutes or 0))
    shift = _of_day(offset) * (-1 if sign == "-" else 1)
    start = _days(day) + _of_day(clock) + int((fraction or "")[:6].ljust(6, "0")) - shift
    if fraction:
        return DateSpan(start, start + 10 ** max(0, 6 - len(fraction)))
    return DateSpan(start, start + (_SECOND if second else _MINUTE if minute else _HOUR))


def _of_day(clock: time) -> int:
    return clock.hour * _HOUR + clock.minute * _MINUTE + clock.second * _SECOND


@dataclass(frozen=True, slots=True)
class DateRange:
    """From `earliest` to before `latest`, microseconds; None is an open end."""

    earliest: int | None = None
    latest: int | None = None

    @classmethod
    def between(cls, earliest: str, latest: str) -> DateRange:
        """Return the range between two dates, both inclusive to their precision; "" is an open end.

        Raises ValueError for an invalid date.
        """
        first, last = (_bound(text) if text else None for text in (earliest, latest))
        return cls(first.start if first else None, last.end if last else None)

    def holds(self, moment: str) -> bool:
        """Return whether the interval of a date lies within the range. An invalid date is within an unbounded range
        only.
        """
        if self.earliest is None and self.latest is None:
            return True
        when = date_span(moment)
        if when is None:
            return False
        after = self.earliest is None or self.earliest <= when.start
        return after and (self.latest is None or when.end <= self.latest)


def _bound(text: str) -> DateSpan:
    found = date_span(text)
    if found is None:
        raise ValueError(f"{text!r} is not an ISO date: write 2024, 2024-05 or 2024-05-31")
    return found


def _days(day: date) -> int:
    return (day.toordinal() - 1) * _DAY


def _length(first: date, month: str | None, day: str | None) -> int:
    """Return the days in the year, month or day that begins with `first`."""
    if day is not None:
        return 1
    if month is None:
        return (date(first.year, 12, 31) - first).days + 1
    return 31 if first.month == 12 else (first.replace(month=first.month + 1) - first).days
