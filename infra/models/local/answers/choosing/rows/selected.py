"""Rows of the best row's table that a bound or a negation of the question selects: "which guests have not paid".

Invariant: no row is returned that the bound excludes, or that has what the question denies.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing.lists import (
    MAX_ROWS,
    SAME,
    covered_places,
    rows_alike,
    rows_of_table,
)
from graphtide.infra.models.local.answers.matching.answer_types import denies_asked
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.narrowing import affirmed, beyond, bounded_column
from graphtide.infra.models.local.answers.questions.bounds import holds
from graphtide.infra.models.local.answers.questions.lexicon import NEGATIONS
from graphtide.infra.models.local.answers.questions.types import QuestionPlan, TermKind
from graphtide.infra.models.local.answers.units import UnitKind, table_of
from graphtide.infra.models.local.answers.values.dates import days_in
from graphtide.infra.models.local.answers.words import words_of


def rows_within(evidence: AnswerEvidence, row: Scored) -> list[Scored] | None:
    """Return the rows of a row's table that have the values of the question that it has, and are within the bound; None
    without a bound or a column for it, or if the row says elsewhere of what a day within it is ("starts 1 October").
    """
    plan = evidence.plan
    if plan.bound is None or row.unit.kind is not UnitKind.ROW:
        return None
    rows = rows_of_table(evidence, row)
    if not bounded_column(plan, plan.bound, [one.unit for one in rows]):
        return None
    named = {t.key for t in plan.terms if not (t.weak or t.coded or t.kind is TermKind.FOCUS)} & row.unit.keys
    found = [one for one in beyond(plan, plan.bound, rows) if named <= one.unit.keys]
    texts = (cell.value for cell in row.unit.cells if len(cell.value.split()) >= _SAYING)
    is_within = plan.bound.dated and any(holds(plan.bound, day) for text in texts for day in days_in(text))
    return None if is_within and all(one is not row for one in found) else found


_SAYING = 4
"""Words of a cell that says of what its day is."""


def within_bound(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the rows within the bound in place of rows of their table; all units without a bound on a column."""
    row = next((one for one in chosen if one.unit.kind is UnitKind.ROW), None)
    found = rows_within(evidence, row) if row is not None else None
    if row is None or found is None:
        return chosen
    table = table_of(row.unit)
    others = {id(one) for one in chosen if one.unit.kind is not UnitKind.ROW or table_of(one.unit) != table}
    kept = others.union(map(id, found))
    return found if not others and len(found) <= MAX_ROWS else [one for one in chosen if id(one) in kept]


def affirmed_rows(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the rows like the best one with "yes", or "no" if the question denies, in a column that it names."""
    if best.unit.kind is not UnitKind.ROW:
        return []
    own = covered_places(evidence.plan, best, SAME)
    in_text = [i for i in own if evidence.plan.terms[i].key in best.unit.keys]
    found = affirmed(evidence.plan, rows_alike(evidence, best, own, in_text))
    return found if len(found) <= MAX_ROWS else []


def other_rows(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the rows of a table without the words of the question that the best row has, for what is not so: without
    those after the negation, if it has any of them, and with the others.
    """
    if best.unit.kind is not UnitKind.ROW:
        return []
    denied = _denied(evidence.plan, best)
    others = _asked(evidence.plan) & best.unit.keys - denied
    rows = [one for one in rows_of_table(evidence, best) if others <= one.unit.keys]
    found = [one for one in rows if not denied <= one.unit.keys]
    for scored in found:
        scored.covers = tuple(map(max, zip(scored.covers, best.covers, strict=True)))
    return found if len(found) <= MAX_ROWS else []


def without_denied(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the other rows of a table in place of one with the value that the question denies; else the units."""
    if not evidence.plan.negated or any(one.unit.kind is not UnitKind.ROW for one in chosen):
        return chosen
    row = next((one for one in chosen if _has_denied(evidence.plan, one)), None)
    return chosen if row is None else other_rows(evidence, row) or chosen


def _has_denied(plan: QuestionPlan, row: Scored) -> bool:
    """Return whether a row has the words after the negation of the question, and does not deny them."""
    after = _asked(plan) & _keys_after_negation(plan)
    return bool(after & row.unit.keys) and not denies_asked(plan, row.unit)


def _denied(plan: QuestionPlan, row: Scored) -> frozenset[str]:
    """Return the keys of the question that a row has: of the words after its negation, if any, else of all."""
    own = _asked(plan) & row.unit.keys
    return own & _keys_after_negation(plan) or own


def _asked(plan: QuestionPlan) -> frozenset[str]:
    return frozenset(term.key for term in plan.terms if term.kind not in (TermKind.WEAK, TermKind.FOCUS))


def _keys_after_negation(plan: QuestionPlan) -> frozenset[str]:
    words = words_of(plan.text)
    at = next((at for at, word in enumerate(words) if word.text.lower() in NEGATIONS), len(words))
    return frozenset(word.key for word in words[at + 1 :])
