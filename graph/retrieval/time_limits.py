"""Time limits in the words of a question about the whole corpus: "Summarise the notes of March 2025".

A month without a year means the latest one of that name in which any document happened. Invariant: the limits depend on
the question and on the documents' dates alone.
"""

from __future__ import annotations

from dataclasses import replace

from graphtide.graph.retrieval.question_words import MONTHS, is_corpus_question, time_words
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.view import LiveView


def with_time_limits(view: LiveView, question: Question) -> Question:
    """Return the question with filters for the time that it names, unless it has a filter of time itself.

    Call under `view.lock.read()`. Cost: the documents, for a question that names a month or a year.
    """
    if not is_time_limited(question):
        return question
    filters, named = question.filters, time_words(question.text)
    months = sorted(MONTHS.index(word) + 1 for word in named if word in MONTHS)
    years = sorted(word for word in named if word.isdigit())
    if not months:
        return _between(question, filters, years[0], years[-1])
    if not years:
        years = _latest_year(view, months)
    if not years:
        return question
    return _between(question, filters, f"{years[0]}-{months[0]:02d}", f"{years[-1]}-{months[-1]:02d}")


def is_time_limited(question: Question) -> bool:
    """Return whether the words of the question limit the time, whatever the documents."""
    filters = question.filters
    if filters.occurred_from or filters.occurred_to or not time_words(question.text):
        return False
    return is_corpus_question(question.text)


def _latest_year(view: LiveView, months: list[int]) -> list[str]:
    """Return the latest year in which a document happened in one of the months; none if no document did."""
    dates = (row.info.occurred_at for row in view.documents.values())
    found = {date[:4] for date in dates if date[5:7].isdigit() and int(date[5:7]) in months}
    return [max(found)] if found else []


def _between(question: Question, filters: Filters, first: str, last: str) -> Question:
    return replace(question, filters=replace(filters, occurred_from=first, occurred_to=last))
