"""Selection among items that answer a question alike: by their state, by a bound on a column, by its greatest or
least value.

Invariant: every unit returned is one of the units given, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite

from graphtide.infra.models.local.answers.matching.cell_values import singled_out
from graphtide.infra.models.local.answers.matching.types import Scored
from graphtide.infra.models.local.answers.questions.lexicon import ENDS_OF_PERIODS, FINISHED, SUPERLATIVES
from graphtide.infra.models.local.answers.questions.types import Bound, QuestionPlan, TermKind, Versus
from graphtide.infra.models.local.answers.thesaurus import synonyms_of
from graphtide.infra.models.local.answers.units import DONE, TO_DO, Unit, UnitKind, is_state_column
from graphtide.infra.models.local.answers.values.amounts import StatedAmount, amount_of, comparable
from graphtide.infra.models.local.answers.values.dates import day_in_figures, days_in, number_of
from graphtide.infra.models.local.answers.values.quantities import column_measures
from graphtide.infra.models.local.answers.words import key_of, keys_of, word_set

_AGES = frozenset({"oldest", "youngest", "newest"})
_ANSWERS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
_ONLY_A_YEAR = re.compile(r"1[5-9][0-9]{2}|20[0-9]{2}")


def narrowed(plan: QuestionPlan, chosen: list[Scored]) -> list[Scored]:
    """Return the items in the state that the question asks for, the rows beyond its bound, or the row with the extreme
    value; else all.
    """
    if plan.done is not None:
        state, other = (DONE, TO_DO) if plan.done else (TO_DO, DONE)
        if any(scored.unit.text.startswith(other) for scored in chosen):
            return [scored for scored in chosen if scored.unit.text.startswith(state)] or chosen
    rows = [scored for scored in chosen if scored.unit.kind is UnitKind.ROW]
    if len(rows) == len(chosen) > 1:
        if kept := _in_state(plan, rows) or _used_up(plan, rows) or affirmed(plan, rows):
            return kept
        marks = singled_out(plan, [scored.unit for scored in rows])
        chosen = rows = [scored for scored, mark in zip(rows, marks, strict=True) if mark]
    if plan.versus is not None and all(scored.unit.kind is UnitKind.ROW for scored in chosen):
        return _beyond_column(plan, plan.versus, chosen) or chosen
    if plan.bound is not None and all(scored.unit.kind is UnitKind.ROW for scored in chosen):
        return _within(plan, plan.bound, chosen)
    if plan.extreme and len(chosen) > 1 and all(scored.unit.kind is UnitKind.ROW for scored in chosen):
        return extreme_row(plan, chosen) or chosen
    return chosen


def _within(plan: QuestionPlan, bound: Bound, rows: list[Scored]) -> list[Scored]:
    """Return the rows within the bound; all for a period and rows without a day: "May" in a cell, without its year."""
    is_period = bound.dated and isfinite(bound.low) and isfinite(bound.high)
    has_column = not is_period or bounded_column(plan, bound, [scored.unit for scored in rows])
    return beyond(plan, bound, rows) if has_column else rows


def _in_state(plan: QuestionPlan, rows: Sequence[Scored]) -> list[Scored]:
    """Return the rows in the state that the question asks for, by their column for states; none without one."""
    if plan.done is None:
        return []
    states = [(scored, cell.value.lower()) for scored in rows for cell in scored.unit.cells if is_state_column(cell)]
    return [scored for scored, state in states if (state in FINISHED) is plan.done]


def _used_up(plan: QuestionPlan, rows: Sequence[Scored]) -> list[Scored]:
    """Return the rows with 0 in the column of which the question says that nothing is left: "out of stock"."""
    match = _NONE_LEFT.search(plan.text)
    key = key_of(match[1] or match[2]) if match else ""
    columns = {cell.column: cell.column_keys for scored in rows for cell in scored.unit.cells}
    names = {name for name, keys in columns.items() if key in keys}
    if key == _STOCK and not names:
        names = {name for name, keys in columns.items() if keys and keys <= _COUNTED}
    return [scored for scored in rows if any(_number(scored.unit, name) == 0 for name in sorted(names))]


_STOCK, _COUNTED = key_of("stock"), keys_of("quantity qty amount count left remaining pieces number stock level")
_NONE_LEFT = re.compile(r"\b(?:out of (\w+)|no (\w+) left)\b", re.IGNORECASE)


def affirmed(plan: QuestionPlan, rows: Sequence[Scored]) -> list[Scored]:
    """Return the rows with "yes", or "no" if the question denies, in the column of yes and no that it names."""
    asked = frozenset(term.key for term in plan.terms if term.kind is not TermKind.WEAK)
    names = {cell.column for scored in rows for cell in scored.unit.cells if cell.column_keys & asked}
    return next((found for name in sorted(names) if (found := affirmed_in(plan, rows, name)) is not None), [])


def affirmed_in(plan: QuestionPlan, rows: Sequence[Scored], column: str) -> list[Scored] | None:
    """Return the rows with "yes" in a column, "no" or nothing if the question denies; None if it has other values."""
    values = [cell_of(scored.unit, column).lower() for scored in rows]
    if not set(_ANSWERS).issuperset(value for value in values if value) or not any(values):
        return None
    return [row for row, value in zip(rows, values, strict=True) if _ANSWERS.get(value, False) is not plan.negated]


def answering_in(plan: QuestionPlan, rows: Sequence[Scored], column: str) -> list[Scored]:
    """Return the rows with "yes" in a column, "no" if the question denies; none unless most rows have one of these."""
    values = [_ANSWERS.get(cell_of(scored.unit, column).lower()) for scored in rows]
    if 2 * sum(value is not None for value in values) < len(rows):
        return []
    return [row for row, value in zip(rows, values, strict=True) if value is not None and value is not plan.negated]


def beyond(plan: QuestionPlan, bound: Bound, rows: Sequence[Scored]) -> list[Scored]:
    """Return the rows whose number or moment in the column that the question names is within the bound; none without
    one.
    """
    units = [scored.unit for scored in rows]
    column = bounded_column(plan, bound, units)
    if not column:
        return []
    values = _values(units, column, bound)
    if bound.yearless:
        years = {int(value // 10_000) for value in values if value is not None}
        if len(years) == 1:
            bound = bound.in_year(years.pop())
        elif bound.high - bound.low > _ONE_MONTH:
            return []
        else:  # "in December" of any year
            values = [None if value is None else value % 10_000 for value in values]
    return [scored for value, scored in zip(values, rows, strict=True) if value is not None and bound.admits(value)]


def bounded_column(plan: QuestionPlan, bound: Bound, rows: Sequence[Unit]) -> str:
    """Return the column of numbers, or of moments, that a bound is about; "" without one."""
    if not bound.dated:
        return _asked_column(plan, rows)
    asked = frozenset().union(*({term.key} | term.synonyms for term in plan.terms if not (term.weak or term.coded)))
    names = {cell.column: cell.column_keys for row in rows for cell in row.cells}
    ends = frozenset().union(*(columns for verbs, columns in ENDS_OF_PERIODS if verbs & asked))
    named = (name for name, keys in names.items() if keys & asked or _last_word(name) in ends)
    return next((name for name in named if _are_moments(rows, name)), "") or _dated_column(rows)


def _last_word(column: str) -> str:
    return (column.lower().replace("_", " ").split() or [""])[-1]


_ONE_MONTH, _MOST = 99, 0.5
"""Distance between the first and the last day of a month as numbers, and the least share of dates in their column."""


def _are_moments(rows: Sequence[Unit], column: str) -> bool:
    """Return whether several values of a column, and more than half, are dates; others may be "monthly"."""
    values = [value for row in rows if (value := cell_of(row, column))]
    moments = sum(_moment(value) is not None for value in values)
    return moments > 1 and moments > _MOST * len(values)


def _values(rows: Sequence[Unit], column: str, bound: Bound | None = None) -> list[float | None]:
    """Return the moments of a column for a bound of such, else its numbers in one unit, in that of the bound maybe."""
    if bound is not None and bound.dated:
        return [_moment(cell_of(row, column)) for row in rows]
    return comparable([_amount(row, column) for row in rows], bound.unit if bound is not None else "")


def _beyond_column(plan: QuestionPlan, versus: Versus, rows: Sequence[Scored]) -> list[Scored]:
    """Return the rows whose number in the column asked for is greater, or less, than that in the other column."""
    names = {cell.column: cell.column_keys for scored in rows for cell in scored.unit.cells}
    other = next((name for name, keys in names.items() if versus.column in keys), "")
    column = _asked_column(plan, [scored.unit for scored in rows], other) if other else ""
    found = []
    for scored in rows if column else ():
        value, limit = comparable([_amount(scored.unit, column), _amount(scored.unit, other)])
        if value is not None and limit is not None and versus.sign * (value - limit) > 0:
            found.append(scored)
    return found


def extreme_row(plan: QuestionPlan, rows: Sequence[Scored]) -> list[Scored]:
    """Return the row with the greatest or least number in the column that the question names; none without one."""
    units = [scored.unit for scored in rows]
    since = _since_column(plan, units)
    ordered = ordered_column(plan, units)
    if plan.ordered and not ordered:
        return []
    column = ordered or since or _asked_column(plan, units) or (_column_of_age(units) if _asks_for_age(plan) else "")
    filled = [scored for scored in rows if column and cell_of(scored.unit, column)]
    by_age = _asks_for_age(plan) or bool(since or ordered)
    numbers = _values([scored.unit for scored in filled], column)
    moments = [_moment(cell_of(scored.unit, column)) for scored in filled] if by_age else []
    dated = any(moments) and all(day or number is None for day, number in zip(moments, numbers, strict=True))
    values = moments if dated else numbers
    found = [(value, scored) for value, scored in zip(values, filled, strict=True) if value is not None]
    if len(found) < 2:
        return []
    return [max(found, key=lambda pair: (-plan.extreme if dated else plan.extreme) * pair[0])[1]]


def _moment(value: str) -> float | None:
    """Return the year, month and day of a cell together, 0 for those that it does not name; None for another value."""
    if _ONLY_A_YEAR.fullmatch(value):
        return float(value) * 10_000
    days = [day for day in days_in(value) if day[0]]
    return float(number_of(days[0])) if days else None


def _asked_column(plan: QuestionPlan, rows: Sequence[Unit], other: str = "") -> str:
    """Return the column of numbers, not the other one, that shares most words with the question; "" if none does."""
    terms = [term for term in plan.terms if term.kind is not TermKind.WEAK]
    asked = frozenset().union(*({term.key} | term.synonyms for term in terms))
    measured, by_age = _measures_of_superlative(plan), _asks_for_age(plan)
    if plan.bound is not None:
        measured |= plan.bound.measures
    kinds = _kinds_of_superlative(plan)
    best, shared = "", 0
    for name, keys in {cell.column: cell.column_keys for row in rows for cell in row.cells}.items():
        is_measure = bool(keys & measured) or (name.lower() not in _DATING and column_measures(name, kinds))
        count = len(keys & asked) + _BY_MEASURE * is_measure
        if by_age and not is_measure:
            continue
        if name != other and count > shared and sum(_number(row, name) is not None for row in rows) >= 2:
            best, shared = name, count
    return best


def _asks_for_age(plan: QuestionPlan) -> bool:
    return not _AGES.isdisjoint(plan.text.lower().rstrip("?").split())


def _since_column(plan: QuestionPlan, rows: Sequence[Unit]) -> str:
    """Return the column for the first day of something, if the question asks what has lasted longest or is newest and
    no column measures that; "" else.
    """
    if _LASTING.isdisjoint(plan.text.lower().rstrip("?").split()):
        return ""
    names = {cell.column: cell.column_keys for row in rows for cell in row.cells}
    if any(keys & _measures_of_superlative(plan) for keys in names.values()):
        return ""
    return next((name for name in names if name.lower() in _SINCE), "")


_LASTING = word_set("longest newest longest-serving")
_SINCE = word_set("since joined started hired") | {"member since", "employed since", "start date"}


def _dated_column(rows: Sequence[Unit]) -> str:
    """Return the only column of dates in figures, else of years since when the things are; "" without one or with
    several.
    """
    dated = {cell.column for row in rows for cell in row.cells if day_in_figures(cell.value) is not None}
    dated = dated or _begun_columns(rows)
    return dated.pop() if len(dated) == 1 else ""


def _column_of_age(rows: Sequence[Unit]) -> str:
    """Return the only column for since when the things are, whatever other dates their rows have ("last inspection"),
    else the only column of dates.
    """
    begun = _begun_columns(rows)
    return begun.pop() if len(begun) == 1 else _dated_column(rows)


def _begun_columns(rows: Sequence[Unit]) -> set[str]:
    names = {cell.column: cell.column_keys for row in rows for cell in row.cells}
    return {name for name, keys in names.items() if keys & _BEGUN and _are_moments(rows, name)}


_BEGUN = keys_of("built founded established launched born opened made created started year introduced installed bought")
"""Names of columns for when something began to be."""


def ordered_column(plan: QuestionPlan, rows: Sequence[Unit]) -> str:
    """Return the column of moments whose name the question has before "first" or "last": `Built` for "which ship was
    built first"; "" without one.
    """
    asked = frozenset().union(*({term.key} | term.synonyms for term in plan.terms)) if plan.ordered else frozenset()
    names = {cell.column: cell.column_keys for row in rows for cell in row.cells}
    return next((name for name, keys in names.items() if keys & asked and _are_moments(rows, name)), "")


_BY_MEASURE = 10


def _measures_of_superlative(plan: QuestionPlan) -> frozenset[str]:
    """Return the keys of what the superlative of the question measures: "area" and "size" of "largest", "price" of
    "most expensive"; none for a word such as "highest", which goes with any value.
    """
    words = (term.text.lower() for term in plan.terms) if plan.extreme else ()
    measuring = (word for word in words if word in _PRICED or (word in SUPERLATIVES and word not in _ANY_VALUE))
    return frozenset().union(*map(synonyms_of, measuring))


_PRICED = frozenset({"expensive"})


def _kinds_of_superlative(plan: QuestionPlan) -> frozenset[str]:
    """Return the kinds of units in which the superlative of the question is measured: "shortest" in `minutes`."""
    words = plan.text.lower().rstrip("?").split() if plan.extreme else []
    return frozenset().union(*(_KINDS.get(word, frozenset()) for word in words))


_DATING = word_set("second minute hour time day date night week month year decade")
"""Columns that say when something is, and not how long it lasts."""
_KINDS = {
    word: frozenset(kinds.split())
    for words, kinds in (
        ("longest shortest", "length duration"), ("heaviest lightest", "mass"), ("cheapest expensive", "money"),
        ("largest smallest biggest", "area volume data"), ("hottest coldest warmest coolest", "temperature"),
        ("tallest deepest", "length"),
    )
    for word in words.split()
}  # fmt: skip
_ANY_VALUE = frozenset({"most", "least", "fewest", "highest", "lowest"})


def cell_of(row: Unit, column: str) -> str:
    """Return the value of a row in a column, "" without one."""
    return next((cell.value for cell in row.cells if cell.column == column), "")


def _number(row: Unit, column: str) -> float | None:
    amount = _amount(row, column)
    return None if amount is None else amount.value


def _amount(row: Unit, column: str) -> StatedAmount | None:
    """Return the amount that a cell begins with, for a date in figures its year, month and day together."""
    value = cell_of(row, column)
    if (day := day_in_figures(value)) is not None:
        return StatedAmount(float(number_of(day)))
    return amount_of(value)
