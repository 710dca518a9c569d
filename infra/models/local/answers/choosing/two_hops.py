"""Pairs of units that share a rare name and together cover more of a question than one unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing.rendering import MAIL
from graphtide.infra.models.local.answers.matching.answer_types import TYPED
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.support import connected, coverage, union
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.dates import is_calendar
from graphtide.infra.models.local.answers.values.quantities import PHONE
from graphtide.infra.models.local.answers.words import key_of, words_of

_TWO_HOP_GAIN = 0.14
_VALUE_GAIN = 0.05
_OWN_SHARE = 0.18
_FIRST_HOPS = 25
_RARITY_SHARE = 0.08
_STATED, _DISTANT = 0.7, 0.4
_SAME_NAME, _TWO_HOP_TERMS = 0.6, 3
_ENOUGH, _NEARLY_ALL = 0.72, 0.9


def two_hops(evidence: AnswerEvidence, ranked: list[Scored], best: Scored) -> list[Scored]:
    """Return two units that share a rare name and together cover clearly more of the question than the best one."""
    plan = evidence.plan
    if sum(term.kind is not TermKind.WEAK for term in plan.terms) < _TWO_HOP_TERMS:
        return []
    if _is_enough(plan, best):
        return []
    rare = max_shared(evidence)
    usable = [
        scored
        for scored in evidence.scored
        if scored.unit.kind not in (UnitKind.ABOUT, UnitKind.CODE) and scored.on_day
    ]
    things = _row_things(evidence)
    holding = Counter(key for scored in usable for key in scored.unit.keys & things)
    by_name: dict[str, list[Scored]] = {}
    bridges: dict[int, frozenset[str]] = {}
    for scored in usable:
        keys = rare_names(evidence, scored.unit)
        keys |= frozenset(key for key in (scored.unit.keys & things) - plan.keys if holding[key] <= rare)
        bridges[id(scored)] = keys
        for key in keys:
            by_name.setdefault(key, []).append(scored)
    found: tuple[float, list[Scored]] = (0.0, [])
    for scored in [scored for scored in ranked if id(scored) in bridges][:_FIRST_HOPS]:
        others = {id(partner): partner for key in sorted(bridges[id(scored)]) for partner in by_name[key]}
        for partner in others.values():
            if partner is scored or not _states_value(plan, scored, partner) or siblings(scored.unit, partner.unit):
                continue
            if min(_exclusive(evidence, scored, partner), _exclusive(evidence, partner, scored)) < _OWN_SHARE:
                continue
            if _splits_name(plan, scored, partner) or not connected(evidence, [scored, partner]):
                continue
            if _is_number_of_another(plan, scored, partner):
                continue
            shared = bridges[id(scored)] & bridges[id(partner)]
            rarity = max(1.0 / max(1, evidence.frequency[key], holding[key]) for key in shared)
            value = (
                coverage(evidence, _firm(union([scored, partner])))
                + 0.05 * (scored.score + partner.score)
                + _RARITY_SHARE * rarity
            )
            if value > found[0]:
                found = (value, [scored, partner])
    pair = found[1]
    needed = _TWO_HOP_GAIN if best.fits else _VALUE_GAIN
    if not pair or coverage(evidence, union(pair)) < best.coverage + needed:
        return []
    return pair


def _is_enough(plan: QuestionPlan, best: Scored) -> bool:
    """Return whether a unit needs no second one: it has nearly all, or a value and all but verbs."""
    valued = best.fits and (plan.kind in (*TYPED, Kind.PLACE) or bool(plan.attribute))
    enough = _ENOUGH if plan.kind in TYPED and best.fits and not _lacks_role(plan, best) else _NEARLY_ALL
    return best.coverage > enough or (valued and _lacks_only_verbs(plan, best))


def _lacks_only_verbs(plan: QuestionPlan, best: Scored) -> bool:
    """Return whether a unit has all words of the question but verbs, which it may state in other words."""
    rest = [c for t, c in zip(plan.terms, best.covers, strict=True) if not t.verb and t.kind is not TermKind.WEAK]
    return len(rest) > 1 and min(rest) >= _STATED


def _row_things(evidence: AnswerEvidence) -> frozenset[str]:
    """Return the keys of words that name a row's thing: single words in lower case in a column of the question."""
    asked = evidence.plan.keys
    cells = (cell for unit in evidence.units if unit.kind is UnitKind.ROW for cell in unit.cells)
    return frozenset(
        key_of(cell.value) for cell in cells
        if cell.value.isalpha() and cell.value.islower() and not asked.isdisjoint(cell.column_keys)
    )  # fmt: skip


