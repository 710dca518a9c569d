"""The section whose heading is the question, and the items of the list whose introduction is. Cost: linear in the
units; the words of a heading are read once.
"""

from __future__ import annotations

import re

from graphtide.infra.models.local.answers.matching.answer_types import TYPED
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.headings import asks_same
from graphtide.infra.models.local.answers.questions.types import Kind, TermKind
from graphtide.infra.models.local.answers.succession import is_superseded
from graphtide.infra.models.local.answers.units import LEADS, UnitKind
from graphtide.infra.models.local.answers.words import keys_of

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


def introduced_items(evidence: AnswerEvidence) -> list[Scored]:
    """Return the items of the list whose introduction has each word of a question for things, with the headings and the
    title: "What does the kit contain?" and "The kit contains:". Of several lists it is that with the fewest words more,
    the latest of them; none if a later unit corrects something of all that. A weak verb ("need") may be missing where
    there is none.
    """
    plan = evidence.plan
    terms = [term for term in plan.terms if term.kind not in (TermKind.WEAK, TermKind.IMPLIED)]
    verbs = [term for term in plan.terms if term.kind is TermKind.WEAK and term.verb]
    selects = plan.options or plan.extreme or plan.negated or plan.bound or plan.done is not None
    if plan.kind not in (Kind.THING, Kind.LIST, Kind.SUMMARY) or plan.defines or selects or not terms:
        return []
    lists: dict[tuple[str, str], list[Scored]] = {}
    for scored in evidence.scored:
        unit = scored.unit
        if unit.lead_in.endswith(LEADS) and not unit.cells and not unit.text.endswith(LEADS) and not unit.quoted:
            lists.setdefault((unit.doc_id, unit.lead_in), []).append(scored)
    found: list[tuple[int, list[Scored]]] = []
    for (_, lead), items in lists.items():
        own = keys_of(lead)
        context = own | items[0].unit.head_keys | items[0].unit.title_keys
        asked = terms if own <= plan.keys else [*terms, *verbs]
        covered = all(({term.key} | term.synonyms) & context for term in asked)
        if covered and own & plan.keys and _MIN_ITEMS <= len(items) <= _MAX_ITEMS:
            found.append((len(own - plan.keys), items))
    _, items = max(found, key=lambda each: (-each[0], each[1][0].unit.date), default=(0, []))
    subject = [at for at, term in enumerate(plan.terms) if term in terms]
    return [] if items and is_superseded(evidence, items[0].unit, subject) else items


_MIN_ITEMS, _MAX_ITEMS = 2, 12
