"""The tables among the units, and what their rows are."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing.lists import named_kind
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import QuestionPlan, Term, TermKind
from graphtide.infra.models.local.answers.units import Table, UnitKind, table_of


def things_of(plan: QuestionPlan) -> list[Term]:
    """Return the nouns that say what is asked for: "which repairs"."""
    return [term for term in plan.terms if term.kind is TermKind.FOCUS]


def are_rows_of(rows: Sequence[Scored], things: Sequence[Term]) -> bool:
    """Return whether the rows of a table are the things: a column, a heading or the title has each word for them."""
    kinds = frozenset().union(*(named_kind(row.unit) for row in rows))
    return all(({term.key} | term.synonyms) & kinds for term in things)


def tables_of(evidence: AnswerEvidence) -> list[list[Scored]]:
    """Return the rows of each table, in their order. Cost: linear in the units, however many tables there are."""
    found: dict[Table, list[Scored]] = {}
    for scored in evidence.scored:
        if scored.unit.kind is UnitKind.ROW:
            found.setdefault(table_of(scored.unit), []).append(scored)
    return list(found.values())


def is_within(term: Term, others: Sequence[Term]) -> bool:
    """Return whether a word is a part of a compound one: "call" of "call-out"."""
    end = term.start + len(term.text)
    return any(each is not term and each.start <= term.start and end <= each.start + len(each.text) for each in others)
