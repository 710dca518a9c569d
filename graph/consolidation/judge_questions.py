"""Questions to a judge: the pairs of labels, and of predicates, that the rules leave open."""

from __future__ import annotations

import itertools

from graphtide.graph.consolidation.label_contexts import label_context
from graphtide.graph.consolidation.state import Tables
from graphtide.graph.resolution import PairQuestion, Resolver
from graphtide.graph.resolution.predicates.pairs import pair_of
from graphtide.graph.resolution.predicates.resolver import PredicateResolver


def label_questions(tables: Tables, resolver: Resolver, limit: int) -> list[PairQuestion]:
    """Return up to `limit` questions about labels: those that the rules leave open first, then those found by vectors.

    A pair found by vectors is noted as checked where a verdict on it saw the present statements.
    """
    labels = tables.labels
    questions: list[PairQuestion] = []
    for pair in itertools.islice(resolver.borderline(), limit):
        first, second = sorted(labels[number].key for number in pair)
        questions.append(PairQuestion((first, second)))
    for a, b in resolver.unchecked():
        if len(questions) == limit:
            break
        one, other = sorted((labels[a], labels[b]), key=lambda label: label.key)
        question = PairQuestion((one.key, other.key), (label_context(tables, one), label_context(tables, other)))
        if resolver.verdict(a, b) in (question.verdict(True), question.verdict(False)):
            resolver.note_checked(a, b)
        else:
            questions.append(question)
    return questions


def predicate_questions(resolver: PredicateResolver, limit: int) -> list[PairQuestion]:
    """Return up to `limit` questions about predicates; pairs whose verdict saw the present statements are noted."""
    questions: list[PairQuestion] = []
    if limit <= 0:
        return questions
    for pair in resolver.unchecked():
        question = PairQuestion(pair_of(*pair), resolver.contexts(pair))
        if resolver.verdict(pair) in (question.verdict(True), question.verdict(False)):
            resolver.note_checked(pair)
        elif len(questions) < limit:
            questions.append(question)
        else:
            break
    return questions
