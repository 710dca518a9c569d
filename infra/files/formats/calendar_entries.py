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
from icalendar.parser import Contentlines
from icalendar.prop import vDDDLists
from icalendar.prop.unknown import vUnknown

from graphtide.infra.files.encoding import decode_text
from graphtide.infra.files.formats.calendar_rules import rule_text
from graphtide.infra.files.records import content_key, usable_id, with_own_ids
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError, labelled_text
from graphtide.streams.model_ports import PLAIN

MAX_CHARS = 64 << 20
"""A file is read as a whole, which takes some ten times its size."""
_WHAT = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal"}
_STATES = {
    "CANCELLED": "cancelled", "TENTATIVE": "tentative", "NEEDS-ACTION": "open", "IN-PROCESS": "in progress",
    "COMPLETED": "done",
}  # fmt: skip


def read_calendar(content: str | bytes) -> Iterator[FileDocument | RecordProblem]:
    """Yield the events and tasks in their order. Of several with one id the last one counts, and the others are named.
    Raises UnreadableFileError.
    """
    entries = [
        entry for whole in components_of(unfolded(content), ".ics") for entry in whole.walk() if entry.name in _WHAT
    ]
    if not entries:
        raise UnreadableFileError("has no event and no task; export it again")
    yield from with_own_ids(dict(enumerate(map(_document, entries), start=1)), "entry")


def unfolded(content: str | bytes) -> str:
    """Return the text; one of bytes is unfolded before it is decoded, since a line may be folded within a character.
    Raises UnreadableFileError.
    """
    return decode_text(_FOLD.sub(b"", content)) if isinstance(content, bytes) else content


_FOLD = re.compile(rb"\r?\n[ \t]")


def components_of(text: str, suffix: str) -> list[Component]:
    """Return the calendars or cards of a text. Raises UnreadableFileError."""
    _check_length(text)
    try:
        return list(Component.from_ical(text, multiple=True))
    except WRONG_VALUES as error:
        raise UnreadableFileError(f"is not a readable {suffix} file ({cause(error)}); export it again") from error


def lines_of(text: str) -> Iterator[str]:
    """Return the lines of a calendar or of cards, unfolded. Raises UnreadableFileError."""
    _check_length(text)
    return iter(Contentlines.from_ical(text))  # type: ignore[no-untyped-call]  # icalendar types some functions alone


def _check_length(text: str) -> None:
    if len(text) > MAX_CHARS:
        raise UnreadableFileError(f"is longer than {MAX_CHARS >> 20} MiB; export a part of it")


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
    start = _moment(entry, "DTSTART")
    end = _end(entry, start)
    if start is not None and not isinstance(start, datetime) and end is not None:
        end -= timedelta(days=1)  # that of whole days is the day after
    last = _day(end)
    people = entry.get("ATTENDEE", [])
    return {
        _WHAT[str(entry.name)]: plain(entry.get("SUMMARY")),
        "date": _day(start),
        "until": _last(start, end) if last > _day(start) else "",
        "time": _hours(start, end if last == _day(start) else None),
        "due": _day(_moment(entry, "DUE")),
        "place": plain(entry.get("LOCATION")),
        "organiser": _person(entry.get("ORGANIZER")),
        "attendees": ", ".join(map(_person, people if isinstance(people, list) else [people])),
        "repeats": _repeats(entry, start),
        "status": _STATES.get(plain(entry.get("STATUS")).upper(), ""),
    }


def _moment(entry: Component, name: str) -> Any:
    """Return the date or the date with a time, None without one."""
    value = entry.decoded(name, None)
    return value if isinstance(value, date) else None


def _day(moment: date | None) -> str:
    return "" if moment is None else moment.isoformat()[:10]


def _end(entry: Component, start: Any) -> Any:
    """Return the end, by the duration where it is stated so, None without one."""
    end, duration = _moment(entry, "DTEND"), entry.decoded("DURATION", None)
    return start + duration if end is None and start is not None and isinstance(duration, timedelta) else end


def _last(start: Any, end: Any) -> str:
    """Return the last day, with its time unless days are whole."""
    hours = _clock(end) if isinstance(start, datetime) and isinstance(end, datetime) else ""
    zone = f" ({_zone(end)})" if hours and _zone(end) != _zone(start) else ""
    return f"{_day(end)} {hours}{zone}".rstrip()


def _hours(start: Any, end: Any) -> str:
    """Return the time of the day, with its zone if that is named."""
    if not isinstance(start, datetime):
        return ""
    moments = [start, end] if isinstance(end, datetime) and end != start else [start]
    hours, zones = (
        [_clock(each) for each in moments],
        [f" ({zone})" if (zone := _zone(each)) else "" for each in moments],
    )
    if len(set(zones)) > 1:
        return " to ".join(map("".join, zip(hours, zones, strict=True)))
    return " to ".join(hours) + zones[0]


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M}"


def _zone(moment: datetime) -> str:
    return getattr(moment.tzinfo, "key", "") or ("UTC" if moment.tzinfo is not None else "")


def _person(value: Any) -> str:
    """Return the name of a person, or the address without one."""
    if value is None:
        return ""
    name = getattr(value, "params", {}).get("CN", "")
    return plain(name) or plain(value).removeprefix("mailto:").removeprefix("MAILTO:")


def _repeats(entry: Component, start: Any) -> str:
    """Return how an event repeats, with the days that are added and left out; of several rules the first one."""
    rule = entry.get("RRULE")
    rule = rule[0] if isinstance(rule, list) else rule
    stated = rule_text(rule) if rule else ""
    added, left_out = (_days(entry, name, start) for name in ("RDATE", "EXDATE"))
    parts = (stated, added and f"{'also on' if stated else 'on'} {added}", left_out and f"except on {left_out}")
    return ", ".join(filter(None, parts)) if stated or added else ""


def _days(entry: Component, name: str, start: Any) -> str:
    """Return the days of a property with several dates, in the zone of the event."""
    lists = entry.get(name, [])
    moments = [
        each.dt
        for dates in (lists if isinstance(lists, list) else [lists])
        if isinstance(dates, vDDDLists)
        for each in dates.dts
    ]
    return ", ".join(_day(_in_zone(moment, start)) for moment in moments if isinstance(moment, date))


def _in_zone(moment: date, start: Any) -> date:
    """Return the moment in the zone of the start of its event, if both have one."""
    zone, own = getattr(start, "tzinfo", None), getattr(moment, "tzinfo", None)
    return moment.astimezone(zone) if zone and own and isinstance(moment, datetime) else moment


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
