"""Rows that contradict the question: of another day or month, or of another thing than the one it asks for.

Models see that a row has all other words of the question, and not that one value excludes it. Linear in the cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.documents.line_starts import stamp_of
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.questions.types import TermKind
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values import days_in, has_phrase, same_day
from graphtide.infra.models.local.answers.words import key_of, keys_of, word_set

_DAY_COLUMNS = word_set("date day when on")
_BOUNDS = (
    "before", "after", "since", "until", "till", "by", "from", "between", "later", "earlier", "than", "as of", "still",
)  # fmt: skip
"""Words of a question that a row of another day may answer."""
Table = tuple[str, frozenset[str]]


def without_contradicted(evidence: AnswerEvidence, relevance: Relevance) -> Relevance:
    """Return the probabilities without rows that contradict the question, and theirs added to that of no answer; those
    of rows of another day to the rows of the day in question in their table, in proportion, if any was read.
    """
    if evidence.plan.negated or evidence.plan.options:
        return relevance
    rows = {place: evidence.scored[place].unit for place in sorted(relevance.units)}
    rows = {place: unit for place, unit in rows.items() if unit.kind is UnitKind.ROW}
    of_other_day = {place for place, row in rows.items() if _is_of_other_day(evidence, row)}
    months = _months_asked(evidence)
    of_other_month = {place for place in relevance.units if _is_of_other_month(evidence.scored[place].unit, months)}
    asked = frozenset(term.key for term in evidence.plan.terms if term.kind is TermKind.FOCUS)
    kinds = _columns_of(evidence, asked)
    gone = of_other_day | of_other_month | {place for place, row in rows.items() if _is_other_thing(row, asked, kinds)}
    units = {place: share for place, share in relevance.units.items() if place not in gone}
    none = relevance.none
    for place in sorted(gone):
        table = _table(rows[place]) if place in of_other_day else None
        on_day = [other for other in units if other in rows and _table(rows[other]) == table]
        whole = sum(relevance.units[other] for other in on_day)
        if not whole:
            none += relevance.units[place]
        for other in on_day if whole else ():
            units[other] += relevance.units[place] * relevance.units[other] / whole
    return Relevance(units, none, {place: relevance.parts[place] for place in units})


def uncontradicted(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> list[Scored]:
    """Return the chosen units without rows and entries of another month than the one asked for."""
    months = _months_asked(evidence)
    return [scored for scored in chosen if evidence.plan.negated or not _is_of_other_month(scored.unit, months)]


def _table(row: Unit) -> Table:
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


def _months_asked(evidence: AnswerEvidence) -> frozenset[int]:
    """Return all months that the question names, if it asks for what happened "in" one; none for another kind of limit,
    such as "since July", and for a comparison.
    """
    text = evidence.plan.text
    if evidence.plan.options or has_phrase(text, _BOUNDS) or not _IN_MONTH.search(text):
        return frozenset()
    return frozenset(MONTHS.index(found.lower()) + 1 for found in _MONTH.findall(text))


_ANY_MONTH = "|".join(month.capitalize() for month in MONTHS)
_MONTH, _IN_MONTH = re.compile(rf"\b({_ANY_MONTH})\b"), re.compile(rf"\b[Ii]n (?:{_ANY_MONTH})\b")


def _is_of_other_month(unit: Unit, months: frozenset[int]) -> bool:
    """Return whether a unit is a row or the beginning of an entry with a day of another month than those asked for, and
    names none of these.
    """
    if not months:
        return False
    columns = [cell.value for cell in unit.cells if cell.column.lower() in _DAY_COLUMNS]
    dated = [day for text in columns or [stamp_of(unit.text)] for day in days_in(text)]
    named = {key_of(MONTHS[month - 1]) for month in months} & unit.keys
    return bool(dated) and not named and not any(day[1] in months for day in days_in(unit.text))


def _is_other_thing(row: Unit, asked: frozenset[str], kinds: Mapping[Table, frozenset[str]]) -> bool:
    """Return whether the row has another value in a column in which some rows of its table have what is asked for."""
    if not asked or asked & (row.keys | row.columns | row.head_keys | row.title_keys):
        return False
    return any(cell.column in kinds.get(_table(row), frozenset()) and cell.value for cell in row.cells)


def _columns_of(evidence: AnswerEvidence, asked: frozenset[str]) -> Mapping[Table, frozenset[str]]:
    """Return the columns of each table in which a row has the kind of thing asked for as its value: `species`, where it
    is "which cat".
    """
    found: dict[Table, frozenset[str]] = {}
    for scored in evidence.scored if asked else ():
        unit = scored.unit
        if unit.kind is UnitKind.ROW and asked <= unit.keys:
            columns = frozenset(cell.column for cell in unit.cells if keys_of(cell.value) == asked)
            found[_table(unit)] = found.get(_table(unit), frozenset()) | columns
    return found
