"""The choice of quotations: one unit, all items of a list, both sides of a comparison, two hops, or a summary."""

from __future__ import annotations

from graphtide.infra.models.local.answers.choosing.clause_hops import clause_hops
from graphtide.infra.models.local.answers.choosing.lists import (
    attribute_row,
    list_items,
    measured_row,
    other_rows,
    section_items,
)
from graphtide.infra.models.local.answers.choosing.passages import comparison, summary
from graphtide.infra.models.local.answers.choosing.reasons import with_reason
from graphtide.infra.models.local.answers.choosing.records import decided_items, with_fields
from graphtide.infra.models.local.answers.choosing.rendering import Quotation, rendered
from graphtide.infra.models.local.answers.choosing.two_hops import two_hops
from graphtide.infra.models.local.answers.matching.answer_types import TYPED, denies
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.narrowing import narrowed
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.relevance import COVERED, finds_answer, finds_nothing, weigh
from graphtide.infra.models.local.answers.succession import latest
from graphtide.infra.models.local.answers.support import coverage, supported, union

_FIRST = 60


def choose(evidence: AnswerEvidence, relevance: Relevance | None = None) -> list[Quotation]:
    """Return the quotations of the answer; none when nothing supports one. `relevance` is that of a cross-encoder."""
    if relevance is not None:
        weigh(evidence, relevance)
    if finds_nothing(evidence):
        return []
    if not finds_answer(evidence) and (hops := clause_hops(evidence)):
        return rendered(evidence, hops)
    chosen = select(evidence)
    return rendered(evidence, chosen) if chosen and supported(evidence, chosen) else []


def covers_most(evidence: AnswerEvidence) -> bool:
    """Return whether what the rules alone choose supports an answer, and covers most of the question."""
    chosen = select(evidence)
    return bool(chosen) and supported(evidence, chosen) and coverage(evidence, union(chosen)) >= COVERED


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
    best = latest(evidence, ranked[0], ranked)
    if row := measured_row(evidence, best, ranked):
        return [row]
    if evidence.plan.negated and not denies(best.unit.text):
        return other_rows(evidence, best)
    section = section_items(evidence, best) or decided_items(evidence, best)
    if section:
        return narrowed(evidence.plan, section)
    items = list_items(evidence, best)
    if items:
        return narrowed(evidence.plan, items)
    is_successor = best is not ranked[0] and evidence.plan.kind in TYPED
    pair = with_reason(evidence, best, ranked) or ([] if is_successor else two_hops(evidence, ranked, best))
    return pair or with_fields(evidence, best) or [best]
