"""Meanings of words: columns of a glossary, and paragraphs that begin with the word and a colon."""

from __future__ import annotations

import pytest

from tests.unit.infra.answers.notes import answer, note, table

MEANINGS = {
    "bisque": "clay that was fired once", "slip": "liquid clay for handles", "hot works": "welding and cutting",
}  # fmt: skip
USES = note("shop.md", "The slip costs 4 euros.", "Hot works are forbidden in the store.", "We sell bisque on Friday.")
FORMS = ["What does {} mean?", "What is meant by {}?", "What is the meaning of {}?"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("word", MEANINGS)
async def test_meaning_is_that_of_the_glossary(word: str, form: str) -> None:
    """In any column, or after the word and a colon, and not a sentence that uses the word."""
    for column in ("Meaning", "Definition", "Description", "Explanation"):
        rows = [f"Term: {term.capitalize()}; {column}: {meaning}" for term, meaning in MEANINGS.items()]
        assert MEANINGS[word] in await answer(form.format(word), table("terms.csv", *rows), USES)
    labelled = [f"{term.capitalize()}: {meaning}. More is in the shop." for term, meaning in MEANINGS.items()]
    text = await answer(form.format(word), note("terms.txt", *labelled), USES)
    assert text.startswith(f"{word.capitalize()}: {MEANINGS[word]}.")
