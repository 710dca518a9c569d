"""Support: whether the chosen units answer the question at all.

Evidence must cover the question's names and codes, most of its other words, and state a value of the type asked for.
The limits are calibrated on notes with unanswerable questions and false premises (`tests/bench/notes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.answer_types import (
    IDENTIFIERS,
    PERMITTING,
    REASON_KEYS,
    TYPED,
    has_attribute,
)
from graphtide.infra.models.local.answers.matching.cell_values import has_other_number
from graphtide.infra.models.local.answers.matching.coverage import DOCUMENT, has_other_subject
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, Term, TermKind
from graphtide.infra.models.local.answers.units import UnitKind
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import ARTICLES, word_set

MIN_COVERAGE = {
    Kind.PERSON: 0.52, Kind.DATE: 0.55, Kind.QUANTITY: 0.45, Kind.VERSION: 0.45, Kind.PLACE: 0.45, Kind.ADDRESS: 0.3,
    Kind.REASON: 0.65, Kind.YES_NO: 0.65, Kind.SUMMARY: 0.4,
}  # fmt: skip
TWO_UNITS = 0.7
WITHOUT_VERB = 0.7
OTHER_COVERAGE = 0.45
MIN_HARD = 0.5
PROMINENCE, MIN_PROMINENT = 0.1, 0.35
"""How much better than all other documents' units the best one is, and the share that it covers, so that the limits of
coverage do not count. Chosen over nine folders of three authors (docs/answers-figures.md)."""
LARGE_PROMINENCE, LARGEST_PROMINENCE, MIN_VERBLESS = 0.2, 0.4, 0.5
"""How much better the best unit has to be if it has no verb of the question: with three other words of it, with fewer;
and the share that it covers. Values of 0.1 to 0.25 for the first give the same answers (docs/answers-figures.md)."""
_NEAR, _COUNTED, _STATED, _MIN_PERMITTED = 0.5, 0.4, 0.95, 2


def union(chosen: Sequence[Scored]) -> tuple[float, ...]:
    """Return the share of each term that the units cover together."""
    return tuple(map(max, zip(*(scored.covers for scored in chosen), strict=True)))


def coverage(evidence: AnswerEvidence, covers: Sequence[float]) -> float:
    return sum(w * c for w, c in zip(evidence.weights, covers, strict=True)) / evidence.total if evidence.total else 0.0


def supported(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> bool:
    """Return whether the units together support an answer."""
    plan = evidence.plan
    if not chosen or not plan.terms:
        return False
    covers = union(chosen)
    if plan.kind in TYPED and not any(scored.fits for scored in chosen):
        return False
    if plan.deed and _permits(plan, chosen):
        return True
    if not all(scored.on_day for scored in chosen) or _elsewhere(evidence, chosen, covers):
        return False
    if plan.kind in TYPED and _has_verbs_alone(plan, chosen, covers):
        return False
    needed = OTHER_COVERAGE if _below_cause(plan, chosen) else MIN_COVERAGE.get(plan.kind, OTHER_COVERAGE)
    rows = all(scored.unit.kind is UnitKind.ROW for scored in chosen)
    verbless = plan.kind not in (Kind.SUMMARY, Kind.CHOICE) and not rows and _no_verb(evidence, covers)
    if verbless and not _tells_all_but_verbs(evidence, chosen, covers):
        needed = max(needed, WITHOUT_VERB)
    share = coverage(evidence, covers)
    return share >= needed or (share >= MIN_PROMINENT and not verbless and is_prominent(evidence, chosen))


def _has_verbs_alone(plan: QuestionPlan, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether sentences have a verb of the question and none of its other words that carry meaning: the heating
    was repaired, and not the pump.
    """
    if any(scored.unit.kind is UnitKind.ROW or not has_other_subject(plan, scored.unit) for scored in chosen):
        return False
    carrying = [(c, t) for c, t in zip(covers, plan.terms, strict=True) if t.kind not in _LIGHT]
    others = [c for c, t in carrying if not t.verb or _follows_article(plan, t)]
    return bool(others) and len(others) < len(carrying) and max(others) < _COUNTED


