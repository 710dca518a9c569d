"""Checks of a unit: a value of the type that a question asks for, its day and its attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.matching.cell_values import is_amount, spans_day
from graphtide.infra.models.local.answers.matching.expressed import labels_person, names_agent, signs_person
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.lexicon import IMPLIED
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.thesaurus import SYNONYMS
from graphtide.infra.models.local.answers.units import Unit, UnitKind, first_person
from graphtide.infra.models.local.answers.values.dates import (
    anchor_keys,
    days_in,
    has_date,
    is_calendar,
    is_relative_date,
    lasts_until,
    recurs,
    same_day,
)
from graphtide.infra.models.local.answers.values.names import has_version
from graphtide.infra.models.local.answers.values.phrases import has_phrase, has_reason
from graphtide.infra.models.local.answers.values.places import has_address, has_place
from graphtide.infra.models.local.answers.values.quantities import (
    column_measures,
    has_count,
    has_number,
    has_quantity,
    lasts_one,
    numbers_before,
)
from graphtide.infra.models.local.answers.words import (
    STOP_WORDS,
    Word,
    key_of,
    keys_of,
    word_set,
    words_of,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS
from graphtide.infra.models.local.english.lexical.words import ROLES

IDENTIFIERS = keys_of("code pin password port number extension")
"""Attributes whose values have no unit, so that any number would fit."""


def has_attribute(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit or its context has the attribute asked for, and not just its neighbours."""
    term = next((term for term in plan.terms if term.key == plan.attribute), None)
    if term is None:
        return True
    accepted = {term.key, *term.synonyms, *term.same}
    before = unit.before.keys if unit.dangling and unit.before is not None else frozenset()
    keys = (unit.keys, unit.columns, unit.lead_keys, unit.head_keys, unit.title_keys, before)
    if any(not accepted.isdisjoint(present) for present in keys):
        return True
    return term.weak and _has_code(plan, unit)


