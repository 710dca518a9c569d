"""Dates and quantities in a sentence: their positions, their normal form, and their precision.

There is no calendar: days are checked to exist in a month of at most 31 days, eras and weekdays are ignored. A bare
number is a year only if the words around it show it ("in 1961", "1936-2003"), because 1961 may count anything.
"""

import re
from dataclasses import dataclass

from graphtide.infra.models.local.english.lexical.words import UNITS

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MONTH_NUMBER = {month[:3].lower(): number for number, month in enumerate(_MONTHS, 1)}
_MONTH = r"(?P<{0}month>Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"  # fmt: skip # noqa: E501 -- one alternation
_YEAR = r"(?:1[0-9]|20)\d\d"
_DATE = re.compile(
    rf"(?<![\w.,-])(?:"
    rf"(?P<iso>{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))"
    rf"|(?P<dday>\d{{1,2}})(?:st|nd|rd|th)?\s{{1,3}}(?:of\s)?{_MONTH.format('d')},?\s{{1,3}}(?P<dyear>{_YEAR})"
    rf"|{_MONTH.format('m')}\s{{1,3}}(?P<mday>\d{{1,2}})(?:st|nd|rd|th)?,?\s{{1,3}}(?P<myear>{_YEAR})"
    rf"|{_MONTH.format('y')},?\s{{1,3}}(?:of\s)?(?P<yyear>{_YEAR})"
    rf"|(?P<decade>(?:1[0-9]|20)\d0s)"
    rf"|(?P<century>\d{{1,2}}(?:st|nd|rd|th)[ -]century)"
    rf"|(?P<year>{_YEAR})"
    rf"|(?P<bday>\d{{1,2}})(?:st|nd|rd|th)?\s{{1,3}}(?:of\s)?{_MONTH.format('b')}"
    rf")(?![\w-]|[.,]\d)"
)
_RANGE = re.compile(rf"(?<![\w.,-])(?P<first>{_YEAR})\s?[-–—]\s?(?P<second>{_YEAR})(?![\w-]|[.,]\d)")  # noqa: RUF001 -- dashes as printed
_BEFORE_YEAR = re.compile(
    r"(?:\b(?:in|since|from|until|till|by|during|before|after|to|of|and|between|early|late|mid|around|about|year|"
    r"spring|summer|autumn|winter|or)\s{1,3}|[(,–—]\s?)$",  # noqa: RUF001 -- dashes as printed
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?P<sign>[-−])?(?P<money>[$€£]\s?)?\d{{1,15}}(?:,\d{{3}}){{0,5}}(?:\.\d{{1,9}})?"  # noqa: RUF001 -- a minus sign
    rf"(?P<scale>\s?(?:thousand|million|billion|trillion))?(?P<unit>[ \u00a0-]?(?:{UNITS}))?(?![\w])"
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A date or a quantity at ``start``..``end`` of the text, its name in one form, and for a date its ISO form."""

    start: int
    end: int
    name: str
    type: str
    iso: str | None = None


def measures_in(text: str, start: int, end: int) -> dict[int, Measure]:
    """Return the dates and quantities of ``text[start:end]`` by their start, none overlapping. Linear."""
    found: dict[int, Measure] = {}
    for match in _DATE.finditer(text, start, end):
        measure = _date(match, text, start)
        if measure is not None:
            found[match.start()] = measure
    for match in _RANGE.finditer(text, start, end):
        for part in ("first", "second"):
            year = match.group(part)
            found.setdefault(match.start(part), Measure(match.start(part), match.end(part), year, "date", year))
    for match in _QUANTITY.finditer(text, start, end):
        if (match["unit"] or match["money"]) and not _overlaps(match, found):
            name = " ".join(match.group().split())
            found[match.start()] = Measure(match.start(), match.end(), name, "quantity")
    return found


def _overlaps(match: re.Match[str], found: dict[int, Measure]) -> bool:
    return any(at in found for at in range(match.start(), match.end()))


def _date(match: re.Match[str], text: str, low: int) -> Measure | None:
    group = match.groupdict()
    span = match.span()
    if group["iso"]:
        year, month, day = (int(part) for part in group["iso"].split("-"))
        return _day(span, year, month, day)
    for letter in "dm":
        if group[f"{letter}day"]:
            month = _month(group[f"{letter}month"])
            return _day(span, int(group[f"{letter}year"]), month, int(group[f"{letter}day"]))
    if group["yyear"]:
        month = _month(group["ymonth"])
        return Measure(*span, f"{_MONTHS[month - 1]} {group['yyear']}", "date", f"{group['yyear']}-{month:02d}")
    if group["decade"] or group["century"]:
        name = match.group().replace("-", " ")
        return Measure(*span, name, "date", group["decade"][:4] if group["decade"] else None)
    if group["bday"]:
        return Measure(*span, f"{int(group['bday'])} {_MONTHS[_month(group['bmonth']) - 1]}", "date")
    before = text[max(low, span[0] - 12) : span[0]]
    return Measure(*span, match.group(), "date", match.group()) if _BEFORE_YEAR.search(before) else None


def _month(written: str) -> int:
    return _MONTH_NUMBER[written[:3].lower()]


def _day(span: tuple[int, int], year: int, month: int, day: int) -> Measure | None:
    if not 1 <= day <= 31:
        return None
    return Measure(*span, f"{day} {_MONTHS[month - 1]} {year}", "date", f"{year}-{month:02d}-{day:02d}")
