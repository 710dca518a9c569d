"""Rows that contradict the question: of another day, or of another thing than the one it asks for.

Models see that a row has all other words of the question, and not that one value excludes it. Cost: rows times cells.
"""

from __future__ import annotations

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.questions.types import TermKind
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values import days_in, has_phrase, same_day
from graphtide.infra.models.local.answers.words import keys_of, word_set

_DAY_COLUMNS = word_set("date day when on")
_BOUNDS = (
    "before", "after", "since", "until", "till", "by", "from", "between", "later", "earlier", "than", "as of", "still",
)  # fmt: skip
"""Words of a question that a row of another day may answer."""


def without_contradicted(evidence: AnswerEvidence, relevance: Relevance) -> Relevance:
    """Return the probabilities without rows that contradict the question, and theirs added to that of no answer; those
    of rows of another day to the rows of the day in question in their table, in proportion, if any was read.
    """
    if evidence.plan.negated or evidence.plan.options:
        return relevance
    rows = {place: evidence.scored[place].unit for place in sorted(relevance.units)}
    rows = {place: unit for place, unit in rows.items() if unit.kind is UnitKind.ROW}
    of_other_day = {place for place, row in rows.items() if _is_of_other_day(evidence, row)}
    gone = of_other_day | {place for place, row in rows.items() if _is_other_thing(evidence, row)}
    units = {place: share for place, share in relevance.units.items() if place not in gone}
    none = relevance.none
    for place in sorted(gone):
        on_day = [other for other in units if other in rows and _table(rows[other]) == _table(rows[place])]
        whole = sum(relevance.units[other] for other in on_day) if place in of_other_day else 0.0
        if not whole:
            none += relevance.units[place]
        for other in on_day if whole else ():
            units[other] += relevance.units[place] * relevance.units[other] / whole
    return Relevance(units, none, {place: relevance.parts[place] for place in units})


def _table(row: Unit) -> tuple[str, frozenset[str]]:
    return row.doc_id.partition("#")[0], row.columns


def _is_of_other_day(evidence: AnswerEvidence, row: Unit) -> bool:
    """Return whether the only day of a row is in its column for days, and the question names another one."""
    asked = [day for day in evidence.plan.dates if day[2]]
    stated = [day for cell in row.cells if cell.column.lower() in _DAY_COLUMNS for day in days_in(cell.value)]
    if has_phrase(evidence.plan.text, _BOUNDS):
        return False
    if not asked or len(stated) != 1 or not stated[0][2] or len(days_in(row.text)) > 1:
        return False
    return not any(same_day(day, stated[0]) for day in asked)


def _is_other_thing(evidence: AnswerEvidence, row: Unit) -> bool:
    """Return whether the kind of thing asked for is a value of a column in which the row has another value: "which cat"
    and `species: dog`, beside a row with `species: cat`.
    """
    focus = {term.key for term in evidence.plan.terms if term.kind is TermKind.FOCUS}
    if not focus or focus & (row.keys | row.columns | row.head_keys | row.title_keys):
        return False
    kinds = {
        cell.column
        for scored in evidence.scored
        if _table(scored.unit) == _table(row)
        for cell in scored.unit.cells
        if keys_of(cell.value) == focus
    }
    return any(cell.column in kinds and cell.value for cell in row.cells)
