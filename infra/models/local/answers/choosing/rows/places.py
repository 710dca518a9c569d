"""Rows of things with a number of places: those that are full, or have places left ("which trips are fully booked",
`seats` and `booked`).
"""

from __future__ import annotations

import re

from graphtide.infra.models.local.answers.choosing.lists import MAX_FILTERED
from graphtide.infra.models.local.answers.choosing.rows.tables import are_rows_of, tables_of, things_of
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.narrowing import cell_of
from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.units import Cell, Unit
from graphtide.infra.models.local.answers.values.amounts import amount_of
from graphtide.infra.models.local.answers.words import keys_of

_SPACES = r"(?:places?|seats?|spaces?|spots?|rooms?|vacanc(?:y|ies)|availability)"
_FULL = re.compile(
    rf"\b(?:(?:is|are|which) (?:all |already |now )?(?:full|fully booked|booked out|sold out)(?: yet| now)?"
    rf"|(?:has|have|with) no(?: free| more)? {_SPACES}(?: left| free)?)\b(?! time| of\b)",
    re.IGNORECASE,
)
_FREE = re.compile(
    rf"\b(?:(?:not|n't) (?:yet )?(?:full|fully booked|booked out|sold out)(?: yet| now)?"
    rf"|(?:has|have|with|got) (?:still |any |some |a |free ){{0,3}}{_SPACES}(?: left| free| available| open){{0,2}})"
    r"(?=\s*(?:\?|\Z))",
    re.IGNORECASE,
)
_CAPACITY = keys_of("places seats spaces spots capacity maximum max")
_TAKEN = keys_of("enrolled booked taken registered sold participants reserved occupied filled bookings registrations")


def rows_by_places(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows of the things asked for with no place left, or with some, by a column for the number of places
    and one for those that are taken; none without both, or for too many rows.
    """
    text, things = evidence.plan.text, things_of(evidence.plan)
    free = _FREE.search(text) is not None
    if not things or not (free or _FULL.search(text)):
        return []
    for rows in tables_of(evidence):
        cells = [cell for row in rows for cell in row.unit.cells]
        capacity, taken = _column(cells, _CAPACITY), _column(cells, _TAKEN)
        if not (capacity and taken) or not are_rows_of(rows, things):
            continue
        numbers = [(_number(row.unit, capacity), _number(row.unit, taken), row) for row in rows]
        counted = [(offered, used, row) for offered, used, row in numbers if offered is not None and used is not None]
        found = [row for offered, used, row in counted if (used < offered) is free]
        if len(found) <= MAX_FILTERED:
            return found
    return []


def keys_of_places(plan: QuestionPlan) -> frozenset[str]:
    """Return the keys of the columns by which a question for places selects rows, none for another one."""
    asks = _FREE.search(plan.text) or _FULL.search(plan.text)
    return _CAPACITY | _TAKEN if asks else frozenset()


def _column(cells: list[Cell], keys: frozenset[str]) -> str:
    return next((cell.column for cell in cells if cell.column_keys and cell.column_keys <= keys), "")


def _number(row: Unit, column: str) -> float | None:
    amount = amount_of(cell_of(row, column))
    return None if amount is None else amount.value
