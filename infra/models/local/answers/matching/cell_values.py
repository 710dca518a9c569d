"""Words of a question that a value expresses: "second" by a number, "afternoon" by a clock time, "parked" by a place.

Invariant: each word is looked for in the unit's own text alone. Cost: one pass over its words, for such words only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, Term
from graphtide.infra.models.local.answers.units import Cell, Unit
from graphtide.infra.models.local.answers.values.dates import Day, days_in
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import key_of, keys_of, word_set, words_of

_ORDINAL_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINALS = {word: str(number) for number, word in enumerate(_ORDINAL_WORDS, start=1)}
_HOURS = {key_of(word): hours for word, hours in (("morning", (4, 12)), ("afternoon", (12, 18)), ("evening", (17, 24)))}
"""First hour, and the hour after the last, of each part of the day."""
_CLOCK = re.compile(r"\b(\d{1,2})(?::\d\d)(?:\s?([ap])\.?m\b)?|\b(\d{1,2})\s?([ap])\.?m\b", re.IGNORECASE)
_PLACE_COLUMNS = word_set("where place location room shelf position site city town venue building") | {
    "stored in",
    "kept in",
}
_WORKPLACE_COLUMNS = word_set("based base office") | {"based in", "works in"}
_WORKING = keys_of("work base")
_BEING = keys_of("keep store park moor hang lie sit stay live locate leave hide put")
_NOON = 12
_RANKS = word_set("place rank position pos pos. no no. nr # number")
"""Columns that number the rows: the second on the list has `place: 2`."""
_FLOORS, _GROUND = word_set("floor level storey story"), word_set("0 g gf eg")


def value_expresses(plan: QuestionPlan, term: Term, unit: Unit) -> bool:
    """Return whether a value of the unit expresses the term."""
    if label := _ORDINALS.get(term.text.lower(), "A" if term.text == "A" else ""):
        if any(cell.column.lower() in _RANKS and cell.value.rstrip(".") == label for cell in unit.cells):
            return True
        return any(noun.key in plan.keys and word.text == label for noun, word in pairwise(words_of(unit.text)))
    if term.text == "ground" and "ground floor" in plan.text:
        return any(cell.column.lower() in _FLOORS and cell.value.lower() in _GROUND for cell in unit.cells)
    if hours := _HOURS.get(term.key):
        return any(hours[0] <= hour < hours[1] for hour in _clock_hours(unit.text))
    if plan.kind is Kind.PLACE and term.key in _BEING | _WORKING:
        columns = _PLACE_COLUMNS if term.key in _BEING else _PLACE_COLUMNS | _WORKPLACE_COLUMNS
        return any(cell.value and cell.column.lower() in columns for cell in unit.cells)
    return False


def is_place_cell(cell: Cell) -> bool:
    """Return whether a cell states where something is."""
    return bool(cell.value) and cell.column.lower() in _PLACE_COLUMNS | _WORKPLACE_COLUMNS


def is_person_column(cell: Cell) -> bool:
    """Return whether a cell names the person of its row."""
    return cell.column.lower() in _PERSON_COLUMNS and cell.value[:1].isupper()


_PERSON_COLUMNS = word_set(
    """who name names assignee owner owners author authors lead leader responsible contact tenant tenants member members
    person persons reporter reviewer by resident residents occupant occupants"""
)


def is_amount(cell: Cell) -> bool:
    """Return whether a cell is the sum of a booking, without a currency maybe."""
    return cell.column.lower() in _AMOUNT_COLUMNS and _SUM_ALONE.fullmatch(cell.value) is not None


_SUM_ALONE = re.compile(r"[-+\u2212]?[\u20ac\u00a3$]? ?\d[\d.,' ]{0,14}[\u20ac\u00a3$]?")
_AMOUNT_COLUMNS = word_set("amount total sum betrag summe")


def period_of(row: Unit) -> tuple[Day, Day] | None:
    """Return the first and the last day of a row with columns such as `from` and `to`, None without both of a year."""
    ends = [_day_in(row, columns) for columns in (_FIRST_DAYS, _LAST_DAYS)]
    return (ends[0], ends[1]) if ends[0] is not None and ends[1] is not None else None


def _day_in(row: Unit, columns: frozenset[str]) -> Day | None:
    days = [day for cell in row.cells if cell.column.lower() in columns for day in days_in(cell.value)]
    return days[0] if len(days) == 1 and all(days[0]) else None


def spans_day(row: Unit, day: Day) -> bool:
    """Return whether the period of a row has a day; one without a year is of the year in which the period begins."""
    period = period_of(row) if row.cells and day[2] else None
    if period is None:
        return False
    return period[0] <= (day[0] or period[0][0], day[1], day[2]) <= period[1]


_FIRST_DAYS, _LAST_DAYS = word_set("from start starts begin begins since"), word_set("to until till end ends")


def singled_out(plan: QuestionPlan, rows: Sequence[Unit]) -> list[bool]:
    """Return for each row whether it has the values that the question names and only some of the rows have."""
    kept = [True] * len(rows)
    for term in plan.terms:
        having = [value_expresses(plan, term, row) for row in rows]
        if any(having):
            kept = [old and new for old, new in zip(kept, having, strict=True)]
    return kept if any(kept) else [True] * len(rows)


def has_other_number(plan: QuestionPlan, units: Sequence[Unit]) -> bool:
    """Return whether the units are rows with numbers, and none has that of the question: "the fourth firing"."""
    for ordinal, noun in pairwise(words_of(plan.text)):
        number = _ORDINALS.get(ordinal.text.lower(), "")
        if number and not any(has_phrase(unit.text, (ordinal.text.lower(),)) for unit in units):
            found = [_numbers_of(noun.text.lower(), unit) for unit in units]
            if all(found) and not any(number in numbers for numbers in found):
                return True
    return False


def _numbers_of(noun: str, unit: Unit) -> set[str]:
    """Return the numbers of the noun in a row: "3" of "firing: 3", none of "firings: 3" or "firing: 3 h"."""
    ends = [words_of(cell.text)[-2:] for cell in unit.cells]
    pairs = [(one[0].text.lower(), one[1].text) for one in ends if len(one) > 1]
    return {number for word, number in pairs if word == noun and number.isdecimal()}


def _clock_hours(text: str) -> list[int]:
    """Return the hours of the clock times, from 0 to 24."""
    found = []
    for match in _CLOCK.finditer(text):
        hour, half = int(match[1] or match[3]), (match[2] or match[4] or "").lower()
        found.append(hour % _NOON + _NOON * (half == "p") if half else hour)
    return found
