"""Lists as answers: the items below a heading, rows of one table, and units that answer as well as the best."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.cell_values import is_person_column
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.narrowing import affirmed_in, answering_in, cell_of, extreme_row
from graphtide.infra.models.local.answers.questions.lexicon import SUPERLATIVES
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.support import coverage, union
from graphtide.infra.models.local.answers.units import Table, Unit, UnitKind, file_of, table_of
from graphtide.infra.models.local.answers.values.dates import days_in, same_day
from graphtide.infra.models.local.answers.values.quantities import CURRENCIES, MONEY, column_measures, has_number
from graphtide.infra.models.local.answers.words import keys_of

SAME = 0.95
MAX_ROWS, MAX_FILTERED = 12, 60


def attribute_row(evidence: AnswerEvidence) -> Scored | None:
    """Return the row with a column that is the attribute asked for ("status of"), and all other words as values."""
    plan = evidence.plan
    if plan.kind is not Kind.SUMMARY or not plan.attribute:
        return None
    others = [t.key for t in plan.terms if t.key != plan.attribute and t.kind is not TermKind.WEAK]
    kinds = (UnitKind.ROW, UnitKind.ABOUT)
    rows = [scored for scored in evidence.scored if scored.unit.kind in kinds and set(others) <= scored.unit.keys]
    rows = [scored for scored in rows if any(cell.column_keys == {plan.attribute} for cell in scored.unit.cells)]
    return max(rows, key=lambda scored: scored.score, default=None) if others else None


def states_cell(evidence: AnswerEvidence, row: Unit) -> bool:
    """Return whether the question names a row by one of its cells, and what it asks for by the column of another one:
    "how many hours has Tern 3 run" and `robot: Tern 3`, `hours: 388`. Rows lack verbs.
    """
    terms = [term for term in evidence.plan.terms if term.kind is not TermKind.WEAK]
    asked = frozenset(term.key for term in terms)
    named = frozenset(term.key for term in terms if term.hard)
    if not named:
        return False
    subjects = [cell for cell in row.cells if named <= keys_of(cell.value) <= asked and "," not in cell.value]
    measures = evidence.plan.measures & MONEY
    columns = [
        cell.column_keys - _CURRENCY_KEYS if measures and column_measures(cell.column, measures) else cell.column_keys
        for cell in row.cells
        if cell.value and cell not in subjects
    ]
    columns = [keys for keys in columns if keys]
    stated = frozenset().union(*(keys for keys in columns if keys <= asked))
    others = frozenset(term.key for term in terms if not (term.verb or (measures and term.kind is TermKind.IMPLIED)))
    return bool(subjects and stated) and others <= stated | named | row.head_keys | row.title_keys


def is_row_of(plan: QuestionPlan, row: Unit) -> bool:
    """Return whether a question asks about one thing as a whole, and a row begins with it: "what happened to C-6" and
    `cell: C-6`.
    """
    terms = [term for term in plan.terms if term.kind is not TermKind.WEAK]
    if plan.kind is not Kind.SUMMARY or not row.cells or not terms or not all(term.hard for term in terms):
        return False
    return keys_of(row.cells[0].value) == frozenset(term.key for term in terms)


def is_row_of_role(plan: QuestionPlan, row: Unit) -> bool:
    """Return whether a person is asked for, and a row of one has what the question names as a value, so that it lacks a
    verb at most: "who teaches Year 5" and `class: Year 5`.
    """
    named = frozenset(term.key for term in plan.terms if term.hard)
    others = [term for term in plan.terms if not (term.hard or term.verb or term.kind is TermKind.WEAK)]
    if plan.kind is not Kind.PERSON or plan.negated or len(named) < _MIN_NAMED or others or not row.cells:
        return False
    return is_person_column(row.cells[0]) and any(keys_of(cell.value) == named for cell in row.cells[1:])


_MIN_NAMED = 2
"""Words of a name that is one value: "Year 5". One alone may be that of a person."""


def rows_of_value(evidence: AnswerEvidence, row: Scored) -> list[Scored]:
    """Return the rows of a row's table that each value in the question selects: the date in a column that it names
    ("run until 31 December 2024" and `until`), what is after the name of a column ("shelf A" and `shelf`), or yes or no
    in a column of which it has each word ("have not paid the deposit" and `deposit_paid`); those that have its other
    names, if any row has. None if no value does, or for too many rows.
    """
    plan = evidence.plan
    if row.unit.kind is not UnitKind.ROW or not plan.plural or plan.bound is not None or plan.options:
        return []
    rows = rows_of_table(evidence, row)
    kept, accounted = rows, frozenset[str]()
    for column, keys in sorted({cell.column: cell.column_keys for cell in row.unit.cells}.items()):
        found = [] if plan.negated else _with_value(plan, rows, column)
        if found:
            accounted |= plan.date_keys.union(keys, *(keys_of(cell_of(one.unit, column)) for one in found))
        elif keys and keys <= plan.keys and (found := answering_in(plan, rows, column)):
            accounted |= keys
        if found:
            selected = set(map(id, found))
            kept = [one for one in kept if id(one) in selected]
    if not accounted or not 0 < len(kept) < len(rows) or len(kept) > MAX_FILTERED:
        return []
    names = [term.key for term in plan.terms if term.hard and term.key not in accounted]
    others = [key for key in names if any(key in one.unit.keys for one in rows)]
    return [one for one in kept if one.unit.keys.issuperset(others)]


def _with_value(plan: QuestionPlan, rows: Sequence[Scored], column: str) -> list[Scored]:
    """Return the rows whose cell of a column is the value that the question names directly after the column."""
    at = plan.text.lower().find(f" {column.lower()} ") if column else -1
    after = plan.text[at + len(column) + 2 :].removeprefix("the ").rstrip("?")
    if at < 0 or _ALTERNATIVE.match(after):
        return []
    asked = days_in(after)[:1] if _BEGINS_WITH_DAY.match(after) else []
    return [one for one in rows if _is_value(cell_of(one.unit, column), after, asked)]


def _is_value(value: str, after: str, asked: Sequence[tuple[int, int, int]]) -> bool:
    if asked and asked[0][2]:
        stated = days_in(value)
        return len(stated) == 1 and same_day(asked[0], stated[0])
    ends = after[len(value) : len(value) + 2]
    return bool(value) and after[: len(value)].casefold() == value.casefold() and not _GOES_ON.match(ends)


_ALTERNATIVE = re.compile(r"\S{1,20} (?:or|and) ")
_BEGINS_WITH_DAY = re.compile(r"(?:on )?(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?(?:\d|[A-Z][a-z]{2,8} \d)")
_GOES_ON = re.compile(r"[\w-]|[.,]\d")


def measured_row(evidence: AnswerEvidence, best: Scored, ranked: Sequence[Scored]) -> Scored | None:
    """Return the row with the greatest or least value of its table, for "the largest field", if the best unit is a
    sentence without a superlative, or a row of a table without such a value.
    """
    if not evidence.plan.extreme or is_extreme(evidence, best):
        return None
    tables = [row for row in _tables_near(best, ranked) if _has_thing(evidence.plan, row.unit)]
    return next((row for table in tables if (row := extreme_of_table(evidence, table)) is not None), None)


def _has_thing(plan: QuestionPlan, row: Unit) -> bool:
    """Return whether a row or its table has each noun that the question asks for."""
    named = row.keys | named_kind(row)
    return all(({term.key} | term.synonyms) & named for term in plan.terms if term.kind is TermKind.FOCUS)


def is_extreme(evidence: AnswerEvidence, best: Scored) -> bool:
    """Return whether a unit has a superlative, or is a row of a table that has a greatest or least value."""
    if best.unit.kind is UnitKind.ROW:
        return extreme_of_table(evidence, best) is not None
    return not SUPERLATIVES.keys().isdisjoint(best.unit.text.lower().split())


def are_affirmed_rows(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> bool:
    """Return whether the chosen units are the rows of a table, and not its others, that have "yes" in a column whose
    whole name is in the question, or "no" if it denies.
    """
    if not chosen or any(scored.unit.kind is not UnitKind.ROW for scored in chosen):
        return False
    rows = rows_of_table(evidence, chosen[0])
    names = {
        cell.column for cell in chosen[0].unit.cells if cell.column_keys and cell.column_keys <= evidence.plan.keys
    }
    kept = [affirmed_in(evidence.plan, rows, name) for name in sorted(names)] if len(chosen) < len(rows) else []
    return any({id(one) for one in found} == {id(one) for one in chosen} for found in kept if found is not None)


def named_kind(row: Unit) -> frozenset[str]:
    """Return the keys that say what the rows of a table are: of its columns, its headings and its title."""
    return row.columns | row.head_keys | row.title_keys


_CURRENCY_KEYS = keys_of(" ".join(sorted(CURRENCIES)))


def _tables_near(best: Scored, ranked: Sequence[Scored]) -> list[Scored]:
    """Return the best row of each table that answers nearly as well as the best unit, the best first."""
    found: dict[Table, Scored] = {}
    for scored in ranked:
        if scored.unit.kind is UnitKind.ROW and scored.score >= _NEARLY_BEST * best.score:
            found.setdefault(table_of(scored.unit), scored)
    return list(found.values())


def extreme_of_table(evidence: AnswerEvidence, row: Scored) -> Scored | None:
    """Return the row with the greatest or least value asked for among the rows like one of a table; None without such a
    value.
    """
    own = covered_places(evidence.plan, row, SAME)
    rows = rows_alike(evidence, row, own, [i for i in own if evidence.plan.terms[i].key in row.unit.keys])
    return next(iter(extreme_row(evidence.plan, rows)), None)


_NEARLY_BEST = 0.7


def section_items(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the items below the heading, or the introduction, that asks what the question asks."""
    plan = evidence.plan
    if plan.kind not in (Kind.THING, Kind.LIST):
        return []
    asked = re.sub(r"\W+", " ", plan.text.lower())
    found: dict[tuple[int, str], list[Scored]] = {}
    for scored in evidence.scored:
        heading = scored.unit.lead_in or (scored.unit.headings[-1] if scored.unit.headings else "")
        words = re.sub(r"\W+", " ", heading.lower()).strip()
        if (
            len(words.split()) >= 2
            and keys_of(heading)
            and f" {words} " in f" {asked} "
            and not scored.unit.text.endswith(":")
        ):
            found.setdefault((scored.unit.origin, heading), []).append(scored)
    groups = [
        group
        for group in found.values()
        if len(group) > 1 and all(len(scored.unit.text.split()) <= 30 for scored in group)
    ]
    if not groups:
        return []
    group = max(groups, key=lambda group: coverage(evidence, union(group)))
    return group if coverage(evidence, union(group)) >= 0.8 * best.coverage else []


