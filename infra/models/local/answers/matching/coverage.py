"""The share of each term of a question that a unit covers.

A term counts fully in the unit's own text or the name of its column, less in its context: the introduction of its list,
the headings, the title, the sentences around it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.models.local.answers.matching.answer_types import PERMITTING, denies, tells_age
from graphtide.infra.models.local.answers.matching.cell_values import is_amount, spans_day
from graphtide.infra.models.local.answers.matching.expressed import dates_end, expresses, signs_role
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.lexicon import FINISHED, RUNNING, STATES, UNFINISHED
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, Term, TermKind
from graphtide.infra.models.local.answers.units import DONE, TO_DO, Unit, UnitKind, is_state_column
from graphtide.infra.models.local.answers.values.dates import days_in, is_calendar, month_spans, same_day
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.values.quantities import MONEY, PHONE, has_quantity
from graphtide.infra.models.local.answers.words import STOP_WORDS, keys_of, word_set, words_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

OWN, COLUMN, LEAD, HEADING, TITLE, BEFORE, AFTER, NEAR, DOCUMENT = 1.0, 1.0, 0.9, 0.9, 0.85, 0.6, 0.45, 0.5, 0.3
ANTECEDENT = 0.85
SYNONYM, EXPRESSED = 0.75, 0.8


def implied_coverage(evidence: AnswerEvidence, term: Term, unit: Unit) -> float:  # noqa: PLR0911 -- one return for each form
    """Return how far a unit covers a term by its date, or by a value of the type that the term asks for."""
    plan = evidence.plan
    if (term.key in plan.date_keys and _is_of_day(plan, unit)) or (term.text in _MONTHS and _is_of_month(term, unit)):
        return HEADING
    if term.text.lower() in STATES and plan.done is not None and unit.text.startswith((DONE, TO_DO)):
        return float(unit.text.startswith(DONE if plan.done else TO_DO))
    if _is_of_year(term, unit) or (unit.cells and _has_state(term.text.lower(), unit)):
        return OWN
    if unit.cells and _has_abbreviated_column(term, unit):
        return COLUMN
    if term.text.lower() == "old" and tells_age(plan, unit):
        return COLUMN
    if signs_role(plan, unit) and (term.key == plan.attribute or unit.before is None or term.key in unit.before.keys):
        return LEAD
    if "." in unit.text and _is_abbreviated(term, unit.text):
        return SYNONYM
    if plan.kind is Kind.PERSON and term.key in _PERMISSION_KEYS and _is_for_permitted(unit):
        return SYNONYM
    if plan.kind is Kind.YES_NO and (term.verb or term.key in _PERMISSION_KEYS):
        return SYNONYM if _answers_yes_or_no(plan, term, unit) else 0.0
    if plan.extreme and term.kind is TermKind.FOCUS and _has_column_of_others(plan, term, unit):
        return OWN
    if expresses(plan, term, unit):
        return EXPRESSED if plan.kind is Kind.DATE and dates_end(term, unit) else SYNONYM
    expressed = term.kind is TermKind.IMPLIED and plan.measures and not term.coded
    if not expressed or not _has_measure(plan, unit):
        return 0.0
    return LEAD if plan.measures == PHONE else EXPRESSED  # which a text cannot have by chance


def _has_measure(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a sentence has a quantity of the kind asked for, or a row the sum of a booking."""
    if unit.kind is UnitKind.ROW:
        return plan.measures == MONEY and any(map(is_amount, unit.cells))
    return has_quantity(unit.text, plan.measures)


def _is_of_year(term: Term, unit: Unit) -> bool:
    """Return whether a unit states a day of a year, in figures maybe: "in 2024" and `date: 2024-09-09`."""
    is_year = term.coded and _ONE_YEAR.fullmatch(term.text) is not None
    return is_year and any(int(term.text) == day[0] for day in days_in(unit.text))


_ONE_YEAR = re.compile(r"(?:19|20)[0-9]{2}")


def _is_for_permitted(unit: Unit) -> bool:
    """Return whether a unit is below a heading such as "Who may restore", or says so itself."""
    return any(_MAY.search(text) for text in (unit.text, *unit.headings[-1:]))


_MAY = re.compile(r"\b(?:may|can|[Oo]nly)\b")  # "May" is a month


