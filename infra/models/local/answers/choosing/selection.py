"""The choice of quotations: by rules, and by the probabilities of the units where the models read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.infra.models.local.answers.choosing.asked_section import asked_section, introduced_items
from graphtide.infra.models.local.answers.choosing.by_score import select
from graphtide.infra.models.local.answers.choosing.clause_hops import are_joined, clause_hops, subject_found
from graphtide.infra.models.local.answers.choosing.lists import (
    are_affirmed_rows,
    extreme_of_table,
    is_extreme,
    is_row_of,
    is_row_of_role,
    rows_of_value,
    states_cell,
)
from graphtide.infra.models.local.answers.choosing.neighbours import with_neighbours, with_next_probable
from graphtide.infra.models.local.answers.choosing.records import attendance, labelled_decisions, open_items
from graphtide.infra.models.local.answers.choosing.replies import asked_before
from graphtide.infra.models.local.answers.choosing.rows.meant import (
    of_asked_kind,
    without_mentions,
    without_other_roles,
)
from graphtide.infra.models.local.answers.choosing.rows.scheduled import of_day, scheduled
from graphtide.infra.models.local.answers.choosing.rows.selected import within_bound, without_denied
from graphtide.infra.models.local.answers.choosing.rows.stated import rows_stated
from graphtide.infra.models.local.answers.documentation import (
    changes_of_version,
    dated_version,
    defined,
    has_form,
    is_old_change,
    with_next_steps,
)
from graphtide.infra.models.local.answers.matching.answer_types import TYPED, lasts_since
from graphtide.infra.models.local.answers.matching.contradiction import uncontradicted, without_contradicted
from graphtide.infra.models.local.answers.matching.expressed import (
    signed_by,
    signs_person,
    signs_role,
    states_price,
    states_subject,
)
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.relevance import (
    AGREED,
    AGREED_COVERING,
    AGREED_SCORE,
    COVERED,
    NO_PART,
    Support,
    answer_parts,
    finds_nothing,
    most_probable,
    weigh,
)
from graphtide.infra.models.local.answers.revaluing import revalued
from graphtide.infra.models.local.answers.succession import changed_since
from graphtide.infra.models.local.answers.support import coverage, supported, union
from graphtide.infra.models.local.answers.units import UnitKind, table_of
from graphtide.infra.models.local.answers.values.dates import is_calendar
from graphtide.infra.models.local.answers.values.quantities import PHONE

_SEVERAL = 3


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The units that the rules choose, none if nothing supports an answer; whether they cover most of the question,
    whether they answer at any probability, as what a column of yes and no says; and whether they are the steps of a
    clause: "the ship that".
    """

    chosen: Sequence[Scored]
    covers_most: bool = False
    is_stated: bool = False
    by_clause: bool = False


def answer_by_rules(evidence: AnswerEvidence) -> RuleAnswer:
    """Return the answer that words, types and dates give. What corrected and correcting units cover is joined."""
    if section := asked_section(evidence):
        return RuleAnswer(section, covers_most=True)
    for find in _STATING:
        if stated := find(evidence):
            return RuleAnswer(stated, covers_most=True, is_stated=True)
    chosen = within_bound(evidence, uncontradicted(evidence, select(evidence)))
    chosen = _without_other_rows(evidence.plan, chosen)
    is_supported = bool(chosen) and supported(evidence, chosen)
    covers_most = is_supported and coverage(evidence, union(chosen)) >= COVERED
    if hops := clause_hops(evidence):
        return RuleAnswer(hops, covers_most, is_stated=are_joined(evidence, hops), by_clause=True)
    return RuleAnswer(chosen if is_supported else (), covers_most, is_supported and are_affirmed_rows(evidence, chosen))


def _signed_number(evidence: AnswerEvidence) -> list[Scored]:
    """Return the name in a signature, and the telephone number below it, if the question asks for that."""
    if evidence.plan.measures != PHONE:
        return []
    for scored in evidence.scored:
        name = signed_by(evidence.plan, scored.unit) if scored.fits and not scored.unit.cells else None
        if name is not None:
            return [*(one for one in evidence.scored if one.unit is name), scored]
    return []


_STATING = (
    open_items, scheduled, attendance, of_day, rows_stated, _signed_number, asked_before, labelled_decisions,
    dated_version, introduced_items,
)  # fmt: skip
"""The searches whose result answers, however improbable the models find it."""


