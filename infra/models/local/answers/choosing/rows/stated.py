"""Rows of tables that a column selects, whatever the probabilities say: by yes and no, by what is empty or has another
value, by a bound, by the greatest or least value.

Each selection needs a table whose rows are what the question asks for: by a column, a heading or the title. Cost:
linear in the units for each selection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing.lists import MAX_FILTERED, named_kind
from graphtide.infra.models.local.answers.choosing.rows.places import rows_by_places
from graphtide.infra.models.local.answers.choosing.rows.tables import are_rows_of, is_within, tables_of, things_of
from graphtide.infra.models.local.answers.matching.cell_values import is_person_column
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.narrowing import affirmed_in, beyond, extreme_row, ordered_column
from graphtide.infra.models.local.answers.questions.lexicon import (
    ENDS_OF_PERIODS,
    FINISHED,
    PERMISSIONS,
    STATES,
    SUPERLATIVES,
)
from graphtide.infra.models.local.answers.questions.types import Bound, Kind, QuestionPlan, Term, TermKind
from graphtide.infra.models.local.answers.units import Cell, Unit
from graphtide.infra.models.local.answers.values.dates import has_date, is_calendar
from graphtide.infra.models.local.answers.values.quantities import CURRENCIES
from graphtide.infra.models.local.answers.words import key_of, keys_of, word_set


def rows_stated(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows that a column of a table selects for the question, none if no column does."""
    return (
        _rows_without(evidence)
        or named_by_column(evidence)
        or _rows_by_end(evidence)
        or _rows_with_another_value(evidence)
        or rows_by_places(evidence)
        or rows_beyond(evidence)
        or rows_of_extreme(evidence)
    )


