"""Answers from several places: both sides of a comparison, and the sentences of a summary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.matching.answer_types import ORIGINS
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.limits import is_comparative
from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.succession import corrects
from graphtide.infra.models.local.answers.support import coverage, has_names, union
from graphtide.infra.models.local.answers.thesaurus import synonyms_of
from graphtide.infra.models.local.answers.units import Unit, UnitKind, table_of
from graphtide.infra.models.local.answers.values.dates import same_day
from graphtide.infra.models.local.answers.values.quantities import has_number
from graphtide.infra.models.local.answers.words import key_of, words_of


def comparison(evidence: AnswerEvidence, ranked: list[Scored]) -> list[Scored]:
    """Return the best unit for each option of the question, or one unit that covers both."""
    plan = evidence.plan
    sides = []
    optional = frozenset().union(*plan.options)
    optional_places = [i for i, term in enumerate(plan.terms) if term.key in optional]
    for option in plan.options:
        own = [i for i, term in enumerate(plan.terms) if term.key in option]
        rest = [i for i, term in enumerate(plan.terms) if term.key not in optional]
        sides.append((own, rest))

    def value(scored: Scored, own: list[int], rest: list[int]) -> float:
        covered = sum(evidence.weights[i] * scored.covers[i] for i in own) / (
            sum(evidence.weights[i] for i in own) or 1
        )
        others = sum(evidence.weights[i] * scored.covers[i] for i in rest) / (
            sum(evidence.weights[i] for i in rest) or 1
        )
        mine, theirs = ({plan.terms[i].key for i in side} for side in (own, set(optional_places) - set(own)))
        stated = (
            scored.unit.keys
            | scored.unit.columns
            | (scored.unit.before.keys if scored.unit.dangling and scored.unit.before else frozenset())
        )
        wrong = bool(theirs - mine) and theirs - mine <= stated and not mine - theirs <= stated
        return (
            (2.0 if covered >= 0.7 else covered)
            + others
            + 0.1 * scored.score
            + 0.15 * has_number(scored.unit.text)
            - 2.0 * wrong
        )

    both = [scored for scored in ranked if all(scored.covers[i] >= 0.95 for own, _ in sides for i in own)]
    measured = _columns_compared(plan)
    chosen = _alike([[(value(scored, own, rest), scored) for scored in ranked] for own, rest in sides], measured)
    if both and not _same_table(*(scored.unit for scored in chosen)):
        single = max(both, key=lambda scored: scored.score)
        if coverage(evidence, single.covers) >= coverage(evidence, union(chosen)) - 0.05:
            return [single]
    return chosen if chosen[0].unit is not chosen[1].unit else chosen[:1]


def _columns_compared(plan: QuestionPlan) -> frozenset[str]:
    """Return the keys of columns that hold what the question compares: of `built` for "which is older"."""
    words = [word.text.lower() for word in words_of(plan.text)]
    compared = [word for word in words if is_comparative(word)]
    compared += [second for first, second in pairwise(words) if first in ("more", "less")]
    columns = frozenset().union(*map(synonyms_of, compared))
    return columns | ORIGINS if _AGE in columns else columns


_AGE = key_of("age")


def _alike(sides: Sequence[list[tuple[float, Scored]]], measured: frozenset[str]) -> list[Scored]:
    """Return a unit for each side: the best ones, or others about as good that state both sides alike, as two rows of
    one table do.
    """
    first, second = (sorted(side, key=lambda one: -one[0])[:_COMPARED] for side in sides)
    _, left, right = max(
        ((a + b + _likeness(left.unit, right.unit, measured), left, right) for a, left in first for b, right in second),
        key=lambda pair: pair[0],
    )
    return [left, right]


def _likeness(first: Unit, second: Unit, measured: frozenset[str]) -> float:
    if _same_table(first, second):
        return _MEASURED if measured & first.columns else _SAME_TABLE
    return _SAME_DOCUMENT if first.doc_id == second.doc_id and first is not second else 0.0


def _same_table(first: Unit, second: Unit) -> bool:
    """Return whether two units are different rows of one table with a number each."""
    rows = first is not second and first.kind is second.kind is UnitKind.ROW
    alike = rows and table_of(first) == table_of(second)
    return alike and has_number(first.text) and has_number(second.text)


_COMPARED, _MEASURED, _SAME_TABLE, _SAME_DOCUMENT = 12, 1.0, 0.4, 0.15


def summary(evidence: AnswerEvidence, ranked: list[Scored]) -> list[Scored]:
    """Return consecutive sentences of the passage that concerns the question most; a later update of it wins. Where the
    question names a day, passages of that day come before all others.
    """
    passages: dict[int, list[Scored]] = {}
    for scored in evidence.scored:
        if scored.unit.kind is UnitKind.SENTENCE and scored.on_day:
            passages.setdefault(scored.unit.origin, []).append(scored)
    if not passages:
        return ranked[:1]

    def worth(group: list[Scored]) -> float:
        first, *rest = sorted((scored.score for scored in group), reverse=True)
        return first + sum(0.25 * other for other in rest[:2])

    named = [group for group in passages.values() if has_names(evidence, group)]
    of_day = [group for group in passages.values() if _is_of_day(evidence.plan, group[0].unit)]
    order = sorted(of_day or named or passages.values(), key=worth, reverse=True)
    best = order[0]
    for group in order[1:8]:
        if (
            worth(group) >= 0.75 * worth(best)
            and group[0].unit.date > best[0].unit.date
            and _updates(group)
            and not _updates(best)
        ):
            best = group
    limit = 0.6 * max(scored.score for scored in best)
    start = next(at for at, scored in enumerate(best) if scored.score >= limit)
    return best[start : start + 5]


def _is_of_day(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit's document or heading is of a day that the question names."""
    return bool(unit.date[2]) and any(day[2] and same_day(day, unit.date) for day in plan.dates)


def _updates(group: Sequence[Scored]) -> bool:
    return any(corrects(text) for text in (*group[0].unit.headings, *(scored.unit.text for scored in group)))
