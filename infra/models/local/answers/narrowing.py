"""Selection among items that answer a question alike: by their state, by a bound on a column, by its greatest or
least value.

Invariant: every unit returned is one of the units given, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.types import Scored
from graphtide.infra.models.local.answers.questions.types import Bound, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.units import DONE, TO_DO, Unit, UnitKind

_AGES = frozenset({"oldest", "youngest", "newest"})
_YEARS = (1_500, 2_100)
_SEPARATORS = str.maketrans("\u2212", "-", ",'\u2019\u20ac\u00a3$")
"""Deletes separators of thousands and signs of currencies, and replaces the typographic minus."""


def narrowed(plan: QuestionPlan, chosen: list[Scored]) -> list[Scored]:
    """Return the items in the state that the question asks for, the rows beyond its bound, or the row with the extreme
    value; else all.
    """
    if plan.done is not None:
        state, other = (DONE, TO_DO) if plan.done else (TO_DO, DONE)
        if any(scored.unit.text.startswith(other) for scored in chosen):
            return [scored for scored in chosen if scored.unit.text.startswith(state)] or chosen
    if plan.bound is not None and all(scored.unit.kind is UnitKind.ROW for scored in chosen):
        return _beyond(plan, plan.bound, chosen)
    if plan.extreme and len(chosen) > 1 and all(scored.unit.kind is UnitKind.ROW for scored in chosen):
        return extreme_row(plan, chosen) or chosen
    return chosen


def _beyond(plan: QuestionPlan, bound: Bound, rows: Sequence[Scored]) -> list[Scored]:
    """Return the rows whose number in the column that the question names is beyond the bound; none without one."""
    column = _asked_column(plan, [scored.unit for scored in rows])
    valued = [(_number(scored.unit, column), scored) for scored in rows] if column else []
    return [scored for value, scored in valued if value is not None and bound.admits(value)]


def extreme_row(plan: QuestionPlan, rows: Sequence[Scored]) -> list[Scored]:
    """Return the row with the greatest or least number in the column that the question names; none without one."""
    column = _asked_column(plan, [scored.unit for scored in rows])
    valued = [(_number(scored.unit, column), scored) for scored in rows] if column else []
    found = [(value, scored) for value, scored in valued if value is not None]
    if len(found) < 2:
        return []
    by_age = not _AGES.isdisjoint(plan.text.lower().rstrip("?").split())
    years = by_age and all(_YEARS[0] <= value <= _YEARS[1] for value, _ in found)
    return [max(found, key=lambda pair: (-plan.extreme if years else plan.extreme) * pair[0])[1]]


def _asked_column(plan: QuestionPlan, rows: Sequence[Unit]) -> str:
    """Return the column of numbers that shares most words with the question, "" if none shares any."""
    terms = [term for term in plan.terms if term.kind is not TermKind.WEAK]
    asked = frozenset().union(*({term.key} | term.synonyms for term in terms))
    best, shared = "", 0
    for name, keys in {cell.column: cell.column_keys & asked for row in rows for cell in row.cells}.items():
        if len(keys) > shared and sum(_number(row, name) is not None for row in rows) >= 2:
            best, shared = name, len(keys)
    return best


def _number(row: Unit, column: str) -> float | None:
    """Return the number that a cell begins with."""
    value = next((cell.value for cell in row.cells if cell.column == column), "")
    number = value.translate(_SEPARATORS).strip().split(" ")[0].rstrip("%")
    digits = number.removeprefix("-").replace(".", "", 1)
    return float(number) if digits.isdecimal() and digits.isascii() else None
