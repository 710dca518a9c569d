"""Rules of repeated events (RFC 5545, 3.3.10) in words: "every month on the second Tuesday, until 2026-07-01"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

_EVERY = {
    "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year", "HOURLY": "hour", "MINUTELY": "minute",
    "SECONDLY": "second",
}  # fmt: skip
_WITHIN_A_DAY = frozenset({"HOURLY", "MINUTELY", "SECONDLY"})
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_WEEKDAYS = frozenset({"MO", "TU", "WE", "TH", "FR"})
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


def rule_text(rule: Mapping[str, Sequence[Any]]) -> str:
    """Return how an event repeats, "" for a rule without a known frequency. Values that have no words are left out."""
    frequency = str(_first(rule, "FREQ", ""))
    unit = _EVERY.get(frequency)
    if unit is None:
        return ""
    count = int(_first(rule, "INTERVAL", 1))
    text = f"every {unit}" if count == 1 else f"every {count} {unit}s"
    days = [*_weekdays(rule), *(f"the {_ordinal(int(day), 'day')}" for day in rule.get("BYMONTHDAY", []))]
    months = [_MONTHS[int(month) - 1] for month in rule.get("BYMONTH", []) if 0 < int(month) <= len(_MONTHS)]
    text += f" on {', '.join(days)}" if days else ""
    text += f" in {', '.join(months)}" if months else ""
    if until := _first(rule, "UNTIL", None):
        return f"{text}, until {_until(until, frequency)}"
    return f"{text}, {_first(rule, 'COUNT', '')} times" if rule.get("COUNT") else text


def _first(rule: Mapping[str, Sequence[Any]], name: str, default: Any) -> Any:
    return next(iter(rule.get(name, [])), default)


def _weekdays(rule: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the days of the week: "Monday", "the second Tuesday". Exchange states the number apart, as BYSETPOS."""
    marks = [str(day).upper() for day in rule.get("BYDAY", [])]
    known = [(mark[:-2], mark[-2:]) for mark in marks if mark[-2:] in _DAYS]
    places = [int(place) for place in rule.get("BYSETPOS", [])]
    if not places or not known or any(number for number, _ in known):
        return [f"the {_ordinal(int(number), _DAYS[day])}" if number else _DAYS[day] for number, day in known]
    days = {day for _, day in known}
    name = "weekday" if days == _WEEKDAYS else "day" if days == set(_DAYS) else ""
    name = name or " or ".join(_DAYS[day] for _, day in known)
    return [f"the {_ordinal(place, name)}" for place in places]


def _ordinal(number: int, name: str) -> str:
    """Return "second Tuesday", "last Friday", "second to last day", "15th day"."""
    if number == -1:
        return f"last {name}"
    if number < 0:
        return f"{_ordinal(-number, 'to last')} {name}"
    if number < len(_ORDINALS):
        return f"{_ORDINALS[number]} {name}"
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if number // 10 % 10 == 1 else ends.get(number % 10, "th")
    return f"{number}{end} {name}"


def _until(until: date, frequency: str) -> str:
    """Return the last day, with the time for an event that repeats within a day."""
    day = until.isoformat()[:10]
    return f"{day} {until:%H:%M}" if frequency in _WITHIN_A_DAY and isinstance(until, datetime) else day
