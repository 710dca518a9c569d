"""Units that contradict the question: of another day, month or period, or of another thing than the one it asks for.

Models see that a unit has all other words of the question, and not that one value excludes it. Linear in the cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.documents.line_starts import stamp_of
from graphtide.infra.models.local.answers.matching.cell_values import is_person_column, period_of, spans_day
from graphtide.infra.models.local.answers.matching.coverage import keys_of_denied
from graphtide.infra.models.local.answers.matching.other_names import has_other_role, tables_without_name
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.questions.lexicon import FINISHED, UNFINISHED
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, Term, TermKind
from graphtide.infra.models.local.answers.units import (
    DONE,
    TO_DO,
    Cell,
    Table,
    Unit,
    UnitKind,
    is_state_column,
    table_of,
)
from graphtide.infra.models.local.answers.values.dates import Day, days_in, is_calendar, same_day
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import key_of, keys_of, word_set, words_of

_DAY_COLUMNS = word_set("date day when on")
_BOUNDS = (
    "before", "after", "since", "until", "till", "by", "from", "between", "later", "earlier", "than", "as of", "still",
)  # fmt: skip
"""Words of a question that a row of another day may answer."""


def without_contradicted(evidence: AnswerEvidence, relevance: Relevance) -> Relevance:
    """Return the probabilities without units that contradict the question, and theirs added to that of no answer; those
    of rows of another day to the rows of the day in question in their table, in proportion, if any was read. What is so
    in another period alone is left out as if it had not been read.
    """
    if evidence.plan.negated or evidence.plan.options:
        return relevance
    relevance = _without_others(evidence, relevance)
    rows = {place: evidence.scored[place].unit for place in sorted(relevance.units)}
    rows = {place: unit for place, unit in rows.items() if unit.kind is UnitKind.ROW}
    of_other_day = {place for place, row in rows.items() if _is_of_other_day(evidence, row)}
    gone = of_other_day | _contradicted(evidence, relevance.units, rows)
    units = {place: share for place, share in relevance.units.items() if place not in gone}
    none = relevance.none
    for place in sorted(gone):
        table = table_of(rows[place]) if place in of_other_day else None
        on_day = [other for other in units if other in rows and table_of(rows[other]) == table]
        whole = sum(relevance.units[other] for other in on_day)
        if not whole:
            none += relevance.units[place]
        for other in on_day if whole else ():
            units[other] += relevance.units[place] * relevance.units[other] / whole
    return Relevance(units, none, {place: relevance.parts[place] for place in units})


def _contradicted(evidence: AnswerEvidence, places: Iterable[int], rows: Mapping[int, Unit]) -> set[int]:
    """Return the places of units of another month, or of another thing than the question asks for."""
    months, plan = _months_asked(evidence), evidence.plan
    asked = frozenset(term.key for term in plan.terms if term.kind is TermKind.FOCUS)
    kinds = _columns_of(evidence, asked)
    codes = [term for term in plan.terms if term.kind is TermKind.CODE]
    found = {place for place, row in rows.items() if _is_other_thing(row, asked, kinds) or _has_other_name(plan, row)}
    found |= {place for place, row in rows.items() if plan.done is not None and _is_in_other_state(row, plan.done)}
    found |= {place for place, row in rows.items() if any(_lacks_column_of(row, code) for code in codes)}
    if rows and (unnamed := tables_without_name(evidence)):
        found |= {place for place, row in rows.items() if table_of(row) in unnamed}
    units = {place: evidence.scored[place].unit for place in places}
    return found | {
        place
        for place, unit in units.items()
        if _is_of_other_month(unit, months)
        or (plan.done is not None and unit.text.startswith(TO_DO if plan.done else DONE))
        or _is_of_alternative(plan, unit)
        or has_other_role(plan, unit)
        or not plan.keys.isdisjoint(keys_of_denied(plan, unit))
        or (plan.kind is Kind.DATE and _has_only_other_months(unit, months))
    }


def uncontradicted(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> list[Scored]:
    """Return the chosen units without rows and entries of another month than the one asked for, what is so in another
    period alone, and what is about another code, place in an order or end.
    """
    if evidence.plan.negated:
        return list(chosen)
    months = _months_asked(evidence)
    kept = [scored for scored in chosen if not _is_of_other_month(scored.unit, months)]
    is_other = _other_things(evidence)
    return [scored for scored in kept if not is_other(scored.unit)]


def _without_others(evidence: AnswerEvidence, relevance: Relevance) -> Relevance:
    """Return the probabilities as if units of another period, about another code or place in an order, or of the other
    end of something had not been read; the same if all are.
    """
    is_other = _other_things(evidence)
    gone = {place for place in relevance.units if is_other(evidence.scored[place].unit)}
    rest = 1.0 - sum(relevance.units[place] for place in sorted(gone))
    if not gone or len(gone) == len(relevance.units) or rest <= 0.0:
        return relevance
    units = {place: share / rest for place, share in relevance.units.items() if place not in gone}
    return Relevance(units, relevance.none / rest, {place: relevance.parts[place] for place in units})


def _other_things(evidence: AnswerEvidence) -> Callable[[Unit], bool]:
    """Return the function that tells whether a unit is of another period, code, place in an order or end."""
    plan, days = evidence.plan, _days_asked(evidence)
    codes = [term for term in plan.terms if term.kind is TermKind.CODE and _LETTERED.fullmatch(term.text)]
    rank = _RANKED.search(plan.text)

    def is_other(unit: Unit) -> bool:
        return (
            _is_of_other_period(unit, days)
            or (len(codes) == 1 and _names_other_code(unit, codes[0]))
            or (rank is not None and _has_other_rank(rank, unit))
            or (plan.kind is Kind.DATE and _dates_other_end(plan, unit))
        )

    return is_other


def _days_asked(evidence: AnswerEvidence) -> list[Day]:
    """Return the dates and years that a question names, if it does not ask when and has no limit of its own."""
    plan = evidence.plan
    if plan.kind is Kind.DATE or plan.options or has_phrase(plan.text, _BOUNDS):
        return []
    years = [(int(term.key), 0, 0) for term in plan.terms if term.key.isdecimal() and is_calendar(term.key)]
    return [*plan.dates, *years]


def _is_of_other_period(unit: Unit, asked: Sequence[Day]) -> bool:
    """Return whether a unit states from when, or until when, something is so, and each day asked for is beyond that:
    "delivered on or after 1 January 2026", for 2025.
    """
    limits = _LIMIT.findall(unit.text) if asked else []
    stated = days_in(unit.text) if len(limits) == 1 else []
    if len(stated) != 1:
        return False
    ends = limits[0].lower() in _ENDING
    return all(_is_before(stated[0], day) if ends else _is_before(day, stated[0]) for day in asked)


def _is_before(first: Day, second: Day) -> bool:
    """Return whether a day, month or year is before another, by the parts that both have; both must have a year, or
    neither.
    """
    if bool(first[0]) != bool(second[0]):
        return False
    parts = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
    return [a for a, _ in parts] < [b for _, b in parts]


_ENDING = word_set("until till before")
_LIMIT = re.compile(
    r"\b(?i:(from|since|after|as of|starting|until|till|before)) (?:the |on )?"
    r"(?=\d{1,2}(?:st|nd|rd|th)? [A-Z]|\d{4}-|[A-Z][a-z]+ \d)"
)


def _is_of_alternative(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit is about another one of two or more things of a name: the spring concert, or what is below
    the heading "Opening party", for a question about the autumn concert or the closing party.
    """
    for first, second in plan.pairs:
        others = _ALTERNATIVES.get(first, frozenset())
        if not others or first in unit.keys | unit.columns | unit.lead_keys | unit.head_keys | unit.title_keys:
            continue
        if first in unit.near_keys:
            continue
        texts = (unit.text, *unit.headings[-1:], unit.title)
        if any(one.key in others and two.key == second for text in texts for one, two in pairwise(words_of(text))):
            return True
    return False


