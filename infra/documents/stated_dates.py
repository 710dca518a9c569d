"""The date that a document states of itself in a line of its head: `Date: 12 May 2026`, `- **Date:** 2026-05-12`.

Only a line that consists of such a label and its value counts, above the second heading, or, among the first lines, the
only one that is nothing but a date; and only a whole day. A due date, or a day that the text mentions, does not date
the document, nor does the first entry of a diary. Cost: bounded by the head.
"""

from __future__ import annotations

import re

from graphtide.graph.text.dates import date_span
from graphtide.infra.models.local.english.lexical.dates import measures_in

HEAD_CHARS, HEAD_LINES, FIRST_LINES = 4_096, 30, 4
_DAY_CHARS = len("2026-05-12")
_LABELS = (
    "date|dated|published|created|written|recorded|meeting date|incident date|date of (?:the |this )?"
    "(?:meeting|incident|visit|inspection|report|entry|decision|note)"
)
_DATED = re.compile(
    rf"[ \t]{{0,3}}(?:[-*+][ \t]{{1,4}}|\|[ \t]{{0,9}})?[*_]{{0,3}}(?:{_LABELS})[*_]{{0,3}}[ \t]{{0,9}}[:|][*_]{{0,3}}"
    r"[ \t]{1,9}([^|]{6,60}?)[ \t|]{0,9}",
    re.IGNORECASE,
)
_HEADING = re.compile(r" {0,3}#{1,6} ")
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day,?[ \t]{1,3}", re.IGNORECASE)


def stated_date(text: str) -> str:
    """Return the day as an ISO date, "" if the head states none."""
    lines = [line for line in text[:HEAD_CHARS].splitlines() if line.strip()][:HEAD_LINES]
    headings = [at for at, line in enumerate(lines) if _HEADING.match(line)]
    head = lines[: headings[1]] if len(headings) > 1 else lines
    labelled = (found[1] for line in head if (found := _DATED.fullmatch(line)))
    if day := next(filter(None, map(_day, labelled)), ""):
        return day
    bare = [(at, day) for at, line in enumerate(head) if (day := _bare_day(line))]
    return bare[0][1] if len(bare) == 1 and bare[0][0] < FIRST_LINES else ""


def _day(value: str) -> str:
    """Return the first day that a value names."""
    days = (measure.iso for measure in measures_in(value, 0, len(value)).values() if measure.iso)
    return next((day for day in days if len(day) == _DAY_CHARS and date_span(day)), "")


def _bare_day(line: str) -> str:
    """Return the day of a line that is nothing but a date, with or without its weekday and emphasis."""
    text = line.strip(" \t*_.")
    text = text[found.end() :] if (found := _WEEKDAY.match(text)) else text
    return (
        _day(text)
        if any(measure.end == len(text) for measure in measures_in(text, 0, len(text)).values() if not measure.start)
        else ""
    )
