"""The estimate of a model's tokens: one count for texts of any length."""

from __future__ import annotations

from graphtide.graph.text import token_count
from graphtide.graph.text.token_count import count_tokens

SENTENCE = "Lake Vigdis (61 m deep) froze twice; Ångström-like crystals formed. "


def test_tokens_are_pieces_of_words_and_marks() -> None:
    assert count_tokens("") == 0
    assert count_tokens("Mercury, 42!") == 2 + 1 + 1 + 1


def test_count_of_a_large_text_is_that_of_its_sentences() -> None:
    """Texts that are too long for a list of their tokens are counted as shorter ones are."""
    sentences = token_count._LISTED_CHARS // len(SENTENCE) + 2
    text = SENTENCE * sentences
    assert len(text) > token_count._LISTED_CHARS
    assert count_tokens(text) == sentences * count_tokens(SENTENCE)
