"""Quoted answers: the sentences that match a question."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.generator import NOTHING_FITS, ExtractiveGenerator
from graphtide.streams.model_ports import ContextPassage

NOTE = ContextPassage(
    "# Boiler\n\nThe boiler was replaced in March. Ana Ruiz signed the contract for the boiler. "
    "We decided to keep the gas boiler until 2030. The garden was being planned by Tom Baker.",
    "Boiler",
    "boiler.md",
    "c",
    (),
)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What did we decide about the boiler?", "We decided to keep the gas boiler until 2030. [1]"),
        ("Who plans the garden?", "The garden was being planned by Tom Baker. [1]"),
        ("Who is the captain of the ferry?", NOTHING_FITS),
    ],
)
async def test_answer_quotes_the_sentence_when_its_words_stand_in_another_form(question: str, quoted: str) -> None:
    """Regular forms of a word count as the word, whether or not it is in the table of verbs."""
    assert (await ExtractiveGenerator().answer(question, [NOTE])).text == quoted
