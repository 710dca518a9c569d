"""Changes of a quantity or a day: the sentence that says to what it changes is quoted, and not the one before.

It decides beside the models, which often find the first statement more probable. Invariant: a change that is denied,
uncertain, for some only, or older replaces nothing. Cost: linear in the units that were read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.answer_types import denies
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan
from graphtide.infra.models.local.answers.succession import AT_FIRST, IN_PLACE, corrects
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.dates import days_in
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import key_of


def revalued(evidence: AnswerEvidence, relevance: Relevance, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return the most probable sentence that says to what the quantity or the date of the one chosen unit changes, in
    place of that unit; the chosen ones without such a sentence. It is not earlier, has the names of the question that
    the chosen one has and half of what that one covers, and a share of the greatest probability.
    """
    plan = evidence.plan
    if len(chosen) != 1 or plan.kind not in (Kind.QUANTITY, Kind.DATE) or corrects(chosen[0].unit.text):
        return chosen
    if has_phrase(plan.text, AT_FIRST) or "length" in plan.measures:  # a path rises to a height without any change
        return chosen
    minimum = _PROBABLE * max(relevance.units.values(), default=0.0)
    read = [(share, evidence.scored[place]) for place, share in relevance.units.items() if share >= minimum]
    found = [(share, one) for share, one in read if one is not chosen[0] and _revalues(plan, chosen[0], one)]
    return [max(found, key=lambda pair: pair[0])[1]] if found else chosen


_PROBABLE, _COVERED_TOO = 0.05, 0.5


def _revalues(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a sentence says to what the value that an earlier one states changes."""
    second = later.unit
    change = (_CORRECTION_FIRST if plan.past else _REVALUING).search(second.text)
    if change is None or second.kind is UnitKind.ROW or not (later.fits and later.on_day):
        return False
    if _is_no_change(second, change.end()) or not _may_follow(earlier.unit, second):
        return False
    if plan.kind is Kind.DATE and not _names_moment(second.text[change.start() :]):
        return False
    denied = IN_PLACE.search(second.text)
    return (denied is None or key_of(denied[1]) in earlier.unit.keys) and _is_of_same(plan, earlier, later)


def _is_of_same(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a unit has the names of the question that another one has, and half of what that one covers."""
    covers = list(zip(plan.terms, earlier.covers, later.covers, strict=True))
    if any(term.hard and a >= _SHARED_COVER > b for term, a, b in covers):
        return False
    shared = any(not term.weak and min(a, b) >= _SHARED_COVER for term, a, b in covers)
    return shared and later.coverage >= _COVERED_TOO * earlier.coverage


def _is_no_change(unit: Unit, end: int) -> bool:
    """Return whether a sentence only says that a value might change, did not, did for some, or did once."""
    if IN_PLACE.search(unit.text) is None and (denies(unit.text[:end]) or has_phrase(unit.text, _UNCERTAIN)):
        return True
    if unit.text.startswith(_FOR_SOME) or has_phrase(unit.text, ("ago",)):
        return True
    years = [int(year) for year in _YEAR.findall(unit.text)]
    return any(year < unit.date[0] or not unit.date[0] for year in years)


_UNCERTAIN = (
    "if", "unless", "would", "could", "might", "rejected", "refused", "proposal", "proposed", "suggested", "suggests",
)  # fmt: skip
_FOR_SOME = ("For ", "In case ")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def _may_follow(first: Unit, second: Unit) -> bool:
    """Return whether a unit is not earlier: by its date, or below in the same document; in another one also without a
    date, and not by a day without a year.
    """
    if first.date[0] and second.date[0] and first.date != second.date:
        return second.date > first.date
    if first.doc_id == second.doc_id:
        return (second.ordinal, second.place) > (first.ordinal, first.place)
    return first.date == second.date or not (any(first.date) and any(second.date))


def _names_moment(text: str) -> bool:
    return any(day[2] for day in days_in(text)) or _TIME.search(text) is not None


_TIME = re.compile(r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]\.?m\b")
_SHARED_COVER = 0.7
_CORRECTION_FIRST = re.compile(r"^\W{0,3}[Cc]orrect(?:ion|ed)\b[^.;]{0,40}\d")
_REVALUING = re.compile(
    r"\b(?:goes|go|going|rises?|rose|raised|increased|increases|falls|fell|drops|dropped|lowered|reduced|cut|shortened"
    r"|extended|changed|moved|moves|(?:puts?|sets?|comes?|came|went|brought|taken|turned)(?= (?:up|down|back) ))"
    r"(?: (?:up|down|back))?(?: from [^.;]{1,20})? to (?:[A-Z][a-z]{2,9} )?[£€$]?\d"
    rf"|\b(?:is|are) now [^.;]{{0,20}}\d|\bis therefore (?:on|at) |{_CORRECTION_FIRST.pattern}"
    r"|\b[Ff]rom \d{1,2} [A-Z][a-z]{2,8}(?: \d{4})?,? (?:on )?(?:an? |the )?[^.;]{0,30}"
    r"\b(?:pays?|costs?|is|are) [^.;]{0,20}\d"
)
"""The change of a value, with the new one, or a correction."""
