"""Reasons beside the sentence that tells what happened: below a heading such as "Cause", or in the sentences before."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.answer_types import REASON_KEYS
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values import has_reason

_NEARLY, _BEFORE = 0.6, 2


def with_reason(evidence: AnswerEvidence, best: Scored, ranked: Sequence[Scored]) -> list[Scored]:
    """Return the best unit with what states its reason, if a reason is asked for and the unit has none: the best unit
    of its document that states one, else the sentences of its paragraph before it. Nothing if there are none.
    """
    unit = best.unit
    if evidence.plan.kind is not Kind.REASON or best.fits or unit.kind is UnitKind.ROW or _is_explained(unit):
        return []
    beside = [scored for scored in ranked if scored.fits and scored.unit.doc_id == unit.doc_id and scored.on_day]
    stated = [s for s in beside if s.score >= _NEARLY * best.score or not REASON_KEYS.isdisjoint(s.unit.head_keys)]
    if stated:
        return [best, stated[0]]
    before = _before(unit)
    found = [scored for scored in evidence.scored if any(scored.unit is other for other in before)]
    return [*found, best] if found else []


def _is_explained(unit: Unit) -> bool:
    """Return whether the next sentence of the paragraph states a reason, which is quoted with the unit."""
    after = unit.after
    return after is not None and after.block == unit.block and has_reason(after.text)


def _before(unit: Unit) -> list[Unit]:
    """Return up to _BEFORE sentences of the paragraph before the unit."""
    found: list[Unit] = []
    while len(found) < _BEFORE and unit.before is not None and unit.before.block == unit.block:
        unit = unit.before
        found.append(unit)
    return found