def named_by_column(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows with "yes" in a column whose name the question has ("which section leaders are there"), or "no"
    if it denies; none without such a column, if all rows have the same, or for too many rows. Other words of the
    question have to be what its rows are: another column's name, the table's headings or its title.
    """
    plan = evidence.plan
    terms = [term for term in plan.terms if term.kind is not TermKind.WEAK and term.text.lower() not in PERMISSIONS]
    if not terms or plan.defines or not (plan.plural or plan.kind in (Kind.PERSON, Kind.THING, Kind.LIST)):
        return []
    for rows in tables_of(evidence):
        columns = {cell.column: cell.column_keys for cell in _cells_of(rows)}
        words = frozenset().union(*(keys for keys in columns.values() if len(keys) == 1))
        asked = frozenset(min(_doers(term.key) & words, default=term.key) for term in terms)
        names = {name for name, keys in columns.items() if keys and keys <= asked}
        if not names or not any(asked <= named_kind(row.unit) for row in rows):
            continue
        for name in sorted(names):
            found = affirmed_in(plan, rows, name)
            if found and len(found) < len(rows) and len(found) <= MAX_FILTERED:
                return found
    return []


def _doers(verb: str) -> frozenset[str]:
    """Return the keys of who does something: "driver" of "drive", as the column of who may is called."""
    return frozenset({verb + ("r" if verb.endswith("e") else "er"), verb + verb[-1] + "er"})


def rows_beyond(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows of a table beyond the bound that the question names, in the column that it asks for ("which units
    cost more than 3,000 euros" and `price`), where the rows are what it asks for: by a column, a heading or the title.
    """
    plan = evidence.plan
    asked = [term for term in plan.terms if term.kind is not TermKind.WEAK and not _is_currency(term)]
    things = [term for term in asked if term.kind is TermKind.FOCUS]
    bound = plan.bound
    if bound is None or plan.negated or not things:
        return []
    others = [term for term in asked if term not in things and not _is_of_bound(plan, bound, term)]
    for rows in tables_of(evidence):
        if not any(named_kind(row.unit).issuperset(term.key for term in things) for row in rows):
            continue
        columns = frozenset().union(*(row.unit.columns for row in rows))
        is_measured = bool(others) or bound.dated or bool(bound.measures & columns)
        named = [term for term in others if not (bound.dated and (term.verb or _is_end(term)))]
        if is_measured and all(({term.key} | term.synonyms) & columns for term in named):
            found = beyond(plan, bound, rows)
            if 0 < len(found) <= MAX_FILTERED:
                return found
    return []


def _is_end(term: Term) -> bool:
    """Return whether a word is the beginning or the end of a period, which may be a noun: "end"."""
    return any(term.key in verbs for verbs, _ in ENDS_OF_PERIODS)


def _is_of_bound(plan: QuestionPlan, bound: Bound, term: Term) -> bool:
    """Return whether a word is a part of the moment that a bound names, or the unit of its number beside a measure."""
    if bound.dated:
        return term.coded or term.key in plan.date_keys or is_calendar(term.key)
    return bool(bound.measures) and term.text.lower() == bound.unit


def rows_of_extreme(evidence: AnswerEvidence) -> list[Scored]:
    """Return the row with the greatest or least value asked for, where a column is what the question asks for ("which
    host is the most expensive" and `host`), or one of persons ("who has been in the group longest"), and no other word
    of it says which rows; none without such a table.
    """
    plan = evidence.plan
    things, persons = things_of(plan), plan.kind is Kind.PERSON
    among = _AMONG.search(plan.text)
    group = keys_of(among[1]) if among and persons else frozenset()
    compounds = [term for term in plan.terms if "-" in term.text]
    others = [
        term
        for term in plan.terms
        if not (term.weak or term in things or term.key in group or _is_measure(term) or is_within(term, compounds))
    ]
    if not things and len(others) == 1 and plan.kind is Kind.THING:  # "which is the oldest site"
        things, others = others, []
    named = [term for term in others if plan.ordered]
    called = [term for term in others if persons and term.key == _superlative_of(plan)][:1]  # "the newest teacher"
    if not plan.extreme or plan.negated or len(others) > len(named) + len(called) or not (things or persons):
        return []
    for rows in sorted(tables_of(evidence), key=lambda rows: (not _lists(rows, things), -max(r.score for r in rows))):
        names = {cell.column.lower() for cell in _cells_of(rows)} | _title_of(rows[0].unit)
        names |= {key for cell in _cells_of(rows) if len(cell.column_keys) == 1 for key in cell.column_keys}
        if named and not keys_of(ordered_column(plan, [row.unit for row in rows])).issuperset(t.key for t in named):
            continue
        spelled = [{term.text.lower(), term.key} | _joined(term) for term in things]
        are_asked_for = all(names & words for words in spelled) if things else _are_persons(rows)
        if called and not all(called[0].key in row.unit.head_keys | row.unit.title_keys for row in rows):
            continue
        if are_asked_for and (found := extreme_row(plan, rows)):
            return found
    return []


_AMONG = re.compile(
    r"\b(?:in|at|with|on|of) (?:the|our|this) (group|team|company|club|firm|society|association|department|staff|crew"
    r"|house|place|job)\b",
    re.IGNORECASE,
)
"""Those among whom someone is looked for: "who has been in the group longest"."""


def _superlative_of(plan: QuestionPlan) -> str:
    """Return the key of the last word where a superlative precedes it, as in "who is the newest teacher", else ""."""
    words = plan.text.rstrip("?! ").split()[-2:]
    return key_of(words[1]) if len(words) > 1 and words[0].lower() in SUPERLATIVES else ""


def _joined(term: Term) -> frozenset[str]:
    """Return the key of a compound word without hyphens."""
    return keys_of(term.text.replace("-", "")) if "-" in term.text else frozenset()


def _is_measure(term: Term) -> bool:
    """Return whether a word only says what is measured: "expensive"."""
    return term.text.lower() in _MEASURES


_MEASURES = word_set("expensive valuable")


def _lists(rows: Sequence[Scored], things: Sequence[Term]) -> bool:
    """Return whether a table has a row for each of the things: they are its first column, without a repeated value."""
    names = {term.text.lower() for term in things} | {term.key for term in things}
    firsts = [row.unit.cells[0] for row in rows]
    is_named = firsts[0].column.lower() in names or bool(firsts[0].column_keys & names)
    return is_named and len({cell.value for cell in firsts}) == len(rows)


def _title_of(row: Unit) -> frozenset[str]:
    """Return the word that is the title of a table's document: every row of "props.csv" is a prop."""
    title = keys_of(row.title)
    return title if len(title) == 1 else frozenset()


def _rows_by_end(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows with nothing in the column for when something was done, for a question for what is open or denied
    ("which repairs are not done" and `done`, "which books have not been returned" and `returned`), or those with a
    date, for what is done. None unless there are both.
    """
    plan = evidence.plan
    things, others = things_of(plan), _others(plan)
    if not things or (plan.done is None and not plan.negated):
        return []
    words = frozenset() if plan.done is not None else frozenset(term.key for term in others)
    asked = frozenset(term.key for term in others) - words
    for table in tables_of(evidence):
        if not are_rows_of(table, things):
            continue
        rows = [row for row in table if asked <= row.unit.keys]
        for name in sorted({cell.column for cell in _cells_of(rows) if _ends_work(cell, words)}):
            ends = [[cell.value for cell in row.unit.cells if cell.column == name and cell.value] for row in rows]
            found = [row for row, end in zip(rows, ends, strict=True) if bool(end) is bool(plan.done)]
            dated = any(ends) and all(has_date(value) for end in ends for value in end)
            if dated and len(found) < len(rows) and 0 < len(found) <= MAX_FILTERED:
                return found
    return []


def _rows_with_another_value(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows with another value in the column in which rows have what the question denies: "which papers are
    not published" and `state: published`; those that deny it themselves, if there are any: `state: not started`. None
    unless there are both.
    """
    plan = evidence.plan
    things, others = things_of(plan), _others(plan)
    if not things or not others or not plan.negated:
        return []
    denied = frozenset(term.key for term in others)
    for rows in tables_of(evidence):
        same = [cell for cell in _cells_of(rows) if keys_of(cell.value) == denied]
        if not same or not are_rows_of(rows, things):
            continue
        denying = {cell.column for cell in same if _DENIES.search(cell.value)}
        for name in sorted(denying or {cell.column for cell in same}):
            valued = [(row, cell) for row in rows for cell in row.unit.cells if cell.column == name and cell.value]
            if denying:
                found = [row for row, cell in valued if denied <= keys_of(cell.value) and _DENIES.search(cell.value)]
            else:
                found = [row for row, cell in valued if not denied <= keys_of(cell.value)]
            if len(found) < len(rows) and 0 < len(found) <= MAX_FILTERED:
                return found
    return []


_DENIES = re.compile(r"\b(?:not|never|no)\b", re.IGNORECASE)


def _rows_without(evidence: AnswerEvidence) -> list[Scored]:
    """Return the rows with nothing, or with "no", in the column of which the question says that they have none: "who
    has no key" and `key`. None unless there are others in the table.
    """
    plan = evidence.plan
    lacking = _LACKING.search(plan.text)
    if lacking is None or plan.kind not in (Kind.PERSON, Kind.THING, Kind.LIST):
        return []
    wanted, things = keys_of(lacking[1]), things_of(plan)
    others = [term.key for term in _others(plan) if term.key not in wanted | _WITHOUT]
    for rows in tables_of(evidence):
        names = [cell.column for cell in _cells_of(rows) if wanted in (cell.column_keys, cell.column_keys - _ENDS)]
        kinds = frozenset().union(*(named_kind(row.unit) for row in rows))
        if (
            not names
            or not kinds.issuperset(others)
            or not (are_rows_of(rows, things) if things else _are_persons(rows))
        ):
            continue
        having = [
            any(cell.column == names[0] and cell.value.lower() not in _NOTHING for cell in row.unit.cells)
            for row in rows
        ]
        found = [row for row, has in zip(rows, having, strict=True) if not has]
        if len(found) < len(rows) and 0 < len(found) <= MAX_FILTERED:
            return found
    return []


_LACKING = re.compile(
    r"\b(?:(?:has|have|had|with|got|is|are) no|without(?: an?| any| the)?|lacks?) ([a-z]{2,30})\b", re.IGNORECASE
)
_WITHOUT, _ENDS = keys_of("without lack date"), keys_of("date end expiry")
_NOTHING = word_set("no none n/a - \u2013 \u2014 false")


def _are_persons(rows: Sequence[Scored]) -> bool:
    return any(is_person_column(cell) for cell in _cells_of(rows))


def _others(plan: QuestionPlan) -> list[Term]:
    words = (term for term in plan.terms if term.kind not in (TermKind.FOCUS, TermKind.WEAK))
    states = STATES.keys() if plan.done is not None else ()
    return [term for term in words if term.text.lower() not in _UNTIL_NOW and term.text.lower() not in states]


_UNTIL_NOW = word_set("still yet already")


def _cells_of(rows: Sequence[Scored]) -> list[Cell]:
    return [cell for row in rows for cell in row.unit.cells]


def _ends_work(cell: Cell, words: frozenset[str]) -> bool:
    """Return whether the name of a column is one of the words, or, if there are none, says that something is done."""
    if not words:
        return cell.column.lower() in FINISHED
    return bool(cell.column_keys) and cell.column_keys <= words


def _is_currency(term: Term) -> bool:
    return term.text.lower() in CURRENCIES