def _lacks_role(plan: QuestionPlan, best: Scored) -> bool:
    """Return whether a person is asked for by a first word that the unit lacks: any name counts as a person."""
    first = next((c for t, c in zip(plan.terms, best.covers, strict=True) if t.kind is not TermKind.WEAK), 1.0)
    return plan.kind is Kind.PERSON and first < _DISTANT


def _splits_name(plan: QuestionPlan, scored: Scored, partner: Scored) -> bool:
    """Return whether a name of two words is covered only by a word in each unit: it is of two things then."""
    names = {term.key: i for i, term in enumerate(plan.terms) if term.kind is TermKind.NAME}
    pairs = [(names[a], names[b]) for a, b in plan.pairs if a in names and b in names]
    return any(all(min(unit.covers[a], unit.covers[b]) < _SAME_NAME for unit in (scored, partner)) for a, b in pairs)


def _is_number_of_another(plan: QuestionPlan, scored: Scored, partner: Scored) -> bool:
    """Return whether the phone number of a person at the end of the question is asked for, and no unit with a number
    has the whole name.
    """
    names = [i for i, term in enumerate(plan.terms) if term.kind is TermKind.NAME]
    if plan.measures != PHONE or not names or names[-1] != len(plan.terms) - 1:
        return False
    return not any(unit.fits and all(unit.covers[i] >= _SAME_NAME for i in names) for unit in (scored, partner))


def _states_value(plan: QuestionPlan, scored: Scored, partner: Scored) -> bool:
    """Return whether one of two units has a value of the type asked for; a date of a heading is of the document."""
    return any(unit.fits and not (unit.heading and plan.kind is Kind.DATE) for unit in (scored, partner))


def _firm(covers: Sequence[float]) -> list[float]:
    """Return the shares with those of distant context lowered."""
    return [share if share >= _STATED else share * _DISTANT for share in covers]


def siblings(scored: Unit, partner: Unit) -> bool:
    """Return whether both are rows of one table."""
    rows = scored.kind is partner.kind is UnitKind.ROW
    return rows and scored.doc_id == partner.doc_id and scored.headings == partner.headings


def _exclusive(evidence: AnswerEvidence, scored: Scored, partner: Scored) -> float:
    """Return the share of the question that one unit covers well and the other hardly."""
    pairs = zip(evidence.weights, scored.covers, partner.covers, strict=True)
    typed = 0.1 if evidence.plan.kind in (*TYPED, Kind.PLACE) and scored.fits and not partner.fits else 0.0
    return typed + sum(w for w, a, b in pairs if a >= 0.7 and b <= 0.5) / (evidence.total or 1.0)


def max_shared(evidence: AnswerEvidence) -> int:
    """Return how many units may have a name that leads from one to another."""
    return max(6, len(evidence.units) // 10)


def rare_names(evidence: AnswerEvidence, unit: Unit) -> frozenset[str]:
    """Return the names of a unit and its context that lead to others: few units have them, and the question has not."""
    rare = max_shared(evidence)
    return frozenset(key for key in bridge_keys(unit) - evidence.plan.keys if evidence.frequency[key] <= rare)


def bridge_keys(unit: Unit) -> frozenset[str]:
    """Return the names of a unit, of the sentences beside it, and of its context."""
    found = unit.names | frozenset(
        key for key in unit.title_keys if any(char.isdigit() for char in key) and len(key) > 3
    )
    before = unit.before
    if before is not None and before.block == unit.block and (unit.dangling or len(before.text.split()) <= 4):
        found |= before.names
    for heading in unit.headings[:1]:
        if not heading.startswith(MAIL):
            continue
        found |= frozenset(word.key for word in words_of(heading) if word.capital)
    return frozenset(key for key in found if not is_calendar(key))