def answer_by_relevance(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> Sequence[Scored]:
    """Return the units that the probabilities give, none if nothing answers, and no row beyond the bound asked for,
    or with what is denied.
    """
    found = within_bound(evidence, without_denied(evidence, _by_relevance(evidence, relevance, by_rules)))
    return found if by_rules.is_stated else _without_other_rows(evidence.plan, found)


_FEW_ROWS = 2
_THE_ONE = re.compile(r"\b(?:the|our|your|my) (?:most [a-z]{3,20}|[a-z]{1,12}est)\b", re.IGNORECASE)
"""The greatest or least one, not "at least 20 euros" and "most people"."""


def _without_other_rows(plan: QuestionPlan, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the rows without those of a longer role, of another kind, or of another person; none of many rows of one
    table where the greatest or least one is asked for, as no column of them says which that is.
    """
    is_undecided = plan.extreme and not plan.plural and plan.bound is None and _THE_ONE.search(plan.text)
    tables = {table_of(one.unit) if one.unit.kind is UnitKind.ROW else None for one in chosen}
    if is_undecided and len(chosen) > _FEW_ROWS and len(tables) == 1 and None not in tables:
        return ()
    return without_mentions(plan, of_asked_kind(plan, without_other_roles(plan, chosen)))


def _by_relevance(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> Sequence[Scored]:
    """Return the units that the probabilities give, none if nothing answers; the rules' own where these are about as
    probable, without sentences that are no part of the answer. Where a question compares things that it names, or asks
    for a summary, the rules choose again, with the probabilities in the scores; a summary that says nothing probable is
    not taken.
    """
    plan = evidence.plan
    stated = by_rules.chosen if by_rules.is_stated else ()
    if found := asked_section(evidence) or changes_of_version(evidence) or stated:
        return found
    relevance = without_contradicted(evidence, relevance)
    several = asks_for_several(plan)
    if finds_nothing(relevance, _support(evidence, relevance, by_rules), several):
        return ()
    if kept := _kept_of_rules(evidence, relevance, by_rules):
        return kept
    if plan.options and not plan.alternatives:
        weigh(evidence, relevance)
        return select(evidence)
    if plan.kind is Kind.SUMMARY:
        weigh(evidence, relevance)
        chosen = RuleAnswer(select(evidence), covers_most=True)
        if _agrees(evidence, relevance, chosen):
            return chosen.chosen
    parts: Sequence[Scored] = [evidence.scored[place] for place in answer_parts(relevance, several)]
    if plan.measures == _FREQUENCY and parts and not parts[0].fits:
        parts = _frequent(evidence, relevance) or parts
    if len(parts) == 1:
        parts = with_next_probable(
            evidence, relevance, revalued(evidence, relevance, changed_since(evidence, parts[0]))
        )
    return with_next_steps(evidence, parts)


def _frequent(evidence: AnswerEvidence, relevance: Relevance) -> list[Scored]:
    """Return the most probable unit that says how often something is, if it has a share of the greatest probability."""
    minimum = _ABOUT_AS_OFTEN * max(relevance.units.values())
    fitting = [place for place, share in relevance.units.items() if share >= minimum and evidence.scored[place].fits]
    return [evidence.scored[max(fitting, key=relevance.units.__getitem__)]] if fitting else []


_FREQUENCY, _ABOUT_AS_OFTEN = frozenset({"frequency"}), 0.3


def _kept_of_rules(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> Sequence[Scored]:
    """Return the row that a superlative selects, or the units of the rules that are about as probable as the most
    probable one; none where the probabilities decide.
    """
    best = most_probable(relevance)
    if best is not None:
        if selected := _selected(evidence, relevance, evidence.scored[best], by_rules):
            return selected
        if has_form(evidence, best, by_rules.chosen) or _states_other_cell(evidence, best, by_rules):
            return ()
    if not _agrees(evidence, relevance, by_rules):
        return ()
    agreed = _without_others(evidence, relevance, by_rules.chosen)
    since = revalued(evidence, relevance, changed_since(evidence, agreed[0])) if len(agreed) == 1 else agreed
    if not (by_rules.covers_most and evidence.plan.kind in TYPED):
        since = with_next_probable(evidence, relevance, since)
    return with_neighbours(evidence, relevance, since)


def _selected(evidence: AnswerEvidence, relevance: Relevance, best: Scored, by_rules: RuleAnswer) -> Sequence[Scored]:
    """Return the rows of the most probable one's table that a value or a superlative selects, or the units of the rules
    where these have more of the question; none else.
    """
    if rows := rows_of_value(evidence, best) or _measured(evidence, best, by_rules):
        return rows
    has_more = (
        _steps_cover_more(evidence, best, by_rules)
        or _is_about_more(evidence, best, by_rules)
        or _leads_elsewhere(evidence, relevance, best, by_rules)
    )
    return by_rules.chosen if has_more else ()


def _support(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> Support:
    place = most_probable(relevance)
    signs = place is not None and signs_person(evidence.plan, evidence.scored[place].unit)
    if signs or _states_all(evidence, relevance):
        return Support.STATED
    if _is_sure(evidence, relevance, by_rules):
        return Support.AGREED
    names_all = place is not None and _names_everything(evidence.plan, evidence.scored[place])
    return Support.ANSWER if by_rules.chosen or names_all else Support.NONE


def _is_sure(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> bool:
    """Return whether the most probable unit is a plain look-up: a cell of the row that is named, or one that the rules
    chose, with a value of the type asked for, that covers the question.
    """
    place = most_probable(relevance)
    if place is None:
        return False
    best = evidence.scored[place]
    if defined(evidence, place) or states_cell(evidence, best.unit) or lasts_since(evidence.plan, best.unit):
        return True
    plan, unit = evidence.plan, best.unit
    if signs_role(plan, unit) or states_subject(plan, unit) or is_row_of(plan, unit) or is_row_of_role(plan, unit):
        return True
    if not by_rules.covers_most:
        return False
    sure = [one.unit for one in by_rules.chosen if one.fits and one.score >= AGREED_SCORE]
    return any(best.unit is unit or best.unit is unit.labelling for unit in sure)


def _names_everything(plan: QuestionPlan, best: Scored) -> bool:
    """Return whether a sentence has a value of the type asked for, and the names and the code of the question, which is
    no year: "Reinbox 2.6 goes out on 4 May". Only the verb may be another one.
    """
    covers = list(zip(best.covers, plan.terms, strict=True))
    hard = [(cover, term) for cover, term in covers if term.hard]
    if plan.kind not in TYPED or best.unit.cells or not (best.fits and best.on_day):
        return False
    kinds = {term.kind for _, term in hard if not is_calendar(term.key)}
    lacking = [term for cover, term in covers if cover < _STATED and not (term.weak or term.verb)]
    return kinds == {TermKind.NAME, TermKind.CODE} and not lacking


def _states_all(evidence: AnswerEvidence, relevance: Relevance) -> bool:
    """Return whether the most probable unit has each word of the question that says something, and a value of the type
    asked for.
    """
    place = most_probable(relevance)
    if place is None or evidence.plan.kind not in TYPED or evidence.plan.options:
        return False
    best = evidence.scored[place]
    terms = zip(best.covers, evidence.plan.terms, strict=True)
    covers = [c for c, term in terms if term.kind not in (TermKind.WEAK, TermKind.IMPLIED)]
    needed = 1 if evidence.plan.measures == PHONE else _MIN_STATED  # nothing else has its form: the name is enough
    return best.fits and best.on_day and len(covers) >= needed and min(covers) >= _STATED


_MIN_STATED, _STATED = 3, 0.95


def _agrees(evidence: AnswerEvidence, relevance: Relevance, by_rules: RuleAnswer) -> bool:
    """Return whether the units that the rules choose are together about as probable as the most probable unit; of
    several sentences, one of them: many do not agree by their number. A sentence about the subject of another one has
    the probability of that one, too, with which it is quoted.
    """
    chosen = {id(scored.unit) for scored in by_rules.chosen}
    quoted = chosen | {id(scored.unit.labelling) for scored in by_rules.chosen}
    shares = [share for place, share in relevance.units.items() if id(evidence.scored[place].unit) in quoted]
    best = max(relevance.units.values(), default=0.0)
    sentences = all(one.unit.kind is UnitKind.SENTENCE for one in by_rules.chosen) and not evidence.plan.options
    own = max(shares, default=0.0) if sentences and len(chosen) >= _SEVERAL else sum(shares)
    is_old = any(is_old_change(evidence.plan, one.unit) for one in by_rules.chosen)
    is_unmeasured = evidence.plan.extreme != 0 and not any(is_extreme(evidence, one) for one in by_rules.chosen)
    names_alone = all(term.hard or term.weak for term in evidence.plan.terms)
    covering = by_rules.covers_most and not (is_old or evidence.plan.how or is_unmeasured or names_alone)
    return bool(chosen) and own * (AGREED_COVERING if covering else AGREED) >= best


def _steps_cover_more(evidence: AnswerEvidence, best: Scored, by_rules: RuleAnswer) -> bool:
    """Return whether the steps of a clause have a word of the question that the most probable unit lacks, and that unit
    none that they lack: "the captain of the ship that supplies the station", and the director of the station.
    """
    terms = [at for at, term in enumerate(evidence.plan.terms) if not term.weak]
    return by_rules.by_clause and _have_more(union(by_rules.chosen), best.covers, terms, terms)


def _leads_elsewhere(evidence: AnswerEvidence, relevance: Relevance, best: Scored, by_rules: RuleAnswer) -> bool:
    """Return whether the first step of a clause names what the second one is about, which is not improbable, and the
    most probable unit does not name it.
    """
    subject = subject_found(evidence, by_rules.chosen) if by_rules.by_clause else frozenset()
    if not subject or not subject.isdisjoint(best.unit.keys):
        return False
    return any(
        evidence.scored[place] is by_rules.chosen[-1] and share >= _POSSIBLE for place, share in relevance.units.items()
    )


_POSSIBLE = 0.02


def _is_about_more(evidence: AnswerEvidence, best: Scored, by_rules: RuleAnswer) -> bool:
    """Return whether the one sentence of the rules has a noun of the question that the most probable unit, a row,
    lacks, and that row hardly a word more: "you keep the discount of 15 %", and the row of the insurance.
    """
    if len(by_rules.chosen) != 1 or best.unit.kind is not UnitKind.ROW:
        return False
    [chosen] = by_rules.chosen
    if chosen.unit.kind is UnitKind.ROW or chosen.unit.asks or not (chosen.fits and chosen.on_day):
        return False
    terms = [(at, term) for at, term in enumerate(evidence.plan.terms) if not term.weak]
    asked = [at for at, term in terms if term.kind is not TermKind.IMPLIED]
    nouns = [at for at, term in terms if at in asked and not term.verb]
    return _have_more(chosen.covers, best.covers, asked, nouns, _MORE)


def _have_more(
    mine: Sequence[float], other: Sequence[float], terms: Sequence[int], decisive: Sequence[int], slack: float = 0.0
) -> bool:
    """Return whether one of the decisive terms is named in full by the first covers and hardly by the other ones, which
    exceed the first by no more than `slack` at any of the terms.
    """
    if any(other[at] > mine[at] + slack for at in terms):
        return False
    return any(mine[at] >= _NAMED_FULLY and other[at] <= _HARDLY_NAMED for at in decisive)


_MORE = 0.2
_NAMED_FULLY, _HARDLY_NAMED = 0.95, 0.3


def _measured(evidence: AnswerEvidence, best: Scored, by_rules: RuleAnswer) -> list[Scored]:
    """Return the row with the greatest or least value of the table of the most probable unit, unless the rules found
    another answer that covers the question: the models see no difference between the rows. None without such a value.
    """
    if not evidence.plan.extreme or best.unit.kind is not UnitKind.ROW:
        return []
    row = extreme_of_table(evidence, best)
    others = [one for one in by_rules.chosen if one is not row]
    return [] if row is None or (others and by_rules.covers_most) or len(others) > 1 else [row]


def _states_other_cell(evidence: AnswerEvidence, best: int, by_rules: RuleAnswer) -> bool:
    """Return whether the most probable unit is the row that the question names, or states a price for one of the
    things, and the rules chose one row that only mentions it.
    """
    rows = [one for one in by_rules.chosen if one.unit.kind is UnitKind.ROW]
    if len(by_rules.chosen) != 1 or not rows or rows[0] is evidence.scored[best]:
        return False
    if states_price(evidence.plan, evidence.scored[best].unit):
        return not states_price(evidence.plan, rows[0].unit)
    return states_cell(evidence, evidence.scored[best].unit) and not states_cell(evidence, rows[0].unit)


def _without_others(evidence: AnswerEvidence, relevance: Relevance, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the chosen units without sentences that are hardly a part of the answer, so that many do not agree by
    their number alone. Rows and items stay, which belong together, both sides of a comparison, what is before the
    sentence of which the reason is asked for, and units that were not read; all units do if each would go.
    """
    if evidence.plan.options or evidence.plan.kind is Kind.REASON:
        return chosen
    others = {id(evidence.scored[place]) for place, share in relevance.parts.items() if share < NO_PART}
    kept = [one for one in chosen if one.unit.kind is not UnitKind.SENTENCE or id(one) not in others]
    return kept or chosen


def asks_for_several(plan: QuestionPlan) -> bool:
    """Return whether a question asks for several things, or for one that only a comparison of several finds."""
    compares = plan.negated or plan.limited or plan.extreme != 0 or plan.versus is not None
    return plan.kind is Kind.LIST or plan.plural or bool(plan.counted) or compares
