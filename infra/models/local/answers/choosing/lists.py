"""Lists as answers: the items below a heading, rows of one table, and units that answer as well as the best."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.support import coverage, union
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.words import keys_of

_SAME = 0.95
_MAX_ROWS, _MAX_FILTERED = 12, 60


def attribute_row(evidence: AnswerEvidence) -> Scored | None:
    """Return the row with a column that is the attribute asked for ("status of"), and all other words as values."""
    plan = evidence.plan
    if plan.kind is not Kind.SUMMARY or not plan.attribute:
        return None
    others = [t.key for t in plan.terms if t.key != plan.attribute and t.kind is not TermKind.WEAK]
    rows = [one for one in evidence.scored if one.unit.kind is UnitKind.ROW and set(others) <= one.unit.keys]
    rows = [one for one in rows if any(cell.column_keys == {plan.attribute} for cell in one.unit.cells)]
    return max(rows, key=lambda one: one.score, default=None) if others else None


def section_items(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the items below the heading, or the introduction, that asks what the question asks."""
    plan = evidence.plan
    if plan.kind not in (Kind.THING, Kind.LIST):
        return []
    asked = re.sub(r"\W+", " ", plan.text.lower())
    found: dict[tuple[int, str], list[Scored]] = {}
    for one in evidence.scored:
        heading = one.unit.lead_in or (one.unit.headings[-1] if one.unit.headings else "")
        words = re.sub(r"\W+", " ", heading.lower()).strip()
        if (
            len(words.split()) >= 2
            and keys_of(heading)
            and f" {words} " in f" {asked} "
            and not one.unit.text.endswith(":")
        ):
            found.setdefault((one.unit.origin, heading), []).append(one)
    groups = [
        group for group in found.values() if len(group) > 1 and all(len(one.unit.text.split()) <= 30 for one in group)
    ]
    if not groups:
        return []
    group = max(groups, key=lambda group: coverage(evidence, union(group)))
    return group if coverage(evidence, union(group)) >= 0.8 * best.coverage else []


def list_items(evidence: AnswerEvidence, ranked: list[Scored], best: Scored) -> list[Scored]:
    """Return all units that answer as well as the best one, when the question asks for several or they are alike."""
    plan = evidence.plan
    if plan.kind in (Kind.QUANTITY, Kind.DATE, Kind.REASON, Kind.CHOICE, Kind.YES_NO, Kind.SUMMARY):
        return []
    unit = best.unit
    own = [
        i
        for i, (t, c) in enumerate(zip(plan.terms, best.covers, strict=True))
        if t.kind is not TermKind.WEAK and c >= 0.95
    ]
    context = [
        i
        for i, (t, c) in enumerate(zip(plan.terms, best.covers, strict=True))
        if t.kind is not TermKind.WEAK and c >= 0.7
    ]
    same_passage = [one for one in evidence.scored if one.unit.origin == unit.origin]
    listing = unit.lead_in or (len(same_passage) > 1 and unit.kind is not UnitKind.ROW and _all_short(same_passage))
    in_text = [i for i in own if plan.terms[i].key in unit.keys]
    if listing and plan.plural and not in_text and context:
        return [one for one in same_passage if one.unit.lead_in == unit.lead_in and not one.unit.text.endswith(":")]
    if listing and plan.plural and in_text:
        alike = [
            one for one in same_passage if all(one.covers[i] >= _SAME for i in own) and not one.unit.text.endswith(":")
        ]
        if len(alike) > 1 and _all_short(alike):
            return alike
    if unit.kind is UnitKind.ROW and own:
        alike = [
            one for one in evidence.scored
            if one.unit.kind is UnitKind.ROW and _file(one.unit) == _file(unit) and one.unit.headings == unit.headings
            and all(one.covers[i] >= 0.95 for i in own) and one.on_day
            and _has_values(plan, one.unit, in_text)
        ]  # fmt: skip
        if 1 < len(alike) <= (_MAX_FILTERED if plan.bound or plan.extreme else _MAX_ROWS):
            return alike
    if plan.plural and own:
        alike = [
            one for one in evidence.scored
            if one.unit.doc_id != unit.doc_id or one.unit is unit
            if all(one.covers[i] >= 0.7 for i in own) and one.fits and one.on_day and one.score >= 0.75 * best.score
            and (one.unit.kind is not UnitKind.ROW or _has_values(plan, one.unit, in_text))
        ]  # fmt: skip
        return alike if 1 < len(alike) <= 8 else []
    return []


def _has_values(plan: QuestionPlan, unit: Unit, places: Sequence[int]) -> bool:
    """Return whether a row has these terms as values, and not only as names of columns; the noun asked for may lack."""
    return all(plan.terms[i].key in unit.keys for i in places if plan.terms[i].kind is not TermKind.FOCUS)


def _file(unit: Unit) -> str:
    """Return the id of the file that a unit is from: records of JSON lines have ids with # and their own."""
    return unit.doc_id.partition("#")[0]


def _all_short(units: Sequence[Scored]) -> bool:
    return all(len(one.unit.text.split()) <= 14 for one in units)


def other_rows(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the rows of a table without the words of the question that the best row has: it asks what is not so."""
    if best.unit.kind is not UnitKind.ROW:
        return []
    asked = {t.key for t in evidence.plan.terms if t.kind not in (TermKind.WEAK, TermKind.FOCUS)} & best.unit.keys
    table = [one for one in evidence.scored if one.unit.kind is UnitKind.ROW and _same_table(one.unit, best.unit)]
    found = [one for one in table if not asked <= one.unit.keys]
    for one in found:
        one.covers = tuple(map(max, zip(one.covers, best.covers, strict=True)))
    return found if len(found) <= _MAX_ROWS else []


def _same_table(one: Unit, other: Unit) -> bool:
    return _file(one) == _file(other) and one.headings == other.headings and one.columns == other.columns
