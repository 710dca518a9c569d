"""The date that a document states of itself in a line of its head: `Date: 12 May 2026`, `Leeds, 12 May 2026`.

Only a whole day counts, above the second heading and the first block of code: in a line that consists of a label and
its value; else, among the first lines, in the one line that is nothing but a date, or ends with one after a comma or
says of what day it is ("as of"). A due date, or a day in a sentence, does not date the document, nor does the first
entry of a diary. Cost: bounded by the head.
"""

from __future__ import annotations

import re

from graphtide.graph.text.dates import date_span
from graphtide.infra.models.local.english.lexical.dates import Measure, measures_in

HEAD_CHARS, HEAD_LINES, FIRST_LINES = 4_096, 30, 4
MAX_LINE_CHARS = 100
"""Characters of a line among the first ones that may state the date without a label."""
_DAY_CHARS = len("2026-05-12")
_LABELS = (
    "date|dated|published|created|written|recorded|meeting date|incident date|date of (?:the |this )?"
    "(?:meeting|incident|visit|inspection|report|entry|decision|note)"
)
_LABELLED = re.compile(
    rf"[ \t]{{0,3}}(?:[-*+][ \t]{{1,4}}|\|[ \t]{{0,9}})?[*_]{{0,3}}(?:{_LABELS})[*_]{{0,3}}[ \t]{{0,9}}[:|][*_]{{0,3}}"
    r"[ \t]{1,9}([^|]{6,60}?)[ \t|]{0,9}",
    re.IGNORECASE,
)
_HEADING = re.compile(r" {0,3}#{1,6} ")
_FENCES = ("```", "~~~")
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?$", re.IGNORECASE)
_OF_DAY = re.compile(
    r"(?:^|[,(])[ \t]?(?:as of|issued on|made on|carried out on|last (?:changed?|updated?)(?: on)?:?|dated)$",
    re.IGNORECASE,
)


def stated_date(text: str) -> str:
    """Return the day as an ISO date, "" if the head states none."""
    lines = [line for line in text[:HEAD_CHARS].splitlines() if line.strip()][:HEAD_LINES]
    headings = [at for at, line in enumerate(lines) if _HEADING.match(line)]
    fences = [at for at, line in enumerate(lines) if line.lstrip().startswith(_FENCES)]
    head = lines[: min((*headings[1:2], *fences[:1]), default=len(lines))]
    labelled = (found[1] for line in head if (found := _LABELLED.fullmatch(line)))
    if day := next((days[0].iso for days in map(_days, labelled) if days), None):
        return day
    stated = [(at, day) for at, line in enumerate(head) if (day := _day_of(line))]
    if len(stated) != 1 or stated[0][0] >= FIRST_LINES:
        return ""
    [(at, day)] = stated
    return "" if any(_begins_entry(line) for line in (*head[:at], *head[at + 1 :])) else day


def _begins_entry(line: str) -> bool:
    """Return whether a line begins with a day, as entries of diaries do: "14 March", "2026-05-12"."""
    text = line.strip(" \t#*_")[:MAX_LINE_CHARS]
    first = measures_in(text, 0, len(text)).get(0)
    return first is not None and first.type == "date" and (first.iso is None or len(first.iso) == _DAY_CHARS)


def _days(text: str) -> list[Measure]:
    """Return the whole days that a text names."""
    found = measures_in(text, 0, len(text)).values()
    return [each for each in found if each.iso and len(each.iso) == _DAY_CHARS and date_span(each.iso)]


def _day_of(line: str) -> str:
    """Return the day of a line that is a date, with or without weekday and emphasis, or ends with one, or names what it
    is of; "" for another line.
    """
    text = line.strip(" \t#*_.")
    days = _days(text) if len(text) <= MAX_LINE_CHARS else []
    if len(days) != 1:
        return ""
    before = _WEEKDAY.sub("", text[: days[0].start].rstrip()).rstrip()
    is_last = days[0].end == len(text)
    of_day = (is_last and (not before or before.endswith(","))) or _OF_DAY.search(before)
    return (days[0].iso or "") if of_day else ""
