"""Rows and labels with other names than the question: "the topic clicks" of a table that has no such topic, and "Tech
lead: Ana" for the product manager.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan
from graphtide.infra.models.local.answers.thesaurus import synonyms_of
from graphtide.infra.models.local.answers.units import Table, Unit, UnitKind, table_of
from graphtide.infra.models.local.answers.words import STOP_WORDS, key_of, keys_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_MIN_ROWS = 2


def tables_without_name(evidence: AnswerEvidence) -> frozenset[Table]:
    """Return the tables with a column that the question has before a name, without that name in any row: "how many
    partitions does the topic clicks have" and `topic`. Cost: linear in the rows.
    """
    rows: dict[Table, list[Unit]] = {}
    for scored in evidence.scored:
        if scored.unit.kind is UnitKind.ROW:
            rows.setdefault(table_of(scored.unit), []).append(scored.unit)
    named = _names_by_noun(evidence.plan)
    return frozenset(table for table, units in rows.items() if len(units) >= _MIN_ROWS and _lacks_name(units, named))


def _names_by_noun(plan: QuestionPlan) -> Mapping[str, str]:
    """Return the word after each noun that the question has after an article, where it may be a name."""
    found = {}
    for noun, name in _NOUN_AND_NAME.findall(plan.text):
        is_name = name.lower() not in STOP_WORDS and key_of(name) not in VERBS and name.lower() not in VERBS
        if is_name:
            found[noun.lower()] = name
    return found


_NOUN_AND_NAME = re.compile(
    r"\b[Tt]he ([a-z]{3,20}) ([A-Za-z][\w.-]{1,40})"
    r"(?=\s*\?|\s*$|,| (?:have|has|had|contains?|costs?|needs?|uses?|gets?|is|are|was|were|do|does|did|belongs?|run)\b)"
)


def _lacks_name(rows: Iterable[Unit], named: Mapping[str, str]) -> bool:
    units = list(rows)
    columns = {cell.column.lower() for unit in units for cell in unit.cells}
    for noun, name in named.items():
        known = frozenset().union(*(unit.keys | unit.columns | unit.title_keys | unit.head_keys for unit in units))
        if noun in columns and key_of(name) not in known:
            return True
    return False


def has_other_role(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a role is asked for, and the unit is the label of another one of its kind: "Tech lead: Ana" for
    "who is the product manager".
    """
    asked = _ROLE.match(plan.text) if plan.kind is Kind.PERSON else None
    label = _LABEL.match(unit.text) if asked is not None and not unit.cells else None
    if asked is None or label is None:
        return False
    *mine, head = (key_of(word) for word in asked[1].split())
    *theirs, other = (key_of(word) for word in label[1].split())
    alike = head == other or other in synonyms_of(head) or head in synonyms_of(other)
    mine, theirs = ([key for key in keys if key not in _ANY_ROLE] for keys in (mine, theirs))
    return alike and bool(mine and theirs) and set(mine).isdisjoint(theirs)


_ROLE = re.compile(
    r"who (?:is|was|are|were) (?:the|our|your|its|their) ([a-z]{3,20} [a-z]{3,20})"
    r"(?: (?:of|for|at|in|on)\b|\s*\?|\s*$)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"([A-Z][a-z]{2,20} [a-z]{3,20}): [A-Z]")
_ANY_ROLE = keys_of("team group department company head main chief current new former old acting")
