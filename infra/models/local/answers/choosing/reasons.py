"""Reasons beside the sentence that tells what happened: below a heading such as "Cause", or in the sentences before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.documents.line_starts import stamp_of
from graphtide.infra.models.local.answers.matching.answer_types import REASON_KEYS
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.phrases import has_reason

_NEARLY, _BEFORE = 0.6, 2


def with_reason(evidence: AnswerEvidence, best: Scored, ranked: Sequence[Scored]) -> list[Scored]:
    """Return the best unit with what states its reason, if a reason is asked for and the unit has none: the best unit
    of its paragraph, or below a heading such as "Cause" of its document, that states one; else the sentences of its
    paragraph before it. Nothing if there are none.
    """
    unit = best.unit
    if evidence.plan.kind is not Kind.REASON or best.fits or unit.kind is UnitKind.ROW or _is_explained(unit):
        return []
    beside = [scored for scored in ranked if scored.fits and scored.unit.doc_id == unit.doc_id and scored.on_day]
    stated = [s for s in beside if _is_beside(s, best) or not REASON_KEYS.isdisjoint(s.unit.head_keys)]
    if stated:
        return [best, stated[0]]
    if stated_later := _stated_later(unit):
        return [best, *(scored for scored in evidence.scored if any(scored.unit is other for other in stated_later))]
    before = _before(unit)
    found = [scored for scored in evidence.scored if any(scored.unit is other for other in before)]
    return [*found, best] if found else []


def _is_beside(scored: Scored, best: Scored) -> bool:
    return scored.unit.block == best.unit.block and scored.score >= _NEARLY * best.score


def _is_explained(unit: Unit) -> bool:
    """Return whether the next sentence of the paragraph states a reason, which is quoted with the unit."""
    after = unit.after
    return after is not None and after.block == unit.block and has_reason(after.text)


def _stated_later(unit: Unit) -> list[Unit]:
    """Return the sentence of the next messages of a chat or log that says what it was ("it was the firmware"), with the
    one after it in its message; none beyond _LATER sentences.
    """
    after = unit.after if stamp_of(unit.text) else None
    for _ in range(_LATER):
        if after is None:
            break
        if _IT_WAS.search(after.text):
            follows = after.after if after.after is not None and after.after.block == after.block else None
            return [after, *([follows] if follows is not None else [])]
        after = after.after
    return []


_LATER = 8
_IT_WAS = re.compile(r"\b[Ii]t was (?:the|an?|our|my) [a-z]|\b(?:cause|reason|problem|fault) (?:is|was)\b")


def _before(unit: Unit) -> list[Unit]:
    """Return up to _BEFORE sentences of the paragraph before the unit."""
    found: list[Unit] = []
    while len(found) < _BEFORE and unit.before is not None and unit.before.block == unit.block:
        unit = unit.before
        found.append(unit)
    return found
