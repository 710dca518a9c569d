"""Words of a question that a unit expresses by its form: "in charge" by a label, "wrote" by "by", "valid" by a period.

Invariant: a form counts only for words that it expresses, and less than the word itself.
"""

from __future__ import annotations

import re
from itertools import pairwise

from graphtide.infra.models.local.answers.matching.cell_values import is_person_column, value_expresses
from graphtide.infra.models.local.answers.questions.lexicon import DATE_NOUNS, ENDS_OF_PERIODS
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, Term
from graphtide.infra.models.local.answers.units import Unit
from graphtide.infra.models.local.answers.values.dates import has_date
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.values.quantities import MONEY, has_quantity
from graphtide.infra.models.local.answers.words import ARTICLES, key_of, keys_of, word_set, words_of
from graphtide.infra.models.local.english.lexical.words import ORGANISATION_CUES, PLACE_CUES, ROLES

_CHARGE = keys_of("responsible charge duty handle manage look")
_TREATMENT = keys_of("handle solve answer treat process")
_AGENTS = word_set("agent assignee handler technician clerk engineer operator") | {
    "assigned to", "handled by", "done by", "solved by", "assigned_to", "handled_by", "done_by", "solved_by",
}  # fmt: skip
"""Columns for who dealt with the case of a row."""
_LIVING = keys_of("live lodge reside rent")
_RESIDENTS = word_set("member members tenant tenants resident residents occupant occupants household family lodger")
"""Columns of a table of flats, houses or rooms for who is in them."""
_REPLACEMENT = keys_of("replace replacement substitute succeed successor deputise")
_TAKES_PLACE = re.compile(
    r"\b(?:takes?|took|taking) (?:over from|(?:his|her|their|the|[A-Z][a-z]+'s) (?:place|seat|post))"
    r"|\b(?:fill(?:s|ed)?|st(?:ands?|ood)|step(?:s|ped)?) in for\b|\bin (?:place|lieu) of\b"
)
_WINNING = keys_of("win receive")
_AWARDING = re.compile(r"\b(?:went|goes|awarded|given) to (?:the )?[A-Z]")
_MONEY_KEYS = keys_of("money")
_CREATION = keys_of("write compose paint design author draw build create make film record direct stage publish")
_VALIDITY = keys_of("valid validity apply effect run last")
_CONVERSES = {
    key: keys - {key}
    for keys in (
        keys_of("buy sell purchase sale"),
        keys_of("lend borrow"),
        keys_of("give receive"),
        keys_of("teach learn"),
    )
    for key in keys
}
_BY_NAME = re.compile(r"(?:^|\b[a-z]+(?:[dtn]|ade|ung) )[Bb]y (?:the )?[A-Z]")
_PERIOD = ("to", "until", "till")
_COMING_BACK = frozenset({"back", "return", "returns", "returning", "available"})
_COMING = frozenset({"come", "comes", "coming"})
_IS_BACK = ("is back", "be back", "are back", "comes back", "come back")
_AWAY = ("leave", "holiday", "holidays", "vacation", "away", "absent", "ill", "sick", "off", "abroad", "travelling")
"""Words of an absence, whose end is a return: "on leave until 9 June"."""
_MAX_LABEL_WORDS = 5
_OWN_WORDS = 3


def expresses(plan: QuestionPlan, term: Term, unit: Unit) -> bool:
    """Return whether the form of the unit expresses the term."""
    if value_expresses(plan, term, unit) or _offers(plan, term, unit):
        return True
    if term.key in _MONEY_KEYS and has_quantity(unit.text, MONEY):
        return True
    if term.key in _WINNING and _is_awarded(plan, unit):
        return True
    if plan.kind is Kind.DATE:
        return _expresses_date(plan, term, unit)
    if plan.kind is not Kind.PERSON:
        return False
    return _expresses_person(plan, term, unit)


