"""The choice of quotations: one unit, all items of a list, both sides of a comparison, two hops, or a summary.

Invariants: at most MAX_WORDS words; a unit that depends on the previous sentence brings it along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphtide.infra.models.local.answers.matching import TYPED, AnswerEvidence, Scored, denies
from graphtide.infra.models.local.answers.narrowing import narrowed
from graphtide.infra.models.local.answers.question import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.succession import corrects, latest
from graphtide.infra.models.local.answers.support import connected, coverage, has_names, supported, union
from graphtide.infra.models.local.answers.units import Cell, Unit, UnitKind, first_person
from graphtide.infra.models.local.answers.values import has_full_name, has_number, has_reason, is_calendar
from graphtide.infra.models.local.answers.words import keys_of, words_of

MAX_WORDS = 76
_FIRST = 60
_TWO_HOP_GAIN = 0.14
_VALUE_GAIN = 0.05
_OWN_SHARE = 0.18
_FIRST_HOPS = 25
_RARITY_SHARE = 0.08
_STATED, _DISTANT = 0.7, 0.4
_SAME_NAME, _TWO_HOP_TERMS = 0.6, 3
_ENOUGH, _NEARLY_ALL, _SAME = 0.72, 0.9, 0.95
_MAX_ROWS, _MAX_FILTERED = 12, 60
_WORD = re.compile(r"[^\s,;|]+")
_MAIL = "Mail from "


@dataclass(frozen=True, slots=True)
class Quotation:
    """A text of an answer, and the unit that it was taken from."""

    text: str
    unit: Unit
    listed: bool = False
    """True if it is one of the items of a list."""


def choose(evidence: AnswerEvidence) -> list[Quotation]:
    """Return the quotations of the answer; none when nothing supports one."""
    chosen = select(evidence)
    return rendered(evidence, chosen) if chosen and supported(evidence, chosen) else []


def select(evidence: AnswerEvidence) -> list[Scored]:
    """Return the best units for the question, whether or not they support an answer."""
    ranked = sorted(evidence.scored, key=lambda one: -one.score)[:_FIRST]
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
    if evidence.plan.negated and not denies(best.unit.text):
        return other_rows(evidence, best)
    section = section_items(evidence, best)
    if section:
        return narrowed(evidence.plan, section)
    items = list_items(evidence, ranked, best)
    if items:
        return narrowed(evidence.plan, items)
    is_successor = best is not ranked[0] and evidence.plan.kind in TYPED
    pair = [] if is_successor else two_hops(evidence, ranked, best)
    if pair:
        return pair
    return [best]


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


def two_hops(evidence: AnswerEvidence, ranked: list[Scored], best: Scored) -> list[Scored]:
    """Return two units that share a rare name and together cover clearly more of the question than the best one."""
    plan = evidence.plan
    if sum(term.kind is not TermKind.WEAK for term in plan.terms) < _TWO_HOP_TERMS:
        return []
    if best.coverage > (_ENOUGH if plan.kind in TYPED and best.fits and not _lacks_role(plan, best) else _NEARLY_ALL):
        return []
    rare = max(6, len(evidence.units) // 10)
    usable = [one for one in evidence.scored if one.unit.kind not in (UnitKind.ABOUT, UnitKind.CODE) and one.on_day]
    by_name: dict[str, list[Scored]] = {}
    bridges: dict[int, frozenset[str]] = {}
    for one in usable:
        keys = frozenset(key for key in _bridge_keys(one.unit) - plan.keys if evidence.frequency[key] <= rare)
        bridges[id(one)] = keys
        for key in keys:
            by_name.setdefault(key, []).append(one)
    found: tuple[float, list[Scored]] = (0.0, [])
    for one in [one for one in ranked if id(one) in bridges][:_FIRST_HOPS]:
        others = {id(other): other for key in sorted(bridges[id(one)]) for other in by_name[key]}
        for other in others.values():
            if other is one or not _states_value(plan, one, other) or _siblings(one.unit, other.unit):
                continue
            if min(_exclusive(evidence, one, other), _exclusive(evidence, other, one)) < _OWN_SHARE:
                continue
            if _splits_name(plan, one, other) or not connected(evidence, [one, other]):
                continue
            shared = bridges[id(one)] & bridges[id(other)]
            rarity = max(1.0 / max(1, evidence.frequency[key]) for key in shared)
            value = (
                coverage(evidence, _firm(union([one, other])))
                + 0.05 * (one.score + other.score)
                + _RARITY_SHARE * rarity
            )
            if value > found[0]:
                found = (value, [one, other])
    pair = found[1]
    needed = _TWO_HOP_GAIN if best.fits else _VALUE_GAIN
    if not pair or coverage(evidence, union(pair)) < best.coverage + needed:
        return []
    return pair


def _lacks_role(plan: QuestionPlan, best: Scored) -> bool:
    """Return whether a person is asked for by a first word that the unit lacks: any name counts as a person."""
    first = next((c for t, c in zip(plan.terms, best.covers, strict=True) if t.kind is not TermKind.WEAK), 1.0)
    return plan.kind is Kind.PERSON and first < _DISTANT


def _splits_name(plan: QuestionPlan, one: Scored, other: Scored) -> bool:
    """Return whether a name of two words is covered only by a word in each unit: it is of two things then."""
    names = {term.key: i for i, term in enumerate(plan.terms) if term.kind is TermKind.NAME}
    pairs = [(names[a], names[b]) for a, b in plan.pairs if a in names and b in names]
    return any(all(min(unit.covers[a], unit.covers[b]) < _SAME_NAME for unit in (one, other)) for a, b in pairs)


def _states_value(plan: QuestionPlan, one: Scored, other: Scored) -> bool:
    """Return whether one of two units has a value of the type asked for; a date of a heading is of the document."""
    return any(unit.fits and not (unit.heading and plan.kind is Kind.DATE) for unit in (one, other))


def _firm(covers: Sequence[float]) -> list[float]:
    """Return the shares with those of distant context lowered."""
    return [share if share >= _STATED else share * _DISTANT for share in covers]


def _siblings(one: Unit, other: Unit) -> bool:
    """Return whether both are rows of one table."""
    rows = one.kind is other.kind is UnitKind.ROW
    return rows and one.doc_id == other.doc_id and one.headings == other.headings


def _exclusive(evidence: AnswerEvidence, one: Scored, other: Scored) -> float:
    """Return the share of the question that one unit covers well and the other hardly."""
    pairs = zip(evidence.weights, one.covers, other.covers, strict=True)
    typed = 0.1 if evidence.plan.kind in (*TYPED, Kind.PLACE) and one.fits and not other.fits else 0.0
    return typed + sum(w for w, a, b in pairs if a >= 0.7 and b <= 0.5) / (evidence.total or 1.0)


def _bridge_keys(unit: Unit) -> frozenset[str]:
    """Return the names of a unit, of the sentences beside it, and of its context."""
    found = unit.names | frozenset(
        key for key in unit.title_keys if any(char.isdigit() for char in key) and len(key) > 3
    )
    before = unit.before
    if before is not None and before.block == unit.block and (unit.dangling or len(before.text.split()) <= 4):
        found |= before.names
    for heading in unit.headings[:1]:
        if not heading.startswith(_MAIL):
            continue
        found |= frozenset(word.key for word in words_of(heading) if word.capital)
    return frozenset(key for key in found if not is_calendar(key))


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

    def value(one: Scored, own: list[int], rest: list[int]) -> float:
        covered = sum(evidence.weights[i] * one.covers[i] for i in own) / (sum(evidence.weights[i] for i in own) or 1)
        others = sum(evidence.weights[i] * one.covers[i] for i in rest) / (sum(evidence.weights[i] for i in rest) or 1)
        mine, theirs = ({plan.terms[i].key for i in side} for side in (own, set(optional_places) - set(own)))
        said = (
            one.unit.keys
            | one.unit.columns
            | (one.unit.before.keys if one.unit.dangling and one.unit.before else frozenset())
        )
        wrong = bool(theirs - mine) and theirs - mine <= said and not mine - theirs <= said
        return (
            (2.0 if covered >= 0.7 else covered)
            + others
            + 0.1 * one.score
            + 0.15 * has_number(one.unit.text)
            - 2.0 * wrong
        )

    both = [one for one in ranked if all(one.covers[i] >= 0.95 for own, _ in sides for i in own)]
    chosen = []
    for own, rest in sides:
        best = max(ranked, key=lambda one: value(one, own, rest))
        chosen.append(best)
    if both:
        single = max(both, key=lambda one: one.score)
        if coverage(evidence, single.covers) >= coverage(evidence, union(chosen)) - 0.05:
            return [single]
    return chosen if chosen[0].unit is not chosen[1].unit else chosen[:1]


def summary(evidence: AnswerEvidence, ranked: list[Scored]) -> list[Scored]:
    """Return consecutive sentences of the passage that concerns the question most; a later update of it wins."""
    passages: dict[int, list[Scored]] = {}
    for one in evidence.scored:
        if one.unit.kind is UnitKind.SENTENCE:
            passages.setdefault(one.unit.origin, []).append(one)
    if not passages:
        return ranked[:1]

    def worth(group: list[Scored]) -> float:
        first, *rest = sorted((one.score for one in group), reverse=True)
        return first + sum(0.25 * other for other in rest[:2])

    named = [group for group in passages.values() if has_names(evidence, group)]
    order = sorted(named or passages.values(), key=worth, reverse=True)
    best = order[0]
    for group in order[1:8]:
        if (
            worth(group) >= 0.75 * worth(best)
            and group[0].unit.date > best[0].unit.date
            and _updates(group)
            and not _updates(best)
        ):
            best = group
    limit = 0.6 * max(one.score for one in best)
    start = next(at for at, one in enumerate(best) if one.score >= limit)
    return best[start : start + 5]


def _updates(group: Sequence[Scored]) -> bool:
    return any(corrects(text) for text in (*group[0].unit.headings, *(one.unit.text for one in group)))


def rendered(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> list[Quotation]:
    """Return the texts of the chosen units within MAX_WORDS, in the order of the text within a passage."""
    quotations: list[Quotation] = []
    left = MAX_WORDS
    rows = sum(one.unit.kind is UnitKind.ROW for one in chosen)
    used: set[int] = set()
    listed = len(chosen) > 2 and evidence.plan.kind is not Kind.SUMMARY
    for one in chosen:
        for unit in (*_with_context(one.unit, _lacks_person(evidence, one.unit)), *_explanation(evidence, one.unit)):
            if id(unit) in used:
                continue
            used.add(id(unit))
            text = (
                _prefix(evidence, one, unit) + _row(evidence, unit, 26 if rows <= 2 else MAX_WORDS // rows)
                if unit.cells
                else _prefix(evidence, one, unit) + unit.text
            )
            count = len(_WORD.findall(text))
            if count > left:
                if quotations:
                    continue
                text = " ".join(text.split()[:left])
                count = left
            quotations.append(Quotation(text, unit, listed))
            left -= count
    return quotations


def _prefix(evidence: AnswerEvidence, one: Scored, unit: Unit) -> str:
    """Return the heading that holds the value asked for, or the title that names the thing asked for."""
    if unit is not one.unit:
        return ""
    if one.heading:
        return f"{one.heading}: "
    if evidence.plan.kind is Kind.PERSON and first_person(unit) and unit.headings[:1] and not has_full_name(unit.text):
        return f"{unit.headings[0]}: " if unit.headings[0].startswith(_MAIL) else ""
    focus = {term.key for term in evidence.plan.terms if term.kind is TermKind.FOCUS}
    short = len(unit.title.split()) <= 4 and any(char.isdigit() for char in unit.title)
    if short and focus & unit.title_keys and not focus & (unit.keys | unit.columns) and not unit.headings:
        return f"{unit.title}: "
    return ""


def _lacks_person(evidence: AnswerEvidence, unit: Unit) -> bool:
    """Return whether the question asks for a person, and the unit names none with a full name."""
    return evidence.plan.kind is Kind.PERSON and not unit.cells and not has_full_name(unit.text)


def _with_context(unit: Unit, lacks_person: bool) -> Iterable[Unit]:
    """Yield the sentences that a unit depends on, then the unit: before a pronoun, and, where a person is asked for
    and none is named, before "the" and a noun of the sentence before.
    """
    depends = unit.dangling or (lacks_person and unit.resumes)
    if depends and unit.before is not None and unit.before.block == unit.block:
        missing = lacks_person and not has_full_name(unit.before.text)
        if missing and unit.before.resumes and unit.before.before is not None:
            yield unit.before.before
        yield unit.before
    yield unit


def _explanation(evidence: AnswerEvidence, unit: Unit) -> tuple[Unit, ...]:
    """Return the next sentence where the question asks for a reason, the unit has none, and that one has."""
    after = unit.after
    if evidence.plan.kind is not Kind.REASON or after is None or after.block != unit.block:
        return ()
    return (after,) if has_reason(after.text) and not has_reason(unit.text) else ()


def _row(evidence: AnswerEvidence, unit: Unit, limit: int) -> str:
    """Return the cells of a row: all if they are few, else the first and those that the question concerns."""
    whole = "; ".join(cell.text for cell in unit.cells)
    if len(_WORD.findall(whole)) <= limit:
        return whole
    asked = evidence.plan.keys | frozenset().union(*(term.synonyms for term in evidence.plan.terms))
    kept = [cell for at, cell in enumerate(unit.cells) if at == 0 or _concerns(cell, asked)]
    return "; ".join(cell.text for cell in kept)


def _concerns(cell: Cell, asked: frozenset[str]) -> bool:
    return bool(keys_of(re.sub(r"[_./-]", " ", cell.text)) & asked)
