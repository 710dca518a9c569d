"""The choice by scores: one unit, all items of a list, the rows of a table, both sides of a comparison, or two hops.

Invariant: the choice depends on the scores and the forms of the units, not on the models' probabilities.
"""

from __future__ import annotations

from graphtide.infra.models.local.answers.choosing.lists import (
    attribute_row,
    extreme_of_table,
    list_items,
    measured_row,
    section_items,
)
from graphtide.infra.models.local.answers.choosing.passages import comparison, summary
from graphtide.infra.models.local.answers.choosing.reasons import with_reason
from graphtide.infra.models.local.answers.choosing.records import decided_items, with_fields
from graphtide.infra.models.local.answers.choosing.rows.selected import affirmed_rows, other_rows, rows_within
from graphtide.infra.models.local.answers.choosing.two_hops import two_hops
from graphtide.infra.models.local.answers.matching.answer_types import TYPED, denies_asked
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.narrowing import narrowed
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.succession import latest
from graphtide.infra.models.local.answers.units import UnitKind

_FIRST = 60


def select(evidence: AnswerEvidence) -> list[Scored]:
    """Return the best units for the question, whether or not they support an answer."""
    ranked = sorted(evidence.scored, key=lambda scored: -scored.score)[:_FIRST]
    if not ranked or not evidence.plan.terms:
        return []
    plan = evidence.plan
    if plan.options and not plan.alternatives:
        return comparison(evidence, ranked)
    if row := attribute_row(evidence):
        return [row]
    if plan.kind is Kind.SUMMARY:
        return summary(evidence, ranked)
    return best_answer(evidence, ranked)


def best_answer(evidence: AnswerEvidence, ranked: list[Scored]) -> list[Scored]:
    """Return the rows, the items or the sentence that the best unit leads to."""
    best = latest(evidence, ranked[0], ranked)
    if (rows := _rows_selected(evidence, best, ranked)) is not None:
        return rows
    section = section_items(evidence, best) or decided_items(evidence, best)
    if section:
        return narrowed(evidence.plan, section)
    items = list_items(evidence, best)
    if items:
        return narrowed(evidence.plan, items)
    if evidence.plan.extreme and best.unit.kind is UnitKind.ROW and (row := extreme_of_table(evidence, best)):
        return [row]
    is_successor = best is not ranked[0] and evidence.plan.kind in TYPED
    pair = with_reason(evidence, best, ranked) or ([] if is_successor else two_hops(evidence, ranked, best))
    return pair or with_fields(evidence, best) or [best]


def _rows_selected(evidence: AnswerEvidence, best: Scored, ranked: list[Scored]) -> list[Scored] | None:
    """Return the rows that a superlative, a bound or a negation selects; None where none of these is asked for."""
    if row := measured_row(evidence, best, ranked):
        return [row]
    if rows := rows_within(evidence, best):
        return rows
    if evidence.plan.negated and not denies_asked(evidence.plan, best.unit):
        return affirmed_rows(evidence, best) or other_rows(evidence, best)
    return None
