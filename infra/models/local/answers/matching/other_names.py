"""Rows and labels with other names than the question: "the topic clicks" of a table that has no such topic, and "Tech
lead: Ana" for the product manager.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan
from graphtide.infra.models.local.answers.thesaurus import synonyms_of
from graphtide.infra.models.local.answers.units import Table, Unit, UnitKind, table_of
from graphtide.infra.models.local.answers.words import STOP_WORDS, key_of, keys_of, word_set
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_MIN_ROWS = 2


def tables_without_name(evidence: AnswerEvidence) -> frozenset[Table]:
    """Return the tables whose first column the question has before a name that no row has: "how many partitions does
    the topic clicks have" and `topic`. Cost: linear in the rows.
    """
    named = _names_by_noun(evidence.plan)
    if not named:
        return frozenset()
    rows: dict[Table, list[Unit]] = {}
    for scored in evidence.scored:
        if scored.unit.kind is UnitKind.ROW:
            rows.setdefault(table_of(scored.unit), []).append(scored.unit)
    return frozenset(table for table, units in rows.items() if len(units) >= _MIN_ROWS and _lacks_name(units, named))


def _names_by_noun(plan: QuestionPlan) -> Mapping[str, str]:
    """Return the word after each noun that the question has after an article, where it may be a name."""
    found = {}
    for noun, name in _NOUN_AND_NAME.findall(plan.text):
        word = name.lower()
        if word not in STOP_WORDS | _NO_NAMES and key_of(name) not in VERBS and word not in VERBS:
            found[noun.lower()] = name
    return found


_NOUN_AND_NAME = re.compile(
    r"\b[Tt]he ([a-z]{3,20}) ([A-Za-z][\w.-]{1,40})"
    r"(?=\s*\?|\s*$|,| (?:have|has|had|contains?|costs?|needs?|uses?|gets?|is|are|was|were|do|does|did|belongs?|run)\b)"
)
_NO_NAMES = word_set(
    """responsible involved concerned available needed required used mentioned given left right today tomorrow yesterday
    currently daily weekly monthly yearly outside inside upstairs downstairs together alone next last again already"""
)


def _lacks_name(rows: Sequence[Unit], named: Mapping[str, str]) -> bool:
    name = named.get(rows[0].cells[0].column.lower())
    values = [unit.cells[0].value for unit in rows]
    if name is None or any(value[:1].isdigit() for value in values):
        return False
    known = frozenset().union(*(unit.keys | unit.columns | unit.title_keys | unit.head_keys for unit in rows))
    return key_of(name) not in known


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
