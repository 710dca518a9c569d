"""The section whose heading is the question. Cost: linear in the units; the words of a heading are read once."""

from __future__ import annotations

import re

from graphtide.infra.models.local.answers.matching.answer_types import TYPED
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.headings import asks_same
from graphtide.infra.models.local.answers.units import UnitKind

_ADVICE = re.compile(r"when (?:should|can|may|must|do|would) (?:i|we|you|one)\b", re.IGNORECASE)
"""A question for a condition, which a section states, and not for a date."""


def asked_section(evidence: AnswerEvidence) -> list[Scored]:
    """Return what is below the heading that asks the question, else of a document without headings whose title does, in
    its order. Of several it is the latest one.

    None where a person, a date or another value is asked for: one sentence states it, and what is below "Who made the
    clock?" may tell first what was believed.
    """
    if evidence.plan.kind in TYPED and not _ADVICE.match(evidence.plan.text):
        return []
    divided = {scored.unit.doc_id for scored in evidence.scored if scored.unit.headings}
    known: dict[str, bool] = {}
    sections: dict[tuple[str, tuple[str, ...]], list[Scored]] = {}
    for scored in evidence.scored:
        unit = scored.unit
        heading = unit.headings[-1] if unit.headings else "" if unit.doc_id in divided else unit.title
        if heading not in known:
            known[heading] = asks_same(heading, evidence.plan)
        if known[heading] and unit.kind not in (UnitKind.ABOUT, UnitKind.CODE):
            sections.setdefault(unit.section, []).append(scored)
    found = max(sections.values(), key=lambda each: (bool(each[0].unit.headings), each[0].unit.date), default=[])
    return sorted(found, key=lambda scored: (scored.unit.ordinal, scored.unit.place))