def _has_other_rank(asked: re.Match[str], unit: Unit) -> bool:
    """Return whether a sentence has another place in the order that the question names: "first on the waiting list" for
    "second on the waiting list".
    """
    stated = _RANKED.search(unit.text)
    if stated is None or asked[1].lower() in unit.text.lower().split():
        return False
    return asked[2] == stated[2] and asked[1].lower() != stated[1].lower()


_RANKED = re.compile(
    r"\b(?i:(first|second|third|fourth|fifth|sixth)) (?:(?:is |are )?(?:on|in|of) the) ([a-z]{2,30})\b"
)


_ALTERNATIVES = {
    key: keys - {key}
    for keys in map(
        keys_of,
        (
            "spring summer autumn winter", "opening closing", "morning afternoon evening", "north south east west",
            "northern southern eastern western", "upper lower", "left right", "front rear", "male female",
            "indoor outdoor", "inner outer", "first second third fourth fifth sixth",
            "red green blue yellow black white grey brown orange purple pink",
        ),
    )
    for key in keys
}  # fmt: skip
"""Words of which each excludes the others before the same noun."""


def _lacks_column_of(row: Unit, code: Term) -> bool:
    """Return whether a row has columns for codes with the form of the one in question, and none for that: `V200` and
    `V350` for "V100".
    """
    form = _form_of(code.text)
    alike = [cell.column for cell in row.cells if _form_of(cell.column) == form]
    if len(alike) < _SEVERAL_CODES or not any(char.isalpha() for char in form):
        return False
    return code.key not in row.keys | row.columns | row.head_keys | row.title_keys


