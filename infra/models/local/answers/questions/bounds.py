"""The limits of a question on a number or a date: "more than £100 but less than £1,000", "before 2020".

Invariant: the limits depend on the words of the question alone. Cost: linear in their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from graphtide.infra.models.local.answers.questions.lexicon import BOUNDS, NEGATIONS
from graphtide.infra.models.local.answers.questions.types import Bound, QuestionPlan
from graphtide.infra.models.local.answers.values.amounts import is_unit
from graphtide.infra.models.local.answers.values.dates import (
    MONTH_NUMBERS,
    Day,
    day_in_figures,
    months_named,
    number_of,
)
from graphtide.infra.models.local.answers.values.measures import MEASURED
from graphtide.infra.models.local.answers.words import word_set, words_of

_WORDS = "|".join(sorted(BOUNDS))
_FIGURES = r"\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,9})?"
_BEFORE_NUMBER = re.compile(
    rf"\b(?P<word>{_WORDS}|at least|at most|up to)(?: than)? (?P<number>{_FIGURES})(?P<k>k?)(?= |$)"
    rf"(?! (?:[a-z]{{1,15}} )?or (?:{_WORDS})\b)(?: (?P<unit>[^\W\d_]{{1,15}}))?"
)
_AFTER_NUMBER = re.compile(
    rf"\b(?P<number>{_FIGURES})(?P<k>k?)(?: (?P<unit>[^\W\d_]{{1,15}}))? (?:or|and) (?P<word>{_WORDS})\b(?! than)"
)
_MONTH = "|".join(sorted(MONTH_NUMBERS))
_DATED = re.compile(
    r"\b(?P<word>before|after|since|earlier than|later than) (?:the )?"
    r"(?:(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    rf"|(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)? )?(?:(?P<m>{_MONTH}) )?(?P<y>(?:1[5-9]|20)\d\d)"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?P<m1>{_MONTH})|(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<m3>{_MONTH}))(?= |$)"
)
"""A moment, maybe without its year; a day only with its month."""
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_ANY_MOMENT = (
    rf"(?:\d{{4}}-\d\d-\d\d|(?:{_ORDINAL} )?(?:{_MONTH})(?: {_ORDINAL})?(?: (?:1[5-9]|20)\d\d)?|{_ORDINAL})(?= |$)"
)
_PERIOD_NAMED = re.compile(
    rf"\b(?:between|from) (?:the )?(?P<first>{_ANY_MOMENT}) (?:and|to|until|till) (?:the )?(?P<last>{_ANY_MOMENT})"
)
"""A period by its first and last moment, both within it; the first may have the month and the year of the last."""
_IN_MONTH = re.compile(rf"\b(?:in|during) (?P<month>{_MONTH})(?: (?P<year>(?:1[5-9]|20)\d\d))?(?= |$)")
_INCLUDING = {"at least": 1, "at most": -1, "up to": -1}
_LATER = word_set("after since") | {"later than"}
_LASTING = word_set("been is are lives works")
"""Words of a question with "since" for what began then: "who has been a member since 2015"."""
_MAX_BETWEEN = 3
"""Words from a negation to the word that it denies: "do not cost more than"."""


def bound_of(tokens: Sequence[str]) -> Bound | None:
    """Return the limits on a number or a moment that a question names, None without one."""
    text = " ".join(_in_one_form(token) for token in tokens)
    found = list(_period(text)) or list(_moments(text)) or [*_limits(text)]
    if not found:
        return None
    years = [int(limit // 10_000) for one in found if one.dated and not one.yearless for limit in _ends(one)]
    whole, *others = (
        [one.in_year(years[0]) for one in found] if years else found
    )  # "after 3 May and before 1 July 2026"
    for one in others:
        whole = _both(whole, one)
    return whole


def period_named(plan: QuestionPlan) -> Bound | None:
    """Return the one period, month or day that a question names, as limits; None for none or several."""
    if plan.bound is not None and plan.bound.dated:
        return plan.bound
    days = plan.dates or [(0, month, 0) for month in months_named(words_of(plan.text))]
    if len(days) != 1:
        return None
    first = number_of(days[0])
    last = first if days[0][2] else first + _WHOLE_MONTH
    return Bound(first, last, with_low=True, with_high=True, dated=True, yearless=not days[0][0])


def holds(period: Bound, day: Day, year: int = 0) -> bool:
    """Return whether a day is in the period. One without a year is of `year`, 0 for an unknown one."""
    if period.yearless:
        return period.admits(number_of((0, *day[1:])))
    own = day[0] or year
    return bool(own) and period.admits(number_of((own, *day[1:])))


def _in_one_form(token: str) -> str:
    """Return a date in figures with its year first, another word as it is."""
    day = day_in_figures(token)
    return token if day is None else f"{day[0]:04}-{day[1]:02}-{day[2]:02}"


def _period(text: str) -> Iterator[Bound]:
    """Yield the limits of a month, or of a period whose last moment names the month, and maybe the year."""
    if (match := _IN_MONTH.search(text)) is not None:
        first = number_of((int(match["year"] or 0), MONTH_NUMBERS[match["month"]], 0))
        yield Bound(first, first + _WHOLE_MONTH, with_low=True, with_high=True, dated=True, yearless=not match["year"])
        return
    if (match := _PERIOD_NAMED.search(text)) is None:
        return
    (year, month, day), last = (_day_of(match[name]) for name in ("first", "last"))
    if not last[1] or not (month or day):
        return
    begun, ended = (month or last[1], day), (last[1], last[2] or _WHOLE_MONTH)
    if last[0] and not year:  # "from December to 3 March 2026"
        year = last[0] - (begun > ended)
    first_day, last_day = number_of((year, *begun)), number_of((last[0] or year, *ended))
    if first_day <= last_day:
        yield Bound(first_day, last_day, with_low=True, with_high=True, dated=True, yearless=not year)


def _day_of(moment: str) -> Day:
    """Return the year, the month and the day of a moment, 0 for what is not named."""
    if (day := day_in_figures(moment)) is not None:
        return day
    year = month = number = 0
    for word in moment.split():
        digits = word.rstrip("stndrh")
        if word in MONTH_NUMBERS:
            month = MONTH_NUMBERS[word]
        elif digits.isdecimal():
            year, number = (int(digits), number) if len(digits) == _YEAR_DIGITS else (year, int(digits))
    return year, month, number


_WHOLE_MONTH, _YEAR_DIGITS = 99, 4
"""A day after all days of a month; and how many digits a year has."""


def _ends(bound: Bound) -> list[float]:
    return [limit for limit in (bound.low, bound.high) if isfinite(limit)]


def denies_limit(tokens: Sequence[str]) -> bool:
    """Return whether a negation belongs to a limit: "which do not cost more than £950"."""
    text = " ".join(tokens)
    matches = (match for pattern in (_BEFORE_NUMBER, _DATED) for match in pattern.finditer(text))
    return any(_is_denied(text, match) for match in matches)


def _limits(text: str) -> Iterator[Bound]:
    for match in _BEFORE_NUMBER.finditer(text):
        word = match["word"]
        sign = _INCLUDING.get(word) or BOUNDS[word]
        including, denied = word in _INCLUDING, _is_denied(text, match)
        yield _limit(match, -sign if denied else sign, including=including != denied)
    for match in _AFTER_NUMBER.finditer(text):
        yield _limit(match, BOUNDS[match["word"]], including=True)


def _limit(match: re.Match[str], sign: int, *, including: bool) -> Bound:
    number = float(match["number"].replace(",", "")) * (1000 if match["k"] else 1)
    unit = match["unit"] or ""
    bound = Bound(unit=unit if is_unit(unit) else "", measures=MEASURED.get(match["word"], frozenset()))
    if sign > 0:
        return replace(bound, low=number, with_low=including)
    return replace(bound, high=number, with_high=including)


def _moments(text: str) -> Iterator[Bound]:
    for match in _DATED.finditer(text):
        word = match["word"]
        if (word == "since" and not _LASTING.isdisjoint(text.split())) or (match["d"] and not match["m"]):
            continue
        year, month, day = _date_of(match)
        yearless = not year
        first = year * 10_000 + month * 100 + day
        last = year * 10_000 + (month or 99) * 100 + (day or 99)
        later = (word in _LATER) != _is_denied(text, match)
        including = (word == "since") != _is_denied(text, match)
        if later:
            yield Bound(low=first if including else last, with_low=including, dated=True, yearless=yearless)
        else:
            yield Bound(high=last if including else first, with_high=including, dated=True, yearless=yearless)


def _date_of(match: re.Match[str]) -> tuple[int, int, int]:
    """Return the year, the month and the day of a moment, 0 for what is not named."""
    if match["year"]:
        return int(match["year"]), int(match["month"]), int(match["day"])
    if month := match["m1"] or match["m2"] or match["m3"]:
        return 0, MONTH_NUMBERS[month], int(match["d1"] or match["d2"] or 0)
    return int(match["y"]), MONTH_NUMBERS.get(match["m"] or "", 0), int(match["d"] or 0)


def _is_denied(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()].split()[-_MAX_BETWEEN:]
    return before[-1:] == ["no"] or (match["word"] not in _INCLUDING and not NEGATIONS.isdisjoint(before))


def _both(first: Bound, second: Bound) -> Bound:
    """Return the limits of two together: the greater of the lower ones, the less of the upper ones."""
    low, high = max(first, second, key=lambda one: one.low), min(first, second, key=lambda one: one.high)
    return Bound(
        low.low,
        high.high,
        low.with_low,
        high.with_high,
        first.unit or second.unit,
        first.measures | second.measures,
        first.dated,
        first.yearless and second.yearless,
    )