def list_items(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return all units that answer as well as the best one, when the question asks for several or they are alike."""
    plan = evidence.plan
    if rows_asked := _rows_asked(evidence, best):
        return rows_asked
    if plan.kind in (Kind.QUANTITY, Kind.DATE, Kind.REASON, Kind.CHOICE, Kind.YES_NO, Kind.SUMMARY):
        return []
    own, context = covered_places(plan, best, 0.95), covered_places(plan, best, 0.7)
    in_text = [i for i in own if plan.terms[i].key in best.unit.keys]
    if plan.plural and (items := _items_beside(evidence, best, own, context, in_text)) is not None:
        return items
    if best.unit.kind is UnitKind.ROW and own:
        rows = rows_alike(evidence, best, own, in_text)
        if 1 < len(rows) <= (MAX_FILTERED if plan.limited or plan.extreme or plan.versus else MAX_ROWS):
            return rows
    if plan.plural and own:
        alike = _units_alike(evidence, best, own, in_text)
        return alike if 1 < len(alike) <= 8 else []
    return []


def _rows_asked(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the rows of the month that the question names, or those that it counts; none in other questions."""
    plan = evidence.plan
    if (plan.plural or plan.counted) and (rows := _rows_of_month(evidence, best)):
        return rows
    if not plan.counted or best.unit.kind is not UnitKind.ROW or _states_count(evidence, best):
        return []
    rows = _rows_counted(evidence, best)
    return rows if 1 < len(rows) <= MAX_ROWS else []


def _rows_of_month(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the rows of the best row's file that are of the month in question, and cover its other words as well."""
    months = [day for day in evidence.plan.dates if day[1] and not day[2]]
    if not months or not file_of(best.unit):
        return []
    calendar = evidence.plan.date_keys
    others = [i for i in covered_places(evidence.plan, best, SAME) if evidence.plan.terms[i].key not in calendar]
    rows = [
        scored for scored in evidence.scored
        if scored.unit.kind is UnitKind.ROW and file_of(scored.unit) == file_of(best.unit)
        and any(same_day(day, other) for day in months for other in days_in(scored.unit.text))
        and all(scored.covers[i] >= SAME or evidence.plan.terms[i].key not in best.unit.keys for i in others)
    ]  # fmt: skip
    return rows if 1 < len(rows) <= MAX_ROWS else []


def _states_count(evidence: AnswerEvidence, best: Scored) -> bool:
    """Return whether a row has the number of what is counted in a column of that name, which does not number the rows
    themselves ("tower: 3").
    """
    names = {
        cell.column for cell in best.unit.cells
        if evidence.plan.counted in cell.column_keys and has_number(cell.value)
    }  # fmt: skip
    rows = [scored.unit for scored in rows_of_table(evidence, best)]
    return any(not _numbers_rows(name, rows) for name in names)


def _numbers_rows(column: str, rows: Sequence[Unit]) -> bool:
    """Return whether the first column of a table is this one, and has the numbers from 1 to that of its rows."""
    values = {row.cells[0].value for row in rows if row.cells[0].column == column}
    return len(rows) > 1 and values == {str(number) for number in range(1, len(rows) + 1)}


def _rows_counted(evidence: AnswerEvidence, best: Scored) -> list[Scored]:
    """Return the rows to count: those that cover the words of the question that the best row has in its own cells."""
    own = covered_places(evidence.plan, best, 0.75)
    in_text = [i for i in own if evidence.plan.terms[i].key in best.unit.keys]
    return rows_alike(evidence, best, own, in_text, 0.75)


def covered_places(plan: QuestionPlan, best: Scored, share: float) -> list[int]:
    """Return the places of the terms of which the unit covers this share."""
    pairs = zip(plan.terms, best.covers, strict=True)
    return [i for i, (term, cover) in enumerate(pairs) if term.kind is not TermKind.WEAK and cover >= share]


def _items_beside(
    evidence: AnswerEvidence, best: Scored, own: Sequence[int], context: Sequence[int], in_text: Sequence[int]
) -> list[Scored] | None:
    """Return the items of the list that the best unit is in; None if it is in no list, or they are not alike."""
    unit = best.unit
    passage = [scored for scored in evidence.scored if scored.unit.origin == unit.origin]
    items = [scored for scored in passage if not scored.unit.text.endswith(":")]
    if not unit.lead_in and not (len(passage) > 1 and unit.kind is not UnitKind.ROW and _all_short(passage)):
        return None
    if not in_text:
        return [scored for scored in items if scored.unit.lead_in == unit.lead_in] if context else None
    alike = [scored for scored in items if all(scored.covers[i] >= SAME for i in own)]
    return alike if len(alike) > 1 and _all_short(alike) else None


def rows_alike(
    evidence: AnswerEvidence, best: Scored, own: Sequence[int], in_text: Sequence[int], share: float = SAME
) -> list[Scored]:
    """Return the rows of the best row's table that cover the same terms."""
    rows = [scored for scored in evidence.scored if scored.unit.kind is UnitKind.ROW and scored.on_day]
    table = [row for row in rows if file_of(row.unit) == file_of(best.unit) and row.unit.headings == best.unit.headings]
    if evidence.plan.extreme:  # every row of "props.csv" is a prop
        titled = best.unit.title_keys | best.unit.head_keys
        own, in_text = ([i for i in places if evidence.plan.terms[i].key not in titled] for places in (own, in_text))
    return [
        row
        for row in table
        if all(row.covers[i] >= share for i in own) and _has_values(evidence.plan, row.unit, in_text)
    ]


def _units_alike(evidence: AnswerEvidence, best: Scored, own: Sequence[int], in_text: Sequence[int]) -> list[Scored]:
    """Return the units of other documents that cover the same terms about as well, with the best unit."""
    units = [
        scored for scored in evidence.scored if scored.fits and scored.on_day and scored.score >= 0.75 * best.score
    ]
    others = [scored for scored in units if scored.unit.doc_id != best.unit.doc_id or scored.unit is best.unit]
    return [
        scored
        for scored in others
        if all(scored.covers[i] >= 0.7 for i in own)
        and (scored.unit.kind is not UnitKind.ROW or _has_values(evidence.plan, scored.unit, in_text))
    ]


def _has_values(plan: QuestionPlan, unit: Unit, places: Sequence[int]) -> bool:
    """Return whether a row has these terms as values, and not only as names of columns; the noun asked for may lack."""
    return all(plan.terms[i].key in unit.keys for i in places if plan.terms[i].kind is not TermKind.FOCUS)


def _all_short(units: Sequence[Scored]) -> bool:
    return all(len(scored.unit.text.split()) <= 14 for scored in units)


def rows_of_table(evidence: AnswerEvidence, row: Scored) -> list[Scored]:
    """Return the rows of the table that a row is from, itself among them."""
    table = table_of(row.unit)
    return [scored for scored in evidence.scored if scored.unit.kind is UnitKind.ROW and table_of(scored.unit) == table]