def _names_other_code(unit: Unit, code: Term) -> bool:
    """Return whether a unit begins with another code of the form of the one in question, which neither it nor what is
    around it has: "H3: stage 0.62 m" for H1.
    """
    form = _form_of(code.text)
    firsts = [unit.cells[0].value] if unit.cells else unit.text.replace(":", " ").split(" ", 2)[:1]
    if not any(_LETTERED.fullmatch(first) and _form_of(first) == form for first in firsts):
        return False
    before = unit.before.keys if unit.before is not None else frozenset()
    own = unit.keys | unit.columns | unit.lead_keys | unit.head_keys | unit.title_keys | unit.near_keys | before
    return code.key not in own


_LETTERED = re.compile(r"[A-Z]{1,5}-?\d{1,6}")
"""A code such as H3 or INC-482."""


def _dates_other_end(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a sentence says only from when something is, where the question asks for its end, or only until
    when, where it asks for its beginning.
    """
    if unit.cells or plan.keys.isdisjoint(unit.keys):
        return False
    asked = {term.key for term in plan.terms if not term.hard}
    from_when, until_when = _FROM_WHEN.search(unit.text), _UNTIL_WHEN.search(unit.text)
    if from_when and not has_phrase(unit.text, _UNTIL):
        others, own = _END_KEYS, _BEGIN_KEYS
    elif until_when and not from_when:
        others, own = _BEGIN_KEYS, _END_KEYS
    else:
        return False
    return bool(asked & others) and asked.isdisjoint(own) and unit.keys.isdisjoint(others)


_SOME_DATE = r" (?:the )?(?:early |late |\d{1,2} )?[A-Z][a-z]{2,8}\b"
_FROM_WHEN = re.compile(rf"\b(?:from|since|starting|as of){_SOME_DATE}")
_UNTIL_WHEN = re.compile(rf"\b(?:until|till){_SOME_DATE}")
_UNTIL = ("until", "till", "to", "back", "by")
_END_KEYS = keys_of("return end finish expire stop close back")
_BEGIN_KEYS = keys_of("begin start open commence")


def _is_in_other_state(row: Unit, done: bool) -> bool:
    """Return whether the column for the state of a row says that it is done, where the question asks for what is open,
    or the other way round.
    """
    states = [cell.value.lower() for cell in row.cells if is_state_column(cell)]
    return any(state in (UNFINISHED if done else FINISHED) for state in states)


def _form_of(code: str) -> str:
    return re.sub("[0-9]+", "0", code.strip().upper())


_SEVERAL_CODES = 2


def _is_of_other_day(evidence: AnswerEvidence, row: Unit) -> bool:
    """Return whether the only day of a row is in its column for days, and the question names another one, or one that
    the period of the row does not have.
    """
    asked = [day for day in evidence.plan.dates if day[2]]
    if asked and period_of(row) is not None and not has_phrase(evidence.plan.text, _BOUNDS):
        return not any(spans_day(row, day) for day in asked)
    stated = [day for cell in row.cells if cell.column.lower() in _DAY_COLUMNS for day in days_in(cell.value)]
    if has_phrase(evidence.plan.text, _BOUNDS):
        return False
    if not asked or len(stated) != 1 or not stated[0][2] or len(days_in(row.text)) > 1:
        return False
    return not any(same_day(day, stated[0]) for day in asked)


def _months_asked(evidence: AnswerEvidence) -> frozenset[int]:
    """Return all months that the question names, if it asks for what happened "in" one; none for another kind of limit,
    such as "since July", and for a comparison.
    """
    text = evidence.plan.text
    if evidence.plan.options or has_phrase(text, _BOUNDS) or not _IN_MONTH.search(text):
        return frozenset()
    return frozenset(MONTHS.index(found.lower()) + 1 for found in _MONTH.findall(text))


_ANY_MONTH = "|".join(month.capitalize() for month in MONTHS)
_MONTH, _IN_MONTH = re.compile(rf"\b({_ANY_MONTH})\b"), re.compile(rf"\b[Ii]n (?:{_ANY_MONTH})\b")


def _is_of_other_month(unit: Unit, months: frozenset[int]) -> bool:
    """Return whether a unit is a row or the beginning of an entry with a day of another month than those asked for, and
    names none of these.
    """
    if not months:
        return False
    columns = [cell.value for cell in unit.cells if cell.column.lower() in _DAY_COLUMNS]
    dated = [day for text in columns or [stamp_of(unit.text)] for day in days_in(text)]
    named = {key_of(MONTHS[month - 1]) for month in months} & unit.keys
    return bool(dated) and not named and not any(day[1] in months for day in days_in(unit.text))


def _has_only_other_months(unit: Unit, months: frozenset[int]) -> bool:
    """Return whether a sentence has days, and none of a month asked for, nor the name of one: "closed on 25 and 26
    December", for June.
    """
    if not months or unit.cells:
        return False
    named = {key_of(MONTHS[month - 1]) for month in months}
    days = days_in(unit.text)
    context = unit.keys | unit.lead_keys | unit.head_keys | unit.title_keys
    return bool(days) and named.isdisjoint(context) and not any(day[1] in months for day in days)


def _is_other_thing(row: Unit, asked: frozenset[str], kinds: Mapping[Table, frozenset[str]]) -> bool:
    """Return whether the row has another value in a column in which some rows of its table have what is asked for."""
    if not asked or asked & (row.keys | row.columns | row.head_keys | row.title_keys):
        return False
    return any(cell.column in kinds.get(table_of(row), frozenset()) and cell.value for cell in row.cells)


def _has_other_name(plan: QuestionPlan, row: Unit) -> bool:
    """Return whether a row has another name in the column that the question names for it: `assigned_to: Noor`, for
    "which bugs are assigned to Sorcha".
    """
    names = frozenset(term.key for term in plan.terms if term.kind is TermKind.NAME)
    others = frozenset(term.key for term in plan.terms if not (term.hard or term.weak or term.kind is TermKind.FOCUS))
    context = row.keys | row.columns | row.head_keys | row.title_keys | row.near_keys
    if not names or not others or names & context:
        return False
    return any(cell.column_keys & others and cell.value[:1].isupper() and _names_agent(cell) for cell in row.cells)


def _names_agent(cell: Cell) -> bool:
    """Return whether a column is for a person, or by its name for what something is done by or with."""
    return is_person_column(cell) or cell.column.lower().replace("_", " ").endswith((" by", " to", " with"))


def _columns_of(evidence: AnswerEvidence, asked: frozenset[str]) -> Mapping[Table, frozenset[str]]:
    """Return the columns of each table in which a row has the kind of thing asked for as its value: `species`, where it
    is "which cat".
    """
    found: dict[Table, frozenset[str]] = {}
    for scored in evidence.scored if asked else ():
        unit = scored.unit
        if unit.kind is UnitKind.ROW and asked <= unit.keys:
            columns = frozenset(cell.column for cell in unit.cells if keys_of(cell.value) == asked)
            found[table_of(unit)] = found.get(table_of(unit), frozenset()) | columns
    return found