def _is_of_day(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit states the day or the month of the question in any form, or is dated by it."""
    if any(spans_day(unit, day) for day in plan.dates):
        return True
    stated = (unit.date, *days_in(unit.text))
    dates = ((day, other) for day in plan.dates for other in stated if other[1])
    return any(same_day(day, other) for day, other in dates if other[2] or not day[2])


def _is_of_month(term: Term, unit: Unit) -> bool:
    """Return whether a unit states a day of a month, in figures maybe, or a period with it, or is dated by one."""
    month = _MONTHS[term.text]
    if any(month == day[1] for day in (unit.date, *days_in(unit.text))):
        return True
    return any(month in span for span in month_spans(unit.text))


_MONTHS = {month.capitalize(): number for number, month in enumerate(MONTHS, start=1)}


def _has_column_of_others(plan: QuestionPlan, term: Term, row: Unit) -> bool:
    """Return whether a row has a column for what is compared, so that it is one of the things asked for: "which tool
    cost most" and `price`.
    """
    others = frozenset().union(*({other.key} | other.synonyms for other in plan.terms if other is not term))
    return not row.columns.isdisjoint(others)


def _has_state(word: str, row: Unit) -> bool:
    """Return whether a row has a state of the same meaning in its column for states: "fixed" and `state: done`."""
    words = next((words for words in (FINISHED, UNFINISHED, RUNNING) if word in words), frozenset())
    return any(cell.value.lower() in words for cell in row.cells if is_state_column(cell))


def _has_abbreviated_column(term: Term, row: Unit) -> bool:
    """Return whether a column's name is the beginning of a word, with a full stop: "Ext." and "extension"."""
    word = term.text.lower()
    return any(
        cell.column.endswith(".") and len(cell.column) > _MIN_ABBREVIATED and word.startswith(cell.column[:-1].lower())
        for cell in row.cells
    )


_MIN_ABBREVIATED = 3


def _is_abbreviated(term: Term, text: str) -> bool:
    """Return whether a text has the beginning of a word before a full stop that ends no sentence: "chem. store"."""
    word = term.text.lower()
    return any(len(short) + _MIN_LEFT_OUT <= len(word) and word.startswith(short) for short in _shortened(text))


@lru_cache(maxsize=2_000)
def _shortened(text: str) -> tuple[str, ...]:
    return tuple(short.lower() for short in _SHORTENED.findall(text))


_SHORTENED = re.compile(r"\b([A-Za-z]{3,})[.](?=\s?[a-z,;)])")
_MIN_LEFT_OUT = 3


def _answers_yes_or_no(plan: QuestionPlan, term: Term, unit: Unit) -> bool:
    """Return whether a column that the question names has "yes" or "no", or the unit permits or forbids: the verb of
    the question is implied.
    """
    if term.key in _PERMISSION_KEYS:
        return has_phrase(unit.text, PERMITTING)
    return any(cell.value.lower() in _YES_NO and not plan.keys.isdisjoint(cell.column_keys) for cell in unit.cells)


_YES_NO = word_set("yes no y n true false required optional")


def cover(term: Term, unit: Unit) -> float:
    """Return how far a unit covers a term, from 0 to 1."""
    own = _place_of(term.key, unit)
    if own >= 1.0:
        return own
    if any(_place_of(key, unit) >= 1.0 for key in term.same):
        return 1.0
    other = max((_place_of(key, unit) for key in term.synonyms), default=0.0)
    return max(own, SYNONYM * other)


def _place_of(key: str, unit: Unit) -> float:  # noqa: PLR0911 -- one return for each place
    if key in unit.keys:
        return OWN
    if key in unit.columns:
        return COLUMN
    if key in unit.lead_keys:
        return LEAD
    if key in unit.head_keys:
        return HEADING
    before, after = unit.before, unit.after
    if before is not None and before.block == unit.block and key in before.keys:
        return 0.95 if unit.dangling else BEFORE + 0.15
    if before is not None and before.before is not None and key in before.before.keys and unit.antecedent is not None:
        return ANTECEDENT
    if key in unit.title_keys:
        return TITLE
    if before is not None and key in before.keys:
        return BEFORE
    if after is not None and key in after.keys:
        return AFTER
    return NEAR if key in unit.near_keys else 0.0


def has_other_subject(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a word that carries meaning is before the verb of the question in the past: not in "5 March: Fell
    in …", nor in "New date for the launch".
    """
    words = words_of(unit.text)
    end = next((at for at, word in enumerate(words) if word.key in plan.deeds and _is_past(word.text)), 0)
    return any(not (word.coded or word.text.lower() in STOP_WORDS or is_calendar(word.key)) for word in words[:end])


def _is_past(word: str) -> bool:
    form = VERBS.get(word)
    return word.endswith("ed") or (form is not None and not (form.bare or word.endswith("s")))


def keys_of_denied(plan: QuestionPlan, unit: Unit) -> frozenset[str]:
    """Return the keys that only the sentence before has, if it denies of its subject what this one says of another:
    "The lift isn't repaired yet. The heating was repaired on Friday."
    """
    before = unit.before
    if before is None or before.block != unit.block or unit.dangling or unit.cells or plan.negated:
        return frozenset()
    deeds = plan.deeds
    if (
        deeds.isdisjoint(before.keys)
        or not has_other_subject(plan, unit)
        or not denies(before.text)
        or denies(unit.text)
    ):
        return frozenset()
    return before.keys - unit.keys - unit.lead_keys - unit.head_keys - unit.title_keys


_PERMISSION_KEYS = keys_of("allowed permitted forbidden prohibited")
