"""The choice of quotations: one unit, all items of a list, both sides of a comparison, two hops, or a summary."""

from __future__ import annotations

from dataclasses import dataclass

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
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan
from graphtide.infra.models.local.answers.relevance import (
    COVERED,
    alike,
    by_probability,
    finds_answer,
    finds_nothing,
    is_certain,
    rivals,
    weigh,
)
from graphtide.infra.models.local.answers.succession import latest
from graphtide.infra.models.local.answers.support import coverage, supported, union

_FIRST = 60
_STEPS = 2


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The answer of the rules alone: its quotations, none if nothing supports one; and whether they cover most of the
    question, so that nothing else needs to read the units.
    """

    quotations: list[Quotation]
    covers_most: bool = False


def answer_by_rules(evidence: AnswerEvidence) -> RuleAnswer:
    """Return the answer that words, types and dates give. What corrected and correcting units cover is joined."""
    chosen = select(evidence)
    is_supported = bool(chosen) and supported(evidence, chosen)
    covers_most = is_supported and coverage(evidence, union(chosen)) >= COVERED
    if hops := clause_hops(evidence):
        return RuleAnswer(rendered(evidence, hops), covers_most)
    return RuleAnswer(rendered(evidence, chosen) if is_supported else [], covers_most)


def answer_by_relevance(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> list[Quotation]:
    """Return the quotations that the probabilities of the units give, beside the answer of the rules. Where these are
    clear, they decide alone; where they are not, they add to the scores of the rules.
    """
    weigh(evidence, relevance)
    if finds_nothing(relevance) or not (by_rules.quotations or is_certain(relevance)):
        return []
    if finds_answer(relevance):
        return rendered(evidence, _most_relevant(evidence, relevance))
    return answer_by_rules(evidence).quotations


def _most_relevant(evidence: AnswerEvidence, relevance: Relevance) -> list[Scored]:
    """Return the most probable unit; for a question that asks for several things, those that are as probable, or what
    the rules choose with the probabilities in their scores.
    """
    plan, ranked = evidence.plan, [evidence.scored[place] for place in by_probability(relevance)]
    if plan.kind is Kind.SUMMARY or (plan.options and not plan.alternatives):
        return select(evidence)
    if asks_for_several(plan):
        several = ranked[: len(alike(relevance))]
        return several if len(several) > 1 else select(evidence)
    if plan.kind is Kind.REASON and (pair := with_reason(evidence, ranked[0], ranked)):
        return pair
    several = [evidence.scored[place] for place in rivals(relevance)]
    return _with_step(evidence, latest(evidence, several[0], several))


def _with_step(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return a unit with the one that leads to it or that it leads to, if the rules find one: the question's clause
    describes one of them, or the unit lacks a value of the type asked for.
    """
    steps = clause_hops(evidence)
    if not steps and not best.fits:
        steps = select(evidence)
    is_pair = len(steps) == _STEPS and any(step is best for step in steps)
    return steps if is_pair else [best]


def asks_for_several(plan: QuestionPlan) -> bool:
    """Return whether a question asks for several things, or for one that only a comparison of several finds."""
    compares = plan.negated or plan.bound is not None or plan.extreme != 0 or plan.versus is not None
    return plan.kind is Kind.LIST or plan.plural or bool(plan.counted) or compares


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
