"""Parts of one thing that are units of their own: the fields of a record beside its text, the items that a meeting
decided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.coverage import HEADING
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.bounds import holds, period_named
from graphtide.infra.models.local.answers.questions.lexicon import UNFINISHED
from graphtide.infra.models.local.answers.questions.types import Kind, TermKind
from graphtide.infra.models.local.answers.succession import covered_terms, is_superseded
from graphtide.infra.models.local.answers.support import coverage, union
from graphtide.infra.models.local.answers.thesaurus import SYNONYMS
from graphtide.infra.models.local.answers.units import DONE, TO_DO, Unit, UnitKind, is_state_column
from graphtide.infra.models.local.answers.values.dates import is_calendar
from graphtide.infra.models.local.answers.words import keys_of

_COVERED, _MAX_HEADING_KEYS, _MAX_ITEM_WORDS, _NEARLY = 0.7, 2, 40, 0.9


def with_fields(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the fields of the record that the best sentence is the text of, before it, if the question asks for one
    of them and the sentence lacks it; else nothing.
    """
    unit = best.unit
    if "#" not in unit.doc_id or unit.kind is UnitKind.ROW:
        return []
    asked = [
        i for i, (term, share) in enumerate(zip(evidence.plan.terms, best.covers, strict=True))
        if share < _COVERED and term.kind is not TermKind.WEAK
    ]  # fmt: skip
    rows = [
        scored for scored in evidence.scored
        if scored.unit.kind is UnitKind.ROW and scored.unit.doc_id == unit.doc_id
        and any(scored.covers[i] >= _COVERED for i in asked)
    ]  # fmt: skip
    return [rows[0], best] if rows else []


