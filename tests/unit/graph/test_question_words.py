"""Questions about the whole corpus: their words, and the time that they name."""

from __future__ import annotations

import pytest

from graphtide.graph.retrieval.question_words import is_corpus_question, time_words


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes of these notes?",
        "Summarise everything",
        "Summarise the notes of March",
        "What happened in May 2024?",
        "What are the key findings?",
        "Give me an overview of all documents",
    ],
)
def test_question_about_everything_names_nothing_but_a_time(question: str) -> None:
    assert is_corpus_question(question)


@pytest.mark.parametrize(
    "question",
    [
        "Summarise the notes on the boiler",
        "Who wrote the notes of March?",
        "May I go?",
        "Where is the key?",
        "Who has no key?",
        "Who said this in the report?",
        "When was the last entry?",
        "Which key is it?",
    ],
)
def test_question_about_something_is_no_corpus_question(question: str) -> None:
    assert not is_corpus_question(question)


def test_time_words_are_months_and_years() -> None:
    assert time_words("Summarise the notes of March 2025, page 12") == {"march", "2025"}