def _is_awarded(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether something that the question names goes to a name: "The Golden Herring went to The Last Ferry"."""
    found = _AWARDING.search(unit.text)
    return found is not None and not plan.keys.isdisjoint(keys_of(unit.text[: found.start()]))


def states_subject(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit begins with the thing of which the question asks what it is, and says that: "The gauge is
    1,000 mm." for "What is the gauge?".
    """
    asked = _WHAT_IS.fullmatch(plan.text)
    stated = None if asked is None or unit.cells else _IT_IS.match(unit.text)
    if asked is None or stated is None:
        return False
    subject = keys_of(asked[1])
    return bool(subject) and keys_of(stated[1]) == subject


_WHAT_IS = re.compile(r"what (?:is|are|was|were) (?:the|our|your|its|their) ([^?]{1,60})\??", re.IGNORECASE)
_IT_IS = re.compile(r"(?:(?:the|our|its|their) )?([^.:;,?!]{1,60}?)(?: is| are| was| were|:) ", re.IGNORECASE)


def states_price(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a sum of money is asked for, and a unit states it for one of what the question names: "£4.10 a
    label".
    """
    if "money" not in plan.measures:
        return False
    return any(key_of(match[1]) in plan.keys for match in _FOR_ONE.finditer(unit.text))


_FOR_ONE = re.compile(
    r"(?:[\u00a3\u20ac$]\s?\d[\d.,]{0,12}|(?<![\d.,])\d[\d.,]{0,12}\s?(?:p|pence|euros?|pounds?|dollars?))"
    r" (?:an?|per|for an?|each) ([a-z]{3,30})\b"
)


def signs_role(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a role is asked for, and the unit is the line below the name in question, as in a signature:
    "Head of Water Supply".
    """
    if plan.attribute not in _ROLE or unit.before is None or not _is_below_name(unit):
        return False
    return any(term.hard and term.key in unit.before.keys for term in plan.terms)


def signs_person(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a person is asked for by a role, and the unit is the line with all its words below a name: "Mina
    Petrova" above "Secretary to Dr Sethi".
    """
    if plan.kind is not Kind.PERSON or not _is_below_name(unit):
        return False
    asked = [term for term in plan.terms if not term.weak]
    return bool(asked) and all(({term.key} | term.synonyms) & unit.keys for term in asked)


def _is_below_name(unit: Unit) -> bool:
    line = unit.text.rstrip()
    is_short = len(line.split()) <= _MAX_ROLE_WORDS and line[:1].isupper() and line[-1:].isalnum()
    is_role = is_short and not unit.cells and not any(char.isdigit() or char in "@:" for char in line)
    return is_role and unit.before is not None and _is_name_line(unit.before.text)


def _is_name_line(text: str) -> bool:
    words = text.split()
    is_name = text[-1:].isalnum() and text.replace(".", "").replace(" ", "").replace("-", "").isalpha()
    return is_name and len(words) <= _MAX_NAME_WORDS and all(word[:1].isupper() for word in words)


def signed_by(plan: QuestionPlan, unit: Unit) -> Unit | None:
    """Return the line with the name in question up to _SIGNATURE short lines above one of a signature, None without
    one, or with a line between them that may be another name.
    """
    names = {term.key for term in plan.terms if term.hard}
    above = unit
    for _ in range(_SIGNATURE):
        if above.before is None or len(above.before.text.split()) > _MAX_ROLE_WORDS:
            return None
        above = above.before
        if _is_name_line(above.text):
            if names and names <= above.keys:
                return above
            if _may_name_person(above.text):
                return None
    return None


def _may_name_person(line: str) -> bool:
    """Return whether a line of capitalised words is neither one word nor a role, a department or a place."""
    words = [word.lower() for word in line.replace("-", " ").split()]
    return len(words) > 1 and (ROLES | ORGANISATION_CUES | PLACE_CUES).isdisjoint(words)


_SIGNATURE = 4
_ROLE = keys_of("role job position function occupation post")
_MAX_NAME_WORDS, _MAX_ROLE_WORDS = 4, 8


def _expresses_person(plan: QuestionPlan, term: Term, unit: Unit) -> bool:
    """Return whether the unit tells who does something: by a label, by "by", or by the deed from its other side."""
    if term.key in _CHARGE and _is_label_of(plan, unit):
        return True
    if term.key in _TREATMENT and any(cell.column.lower() in _AGENTS and cell.value for cell in unit.cells):
        return True
    if term.key in _LIVING and any(cell.value and cell.column.lower() in _RESIDENTS for cell in unit.cells):
        return True
    if term.key in _REPLACEMENT and _TAKES_PLACE.search(unit.text):
        return True
    if term.key in _CREATION and _BY_NAME.search(unit.text):
        return True
    converse = _CONVERSES.get(term.key, frozenset())
    return not converse.isdisjoint(unit.keys) and has_phrase(unit.text, ("from", "to"))


def names_agent(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit says by whom the deed of the question is done: "are paid by the Film Institute"."""
    return any(key_of(match[1]) in plan.deeds for match in _DONE_BY.finditer(unit.text))


_DONE_BY = re.compile(r"\b([a-z]{3,20}) by (?:the |our |a )?[A-Z]")


def _offers(plan: QuestionPlan, term: Term, unit: Unit) -> bool:
    """Return whether what can be bought or borrowed is for sale or for loan: the deed from its other side."""
    converse = _CONVERSES.get(term.key, frozenset())
    return not converse.isdisjoint(unit.keys) and has_phrase(plan.text, ("can", "could", "may"))


def _expresses_date(plan: QuestionPlan, term: Term, unit: Unit) -> bool:
    """Return whether the term is "time" or "day" and the unit has one, or "valid" and the unit has a period."""
    if term.text.lower() in DATE_NOUNS:
        return has_date(unit.text)
    if term.key in _FINISHING and (_LAST.match(unit.text) or has_phrase(unit.text, ("done", "finished", "ready"))):
        return True
    if dates_end(term, unit):
        return True
    returns = term.text.lower() in _COMING_BACK or (term.text.lower() in _COMING and has_phrase(plan.text, _IS_BACK))
    if returns and has_phrase(unit.text, _PERIOD) and has_phrase(unit.text, _AWAY):
        return True
    if returns and has_phrase(unit.text, _IS_BACK):
        return True
    return term.key in _VALIDITY and "from" in unit.text.lower().split() and has_phrase(unit.text, _PERIOD)


_FINISHING = keys_of("finish complete end")
_LAST = re.compile(r"(?:The )?(?:[Ll]ast|[Ff]inal) [a-z]")
"""The end of something, as a diary notes it: "Last antibiotic."."""


def dates_end(term: Term, row: Unit) -> bool:
    """Return whether the term is a verb for the beginning or the end of a period, and the row has a column for it."""
    return any(term.key in keys and _has_dated_column(row, columns) for keys, columns in ENDS_OF_PERIODS)


def _has_dated_column(row: Unit, columns: frozenset[str]) -> bool:
    return any(cell.column.lower() in columns and has_date(cell.value) for cell in row.cells)


def _is_label_of(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether it is "Lighting: Ravi Deshmukh", or has such a cell, and the question names the label."""
    if any(cell.value[:1].isupper() and not cell.column_keys.isdisjoint(plan.keys) for cell in unit.cells):
        return True
    if any(is_person_column(cell) for cell in unit.cells) and any(
        cell.column.lower() in _DUTIES and not keys_of(cell.value).isdisjoint(plan.keys) for cell in unit.cells
    ):
        return True
    return labels_person(plan, unit)


def labels_person(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit is a label of which the question has a word, and a name: "Handler: Tess."."""
    label, found, value = unit.text.partition(": ")
    is_short = len(label.split()) <= _MAX_LABEL_WORDS and len(value.split()) <= _MAX_LABEL_WORDS
    return bool(found) and is_short and value[:1].isupper() and not keys_of(label).isdisjoint(plan.keys)


_DUTIES = word_set("task tasks area areas responsibility responsibilities duty duties role job field subject work for")
"""Columns for what the person of a row has to do."""


def defines(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit begins with the word asked for and what it is: "The huddle is a …", "ETA (estimated …)"."""
    words = words_of(unit.text)
    for at, word in enumerate(words[:_OWN_WORDS]):
        following = unit.text[word.start + len(word.text) :].lstrip("\"'*\u201d ")
        if word.key in plan.keys and (following.startswith("(") or _IS_A.match(following)) and not unit.cells:
            return at == 0 or all(other.key in plan.keys or other.text.lower() in ARTICLES for other in words[:at])
    return False


_IS_A = re.compile(r"(?:is|are)\s(?:an?|the|any|every|our|one)\b|means?\b|stands?\sfor\b|refers?\sto\b", re.IGNORECASE)


def denies_existence(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit has "no" before a word of the question: "there will be no tour"."""
    words = words_of(unit.text)
    return any(first.text.lower() in ("no", "without") and second.key in plan.keys for first, second in pairwise(words))
