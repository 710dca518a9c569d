"""Answers to what happens in a period, and who is of a day: "what is on from 3 to 6 May", "who is on call on 2 June".

Such a question names nothing but a time, and a table may state that in figures: its answer is what states a day of the
period. Cost: the units, and for each one that answers, those that may correct it.
"""

from __future__ import annotations

import re
from itertools import pairwise

from graphtide.infra.models.local.answers.choosing.lists import MAX_ROWS
from graphtide.infra.models.local.answers.choosing.records import all_keys
from graphtide.infra.models.local.answers.matching.cell_values import period_of, spans_day
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.bounds import holds, period_named
from graphtide.infra.models.local.answers.questions.types import Bound, Kind, QuestionPlan
from graphtide.infra.models.local.answers.succession import covered_terms, is_superseded
from graphtide.infra.models.local.answers.themes import is_weak
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.dates import MONTH_NUMBERS, Day, days_in, is_calendar
from graphtide.infra.models.local.answers.words import STOP_WORDS, key_of, word_set, words_of

_HAPPENED = word_set("happened took")
_HAPPENING = _HAPPENED | word_set(
    "happen happens happening planned scheduled coming event events appointment appointments takes taking"
)
_IS_ON = re.compile(r"(?:\bis|['\u2019]s|\banything) on\b")
_ASKING = word_set("what which anything is are")
_BESIDE = word_set(
    "on going place anything something everything next take our plan plans date dates since until till before after"
)
_WRITTEN_AT = re.compile(r"\A\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2})?[^ \]]{0,8}\]?")
"""The moment of a message or of a line in a log, which it begins with."""


def scheduled(evidence: AnswerEvidence) -> list[Scored]:
    """Return the units that state a day of the period in question, in the order of time, of the latest year that they
    name; rows that last from one day to another only without others. Without any, return the beginnings of the texts of
    such a day. None where the question has other words.
    """
    period = _period_asked(evidence.plan)
    if period is None:
        return []
    past = not _HAPPENED.isdisjoint(evidence.plan.text.lower().split())
    days = ((_day_within(scored.unit, period, past=past), scored) for scored in evidence.scored)
    found = [(day, scored) for day, scored in days if day is not None]
    latest = max((day[0] for day, _ in found), default=0)
    found = [(day, scored) for day, scored in found if day[0] in (0, latest)]
    found = [one for one in found if period_of(one[1].unit) is None] or found
    if not found:
        return _beginnings(evidence, period)
    first = [scored for _, scored in sorted(found, key=lambda one: one[0][1:])][:MAX_ROWS]
    return [scored for scored in first if not is_superseded(evidence, scored.unit, covered_terms(scored))]


def _beginnings(evidence: AnswerEvidence, period: Bound) -> list[Scored]:
    """Return the first full sentence of each document of a day in the period."""
    first: dict[str, Scored] = {}
    for scored in sorted(evidence.scored, key=lambda one: (one.unit.date, one.unit.ordinal)):
        unit = scored.unit
        if unit.date[2] and holds(period, unit.date) and not is_weak(unit):
            first.setdefault(unit.doc_id, scored)
    return list(first.values())[:_MAX_TEXTS]


_MAX_TEXTS, _MAX_ROWS_OF_DAY, _DATE_WORDS = 4, 2, 2


def of_day(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows whose period has the day in question, if that asks for a person, and each other word of it is in
    the row, its columns or its title ("who is on call on 2 June", from `oncall.csv`); none for more than two.
    """
    plan = evidence.plan
    if plan.kind is not Kind.PERSON or len(plan.dates) != 1 or not plan.dates[0][2]:
        return []
    words = words_of(plan.text.lower())
    joined = {second.key: key_of(first.text + second.text) for first, second in pairwise(words)}
    terms = [term for term in plan.terms if not is_calendar(term.key) and not term.key.isdecimal()]
    found = [
        scored for scored in evidence.scored
        if spans_day(scored.unit, plan.dates[0])
        and all(all_keys(scored.unit) & ({term.key, joined.get(term.key, "")} | term.synonyms) for term in terms)
    ]  # fmt: skip
    if not terms or len(found) > _MAX_ROWS_OF_DAY:
        return []
    return [scored for scored in found if not is_superseded(evidence, scored.unit, covered_terms(scored))]


def _period_asked(plan: QuestionPlan) -> Bound | None:
    """Return the period of a question that names nothing else; one day is a period, too."""
    words = [word.text.lower() for word in words_of(plan.text)]
    untimed = [word for word in words if word not in MONTH_NUMBERS and not any(map(str.isdigit, word))]
    asks = bool(words) and words[0].removesuffix("'s") in _ASKING
    if not asks or any(word not in STOP_WORDS | _HAPPENING | _BESIDE for word in untimed):
        return None
    if _HAPPENING.isdisjoint(untimed) and _IS_ON.search(plan.text.lower()) is None:
        return None
    return period_named(plan)


def _day_within(unit: Unit, period: Bound, *, past: bool) -> Day | None:
    """Return the first day that a unit states within the period, None without one. The moment of a message counts for
    what happened alone.
    """
    is_date = not unit.cells and len(unit.text.split()) <= _DATE_WORDS
    if is_date or unit.asks or unit.quoted or unit.kind in (UnitKind.ABOUT, UnitKind.CODE):
        return None
    texts = [cell.value for cell in unit.cells] or [unit.text if past else _WRITTEN_AT.sub("", unit.text, count=1)]
    days = (day for text in texts for day in days_in(text))
    return next((day for day in days if day[2] and holds(period, day, unit.date[0])), None)
