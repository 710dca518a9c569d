"""Rows that the question does not mean, beside those that it does: of another role, another kind, another person.

Invariant: every row returned is one of those given, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing.lists import named_kind
from graphtide.infra.models.local.answers.choosing.rows.tables import is_within
from graphtide.infra.models.local.answers.matching.types import Scored
from graphtide.infra.models.local.answers.narrowing import cell_of
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.units import Unit, UnitKind, table_of
from graphtide.infra.models.local.answers.words import keys_of


def without_other_roles(plan: QuestionPlan, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the rows with the role asked for without those of a longer one, "deputy captain" for "who is the captain";
    all units for other questions, such as "who works at reception", and where no row has that role alone.
    """
    if _HOLDER.match(plan.text) is None:
        return chosen
    asked = frozenset(term.key for term in plan.terms if term.kind is not TermKind.WEAK)
    if plan.kind is not Kind.PERSON or plan.plural or not asked or len(chosen) < _SEVERAL:
        return chosen
    roles = {cell.column for one in chosen for cell in one.unit.cells[1:] if keys_of(cell.value) == asked}
    if len(roles) != 1 or any(one.unit.kind is not UnitKind.ROW for one in chosen):
        return chosen
    column = roles.pop()
    return [one for one in chosen if not asked < keys_of(cell_of(one.unit, column))]


_SEVERAL = 2
_HOLDER = re.compile(r"who(?:['\u2019]s| is| was) (?:the|our|your|my)\b", re.IGNORECASE)


def of_asked_kind(plan: QuestionPlan, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the rows that are what is asked for ("which call-outs did Ada lead", from callouts.csv) without those of
    other tables that have the name in a column of the same name (`leader`); all units if none or all are.
    """
    things = [term for term in plan.terms if term.kind is TermKind.FOCUS]
    named = frozenset(term.key for term in plan.terms if term.hard)
    if not plan.plural or not things or not named or any(one.unit.kind is not UnitKind.ROW for one in chosen):
        return chosen
    kinds = [named_kind(one.unit) for one in chosen]
    kept = [
        one for one, kind in zip(chosen, kinds, strict=True)
        if all(({term.key} | term.synonyms) & kind for term in things if not is_within(term, things))
    ]  # fmt: skip
    columns = frozenset(cell.column for one in kept for cell in one.unit.cells if keys_of(cell.value) & named)
    return [
        one for one in chosen
        if one in kept or not any(cell.column in columns and keys_of(cell.value) & named for cell in one.unit.cells)
    ]  # fmt: skip


def without_mentions(plan: QuestionPlan, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the rows that begin with the name in the question without those that have it in another column, where the
    question asks for a column of them and does not name that one: "what does Lia teach", beside `substitute: Lia`.
    """
    named = frozenset(term.key for term in plan.terms if term.hard)
    if not named or len(chosen) < _SEVERAL or any(one.unit.kind is not UnitKind.ROW for one in chosen):
        return chosen
    asked = frozenset().union(*({term.key} | term.synonyms for term in plan.terms if not term.hard))
    subjects = [
        one for one in chosen
        if named <= keys_of(one.unit.cells[0].value) and any(cell.column_keys & asked for cell in one.unit.cells[1:])
    ]  # fmt: skip
    tables = {table_of(one.unit) for one in subjects}
    return [one for one in chosen if table_of(one.unit) not in tables or not _only_mentions(one.unit, named, asked)]


def _only_mentions(row: Unit, named: frozenset[str], asked: frozenset[str]) -> bool:
    having = [cell for cell in row.cells if keys_of(cell.value) & named]
    return bool(having) and all(cell is not row.cells[0] and not cell.column_keys & asked for cell in having)