def _follows_article(plan: QuestionPlan, term: Term) -> bool:
    """Return whether a word that may be a verb is a noun: "the pump"."""
    return not _DETERMINERS.isdisjoint(plan.text[max(0, term.start - _BEFORE) : term.start].lower().split()[-1:])


_LIGHT = frozenset({TermKind.WEAK, TermKind.IMPLIED})
_DETERMINERS, _BEFORE = ARTICLES | word_set("our my your his her their its this that"), 12


def _tells_all_but_verbs(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether the best unit is much better than those of all other documents, the more so with few words of the
    question, and may tell what is asked for with other verbs.
    """
    terms = zip(covers, evidence.plan.terms, strict=True)
    words = sum(c >= _COVERED for c, t in terms if not t.verb and t.kind not in (TermKind.WEAK, TermKind.IMPLIED))
    needed = LARGE_PROMINENCE if words >= _SEVERAL else LARGEST_PROMINENCE
    return coverage(evidence, covers) >= MIN_VERBLESS and is_prominent(evidence, chosen, needed)


_COVERED, _SEVERAL = 0.7, 3


def is_prominent(evidence: AnswerEvidence, chosen: Sequence[Scored], needed: float = PROMINENCE) -> bool:
    """Return whether the best unit is among the chosen and clearly better than those of all other documents: if the
    notes say something about a question at all, one place mostly says more of it than any other.
    """
    best = max(evidence.scored, key=lambda scored: scored.score)
    others = (scored.score for scored in evidence.scored if scored.unit.doc_id != best.unit.doc_id)
    return any(scored is best for scored in chosen) and best.score - max(others, default=0.0) >= needed


def _permits(plan: QuestionPlan, chosen: Sequence[Scored]) -> bool:
    """Return whether one unit permits or forbids something, and has all words of the question but the verb."""
    places = [i for i, term in enumerate(plan.terms) if term.key != plan.deed and term.kind is not TermKind.WEAK]
    if len(places) < _MIN_PERMITTED or plan.kind is not Kind.YES_NO:
        return False
    return any(
        has_phrase(scored.unit.text, PERMITTING) and all(scored.covers[i] >= _STATED for i in places)
        for scored in chosen
    )


def _elsewhere(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether the units are about something else: they lack a word that no answer can do without."""
    plan = evidence.plan
    if _names_identifier(plan) and not any(has_attribute(plan, scored.unit) for scored in chosen):
        return True
    if has_other_number(plan, [scored.unit for scored in chosen]):
        return True
    required = {plan.counted} | ({plan.attribute} if plan.kind is Kind.THING else set())
    return (
        not _names_covered(evidence, covers)
        or _only_attribute(plan, covers)
        or _only_similar(plan, covers)
        or _about_another(evidence, chosen, covers)
        or any(c < _COUNTED for c, t in zip(covers, plan.terms, strict=True) if t.key in required and not t.weak)
        or (plan.kind is not Kind.SUMMARY and _only_named(evidence, covers))
        or _counts_no_people(evidence, chosen, covers)
        or (not _below_cause(plan, chosen) and _missing(evidence, chosen, covers))
    )


def _counts_no_people(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether people are to be counted, and the units name none, nor tell what the question says they did."""
    counted = [t for t in evidence.plan.terms if t.weak and t.key == evidence.plan.counted]
    if not counted or any(scored.unit.kind is UnitKind.ROW for scored in chosen):
        return False
    deeds = [
        c
        for c, t in zip(covers, evidence.plan.terms, strict=True)
        if t.key in {counted[0].key} or (t.verb and not t.weak)
    ]
    return max(deeds) < _COUNTED


def _only_attribute(plan: QuestionPlan, covers: Sequence[float]) -> bool:
    """Return whether the units have the attribute of something else: no other word of "the N of X"."""
    others = [
        c for c, t in zip(covers, plan.terms, strict=True) if t.key != plan.attribute and t.kind is not TermKind.WEAK
    ]
    return bool(plan.attribute) and max(others, default=1.0) < _NEAR


def _only_similar(plan: QuestionPlan, covers: Sequence[float]) -> bool:
    """Return whether the units have none of several words of the question, only others of a similar meaning. A name
    has a limit of its own.
    """
    if any(term.hard for term in plan.terms):
        return False
    content = [c for c, t in zip(covers, plan.terms, strict=True) if t.kind not in (TermKind.WEAK, TermKind.IMPLIED)]
    return len(content) > 1 and max(content) < _DIRECT and min(content) < _ALIKE


_DIRECT, _ALIKE = 0.8, 0.65


def _names_identifier(plan: QuestionPlan) -> bool:
    """Return whether a code or a port is asked for, and no phone number."""
    return plan.kind is Kind.QUANTITY and plan.attribute in IDENTIFIERS and not plan.measures


def _below_cause(plan: QuestionPlan, chosen: Sequence[Scored]) -> bool:
    """Return whether the units are below a heading such as "Cause", and the question asks for one."""
    return plan.kind is Kind.REASON and all(REASON_KEYS & scored.unit.head_keys for scored in chosen)


def _about_another(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether the units name persons, and none of those that a question about a value names."""
    plan = evidence.plan
    asked = [c for c, t in zip(covers, plan.terms, strict=True) if t.kind is TermKind.NAME and t.key in evidence.names]
    if plan.kind not in TYPED or not asked or max(asked) > _NEAR:
        return False
    return all((scored.unit.names & evidence.names) - plan.keys for scored in chosen)


def _only_named(evidence: AnswerEvidence, covers: Sequence[float]) -> bool:
    """Return whether the names of the question are covered and none of its other words that carry meaning."""
    terms = list(zip(covers, evidence.plan.terms, strict=True))
    others = [c for c, t in terms if t.kind in (TermKind.FOCUS, TermKind.WORD)]
    return any(t.hard for _, t in terms) and max(others, default=1.0) < _COUNTED


def has_names(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> bool:
    """Return whether the units together cover every name and code of the question."""
    return _names_covered(evidence, union(chosen))


def connected(evidence: AnswerEvidence, pair: Sequence[Scored]) -> bool:
    """Return whether two units of different passages together cover enough to be two steps of one answer."""
    covers = union(pair)
    return coverage(evidence, covers) >= TWO_UNITS and not _no_verb(evidence, covers)


def _names_covered(evidence: AnswerEvidence, covers: Sequence[float]) -> bool:
    """Return whether every name and code of the question is covered: in the units, or, if they cover all the rest, in
    their document.
    """
    plan = evidence.plan
    soft = [
        (w, c)
        for w, c, t in zip(evidence.weights, covers, plan.terms, strict=True)
        if not t.hard and t.kind is not TermKind.WEAK
    ]
    rest = sum(w * c for w, c in soft) / (sum(w for w, _ in soft) or 1.0)
    limit = 0.3 if rest >= 0.9 else MIN_HARD
    return all(c >= limit for c, t in zip(covers, plan.terms, strict=True) if t.hard)


def _no_verb(evidence: AnswerEvidence, covers: Sequence[float]) -> bool:
    """Return whether the question has verbs that carry meaning, and the evidence has none of them."""
    verbs = [
        c
        for c, t in zip(covers, evidence.plan.terms, strict=True)
        if t.verb and t.kind in (TermKind.WORD, TermKind.FOCUS)
    ]
    return bool(verbs) and max(verbs) < 0.4


def _beside(plan: QuestionPlan, term: Term) -> float:
    """Return how far evidence has to cover a word: what a reason is asked for has to be in it or right beside it."""
    return _ADJACENT if plan.kind is Kind.REASON and term.verb else _COUNTED


_ADJACENT = 0.55


def _missing(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether a reason, or yes or no, is asked for, and a word that carries meaning occurs nowhere in the units
    or their context. Units that state a reason may lack one word that is no verb: "early".
    """
    plan = evidence.plan
    if plan.kind not in (Kind.REASON, Kind.YES_NO):
        return False
    lacking = [
        t for c, t in zip(covers, plan.terms, strict=True)
        if t.kind in (TermKind.WORD, TermKind.FOCUS) and c < (DOCUMENT if t.key in plan.setting else _beside(plan, t))
    ]  # fmt: skip
    states_reason = plan.kind is Kind.REASON and any(scored.fits for scored in chosen)
    return bool(lacking) and not (states_reason and len(lacking) == 1 and not lacking[0].verb)
