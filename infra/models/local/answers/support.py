"""Support: whether the chosen units answer the question at all.

Evidence must cover the question's names and codes, most of its other words, and state a value of the type asked for.
The limits are calibrated on notes with unanswerable questions and false premises (`tests/bench/notes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching import TYPED, AnswerEvidence, Scored
from graphtide.infra.models.local.answers.question import Kind, TermKind

MIN_COVERAGE = {
    Kind.PERSON: 0.62, Kind.DATE: 0.65, Kind.QUANTITY: 0.55, Kind.VERSION: 0.55, Kind.PLACE: 0.55, Kind.ADDRESS: 0.4,
    Kind.REASON: 0.75, Kind.YES_NO: 0.75, Kind.SUMMARY: 0.5,
}  # fmt: skip
TWO_UNITS = 0.7
WITHOUT_VERB = 0.64
OTHER_COVERAGE = 0.55
MIN_HARD = 0.5
_NEAR, _COUNTED = 0.5, 0.4


def union(chosen: Sequence[Scored]) -> tuple[float, ...]:
    """Return the share of each term that the units cover together."""
    return tuple(map(max, zip(*(one.covers for one in chosen), strict=True)))


def coverage(evidence: AnswerEvidence, covers: Sequence[float]) -> float:
    return sum(w * c for w, c in zip(evidence.weights, covers, strict=True)) / evidence.total if evidence.total else 0.0


def supported(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> bool:
    """Return whether the units together support an answer."""
    plan = evidence.plan
    if not chosen or not plan.terms:
        return False
    covers = union(chosen)
    if plan.kind in TYPED and not any(one.fits for one in chosen):
        return False
    if not all(one.on_day for one in chosen) or _elsewhere(evidence, chosen, covers):
        return False
    needed = MIN_COVERAGE.get(plan.kind, OTHER_COVERAGE)
    if plan.kind is not Kind.SUMMARY and _no_verb(evidence, covers):
        needed = max(needed, WITHOUT_VERB)
    return coverage(evidence, covers) >= needed


def _elsewhere(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether the units are about something else: they lack a word that no answer can do without."""
    plan = evidence.plan
    required = {plan.counted} | ({plan.attribute} if plan.kind is Kind.THING else set())
    return (
        not _names_covered(evidence, chosen, covers)
        or _about_another(evidence, chosen, covers)
        or any(c < _COUNTED for c, t in zip(covers, plan.terms, strict=True) if t.key in required)
        or (plan.kind is not Kind.SUMMARY and _only_named(evidence, covers))
        or (plan.kind in (Kind.REASON, Kind.YES_NO) and _missing(evidence, covers))
    )


def _about_another(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
    """Return whether the units name persons, and none of those that a question about a value names."""
    plan = evidence.plan
    asked = [c for c, t in zip(covers, plan.terms, strict=True) if t.kind is TermKind.NAME and t.key in evidence.names]
    if plan.kind not in TYPED or not asked or max(asked) > _NEAR:
        return False
    return all((one.unit.names & evidence.names) - plan.keys for one in chosen)


def _only_named(evidence: AnswerEvidence, covers: Sequence[float]) -> bool:
    """Return whether the names of the question are covered and none of its other words that carry meaning."""
    terms = list(zip(covers, evidence.plan.terms, strict=True))
    others = [c for c, t in terms if t.kind in (TermKind.FOCUS, TermKind.WORD)]
    return any(t.hard for _, t in terms) and max(others, default=1.0) < _COUNTED


def has_names(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> bool:
    """Return whether the units together cover every name and code of the question."""
    return _names_covered(evidence, chosen, union(chosen))


def connected(evidence: AnswerEvidence, pair: Sequence[Scored]) -> bool:
    """Return whether two units of different passages together cover enough to be two steps of one answer."""
    covers = union(pair)
    return coverage(evidence, covers) >= TWO_UNITS and not _no_verb(evidence, covers)


def _names_covered(evidence: AnswerEvidence, chosen: Sequence[Scored], covers: Sequence[float]) -> bool:
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


def _missing(evidence: AnswerEvidence, covers: Sequence[float]) -> bool:
    """Return whether a word that carries meaning occurs nowhere in the units or their context."""
    return any(
        c < 0.4 for c, t in zip(covers, evidence.plan.terms, strict=True) if t.kind in (TermKind.WORD, TermKind.FOCUS)
    )