def _has_code(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a word of the question is before a code: "policy HM-20" for the number of the policy."""
    return any(
        first.key in plan.keys and second.coded and unit.text[first.start + len(first.text) : second.start] == " "
        for first, second in pairwise(words_of(unit.text))
    )


def denies(text: str) -> bool:
    """Return whether a text says that something is not so."""
    return has_phrase(text, _DENYING) or "n't " in text


def denies_asked(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit says that something is not so: a row by a cell whose column or value the question names."""
    if not unit.cells:
        return denies(unit.text)
    asked = frozenset().union(*({term.key} | term.synonyms for term in plan.terms if not term.weak))
    return any(denies(cell.value) and asked & (cell.column_keys | keys_of(cell.value)) for cell in unit.cells)


_DENYING = ("no", "not", "nobody", "none", "never", "neither", "nor", "without", "cannot", "except", "lacks")


TYPED = frozenset({Kind.PERSON, Kind.DATE, Kind.QUANTITY, Kind.VERSION})


def fits_type(evidence: AnswerEvidence, unit: Unit) -> bool:  # noqa: PLR0911 -- one return for each kind
    """Return whether the unit has a value of the type asked for that the question does not have itself."""
    plan = evidence.plan
    match plan.kind:
        case Kind.PERSON:
            keys = unit.keys | unit.before.keys if unit.dangling and unit.before is not None else unit.keys
            named = bool((keys & evidence.names) - plan.keys) or first_person(unit) or _names_role(plan, unit)
            named = named or _has_subject(plan, unit) or denies_deed(plan, unit)
            return named or labels_person(plan, unit) or names_agent(plan, unit) or signs_person(plan, unit)
        case Kind.DATE if _SINCE_WHEN.match(plan.text) and not tells_beginning(unit):
            return False
        case Kind.DATE:
            text = _without_columns(plan, unit) if (plan.future or plan.past) and unit.cells else unit.text
            return _new_digits(plan, text, dates=True) and _is_dated_event(plan, text)
        case Kind.QUANTITY:
            return _measured(plan, unit)
        case Kind.VERSION:
            return has_version(unit.text) and _new_digits(plan, unit.text)
        case Kind.ADDRESS:
            return has_address(unit.text)
        case Kind.PLACE:
            return has_place(unit.text) or unit.kind is UnitKind.ROW
        case Kind.YES_NO if plan.permission:
            return has_phrase(unit.text, PERMITTING)
        case Kind.REASON:
            stated = has_reason(unit.text) or not REASON_KEYS.isdisjoint(unit.head_keys)
            return stated or explains_deed(plan, unit)
        case _:
            return True


def tells_beginning(unit: Unit) -> bool:
    """Return whether a unit says from when something is so, in a word or by the name of a column."""
    return has_phrase(unit.text, _BEGINNINGS)


_SINCE_WHEN = re.compile(r"since when\b", re.IGNORECASE)
_BEGINNINGS = (
    "since", "from", "as of", "started", "starts", "began", "begun", "joined", "came", "installed", "hired", "start",
    "founded", "opened", "moved", "bought",
)  # fmt: skip


def _without_columns(plan: QuestionPlan, row: Unit) -> str:
    """Return the cells of a row that may date what is asked for: what was done, such as `received`, dates nothing to
    come, and what is `due` nothing that happened.
    """
    if plan.past:
        return "; ".join(cell.text for cell in row.cells if cell.column.lower() not in _TO_COME)
    forms = ((cell, VERBS.get(cell.column.lower())) for cell in row.cells)
    return "; ".join(cell.text for cell, form in forms if form is None or form.bare or not form.participle)


_TO_COME = word_set("due deadline planned expected scheduled next") | {"due date", "due by", "next due"}


def explains_deed(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether words in parentheses follow the verb of the question, or a name in it: "has cancelled (a shoot in
    Malta)", "Rejected: ORC (no support in our tool)".
    """
    explained = plan.deeds | {term.key for term in plan.terms if term.hard}
    return any(key_of(match[1]) in explained for match in _EXPLAINED.finditer(unit.text))


_EXPLAINED = re.compile(r"\b([A-Za-z][\w-]{2,20}) \([a-z][^()\d]{2,80}\)")


def denies_deed(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit denies the deed that the question asks for: "No injury." for "who was injured"."""
    if not has_phrase(unit.text, _NO_PERSON):
        return False
    words = [word for word in words_of(unit.text) if word.text.lower() not in _AUXILIARIES]
    return any(first.text.lower() in _NO_PERSON and second.key in plan.deeds for first, second in pairwise(words))


_NO_PERSON = ("no", "nobody")
_AUXILIARIES = frozenset({"was", "were", "is", "are", "has", "have", "had", "been", "got"})


def _is_dated_event(plan: QuestionPlan, text: str) -> bool:
    """Return whether a text dates the event in question: not by the event itself ("a week before it opens"), and what
    happened once by no time that recurs ("on weekdays").
    """
    if has_date(text):
        return not (plan.past and recurs(text))
    return is_relative_date(text) and plan.keys.isdisjoint(anchor_keys(text))


REASON_KEYS = keys_of("cause reason")
PERMITTING = (
    "may", "must", "allowed", "permitted", "forbidden", "prohibited", "only", "never", "nobody", "cannot", "not",
    "welcome",
)  # fmt: skip
"""Words of a sentence that permits or forbids."""


def _has_subject(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a noun that the question lacks is before its verb: "the town council gave" for "who gave"."""
    if not plan.who_verb or unit.cells:
        return False
    words = words_of(unit.text)
    return any(
        verb.key == plan.who_verb and noun.text.lower() not in STOP_WORDS and noun.key not in plan.keys
        and (verb.text.lower() != verb.key or after_will) and not noun.coded and noun.text.islower()
        for noun, verb, after_will in _subjects(words)
    )  # fmt: skip


def _subjects(words: Sequence[Word]) -> Iterator[tuple[Word, Word, bool]]:
    """Yield each two words beside each other, and those on both sides of "will", with whether it is between them."""
    yield from ((noun, verb, False) for noun, verb in pairwise(words))
    yield from ((words[at - 1], words[at + 1], True) for at in range(1, len(words) - 1) if words[at].text == "will")


def _names_role(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the unit names a person by a role that the question does not have: "a passing pilot"."""
    words = words_of(unit.text)
    return any(word.text.lower() in ROLES and word.key not in plan.keys for word in words)


def valued_heading(plan: QuestionPlan, unit: Unit) -> str:
    """Return the innermost heading, or the title, that holds the date or version asked for."""
    if plan.kind not in (Kind.DATE, Kind.VERSION):
        return ""
    has = has_date if plan.kind is Kind.DATE else has_version
    texts = (*reversed(unit.headings), unit.title if " " in unit.title else "")
    return next((text for text in texts if has(text) and _new_digits(plan, text) and _is_dated(plan, text)), "")


def _is_dated(plan: QuestionPlan, text: str) -> bool:
    """Return whether a heading names a day or month, and not just a number that may be a year."""
    return plan.kind is not Kind.DATE or bool(days_in(text))


_COST, _SHARE, _FREQUENCY = key_of("cost"), frozenset({"share"}), frozenset({"frequency"})


def _measured(plan: QuestionPlan, unit: Unit) -> bool:
    if tells_age(plan, unit) or _measured_in_words(plan, unit) or _is_counted(plan, unit) or _counts(plan, unit.text):
        return True
    if lasts_since(plan, unit):
        return True
    if not _new_digits(plan, unit.text):
        return "duration" in plan.measures and lasts_one(unit.text)
    if not plan.measures:
        return has_count(unit.text) if plan.counted else has_number(unit.text)
    if has_quantity(unit.text, plan.measures) or ("duration" in plan.measures and lasts_until(unit.text)):
        return True
    implied = [term for term in plan.terms if term.kind is TermKind.IMPLIED]
    accepted = frozenset().union(*({term.key} | term.synonyms for term in implied)) | _expressing(plan)
    asked = frozenset(term.key for term in plan.terms if term.kind is not TermKind.WEAK)
    is_sum = _COST in unit.keys or plan.attribute in unit.keys
    charges_share = "money" in plan.measures and is_sum and has_quantity(unit.text, _SHARE)
    return charges_share or any(
        _new_digits(plan, cell.value)
        and (
            column_measures(cell.column, plan.measures)
            or cell.column_keys & (accepted | asked)
            or ("money" in plan.measures and is_amount(cell))
        )
        for cell in unit.cells
    )


def lasts_since(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether "how long has" is asked of a name, and a text with it says since when."""
    names = frozenset(term.key for term in plan.terms if term.hard)
    return has_phrase(plan.text, _HOW_LONG_SINCE) and _SINCE.search(unit.text) is not None and names <= unit.keys


_HOW_LONG_SINCE = ("how long has", "how long have")
_SINCE = re.compile(r"\b[Ss]ince:? (?:the )?(?:early |late )?(?:\d{4}\b|\d{1,2} [A-Z]|[A-Z][a-z]{2,8} \d)")
"""The beginning of what still lasts, in a sentence or a column."""


def tells_age(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether "how old" is asked, and a text has an age ("21 or older"), or a row the date of birth or of making
    in a column of that name.
    """
    if not has_phrase(plan.text, ("how old",)):
        return False
    return bool(_AGE.search(unit.text) or _BORN.search(unit.text)) or any(
        cell.column_keys & ORIGINS and any(char.isdigit() for char in cell.value) for cell in unit.cells
    )


_BORN = re.compile(r"\b[Bb]orn (?:on |in )?[\w. ,-]{0,20}?\b(?:19|20)\d{2}\b")
_AGE = re.compile(
    r"\b\d{1,3} (?:or|and) (?:older|over|above|younger|under)\b|\baged? (?:of )?\d{1,3}\b"
    r"|\ban? [a-z]{3,20} of \d{1,3}\b(?! ?(?:%|[ck]?m\b|mm\b|k?g\b|litres|metres))"
    r"|\b(?:s?he|who) (?:was|is|turns|turned) \d{1,3}\b(?! [a-z%])",
    re.IGNORECASE,
)
"""The age of a person, as notes state it without "years": "a walker of 67", "he was 76"."""
ORIGINS = keys_of("born birth birthday built made founded established")
"""Columns for the day from which on a thing or a person exists."""


def _expressing(plan: QuestionPlan) -> frozenset[str]:
    """Return the keys of columns that hold measures of the kinds asked for, whatever their unit: `price`, `weight`."""
    words = frozenset().union(*(IMPLIED.get(kind, frozenset()) for kind in plan.measures & _PLAIN))
    return words.union(*(SYNONYMS.get(key, frozenset()) for key in words & _PLAIN_KEYS))


_PLAIN = frozenset({"money", "mass", "phone"})
_PLAIN_KEYS = keys_of("price cost weight phone")


def _measured_in_words(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the value may lack a number: a code in a column of that name, or how often something happens."""
    if "frequency" in plan.measures and has_quantity(unit.text, _FREQUENCY):
        return True
    coded = plan.attribute in IDENTIFIERS and not plan.measures
    is_named = any(term.weak and term.key == plan.attribute for term in plan.terms)
    in_column = any(cell.column_keys >= {plan.attribute} for cell in unit.cells)
    return coded and (in_column or (is_named and _has_code(plan, unit)))


def _counts(plan: QuestionPlan, text: str) -> bool:
    """Return whether a text has a number directly before what the question counts: "64 kiosks", even beside a date."""
    return bool(plan.counted) and not numbers_before(plan.counted, text) <= plan.keys


def _is_counted(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a row is one of the things to be counted, by a value or the name of its table."""
    return unit.kind is UnitKind.ROW and bool(plan.counted) and plan.counted in unit.keys | unit.title_keys


def _new_digits(plan: QuestionPlan, text: str, dates: bool = False) -> bool:
    """Return whether a number of the text is not the question's."""
    asked = plan.keys
    if dates and not any(char.isdigit() for char in text):
        return True
    return any(has_number(word.text) and word.key not in asked for word in words_of(text))


def _year_fits(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit of a dated document may be about the year of the question: it is of it, or names it."""
    years = {term.key for term in plan.terms if term.kind is TermKind.CODE and is_calendar(term.key)}
    if not years or not unit.date[0] or str(unit.date[0]) in years or plan.kind is Kind.DATE:
        return True
    before = unit.before.keys if unit.before is not None else frozenset()
    key_sets = (unit.keys, unit.columns, unit.lead_keys, unit.head_keys, unit.title_keys, before)
    return any(not years.isdisjoint(keys) for keys in key_sets)


_LIMITING = re.compile(r"\b(?:by|before|until|till|after|since|up to) (?:the )?(?:\d|[A-Z][a-z]{2,8} \d)")


def day_fits(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the unit may be about the day that the question names: it names no other day, or the question has
    the day as a limit ("by 20 October").
    """
    if not _year_fits(plan, unit):
        return False
    days = [day for day in plan.dates if day[2]]
    if not days or _LIMITING.search(plan.text) or (unit.kind is UnitKind.ROW and plan.kind is Kind.DATE):
        return True
    if any(spans_day(unit, day) for day in days):
        return True
    stated = days_in(unit.text) or ([unit.date] if unit.date != (0, 0, 0) else [])
    full = [day for day in stated if day[2]]
    if not full:
        return True
    return any(same_day(day, other) for day in days for other in [*full, *([unit.date] if unit.date[2] else [])])
