"""Sentences beside a chosen one that are quoted with it, by the probabilities of the models.

Invariant: the chosen sentence stays, and the others are of its paragraph, or of its section about a cause.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.answer_types import REASON_KEYS
from graphtide.infra.models.local.answers.matching.expressed import states_subject
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.relevance import PART, most_probable
from graphtide.infra.models.local.answers.units import UnitKind


def with_neighbours(evidence: AnswerEvidence, relevance: Relevance, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return one chosen sentence with others that are probably parts of the answer, in the order of the text: the next
    one, if it opens with a pronoun ("It should be 20."), the most probable one of all, if it is beside it, or, where a
    thing is asked for, one about as probable, and where a reason is asked for, those below the same heading such as
    "Cause".
    """
    if len(chosen) != 1 or chosen[0].unit.kind is not UnitKind.SENTENCE or evidence.plan.options:
        return chosen
    first = chosen[0].unit
    below_cause = evidence.plan.kind is Kind.REASON and not REASON_KEYS.isdisjoint(first.head_keys)
    parts = [evidence.scored[place] for place, share in relevance.parts.items() if share >= PART]
    near = [one for one in parts if one is not chosen[0] and one.unit.kind is UnitKind.SENTENCE]
    place = most_probable(relevance)
    best = None if place is None else evidence.scored[place].unit
    near_best = relevance.units[place] if place is not None else 0.0
    alike = {id(evidence.scored[at].unit) for at, share in relevance.units.items() if share >= _ABOUT_AS * near_best}
    near = [
        one for one in near
        if (one.unit.before is first and one.unit.dangling) or (below_cause and one.unit.section == first.section)
        or (one.unit.block == first.block and first in (one.unit.before, one.unit.after)
            and (one.unit is best or (evidence.plan.kind is Kind.THING and id(one.unit) in alike)))
    ]  # fmt: skip
    return sorted([*chosen, *near[:_MAX_NEIGHBOURS]], key=lambda one: (one.unit.ordinal, one.unit.place))


def with_next_probable(evidence: AnswerEvidence, relevance: Relevance, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return one chosen sentence with the one before or after it in its paragraph, if no other unit is more probable
    and it has a share of the probability of the best one: what two sentences tell together, neither tells alone.
    """
    if len(chosen) != 1 or chosen[0].unit.kind is not UnitKind.SENTENCE or evidence.plan.options:
        return chosen
    first = chosen[0].unit
    if states_subject(evidence.plan, first):
        return chosen
    ranked = sorted(relevance.units, key=lambda place: -relevance.units[place])[:2]
    near = [
        evidence.scored[place] for place in ranked
        if relevance.units[place] >= _BESIDE * relevance.units[ranked[0]]
        and evidence.scored[place].unit.block == first.block
        and any(evidence.scored[place].unit is unit for unit in (first.before, first.after))
    ]  # fmt: skip
    return sorted([*chosen, *near], key=lambda one: (one.unit.ordinal, one.unit.place))


_BESIDE = 0.05
_MAX_NEIGHBOURS, _ABOUT_AS = 2, 0.5
