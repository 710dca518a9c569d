"""Calendars (.ics): each event and each task is a document of labelled lines and its description, by icalendar.

A repeated event is one document that says how it repeats; an occurrence that was changed is one of its own. Cost:
linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from icalendar.cal import Component
from icalendar.prop.unknown import vUnknown

from graphtide.infra.files.records import content_key, usable_id, with_own_ids
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError, labelled_text
from graphtide.streams.model_ports import PLAIN

MAX_CHARS = 64 << 20
"""A file is read as a whole, which takes some ten times its size."""
_WHAT = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal"}
_EVERY = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year", "HOURLY": "hour"}
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_STATES = {
    "CANCELLED": "cancelled", "TENTATIVE": "tentative", "NEEDS-ACTION": "open", "IN-PROCESS": "in progress",
    "COMPLETED": "done",
}  # fmt: skip


def read_calendar(text: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the events and tasks in their order. Of several with one id the last one counts, and the others are named.
    Raises UnreadableFileError.
    """
    entries = [entry for whole in components_of(text, ".ics") for entry in whole.walk() if entry.name in _WHAT]
    if not entries:
        raise UnreadableFileError("has no event and no task; export it again")
    yield from with_own_ids(dict(enumerate(map(_document, entries), start=1)), "entry")


def components_of(text: str, suffix: str) -> list[Component]:
    """Return the calendars or cards of a text. Raises UnreadableFileError."""
    if len(text) > MAX_CHARS:
        raise UnreadableFileError(f"is longer than {MAX_CHARS >> 20} MiB; export a part of it")
    try:
        return list(Component.from_ical(text, multiple=True))
    except WRONG_VALUES as error:
        raise UnreadableFileError(f"is not a readable {suffix} file ({cause(error)}); export it again") from error


def cause(error: Exception) -> str:
    """Return the beginning of what icalendar says, which repeats the line that it cannot read."""
    return " ".join(str(error).split())[:_MAX_CAUSE_CHARS]


_MAX_CAUSE_CHARS = 120


WRONG_VALUES = (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError)
"""The errors of icalendar and of dates: a text that is no calendar, and a value that its property cannot have."""


def _document(entry: Component) -> FileDocument | str:
    """Return the document of an entry, or the reason why it has none."""
    try:
        fields = _fields(entry)
        start = _moment(entry, "DTSTART") or _moment(entry, "DUE")
    except WRONG_VALUES as error:
        return f"cannot be read ({cause(error)}); export it again"
    title, description = plain(entry.get("SUMMARY")), paragraphs(entry.get("DESCRIPTION"))
    if not title and not description:
        return "has no summary; add one"
    own, changed = usable_id(plain(entry.get("UID"))), _occurrence(entry.get("RECURRENCE-ID"))
    text = labelled_text(fields, description)
    key = "@".join(filter(None, (own, changed))) if own else content_key({"text": text})
    return FileDocument(text, PLAIN, key, title, _day(start), has_id=bool(own))


def _occurrence(value: Any) -> str:
    """Return which occurrence of a repeated event an entry changes, "" for none."""
    return "" if value is None else plain(value.to_ical().decode())


def _fields(entry: Component) -> Mapping[str, str]:
    """Return what an entry states, by label; nothing that is empty."""
    start, end = _moment(entry, "DTSTART"), _moment(entry, "DTEND")
    if start is not None and not isinstance(start, datetime) and end is not None:
        end -= timedelta(days=1)  # that of whole days is the day after
    last = _day(end) if end is not None else ""
    people = entry.get("ATTENDEE", [])
    return {
        _WHAT[str(entry.name)]: plain(entry.get("SUMMARY")),
        "date": _day(start),
        "until": last if last > _day(start) else "",
        "time": _hours(start, end if last == _day(start) else None),
        "due": _day(_moment(entry, "DUE")),
        "place": plain(entry.get("LOCATION")),
        "organiser": _person(entry.get("ORGANIZER")),
        "attendees": ", ".join(map(_person, people if isinstance(people, list) else [people])),
        "repeats": _repeats(entry.get("RRULE")),
        "status": _STATES.get(plain(entry.get("STATUS")).upper(), ""),
    }


def _moment(entry: Component, name: str) -> Any:
    """Return the date or the date with a time, None without one."""
    value = entry.decoded(name, None)
    return value if isinstance(value, date) else None


def _day(moment: date | None) -> str:
    return "" if moment is None else moment.isoformat()[:10]


def _hours(start: Any, end: Any) -> str:
    """Return the time of the day, with its zone if that is named."""
    if not isinstance(start, datetime):
        return ""
    hours = start.strftime("%H:%M") + (f" to {end.strftime('%H:%M')}" if isinstance(end, datetime) else "")
    zone = getattr(start.tzinfo, "key", "") or ("UTC" if start.tzinfo is not None else "")
    return f"{hours} ({zone})" if zone else hours


def _person(value: Any) -> str:
    """Return the name of a person, or the address without one."""
    if value is None:
        return ""
    name = getattr(value, "params", {}).get("CN", "")
    return plain(name) or plain(value).removeprefix("mailto:").removeprefix("MAILTO:")


def _repeats(rule: Any) -> str:
    """Return how an event repeats: "every 2 weeks on Monday, until 2026-07-01"; of several rules the first one."""
    if isinstance(rule, list):
        return _repeats(rule[0])
    if not rule:
        return ""
    unit = _EVERY.get(str(rule.get("FREQ", [""])[0]), "")
    count = int(rule.get("INTERVAL", [1])[0])
    days = [_DAYS.get(str(day)[-2:], "") for day in rule.get("BYDAY", [])]
    text = f"every {unit}" if count == 1 else f"every {count} {unit}s"
    text += f" on {', '.join(filter(None, days))}" if any(days) else ""
    if rule.get("UNTIL"):
        return f"{text}, until {_day(rule['UNTIL'][0])}"
    return f"{text}, {rule['COUNT'][0]} times" if rule.get("COUNT") else text


def paragraphs(value: Any) -> str:
    """Return a text with its lines, all of a property that is there several times."""
    return "\n\n".join(_unescaped(each).strip() for each in (value if isinstance(value, list) else [value]))


def plain(value: Any) -> str:
    """Return a value in one line, the first one of a property that is there several times."""
    first = next(iter(value), None) if isinstance(value, list) else value
    return " ".join(_unescaped(first).split())


def _unescaped(value: Any) -> str:
    """Return a value as text. Those of properties that icalendar does not know, such as NOTE, have escapes yet."""
    text = str(value or "")
    return (
        _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)
        if isinstance(value, vUnknown)
        else text
    )


_ESCAPED = re.compile(r"\\([\\,;nN])")