def decided_items(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the items below a heading such as "Decisions", if the question asks what was decided, and no name."""
    plan = evidence.plan
    if best.unit.kind is UnitKind.ROW and best.coverage >= _NEARLY:
        return []
    if plan.kind not in (Kind.THING, Kind.LIST) or not plan.text.lower().startswith(("what ", "which ", "list ")):
        return []
    groups: dict[tuple[int, str], list[Scored]] = {}
    for scored in evidence.scored:
        heading = scored.unit.headings[-1] if scored.unit.headings else ""
        if scored.unit.kind is UnitKind.SENTENCE and _is_asked(evidence, heading):
            groups.setdefault((scored.unit.origin, heading), []).append(scored)
    found = [group for group in groups.values() if _is_list(group)]
    group = max(found, key=lambda group: _covered(evidence, group), default=[])
    covered = _covered(evidence, group) if group else 0.0
    return group if covered >= max(_NEARLY * coverage(evidence, best.covers), _COVERED) else []


def open_items(evidence: AnswerEvidence) -> list[Scored]:
    """Return the items of checklists and the rows that are still to do, if that is what the question asks for, and each
    other word of it is in the item or above it; none for too many.
    """
    plan = evidence.plan
    if not plan.to_do or plan.kind not in (Kind.THING, Kind.LIST, Kind.SUMMARY):
        return []
    words = [term for term in plan.terms if term.kind is not TermKind.WEAK and term.text.lower() not in UNFINISHED]
    found = [
        scored for scored in evidence.scored
        if _is_open(scored.unit) and all(({term.key} | term.synonyms) & all_keys(scored.unit) for term in words)
    ]  # fmt: skip
    return found if len(found) <= _MAX_OPEN else []


_MAX_OPEN = 12


def _is_open(unit: Unit) -> bool:
    open_cell = any(is_state_column(cell) and cell.value.lower() in UNFINISHED for cell in unit.cells)
    return open_cell or unit.text.startswith(TO_DO)


def all_keys(unit: Unit) -> frozenset[str]:
    return unit.keys | unit.columns | unit.lead_keys | unit.head_keys | unit.title_keys


def labelled_decisions(evidence: AnswerEvidence) -> list[Scored]:
    """Return the lines that begin with "Decided:" or the like below the headings, or in the passage, of a unit with all
    else that the question names, if it asks what was decided; none without one, for too many, or if a later unit
    corrects something of all that.
    """
    terms = [(at, term) for at, term in enumerate(evidence.plan.terms) if not term.weak]
    subject = [at for at, term in terms if term.key not in _DECIDING]
    if evidence.plan.kind is not Kind.THING or len(subject) == len(terms) or not subject:
        return []
    named: dict[object, list[float]] = {}
    for scored in evidence.scored:
        for place in _places_of(scored.unit):
            known = named.setdefault(place, [0.0] * len(subject))
            named[place] = [max(cover, scored.covers[at]) for cover, at in zip(known, subject, strict=True)]
    found = [
        scored for scored in evidence.scored
        if scored.unit.kind is not UnitKind.ROW and _DECISION.match(scored.unit.text)
        and any(min(named[place]) >= _NAMED for place in _places_of(scored.unit))
    ]  # fmt: skip
    is_old = any(is_superseded(evidence, scored.unit, subject) for scored in found[:_MAX_DECISIONS])
    return [] if is_old or len(found) > _MAX_DECISIONS else found


def attendance(evidence: AnswerEvidence) -> list[Scored]:
    """Return the lines "Present: ..." or "Apologies: ..." that tell who attended or missed a meeting: those of the time
    in question, else of the latest day; for a question whether a person did, those with the name.

    None if the question names something else that the document does not.
    """
    plan = evidence.plan
    text = plan.text.lower()
    missed = _MISSING.search(text) is not None
    if plan.kind not in (Kind.PERSON, Kind.YES_NO) or not (missed or _ATTENDING.search(text)):
        return []
    period = period_named(plan)
    named = frozenset(term.key for term in plan.terms if term.kind is TermKind.NAME and not is_calendar(term.key))
    if (plan.kind is Kind.YES_NO) != bool(named):
        return []
    others = [
        term.key for term in plan.terms
        if not term.weak and term.key not in named | _MEETING and not is_calendar(term.key) and not term.key.isdecimal()
    ]  # fmt: skip
    labels = (_PRESENT, _ABSENT) if named else ((_ABSENT,) if missed else (_PRESENT,))
    found = [
        scored for scored in evidence.scored
        if any(_is_labelled(scored.unit, label) for label in labels)
        and (period is None or holds(period, scored.unit.date))
        and named <= scored.unit.keys
        and all(key in scored.unit.title_keys | scored.unit.head_keys for key in others)
    ]  # fmt: skip
    if period is None:
        latest = max((scored.unit.date for scored in found), default=None)
        found = [scored for scored in found if scored.unit.date == latest]
    if len(found) > _MAX_MEETINGS:
        return []
    found = [scored for scored in found if not is_superseded(evidence, scored.unit, covered_terms(scored))]
    return sorted(found, key=lambda one: one.unit.date)


def _is_labelled(unit: Unit, label: re.Pattern[str]) -> bool:
    head, colon, _ = unit.text.partition(":")
    return any(label.fullmatch(cell.column) for cell in unit.cells) or (
        colon == ":" and label.fullmatch(head) is not None
    )


_MEETING = keys_of(
    "meeting session committee board minute call attend present absent missing apology excused regret come take part "
    "send miss participate join last latest recent"
)
_PRESENT = re.compile(
    r"(?:present|attend(?:ed|ees?|ing)|in attendance|participants)(?: (?:at |in |on |\()[^:]{1,40})?", re.IGNORECASE
)
_ABSENT = re.compile(
    r"(?:apologies|absent|regrets|excused|not present|missing)(?: (?:at |from |in |on |\()[^:]{1,40})?", re.IGNORECASE
)
_MISSING = re.compile(
    r"\b(?:absent|missing|missed|apologi[sz]ed?|(?:sent|sends?|gave) (?:their |his |her )?(?:apologies|regrets)|excused"
    r"|(?:not|n['\u2019]t) (?:come|attend|there|present|make it|take part|at the))\b"
)
_ATTENDING = re.compile(r"\b(?:attend(?:ed|s)?|present|took part|take part|at the (?:\w{1,20} ){0,3}meeting)\b")
_MAX_MEETINGS = 4


def _places_of(unit: Unit) -> tuple[object, ...]:
    """Return the passage of a unit, and its section if it has headings."""
    return (unit.origin, unit.section) if unit.headings else (unit.origin,)


_DECIDING = keys_of("decide decision agree resolve conclude")
_DECISION = re.compile(r"(?:decided|decision|agreed|resolved|conclusion)(?: by [^:]{1,40})?: ", re.IGNORECASE)
_NAMED, _MAX_DECISIONS = 0.85, 3


def _covered(evidence: AnswerEvidence, group: Sequence[Scored]) -> float:
    """Return the share of the question that the group covers; its heading has the first word."""
    first = _first_place(evidence)
    return coverage(evidence, [max(c, HEADING) if i == first else c for i, c in enumerate(union(group))])


def _first_place(evidence: AnswerEvidence) -> int:
    return next((i for i, term in enumerate(evidence.plan.terms) if term.kind is not TermKind.WEAK), -1)


def _is_asked(evidence: AnswerEvidence, heading: str) -> bool:
    """Return whether the heading is one word that the question has, in another form maybe, and little else has."""
    keys = keys_of(heading)
    if not 0 < len(keys) <= _MAX_HEADING_KEYS:
        return False
    place = _first_place(evidence)
    if place < 0:
        return False
    first = evidence.plan.terms[place].key
    return all(first == key or key in SYNONYMS.get(first, frozenset()) for key in keys)


def _is_list(group: Sequence[Scored]) -> bool:
    """Return whether the units are several short items, and no tasks."""
    items = {scored.unit.block for scored in group}
    short = all(len(scored.unit.text.split()) <= _MAX_ITEM_WORDS for scored in group)
    return len(items) > 1 and short and not any(scored.unit.text.startswith((DONE, TO_DO)) for scored in group)
